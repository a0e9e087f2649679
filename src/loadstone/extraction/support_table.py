"""Every support of a given size under linear equations ``C'w = 0``, without solving all of them.

The leading eigenvalue on a support, equations left aside, is an upper bound of what they leave
there. Bounds of that bound cost a fraction of it, from its trace and squares (Wolkowicz and Styan)
or from the leading eigenvectors of all features. So the supports that look best are solved first,
and most others need nothing more.

References
----------
Wolkowicz, H. and Styan, G. P. H. (1980). Bounds for eigenvalues using traces. Linear Algebra and
its Applications, 29, 471-506.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import combinations
from math import comb

import numpy as np

from loadstone.constraints import Constraint, LoadingConstraint
from loadstone.covariance import Array, Covariance, ExplicitCovariance, Support, materialise
from loadstone.extraction.linear_constraints import (
    LARGE,
    NEGLIGIBLE,
    Candidate,
    blocks_of,
    scattered,
    solve_on_supports,
)

__all__ = ["MAX_ENUMERATED", "SupportTable"]

#: Supports that are enumerated rather than searched.
MAX_ENUMERATED = 5000
#: Supports solved first; each further batch is twice as large.
FIRST_BATCH = 16
#: Rounding of a bound, as a share of it.
ROUNDING = 1e-12


@dataclass(frozen=True)
class SupportTable:
    """Every support of a given size, with an upper bound that ignores the equations.

    Attributes
    ----------
    S : Covariance
        Where components are sought.
    supports : ndarray of shape (n_supports, size)
        One support per row.
    compiled : bool
        Whether it is scanned so often that compiling for seconds, in a new process, pays.
    """

    S: Covariance
    supports: Array
    compiled: bool = False

    @classmethod
    def of(
        cls, S: Covariance, constraint: Constraint, *, compiled: bool = False
    ) -> SupportTable | None:
        """All supports of a cardinality; ``None`` for other constraints, or too many of them."""
        if not isinstance(constraint, LoadingConstraint):
            return None
        n_closed = constraint.forbidden.size + constraint.forced.size
        size = constraint.size - constraint.forced.size
        if comb(S.n_features - n_closed, size) > MAX_ENUMERATED:
            return None
        chosen = _combinations(S.n_features - n_closed, size)
        if not n_closed:
            return cls(S, chosen, compiled)
        closed = np.concatenate([constraint.forbidden, constraint.forced])
        free = np.setdiff1d(np.arange(S.n_features), closed)
        forced = np.repeat(constraint.forced[None, :].astype(np.intp), len(chosen), axis=0)
        return cls(S, np.sort(np.hstack([forced, free[chosen]]), axis=1), compiled)

    @cached_property
    def matrix(self) -> Array:
        """The covariance of the few features there are."""
        return np.ascontiguousarray(materialise(self.S).matrix, dtype=np.float64)

    @cached_property
    def bounds(self) -> Array:
        """Leading eigenvalue on each support."""
        return self._bounds(self.supports)

    def _bounds(self, supports: Array) -> Array:
        S = ExplicitCovariance(self.matrix)
        if supports.shape[1] > LARGE:
            return solve_on_supports(S, np.empty((S.n_features, 0)), supports)[0]
        largest: Array = np.linalg.eigvalsh(blocks_of(S, supports))
        return largest[:, -1]

    @cached_property
    def rough_bounds(self) -> Array:
        """No less than the leading eigenvalue on each support, by a cheap argument.

        Most features have much of the leading eigenvectors of all; on a few the traces say more.
        """
        most = 2 * self.supports.shape[1] > self.S.n_features
        return self._by_two_directions() if most else self._by_traces()

    def _by_traces(self) -> Array:
        """Mean and spread of the eigenvalues on each support."""
        size = self.supports.shape[1]
        first, second = np.triu_indices(size, 1)
        diagonal = self.matrix.diagonal()[self.supports]
        crosses = self.matrix[self.supports[:, first], self.supports[:, second]]
        mean = diagonal.sum(axis=1) / size
        square = np.einsum("ij,ij->i", diagonal, diagonal)
        square += 2 * np.einsum("ij,ij->i", crosses, crosses)
        spread = np.sqrt(np.maximum(square / size - mean * mean, 0) * (size - 1))
        result: Array = mean + spread
        return result

    def _by_two_directions(self) -> Array:
        """The third eigenvalue of all features, and what the first two have beyond it."""
        values, vectors = np.linalg.eigh(self.matrix)
        rest = values[-3] if values.size > 2 else values[0]
        beyond = np.sqrt(np.maximum(values[-2:] - rest, 0)) * vectors[:, -2:]
        parts = beyond[self.supports]
        squares = np.einsum("ijk,ijk->ik", parts, parts)
        cross = np.einsum("ij,ij->i", parts[:, :, 0], parts[:, :, -1])
        first, second = squares[:, 0], squares[:, -1]
        half = (first - second) / 2
        result: Array = rest + half + second + np.sqrt(half * half + cross * cross)
        return result

    def best(self, C: Array, discount: Array | None = None) -> Candidate | None:
        """The best support, or with a ``discount`` on each one a good one picked by chance."""
        factor = np.ones(len(self.supports)) if discount is None else 1.0 - discount
        winner = (self._compiled_scan if self.compiled else self._scan)(C, factor)
        if winner < 0:
            return None
        support = self.supports[winner]
        values, loadings = solve_on_supports(self.S, C, support[None, :])
        return Candidate(scattered(self.S, support, loadings[0]), float(values[0]))

    def _scan(self, C: Array, factor: Array) -> int:
        """A support with the highest ``factor * value``; -1 where none is positive."""
        S, rough = ExplicitCovariance(self.matrix), factor * self.rough_bounds
        n_tried = min(FIRST_BATCH, rough.size)
        tried = np.argpartition(-rough, n_tried - 1)[:n_tried]
        best, winner = self._better(S, C, factor, tried, 0.0, -1)
        rough[tried] = -np.inf
        open_ = np.flatnonzero(rough * (1 + ROUNDING) > best)
        bounds = factor[open_] * self._bounds(self.supports[open_])
        order = np.argsort(-bounds, kind="stable")
        bounds, order = bounds[order], open_[order]
        at, width = 0, FIRST_BATCH
        while at < order.size and bounds[at] > best:
            best, winner = self._better(S, C, factor, order[at : at + width], best, winner)
            at, width = at + width, 2 * width
        return winner

    def _better(
        self, S: Covariance, C: Array, factor: Array, batch: Support, best: float, winner: int
    ) -> tuple[float, int]:
        """The best of a batch, or what was the best before it."""
        values = factor[batch] * solve_on_supports(S, C, self.supports[batch])[0]
        top = int(np.argmax(values))
        return (float(values[top]), int(batch[top])) if values[top] > best else (best, winner)

    def _compiled_scan(self, C: Array, factor: Array) -> int:
        """The same, support by support."""
        from loadstone.extraction.linear_constraints_kernels import scan_supports

        bounds = self.bounds * factor
        order = np.argsort(-bounds, kind="stable")
        C = np.ascontiguousarray(C, dtype=np.float64)
        threshold = NEGLIGIBLE * np.linalg.norm(C, axis=0).max(initial=0.0)
        found = scan_supports(self.matrix, C, self.supports, order, bounds, factor, threshold)
        return int(found[0])


@lru_cache(maxsize=8)
def _combinations(n: int, size: int) -> Support:
    """All supports of so many among ``n`` features, in lexicographic order."""
    chosen = np.array(list(combinations(range(n), size)), dtype=np.intp)
    # Where forced features fill all places there is one way to add none.
    chosen = chosen.reshape(comb(n, size), size)
    chosen.setflags(write=False)
    return chosen
