"""The end of a search: polish many, exchange from different basins, decide ties by support."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from loadstone.constraints import LoadingConstraint
from loadstone.covariance import Array, Covariance, Support
from loadstone.solvers.exchange import improve_by_exchange
from loadstone.solvers.polish import MAX_ROUNDS
from loadstone.solvers.renormalise import renormalise
from loadstone.solvers.search.climb import same_supports, step
from loadstone.solvers.search.restricted import in_memory
from loadstone.solvers.search.spaces import Space
from loadstone.solvers.search.sparse_block import SparseBlock, block_of, joined

#: Relative difference below which two values are equal, for each precision.
EQUAL = {np.dtype(np.float64): 1e-9, np.dtype(np.float32): 1e-6}


@dataclass(frozen=True)
class Found:
    """Loadings that nothing tried so far improves, and their variance."""

    w: Array
    value: float

    @property
    def support(self) -> Support:
        """Features with a loading."""
        return np.flatnonzero(self.w)


def polish_block(
    S: Covariance, space: Space, block: SparseBlock, constraint: LoadingConstraint
) -> list[Found]:
    """:func:`loadstone.solvers.polish.polish` of every row, with one product for all of them."""
    found = _on_supports(S, block, constraint)
    active = list(range(len(found)))
    gain = 1 + 4 * float(np.finfo(S.dtype).eps)
    for _ in range(MAX_ROUNDS):
        if not active:
            break
        here = joined([block_of(found[j].w, constraint.size) for j in active])
        moved = step(space, here, constraint)
        still = same_supports(moved, here)
        active = [j for j, settled in zip(active, still, strict=True) if not settled]
        candidates = _on_supports(S, moved.take(~still), constraint)
        pairs = [(j, each) for j, each in zip(active, candidates, strict=True)]
        better = [(j, each) for j, each in pairs if each.value > found[j].value * gain]
        for j, each in better:
            found[j] = each
        active = [j for j, _ in better]
    return found


def _on_supports(S: Covariance, block: SparseBlock, constraint: LoadingConstraint) -> list[Found]:
    """The best loadings on the support of each row; out of core they share one pass."""
    rows = [block.dense(row, S.n_features) for row in range(len(block))]
    if not rows or in_memory(S):
        return [Found(*renormalise(S, w, constraint)) for w in rows]
    features = np.union1d(np.unique(block.indices), constraint.forced).astype(np.intp)
    local, inside = S.restrict(features), constraint.on(features)
    found = []
    for row in rows:
        w = np.zeros(S.n_features, dtype=S.dtype)
        w[features], value = renormalise(local, row[features], inside)
        found.append(Found(w, value))
    return found


def exchange_best(
    S: Covariance, found: list[Found], constraint: LoadingConstraint, n: int, n_exchanges: int
) -> Found:
    """Exchanges from the best of ``n`` polished loadings in different basins."""
    chosen = different_basins(found, n)
    finished = [
        Found(*improve_by_exchange(S, each.w, each.value, constraint, n_exchanges))
        for each in chosen
    ]
    return best_of(finished)


def different_basins(found: list[Found], n: int) -> list[Found]:
    """The best of each basin (supports that share less than half), then the next best.

    The last place goes to the best that is left, whichever basin it is in.
    """
    ordered = _distinct(sorted(found, key=lambda each: -each.value))
    chosen: list[Found] = []
    for each in ordered:
        if len(chosen) >= max(1, n - 1):
            break
        if all(_shared(each, other) < 0.5 for other in chosen):
            chosen.append(each)
    rest = [each for each in ordered if not any(each is other for other in chosen)]
    return chosen + rest[: n - len(chosen)]


def _distinct(found: list[Found]) -> list[Found]:
    seen: dict[bytes, Found] = {}
    for each in found:
        seen.setdefault(each.support.tobytes(), each)
    return list(seen.values())


def _shared(left: Found, right: Found) -> float:
    common = np.intersect1d(left.support, right.support, assume_unique=True).size
    return common / max(left.support.size, right.support.size, 1)


def best_of(found: list[Found]) -> Found:
    """The largest value; among equal ones the first support in lexicographic order."""
    largest = max(each.value for each in found)
    equal = EQUAL[found[0].w.dtype]
    tied = [each for each in found if each.value >= largest - equal * abs(largest)]
    return min(tied, key=lambda each: each.support.tolist())


def any_feature(S: Covariance, constraint: LoadingConstraint) -> Found:
    """The first feature that may be used: where nothing varies all are alike."""
    free = np.setdiff1d(np.arange(S.n_features), constraint.forbidden)
    w = np.zeros(S.n_features, dtype=S.dtype)
    w[constraint.forced[0] if constraint.forced.size else free[0]] = 1
    return Found(w, 0.0)
