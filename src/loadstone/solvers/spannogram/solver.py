"""The spannogram as a solver: covariance in, loadings with guarantees out.

References
----------
Asteris, M., Papailiopoulos, D. S., & Dimakis, A. G. (2014). Nonnegative sparse PCA
with provable guarantees. Proceedings of the 31st International Conference on Machine
Learning, PMLR 32(2), 1728-1736.
Papailiopoulos, D. S., Dimakis, A. G., & Korokythakis, S. (2013). Sparse PCA through
low-rank approximations. Proceedings of the 30th International Conference on Machine
Learning, PMLR 28(3), 747-755.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from loadstone.constraints import Constraint, LoadingConstraint
from loadstone.covariance.protocol import Array, Covariance
from loadstone.loadings import Loadings, Stop
from loadstone.solvers.polish import polish
from loadstone.solvers.renormalise import renormalise
from loadstone.solvers.spannogram.cones import cones
from loadstone.solvers.spannogram.cost import (
    Cost,
    choose_method,
    impatience,
    predicted_costs,
    refusal,
)
from loadstone.solvers.spannogram.direction import Direction
from loadstone.solvers.spannogram.exact import exact
from loadstone.solvers.spannogram.low_rank import LowRank, guarantee_of, low_rank_of
from loadstone.solvers.spannogram.net import leaders, net, sample_directions
from loadstone.solvers.spannogram.rank_one import climb, longest_first

# Directions shown to the full covariance, and candidates renormalised under it.
N_OPINIONS = 64
N_SETTLED = 8
# Largest block of candidates, in numbers.
_BLOCK_ENTRIES = 1 << 23


@dataclass(frozen=True)
class Spannogram:
    """Solves the problem on the best approximation of low rank, with proof.

    Attributes
    ----------
    rank : int
        Rank of the approximation.
    method : {"auto", "exact", "net", "cones"}
        How directions are searched; "auto" takes the cheapest one with a proof, or the net.
    epsilon : float
        Relative accuracy of "net" (with probability ``1 - 1/n_features``) and "cones".
    polish : bool
        Whether to climb on with the full covariance.
    second_look : bool
        Whether several supports are compared under the full covariance and their loadings
        re-optimised there; without it the loadings are those of the paper.
    """

    rank: int = 3
    method: str = "auto"
    epsilon: float = 0.1
    polish: bool = False
    second_look: bool = True

    def refuses(self, constraint: Constraint) -> str | None:
        """Needs a cardinality, and no feature forced into the support."""
        if not isinstance(constraint, LoadingConstraint):
            return (
                f"the spannogram selects supports by cardinality; {type(constraint).__name__} "
                "has none, use SparsePCA"
            )
        if constraint.forced.size:
            return (
                f"the spannogram cannot force features into a component "
                f"({constraint.forced.size} asked for); use SparsePCA"
            )
        return None

    def __call__(
        self,
        S: Covariance,
        constraint: Constraint,
        rng: np.random.Generator,
        starts: Array | None = None,
    ) -> Loadings:
        """See :class:`loadstone.solvers.protocol.Solver`; ``starts`` join the candidates."""
        reason = self.refuses(constraint)
        if reason is not None or not isinstance(constraint, LoadingConstraint):
            raise ValueError(reason)
        allowed = np.setdiff1d(np.arange(S.n_features), constraint.forbidden)
        local = S if allowed.size == S.n_features else S.restrict(allowed)
        A = low_rank_of(local, min(self.rank, local.n_features))
        if A.V.shape[1] == 0:
            return _nothing_left(S, constraint, A)
        size, nonnegative = constraint.size, constraint.nonnegative
        found, chosen, costs = search(
            A.V, size, self.method, self.epsilon, nonnegative=nonnegative, rng=rng
        )
        if starts is not None:
            found = _joined(found, A.V, starts[allowed], size, nonnegative=nonnegative)
        proof = guarantee_of(
            A, found, size, nonnegative=nonnegative, accuracy=_accuracy(found, self.epsilon)
        )
        C = found.c[:, None]
        if A.gap > 0.0 and self.second_look:
            C = second_opinions(A.V, found, size, nonnegative=nonnegative, rng=rng)
        V = np.zeros((S.n_features, A.V.shape[1]))
        V[allowed] = A.V
        heights = (V @ C).astype(S.dtype, copy=False)
        if self.second_look:
            finish = polish if self.polish else renormalise
            W, values = settle(S, heights, constraint, finish, look_around=A.gap > 0.0)
        else:
            W = constraint.best_loading(heights)
            values = np.einsum("ij,ij->j", W, S @ W)
        details = {
            **asdict(proof),
            **_search_details(found, V, chosen, costs),
            "published_ratio": _published_ratio(found, A.gap, self.epsilon),
            "shift": A.shift,
            "n_nonzero": size,
        }
        return Loadings(W, values[:1], found.n_candidates, _stop(found, chosen), details)


def settle(
    S: Covariance,
    heights: Array,
    constraint: LoadingConstraint,
    finish: Callable[[Covariance, Array, LoadingConstraint], tuple[Array, float]],
    *,
    look_around: bool,
) -> tuple[Array, Array]:
    """Candidates under the full covariance, renormalised, best first, with their variances.

    The first column of ``heights`` is the answer of the search and always stays, so its
    guarantee survives. With ``look_around`` the product that scores the candidates also
    proposes the support each of them points to.
    """
    W = constraint.best_loading(heights)
    if look_around:
        SW = S @ W
        images = constraint.best_loading(SW)
        values = np.einsum("ij,ij->j", W, SW)
        values = np.append(values, np.einsum("ij,ij->j", images, S @ images))
        W = np.hstack([W, images])
        order = np.argsort(-values, kind="stable")
        W = W[:, [0, *order[order != 0]]]
    distinct: dict[bytes, Array] = {}
    for w in W.T:
        distinct.setdefault(np.flatnonzero(w).tobytes(), w)
    ranked = [finish(S, w, constraint) for w in list(distinct.values())[:N_SETTLED]]
    ranked.sort(key=lambda result: -result[1])
    return np.column_stack([w for w, _ in ranked]), np.array([value for _, value in ranked])


def second_opinions(
    V: Array, found: Direction, n_nonzero: int, *, nonnegative: bool, rng: np.random.Generator
) -> Array:
    """The best direction and other good ones, for the full covariance to choose from.

    What the approximation hides can reverse the order of directions of similar value.
    """
    C = found.others
    if C is None:
        C = sample_directions(rng, V.shape[1], N_OPINIONS)
        C = leaders(longest_first(V), C, n_nonzero, nonnegative=nonnegative)[0]
    room = max(4, min(N_OPINIONS, _BLOCK_ENTRIES // len(V)))
    return np.column_stack([found.c, C[:, :room]])


def search(
    V: Array,
    n_nonzero: int,
    method: str,
    epsilon: float,
    *,
    nonnegative: bool,
    rng: np.random.Generator,
) -> tuple[Direction, str, dict[str, Cost]]:
    """Search the directions of V (full column rank) by the chosen method.

    Returns what was found, the method that found it and the predicted costs.
    Raises ValueError with the estimate and the alternative where the method cannot run.
    """
    rows = longest_first(V)
    n, rank = rows.shape
    n_nonzero = min(n_nonzero, n)
    costs = predicted_costs(n, rank, epsilon, nonnegative=nonnegative)
    reason = impatience(rank, n, costs) if method == "auto" else None
    method = choose_method(method, costs)
    reason = reason or refusal(method, rank, n, costs)
    if reason is not None:
        raise ValueError(reason)
    if method == "exact":
        found = exact(rows, n_nonzero, nonnegative=nonnegative)
    elif method == "cones":
        found = cones(rows, n_nonzero, nonnegative=nonnegative, epsilon=epsilon)
    else:
        found = net(rows, n_nonzero, nonnegative=nonnegative, epsilon=epsilon, rng=rng)
    return found, method, costs


def _accuracy(found: Direction, epsilon: float) -> float:
    """Share of the best value under ``V V'`` that was promised or proven."""
    if not found.deterministic:
        return 1.0 - epsilon
    return min(1.0, found.value / found.upper_bound)


def _published_ratio(found: Direction, gap: float, epsilon: float) -> float:
    """``x'A_d x / (x'A_d x / (1 - epsilon) + l_{d+1})`` for the x of the search (Section 4)."""
    bound = found.value / _accuracy(found, epsilon) + gap
    return found.value / bound if bound > 0 else 1.0


def _joined(
    found: Direction, V: Array, starts: Array, n_nonzero: int, *, nonnegative: bool
) -> Direction:
    """Climb from the given loadings too; better ones move to the front."""
    images = (V.T @ starts).T
    tops = [
        climb(V, c / np.linalg.norm(c), n_nonzero, nonnegative=nonnegative)
        for c in images
        if np.linalg.norm(c) > 0.0
    ]
    c, value = max([(found.c, found.value), *tops], key=lambda top: top[1])
    bound = max(found.upper_bound, value)
    return replace(found, c=c, value=value, upper_bound=bound)


def _search_details(
    found: Direction, V: Array, chosen: str, costs: dict[str, Cost]
) -> dict[str, Any]:
    return {
        "method": chosen,
        "predicted_costs": costs,
        "n_candidates": found.n_candidates,
        "V": V,
        "direction": found.c,
    }


def _stop(found: Direction, chosen: str) -> Stop:
    if not found.complete:
        return Stop.WORK_LIMIT
    return Stop.EXACT if chosen == "exact" else Stop.ACCURATE


def _nothing_left(S: Covariance, constraint: LoadingConstraint, A: LowRank) -> Loadings:
    """No direction stands out: every allowed loading has the same variance."""
    w = constraint.best_loading(np.ones(S.n_features, dtype=S.dtype))
    nothing = Direction(np.zeros(0), 0.0, 0.0, deterministic=True, n_candidates=0)
    details = {
        "guarantee": 1.0,
        "guarantee_is_deterministic": True,
        "upper_bound": A.shift + A.gap,
        "upper_bound_is_deterministic": True,
        "low_rank_gap": A.gap,
        "published_ratio": 1.0,
        **_search_details(nothing, np.zeros((S.n_features, 0)), "exact", {}),
        "shift": A.shift,
        "n_nonzero": constraint.size,
    }
    stop = Stop.EXACT if A.shift > 0.0 else Stop.EMPTY
    return Loadings(w[:, None], np.array([A.shift]), 0, stop, details)
