"""The same search among a few dozen features, where calls cost more than products.

Every eigenvector and every column is a start, all of them take a few steps as one block,
and the leading eigenpairs on the best supports are found together.
"""

from __future__ import annotations

import numpy as np

from loadstone.constraints import LoadingConstraint
from loadstone.covariance import Array, Covariance, ExplicitCovariance, Support
from loadstone.solvers.search.em_support import EM_STEPS, EM_TOL
from loadstone.solvers.search.few_places import best_pair
from loadstone.solvers.search.finish import Found, best_of
from loadstone.solvers.search.sure_climb import SureClimb
from loadstone.solvers.search.tiny_ends import BATCHED, Ends

#: Features up to which this search is used.
TINY = 64
#: Mixtures of eigenvectors, and the eigenvectors mixed.
N_MIXTURES, N_MIXED = 16, 8
#: Steps of all starts together.
N_STEPS = 4
#: Supports polished.
N_POLISHED = 16
#: Supports from which features are exchanged, however alike, and the share of the best they have
#: at least.
N_ENDS, NEAR_BEST = 8, 0.95
#: Eigenvectors, steps and supports polished where many sizes are searched in a hurry.
N_HURRIED, N_HURRIED_STEPS, N_HURRIED_POLISHED = 16, 3, 8
_MIX = np.random.default_rng(0).standard_normal((N_MIXTURES, N_MIXED))


def is_tiny(S: Covariance) -> bool:
    """Whether all efforts but the largest are one."""
    return S.n_features <= TINY


def tiny_search(
    S: ExplicitCovariance, constraint: LoadingConstraint, starts: Array | None = None
) -> Found:
    """The best component of a small matrix."""
    if constraint.size == 2:
        return best_pair(S, constraint)
    climbs = Ends(S, constraint)
    ends = climbs.polished(_Starts(climbs).settled(starts))
    W, values = climbs.W[ends], climbs.values[ends]
    order = np.argsort(-values, kind="stable")
    best = values >= values[order[0]] * (1 - 1e-9)
    best[order[0]] = True
    found = [Found(W[row], float(values[row])) for row in np.flatnonzero(best)]
    near = order[: _n_near_best(values[order])]
    found += [climbs.found(end) for end in climbs.exchanged([ends[row] for row in near])]
    return best_of(found)


def _n_near_best(values: Array) -> int:
    """How many of the values, best first, are near the best; two at least."""
    return max(2, int(np.count_nonzero(values[:N_ENDS] >= NEAR_BEST * values[0])))


def tiny_start(S: ExplicitCovariance, constraint: LoadingConstraint) -> Found:
    """A good component of a small matrix, before any exchange: climbs are to follow."""
    if constraint.size == 2:
        return best_pair(S, constraint)
    climbs = Ends(S, constraint)
    ends = climbs.polished(_Starts(climbs).begun())
    return climbs.found(ends[int(np.argmax(climbs.values[ends]))])


def tiny_climb(S: ExplicitCovariance, w: Array, constraint: LoadingConstraint) -> Found:
    """Where polishing from ``w`` and exchanges that must gain end."""
    support = w.nonzero()[0]
    filled = support.size == constraint.size
    if filled and not constraint.nonnegative and support.size <= BATCHED:
        return SureClimb(S, constraint).from_support(support)
    climbs = Ends(S, constraint)
    ends = climbs.polished(support[None] if filled else climbs.top(w[None]))
    return climbs.found(climbs.exchanged(ends, sure=True)[0])


class _Starts:
    """Supports from which climbs begin; these say what is worth a place."""

    def __init__(self, climbs: Ends) -> None:
        self.climbs, self.A, self.k = climbs, climbs.A, climbs.k
        self.nonnegative = climbs.constraint.nonnegative

    def settled(self, starts: Array | None) -> Support:
        """Distinct supports after a few steps from everywhere, best first, and those of EM."""
        V = np.linalg.eigh(self.A)[1].T[::-1]
        V = V * np.where(np.einsum("ij,ij,ij->i", V, V, V) < 0, -1, 1)[:, None].astype(V.dtype)
        n = min(N_MIXED, V.shape[0])
        rows = [V, self.A, _MIX[:, :n].astype(V.dtype) @ V[:n]]
        if self.nonnegative:
            rows.append(-V)
        if starts is not None:
            rows.append(starts.T.astype(V.dtype, copy=False))
        top = self.steps(np.concatenate(rows), N_STEPS + 1)
        ends = self.em(V[0])
        if self.nonnegative:
            ends = [*ends, *self.em(-V[0])]
        distinct = {row.tobytes(): row for row in [*ends, *top]}
        return np.stack(list(distinct.values())[: N_POLISHED + len(ends)])

    def begun(self) -> Support:
        """The same after fewer steps from fewer places."""
        V = np.linalg.eigh(self.A)[1].T[: -N_HURRIED - 1 : -1]
        rows = [V, -V, self.A] if self.nonnegative else [V, self.A]
        top = self.steps(np.concatenate(rows), N_HURRIED_STEPS)
        distinct = {row.tobytes(): row for row in top}
        return np.stack(list(distinct.values())[:N_HURRIED_POLISHED])

    def steps(self, R: Array, n_steps: int) -> Support:
        """The places filled after some steps from each direction, best first."""
        for _ in range(n_steps):
            top = self.climbs.top(R)
            W = self.loadings(R, top)
            R = W @ self.A
        value = np.einsum("ij,ij->i", W, R)
        result: Array = top[np.argsort(-value, kind="stable")]
        return result

    def loadings(self, R: Array, top: Support) -> Array:
        """Unit rows on the places filled; a single feature where nothing points anywhere."""
        at = np.arange(len(R))[:, None]
        values = R[at, top]
        if self.nonnegative:
            values = np.maximum(values, 0)
        norms = np.sqrt(np.einsum("ij,ij->i", values, values))
        if not norms.all():
            lone = np.where(norms == 0, np.argmax(R[at, top], axis=1), -1)
            values[at[:, 0], lone] += norms == 0
            norms = np.where(norms == 0, 1, norms)
        W = np.zeros_like(R)
        W[at, top] = values / norms[:, None]
        return W

    def em(self, direction: Array) -> list[Support]:
        """The support at which EM ends, as :class:`loadstone.solvers.em.EM` does."""
        w = None
        for _ in range(EM_STEPS):
            order = np.argsort(-self.climbs.worth(direction[None])[0], kind="stable")
            top, values = order[: self.k], direction[order[: self.k]]
            if self.nonnegative:
                values = np.maximum(values, 0)
            out = direction[order[self.k]] if order.size > self.k else 0.0
            threshold = max(out, 0.0) if self.nonnegative else abs(out)
            shrunken = np.sign(values) * np.maximum(np.abs(values) - threshold, 0)
            values = shrunken if shrunken.any() else values
            length = np.sqrt(values @ values)
            if not length > 0:
                break
            moved = np.zeros_like(direction)
            moved[top] = values / length
            if w is not None and 1 - abs(moved @ w) < EM_TOL:
                break
            w = moved
            direction = w @ self.A
        return [np.sort(top)]
