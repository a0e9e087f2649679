"""Where the EM of Sigg & Buhmann ends, with few passes over the features.

Most features never come near the threshold. For a positive semi-definite ``S`` the image of
feature j moves by at most ``sqrt(S_jj d'Sd)`` while the loadings move by ``d``; as long as
that keeps those far from the threshold out, only the near ones are looked at, and the steps
are exactly those of EM on all features.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from loadstone.constraints import LoadingConstraint
from loadstone.covariance import Array, Covariance
from loadstone.solvers.search.restricted import restricted
from loadstone.solvers.search.running_top import FEATURES_PER_BLOCK, RunningTop
from loadstone.solvers.search.spaces import Space, space_of
from loadstone.solvers.search.sparse_block import SparseBlock, block_of

#: Steps and tolerance of EM as its estimator has them.
EM_STEPS, EM_TOL = 200, 1e-6
#: Features near the threshold: at least so many, and so many times the size.
NEAR, NEAR_PER_PLACE = 1024, 4


def em_support(
    S: Covariance, space: Space, start: SparseBlock, constraint: LoadingConstraint
) -> SparseBlock:
    """The row at which EM settles from the row ``start``."""
    near = max(NEAR, NEAR_PER_PLACE * constraint.size)
    if near * 4 > S.n_features:
        return _Steps(space, constraint).run(start, EM_STEPS)[0]
    largest = float(np.sqrt(max(float(S.diagonal().max()), 0.0)))
    row, left = start, EM_STEPS
    while left > 0:
        top = _images(space, row, constraint, near + 1)
        assert top.worth is not None
        # Forced features are worth everything, so that they are always near.
        features = top.indices[0][np.argsort(-top.worth[0], kind="stable")[:near]]
        features, edge = np.sort(features), float(top.worth[0].min())
        local = restricted(S, features)
        steps = _Steps(space_of(local), constraint.on(features), edge, largest)
        inside = SparseBlock(np.searchsorted(features, row.indices), row.values)
        if not np.isin(row.support(0), features).all():
            # The anchor itself has left: one step on all features leads back.
            row, left = _Steps(space, constraint).run(row, 1)[0], left - 1
            continue
        moved, taken, settled = steps.run(inside, left)
        row, left = SparseBlock(features[moved.indices], moved.values), left - max(taken, 1)
        if settled:
            break
    return row


@dataclass(frozen=True)
class _Steps:
    """Steps of EM while features outside, at most ``edge`` at the start, stay out."""

    space: Space
    constraint: LoadingConstraint
    edge: float = -np.inf
    largest: float = 0.0

    def run(self, start: SparseBlock, max_steps: int) -> tuple[SparseBlock, int, bool]:
        """The last row, the steps taken, and whether it has settled."""
        row, n = start, self.space.n_features
        first = row.dense(0, n)
        for taken in range(max_steps):
            top = _images(self.space, row, self.constraint, self.constraint.size + 1)
            assert top.worth is not None
            if taken and self.edge + self.largest * self._moved(row, first) >= top.worth.min():
                return row, taken, False
            moved = top.soft()
            overlap = abs(float(moved.dense(0, n).astype(np.float64) @ row.dense(0, n)))
            if 1.0 - overlap < EM_TOL:
                return moved, taken + 1, True
            row = moved
        return row, max_steps, False

    def _moved(self, row: SparseBlock, first: Array) -> float:
        """``sqrt(d'Sd)`` for the way from the first row to this one."""
        change = row.dense(0, self.space.n_features) - first
        if not change.any() or self.largest == 0:
            return 0.0
        block = block_of(change, int(np.count_nonzero(change)))
        return float(np.sqrt(max(self.space.values(block, self.space.scores(block))[0], 0.0)))


def _images(space: Space, row: SparseBlock, constraint: LoadingConstraint, keep: int) -> RunningTop:
    top = RunningTop(constraint, min(keep, space.n_features))
    Y = space.scores(row)
    for lo in range(0, space.n_features, FEATURES_PER_BLOCK):
        top.add(space.images(Y, lo, min(lo + FEATURES_PER_BLOCK, space.n_features)), lo)
    return top
