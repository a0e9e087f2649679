"""Where one climb among a few dozen features ends, of signed loadings and exchanges that must gain.

Components that are refined together make hundreds of these climbs. Two thirds end where they begin
and most others after one or two steps, so that what counts is the number of calls.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from loadstone.constraints import LoadingConstraint
from loadstone.covariance import Array, ExplicitCovariance, Support
from loadstone.covariance.symmetric import leading_pair
from loadstone.solvers.search.finish import Found
from loadstone.solvers.search.tiny_ends import N_EXCHANGES, N_NEIGHBOURS, N_ROUNDS


class _Here(NamedTuple):
    """A support, the best loadings on it, their variance, and their covariances with all features."""

    support: Support
    w: Array
    value: float
    image: Array


class SureClimb:
    """Climbs under one constraint on one matrix."""

    def __init__(self, S: ExplicitCovariance, constraint: LoadingConstraint) -> None:
        self.A, self.variance = S.matrix, S.matrix.diagonal()
        self.size, self.forced = constraint.size, constraint.forced
        self.forbidden = constraint.forbidden
        self.eps = float(np.finfo(self.A.dtype).eps)
        self.gain = 1 + 4 * self.eps

    def from_support(self, support: Support) -> Found:
        """Where a climb ends that begins on a support of all places."""
        here = self._polished(support)
        for _ in range(N_EXCHANGES):
            reached = [self._polished(support) for support in self._neighbours(here)]
            if not reached:
                break
            best = max(reached, key=lambda each: each.value)
            if not best.value > here.value * self.gain:
                break
            here = best
        return Found(here.w, here.value)

    def _on(self, support: Support) -> _Here:
        """The best loadings on a support."""
        value, v = leading_pair(self.A[support[:, None], support])
        w = np.zeros(len(self.A), dtype=self.A.dtype)
        w[support] = -v if v.sum() < 0 else v
        return _Here(support, w, value, w @ self.A)

    def _polished(self, support: Support) -> _Here:
        """Alternate between the best loadings on a support and the best support for them."""
        here = self._on(support)
        for _ in range(N_ROUNDS):
            worth = np.abs(here.image)
            if self.forced.size:
                worth[self.forced] = np.inf
            least = worth[here.support].min()
            outside = worth.copy()
            outside[here.support] = -1
            if self.forbidden.size:
                worth[self.forbidden] = outside[self.forbidden] = -1
            if outside.max() < least:
                break
            # Ties go to the first feature.
            moved = self._on(np.sort(np.argsort(-worth, kind="stable")[: self.size]))
            if not moved.value > here.value * self.gain:
                break
            here = moved
        return here

    def _neighbours(self, here: _Here) -> list[Support]:
        """Supports after the exchanges that gain most, of those that must.

        The eigenvalue on span{w without i, e_j} is above t where ``(t - a)(t - b) < c^2``, with a
        and b the variances of the two directions and c what they share, or where b is: no root is
        taken before one is.
        """
        support = leaving = here.support
        if self.forced.size:
            leaving = np.setdiff1d(support, self.forced)
            if not leaving.size:
                return []
        value, enough = here.value, here.value * self.gain
        left, variance = here.w[leaving], self.variance
        squares = left * left
        room = enough - value + squares * (2 * value - enough - variance[leaving])
        shared = here.image[:, None] - self.A[:, leaving] * left
        gains = shared * shared > room * (enough - variance)[:, None]
        gains[support] = False
        if self.forbidden.size:
            gains[self.forbidden] = False
        if not gains.any():
            return []
        joins, goes = gains.nonzero()
        # Of one feature that is nearly all of it rounding is left, and no room to divide by.
        rest = np.maximum(1 - squares, self.eps)
        kept = (value - 2 * left * here.image[leaving] + squares * variance[leaving]) / rest
        half = (kept[goes] - variance[joins]) / 2
        bound = kept[goes] - half + np.sqrt(half * half + shared[joins, goes] ** 2 / rest[goes])
        order = np.argsort(-bound, kind="stable")[:N_NEIGHBOURS]
        return [
            np.sort(np.where(support == leaving[goes[at]], joins[at], support))
            for at in order.tolist()
            if bound[at] > enough
        ]
