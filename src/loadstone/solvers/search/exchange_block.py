"""Exchanges of features from many loadings at once, past the first hilltop.

Where many features are alike the landscape has many hills, and the height at which power
steps settle says little about the height of the hill. So dozens of candidates climb theirs,
all of them in the same few products, and the better ones go on. A row that no exchange
improves takes a few more steps, downhill and without undoing them: a pair of features may
gain where neither does alone.

Notation: as in :mod:`loadstone.solvers.exchange`, for rows ``w``. Features may leave that have
the smallest loadings; those may enter that have the largest ``|Sw|_j / sqrt(w'Sw - S_jj)``,
the root of what the 2 x 2 problem gains to first order.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from loadstone.constraints import LoadingConstraint
from loadstone.covariance import Array
from loadstone.solvers.search.climb import same_supports
from loadstone.solvers.search.running_top import FEATURES_PER_BLOCK, RunningTop
from loadstone.solvers.search.spaces import Space, chunks
from loadstone.solvers.search.sparse_block import SparseBlock, joined

#: Features of a row that may leave, and others that may enter.
N_LEAVING, N_ENTERING = 16, 24
#: Power steps on the support after a move.
N_REFITS = 6
#: Moves without a gain after which a row is done.
PATIENCE = 4
#: Rounds after which the worse half gives up.
ROUNDS_PER_HALF = 4
#: Relative gain that counts as one, for each precision.
GAIN = {"float64": 1e-9, "float32": 1e-6}


def climb_by_exchange(
    space: Space, block: SparseBlock, constraint: LoadingConstraint, variance: Array, rounds: int
) -> SparseBlock:
    """The best loadings each row comes by within ``rounds`` moves; the worse ones stop early."""
    climb = _Climb(space, constraint, variance.astype(np.float64))
    return joined([climb.run(part, rounds) for part in chunks(space, block)])


@dataclass(frozen=True, kw_only=True)
class _Rows:
    """Rows on their way.

    Attributes
    ----------
    here, value : SparseBlock, ndarray
        Where each row is, and its variance.
    best, most : SparseBlock, ndarray
        The best it has come by, and that variance.
    moved : ndarray of shape (n_rows, 2 * PATIENCE)
        Features exchanged since then, which stay where they are; -1 where none was.
    n_since : ndarray
        Moves since then.
    """

    here: SparseBlock
    value: Array
    best: SparseBlock
    most: Array
    moved: Array
    n_since: Array

    def __len__(self) -> int:
        return len(self.here)

    def take(self, rows: Any) -> _Rows:
        return _Rows(
            here=self.here.take(rows),
            value=self.value[rows],
            best=self.best.take(rows),
            most=self.most[rows],
            moved=self.moved[rows],
            n_since=self.n_since[rows],
        )

    def after(self, here: SparseBlock, value: Array, exchanged: Array) -> _Rows:
        """The rows after a move of each."""
        dtype = here.values.dtype.name
        gained = value > self.most * (1 + GAIN[dtype])
        moved = self.moved.copy()
        at = np.arange(len(here))
        for column in range(2):
            moved[at, np.minimum(2 * self.n_since, 2 * PATIENCE - 2) + column] = exchanged[
                :, column
            ]
        moved[gained] = -1
        return _Rows(
            here=here,
            value=value,
            best=SparseBlock(
                np.where(gained[:, None], here.indices, self.best.indices),
                np.where(gained[:, None], here.values, self.best.values),
            ),
            most=np.where(gained, value, self.most),
            moved=moved,
            n_since=np.where(gained, 0, self.n_since + 1),
        )

    def better_half(self) -> Array:
        """Mask of the better half of the rows with distinct supports."""
        order = np.argsort(-self.most, kind="stable")
        order = order[self.best.take(order).distinct()]
        mask = np.zeros(len(self), dtype=bool)
        mask[order[: (order.size + 1) // 2]] = True
        return mask


@dataclass(frozen=True)
class _Climb:
    space: Space
    constraint: LoadingConstraint
    variance: Array

    def run(self, block: SparseBlock, rounds: int) -> SparseBlock:
        """Rounds of moves, with fewer and fewer rows."""
        here, value = self.refitted(block)
        rows = _Rows(
            here=here,
            value=value,
            best=here,
            most=value,
            moved=np.full((len(here), 2 * PATIENCE), -1),
            n_since=np.zeros(len(here), dtype=np.intp),
        )
        done = []
        for round_ in range(1, rounds + 1):
            here, exchanged = self.moves(rows)
            rows = rows.after(*self.refitted(here), exchanged)
            goes_on = rows.n_since < PATIENCE
            if round_ % ROUNDS_PER_HALF == 0:
                goes_on &= rows.better_half()
            done.append(rows.best.take(~goes_on))
            rows = rows.take(goes_on)
            if not len(rows):
                break
        return joined([*done, rows.best])

    def refitted(self, block: SparseBlock) -> tuple[SparseBlock, Array]:
        """A few power steps on the supports, and the variances there."""
        Y = self.space.scores(block)
        for _ in range(N_REFITS):
            values = self.space.images_at(Y, block.indices)
            if self.constraint.nonnegative:
                values = np.maximum(values, 0)
            norms = np.sqrt(np.einsum("ij,ij->i", values, values))[:, None]
            values = np.where(norms > 0, values / np.where(norms > 0, norms, 1), block.values)
            block = SparseBlock(block.indices, values)
            Y = self.space.scores(block)
        return block, self.space.values(block, Y)

    def moves(self, rows: _Rows) -> tuple[SparseBlock, Array]:
        """A power step of each row, or an exchange and its two features.

        Exchanges are for rows that power steps leave as they are or would take back.
        """
        Y = self.space.scores(rows.here)
        step, near = self._images(rows, Y)
        still = same_supports(step, rows.here) | (rows.n_since > 0)
        indices, values = step.indices.copy(), step.values.copy()
        exchanged = np.full((len(rows), 2), -1)
        if still.any():
            swapped, exchanged[still] = self._exchanges(rows.take(still), Y[still], near[still])
            indices[still], values[still] = swapped.indices, swapped.values
        return SparseBlock(indices, values), exchanged

    def _images(self, rows: _Rows, Y: Array) -> tuple[SparseBlock, Array]:
        """A power step of each row, and the features with the best prospects."""
        n, k = self.space.n_features, rows.here.size
        step = RunningTop(self.constraint, k)
        near = RunningTop(self.constraint, min(k + N_ENTERING, n))
        # Rows that explain nothing, or a rounding less, still need room to divide by, in single
        # precision as well.
        least = np.maximum(1e-3 * rows.value[:, None], float(np.finfo(np.float32).tiny))
        for lo in range(0, n, FEATURES_PER_BLOCK):
            hi = min(lo + FEATURES_PER_BLOCK, n)
            image = self.space.images(Y, lo, hi)
            step.add(image, lo)
            room = np.maximum(rows.value[:, None] - self.variance[lo:hi], least)
            near.add(image / np.sqrt(room).astype(image.dtype), lo)
        return step.hard(), near.indices

    def _exchanges(self, rows: _Rows, Y: Array, near: Array) -> tuple[SparseBlock, Array]:
        """The exchange of each row with the largest eigenvalue on span{w without i, e_j}."""
        block, rule = rows.here, self.constraint
        at = np.arange(len(rows))[:, None]
        stays = np.isin(block.indices, rule.forced) | _among(block.indices, rows.moved)
        size = np.where(stays, np.inf, np.abs(block.values))
        places = np.argsort(size, axis=1, kind="stable")[:, :N_LEAVING]
        leaving, w = block.indices[at, places], block.values[at, places].astype(np.float64)
        bound, cross = self._bounds(rows, Y, near, leaving, w)
        closed = _among(near, block.indices) | _among(near, rows.moved)
        bound[closed | np.isin(near, rule.forbidden)] = -np.inf
        bound.swapaxes(1, 2)[~np.isfinite(size[at, places])] = -np.inf
        flat, r = bound.reshape(len(rows), -1), at[:, 0]
        best = np.argmax(flat, axis=1)
        joins, goes = np.divmod(best, places.shape[1])
        r = r[np.isfinite(flat[r, best])]
        joins, goes = joins[r], goes[r]
        exchanged = np.full((len(rows), 2), -1)
        exchanged[r] = np.stack([leaving[r, goes], near[r, joins]], axis=1)
        indices, values = block.indices.copy(), block.values.copy()
        indices[r, places[r, goes]] = near[r, joins]
        values[r, places[r, goes]] = np.where(cross[r, joins, goes] < 0, -1, 1) / np.sqrt(
            block.size
        )
        order = np.argsort(indices, axis=1, kind="stable")
        return SparseBlock(indices[at, order], values[at, order]), exchanged

    def _bounds(
        self, rows: _Rows, Y: Array, near: Array, leaving: Array, w: Array
    ) -> tuple[Array, Array]:
        """Eigenvalues of the 2 x 2 problems, (rows, entering, leaving), and what couples them."""
        left = np.maximum(1 - w**2, np.finfo(np.float32).tiny)
        kept = rows.value[:, None] - 2 * w * self.space.images_at(Y, leaving)
        kept = ((kept + w**2 * self.variance[leaving]) / left)[:, None, :]
        cross = self.space.images_at(Y, near)[:, :, None]
        cross = cross - self.space.entries(near, leaving) * w[:, None, :]
        cross /= np.sqrt(left)[:, None, :]
        if self.constraint.nonnegative:
            cross = np.maximum(cross, 0)
        half = (kept - self.variance[near][:, :, None]) / 2
        return kept - half + np.sqrt(half**2 + cross**2), cross


def _among(indices: Array, others: Array) -> Array:
    """Which entries of each row of ``indices`` are in the same row of ``others``."""
    result: Array = (indices[:, :, None] == others[:, None, :]).any(axis=2)
    return result
