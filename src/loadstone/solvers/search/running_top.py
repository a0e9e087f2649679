"""The largest entries of rows that arrive in blocks of columns."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from loadstone.constraints import LoadingConstraint, top_k
from loadstone.covariance import Array
from loadstone.solvers.search.sparse_block import SparseBlock

#: Features whose images are held at once.
FEATURES_PER_BLOCK = 32768


class RunningTop:
    """``best_loading`` and ``shrunken_loading`` of directions seen a block at a time.

    Ties go to the feature that comes first, as everywhere.
    """

    def __init__(self, constraint: LoadingConstraint, keep: int) -> None:
        self.constraint, self.keep = constraint, keep
        self.worth: Array | None = None
        self.values: Array
        self.indices: Array
        self.largest: Array
        self.largest_at: Array

    def add(self, block: Array, start: int) -> None:
        """Directions of the features ``start, start + 1, ...``, one row each."""
        worth = np.maximum(block, 0) if self.constraint.nonnegative else np.abs(block)
        self._mark(worth, start, self.constraint.forbidden, -1.0)
        self._mark(worth, start, self.constraint.forced, np.inf)
        if self.constraint.nonnegative:
            self._watch_largest(block, worth, start)
        if self.worth is None:
            top = top_k(worth.T, min(self.keep, block.shape[1])).T
            top.sort(axis=1)
            self.worth = np.take_along_axis(worth, top, axis=1)
            self.values = np.take_along_axis(block, top, axis=1)
            self.indices = top + start
            return
        if self.worth.shape[1] < self.keep:
            self._widen(block, worth, start)
            return
        above = worth > self.worth.min(axis=1)[:, None]
        for row in np.flatnonzero(above.any(axis=1)):
            self._merge(int(row), block[row], worth[row], np.flatnonzero(above[row]), start)

    def _mark(self, worth: Array, start: int, features: Array, value: float) -> None:
        here = features[(features >= start) & (features < start + worth.shape[1])]
        if here.size:
            worth[:, here - start] = value

    def _watch_largest(self, block: Array, worth: Array, start: int) -> None:
        """The feature that loses least, for rows in which no direction is allowed."""
        full = self.constraint.forced.size >= self.constraint.size
        allowed = np.where(worth < (np.inf if full else 0), -np.inf, block)
        at = np.argmax(allowed, axis=1)
        largest = allowed[np.arange(len(allowed)), at]
        if self.worth is None:
            self.largest, self.largest_at = largest, at + start
            return
        better = largest > self.largest
        self.largest = np.where(better, largest, self.largest)
        self.largest_at = np.where(better, at + start, self.largest_at)

    def _widen(self, block: Array, worth: Array, start: int) -> None:
        """Blocks narrower than what is kept: put them together and choose again."""
        assert self.worth is not None
        features = np.broadcast_to(np.arange(start, start + block.shape[1]), block.shape)
        worth = np.hstack([self.worth, worth])
        values, indices = np.hstack([self.values, block]), np.hstack([self.indices, features])
        top = top_k(worth.T, min(self.keep, worth.shape[1])).T
        top.sort(axis=1)
        self.worth, self.values, self.indices = (
            np.take_along_axis(each, top, axis=1) for each in (worth, values, indices)
        )

    def _merge(self, row: int, block: Array, worth: Array, hits: Array, start: int) -> None:
        assert self.worth is not None
        joint = np.concatenate([self.worth[row], worth[hits]])
        order = np.sort(np.argsort(-joint, kind="stable")[: self.keep])
        self.worth[row] = joint[order]
        self.values[row] = np.concatenate([self.values[row], block[hits]])[order]
        self.indices[row] = np.concatenate([self.indices[row], hits + start])[order]

    def hard(self) -> SparseBlock:
        """``best_loading``: the largest entries, normalised."""
        values = np.maximum(self.values, 0) if self.constraint.nonnegative else self.values
        return self._normalised(self.indices, values)

    def soft(self) -> SparseBlock:
        """``shrunken_loading``: less the largest entry left out, which was kept to this end."""
        assert self.worth is not None
        values = np.maximum(self.values, 0) if self.constraint.nonnegative else self.values
        size = self.constraint.size
        if self.worth.shape[1] <= size:
            return self._normalised(self.indices, values)
        # The last one among equals: ties go to the feature that comes first.
        width = self.worth.shape[1]
        out = width - 1 - np.argmin(self.worth[:, ::-1], axis=1)
        threshold = np.maximum(self.worth[np.arange(len(out)), out], 0)[:, None]
        inside = np.ones(self.worth.shape, dtype=bool)
        inside[np.arange(len(out)), out] = False
        values = values[inside].reshape(len(out), size)
        indices = self.indices[inside].reshape(len(out), size)
        shrunken = np.sign(values) * np.maximum(np.abs(values) - threshold, 0)
        tied = ~shrunken.any(axis=1)
        shrunken[tied] = values[tied]
        return self._normalised(indices, shrunken)

    def _normalised(self, indices: Array, values: Array) -> SparseBlock:
        norms = np.linalg.norm(values, axis=1)
        empty = ~(norms > 0)
        values = values / np.where(empty, 1, norms)[:, None].astype(values.dtype)
        if not empty.any():
            return SparseBlock(indices, values)
        indices = indices.copy()
        for row in np.flatnonzero(empty):
            lone = int(self.largest_at[row]) if self.constraint.nonnegative else None
            place = 0 if lone is None else self._make_room(indices[row], lone)
            values[row, place] = 1
        return SparseBlock(indices, values)

    def _make_room(self, indices: Array, lone: int) -> int:
        if lone not in indices:
            indices[-1] = lone
            indices.sort()
        return int(np.searchsorted(indices, lone))


def top_of(
    source: Callable[[int, int], Array],
    n_features: int,
    constraint: LoadingConstraint,
    *,
    soft: bool = False,
) -> SparseBlock:
    """The best loadings for directions given by ``source(lo, hi)``, one row each."""
    top = RunningTop(constraint, constraint.size + 1 if soft else constraint.size)
    for lo in range(0, n_features, FEATURES_PER_BLOCK):
        top.add(source(lo, min(lo + FEATURES_PER_BLOCK, n_features)), lo)
    return top.soft() if soft else top.hard()
