"""Rows of a dual and of the covariance: the sums of squares that a bound asks of them.

Notation of ``bound_dual``: ``phi_i^2`` is the largest sum of ``p_ij^2`` over the other features of
a support that contains i.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from loadstone.certificates.problem import Array, Indices, SupportProblem, sum_of_best
from loadstone.covariance.from_data import DataCovariance
from loadstone.covariance.sample_gram import SampleGram

if TYPE_CHECKING:
    from loadstone.covariance.protocol import Covariance

#: Rows of a wide covariance handled at once: a block should stay in the processor's cache.
ROW_BLOCK = 64


def counted_squares(rows: Array, *, nonnegative: bool) -> Array:
    """What an entry of P may contribute to phi: its square, or that of its positive part."""
    return np.square(np.maximum(rows, 0.0) if nonnegative else rows)


def best_squares(squares: Array, forced: Array, room: Indices) -> tuple[Array, Array]:
    """phi_i^2 per row, and the largest entry that could join the row without raising it.

    The rows may be reordered in place.
    """
    if forced.any():
        reach, free = squares[:, forced].sum(axis=1), squares[:, ~forced]
    else:
        reach, free = np.zeros(squares.shape[0]), squares
    ceiling = np.full(squares.shape[0], np.inf)
    width = free.shape[1]
    for count in np.unique(room[room > 0]):
        rows = room == count
        part = free if rows.all() else free[rows]
        if count >= width:
            reach[rows] += part.sum(axis=1)
            ceiling[rows] = 0.0
            continue
        part.partition(width - count, axis=1)
        best = part[:, width - count :]
        reach[rows] += best.sum(axis=1)
        ceiling[rows] = best[:, 0]
    return reach, ceiling


def limited_squares(
    squares: Array, forced: Array, room: Indices, limits: Array
) -> tuple[Array, Array]:
    """phi_i^2 if any number of entries up to ``limits`` (squared) joined each row.

    A limit below the row's smallest counted entry costs nothing, so it is raised to it.
    """
    reach, ceiling = best_squares(squares.copy(), forced, room)
    raised = np.flatnonzero((limits > ceiling) & (room > 0))
    free = squares[np.ix_(raised, np.flatnonzero(~forced))]
    np.maximum(free, limits[raised, None], out=free)
    certain = squares[np.ix_(raised, np.flatnonzero(forced))].sum(axis=1)
    everything = np.zeros(free.shape[1], dtype=bool)
    best, _ = best_squares(free, everything, np.minimum(room[raised], free.shape[1]))
    missing = np.maximum(room[raised] - free.shape[1], 0)
    reach[raised] = certain + best + np.where(missing > 0, missing * limits[raised], 0.0)
    ceiling[raised] = limits[raised]
    return reach, ceiling


def bracket(reach: Array, shift: Array) -> Array:
    """(sqrt(phi^2 + tau^2) - tau)/2 without cancellation; infinite where phi is."""
    root = np.hypot(np.sqrt(reach), shift)
    divided = (shift > 0) & np.isfinite(reach)
    denominator = np.where(divided, root + shift, 1.0)
    return np.where(divided, reach / (2.0 * denominator), (root - shift) / 2.0)


def rows_of_covariance(S: Covariance, features: Indices, at: Indices) -> Array:
    """Rows ``features[at]`` of the covariance on ``features``, without densifying data."""
    if 4 * features.size < S.n_features:
        return np.asarray(S.block(features[at], features), dtype=np.float64)
    units = np.zeros((S.n_features, at.size), dtype=S.dtype)
    units[features[at], np.arange(at.size)] = 1.0
    return np.ascontiguousarray((S @ units)[features].T, dtype=np.float64)


def reach_limits(S: Covariance, problem: SupportProblem, variances: Array) -> Array:
    """Limits for the sum of A_ij^2 over a support, from the variances alone.

    A covariance of data obeys A_ij^2 <= A_ii A_jj; other matrices need not, and get
    no limit. The factor covers rounding, single precision included.
    """
    if not isinstance(S, DataCovariance | SampleGram):
        return np.full(variances.size, np.inf)
    return 1.001 * variances * sum_of_best(np.maximum(variances, 0.0), problem)
