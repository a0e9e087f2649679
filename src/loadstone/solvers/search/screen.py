"""Rank all columns of a covariance by the group of features around each.

Notation: ``w`` proportional to the k largest entries of column j has the variance
``b_j``, at least the sum of the k largest ``x_ij = S_ij^2 / S_jj``. Because that sum is the
minimum over t of ``k t + sum_i max(x_ij - t, 0)``, the sums ``q_j(t)`` for a common t rank
the columns without a single partition. The thresholds come from a pilot search.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from loadstone.covariance import Array, Support
from loadstone.solvers.search.tiles import Tiles

#: Side of a tile: what a second-level cache holds.
TILE = 512
#: Correlation above which two columns lead to the same group.
SAME_GROUP = 0.9
#: Relative spread of variances below which they count as equal.
EQUAL_VARIANCES = 1e-4


@dataclass(frozen=True)
class Thresholds:
    """``t_lo``, the k-th largest entry of a good column, and ``t_hi``, the mean above it."""

    low: float
    high: float


def thresholds(column: Array, variance: float, feature: int, k: int) -> Thresholds:
    """From the column of a feature that belongs to a good group."""
    x = np.square(column.astype(np.float64)) / variance
    x[feature] = variance
    k = min(k, x.size)
    largest = np.partition(x, x.size - k)[x.size - k :]
    others = np.delete(x, feature)
    k = min(k, others.size)
    high = np.partition(others, others.size - k)[others.size - k :].mean() if k else variance
    return Thresholds(float(largest.min()), max(float(high), float(largest.min())))


def densities(tiles: Tiles, at: Thresholds, *, nonnegative: bool) -> tuple[Array, Array]:
    """``q_j(t_lo)`` and ``q_j(t_hi)`` of every feature of ``tiles``; half of the matrix is formed."""
    n = tiles.n_features
    variance = tiles.variance.astype(np.float32)
    equal = float(np.ptp(variance)) <= EQUAL_VARIANCES * float(variance.max())
    sums = np.zeros((2, n))
    steps = np.array([at.low, max(at.high - at.low, 0.0)], dtype=np.float32)
    for i in range(0, n, TILE):
        for j in range(i, n, TILE):
            rows, cols = slice(i, min(i + TILE, n)), slice(j, min(j + TILE, n))
            tile = tiles.tile(rows, cols)
            if nonnegative:
                np.maximum(tile, 0, out=tile)
            np.multiply(tile, tile, out=tile)
            if equal:
                tile /= variance[0]
                sums[:, rows] += _clipped(tile, steps, sums[:, cols] if j > i else None)
                continue
            if j > i:
                mirrored = tile / variance[cols]
                sums[:, cols] += _clipped(mirrored.T, steps, None)
            tile /= variance[rows, None]
            sums[:, rows] += _clipped(tile, steps, None)
    return sums[0], sums[1]


def _clipped(tile: Array, steps: Array, column_sums: Array | None) -> Array:
    """Sums of each row above both thresholds; those of the columns are added in place."""
    ones = np.ones(max(tile.shape), dtype=np.float32)
    rows = np.empty((2, tile.shape[0]))
    for t, amount in enumerate(steps):
        tile -= amount
        np.maximum(tile, 0, out=tile)
        rows[t] = tile @ ones[: tile.shape[1]]
        if column_sums is not None:
            column_sums[t] += ones[: tile.shape[0]] @ tile
    return rows


def best_and_leaders(
    tiles: Tiles, density: Array, n: int, n_leaders: int, *, nonnegative: bool
) -> tuple[Support, Support]:
    """The ``n`` densest columns; as many that are far from each other, then from these."""
    order = np.argsort(-density, kind="stable")
    alive = np.ones(order.size, dtype=bool)
    leaders: list[int] = []
    for j in order:
        if len(leaders) == min(n, n_leaders) or density[j] <= 0:
            break
        if not alive[j]:
            continue
        leaders.append(int(j))
        near = tiles.correlations(int(j))
        alive[(near if nonnegative else np.abs(near)) > SAME_GROUP] = False
    others = order[alive[order]][: n - len(leaders)]
    return order[:n], np.concatenate([np.array(leaders, dtype=np.intp), others])
