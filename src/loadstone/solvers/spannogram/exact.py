"""Exact spannogram: every candidate support of a matrix of rank one, two or three.

Notation as in :mod:`loadstone.solvers.spannogram.rank_one`.
"""

from __future__ import annotations

import numpy as np

from loadstone.covariance.protocol import Array
from loadstone.solvers.spannogram.direction import Direction
from loadstone.solvers.spannogram.rank_one import climb, first_incumbent

EXACT_RANKS = (1, 2, 3)


def exact(V: Array, n_nonzero: int, *, nonnegative: bool) -> Direction:
    """Best direction of all, by enumerating the candidate supports (Alg. 1).

    V must have full column rank, at most three.
    """
    scale = np.linalg.norm(V, axis=1).max()
    V = np.ascontiguousarray(V / scale, dtype=np.float64)
    c, value = first_incumbent(V, n_nonzero, nonnegative=nonnegative)
    best, better, _, count = _enumerate(
        V, n_nonzero, value, _no_record(n_nonzero), nonnegative=nonnegative
    )
    if best > value:
        c, value = climb(V, better, n_nonzero, nonnegative=nonnegative)
    return Direction(
        c=c,
        value=value * scale**2,
        upper_bound=max(value, best) * scale**2,
        deterministic=True,
        n_candidates=count,
    )


def candidate_supports(V: Array, n_nonzero: int, *, nonnegative: bool) -> list[frozenset[int]]:
    """The distinct supports that some direction selects (Alg. 2), in order of discovery."""
    V = np.ascontiguousarray(V / np.linalg.norm(V, axis=1).max(), dtype=np.float64)
    # An infinite incumbent prunes every inner problem: only the supports are wanted.
    count = _enumerate(V, n_nonzero, np.inf, _no_record(n_nonzero), nonnegative=nonnegative)[2]
    record = np.full((count, n_nonzero), -1, dtype=np.int64)
    _enumerate(V, n_nonzero, np.inf, record, nonnegative=nonnegative)
    return list(dict.fromkeys(frozenset(row[row >= 0].tolist()) for row in record))


def _no_record(n_nonzero: int) -> Array:
    return np.empty((0, n_nonzero), dtype=np.int64)


def _enumerate(
    V: Array, n_nonzero: int, incumbent: float, record: Array, *, nonnegative: bool
) -> tuple[float, Array, int, int]:
    if not nonnegative and n_nonzero >= len(V):
        return _everything(V, incumbent, record)
    search = {1: _line, 2: _plane, 3: _space}[V.shape[1]]
    return search(V, n_nonzero, incumbent, record, nonnegative=nonnegative)


def _everything(V: Array, incumbent: float, record: Array) -> tuple[float, Array, int, int]:
    """Signed and no feature left out: one support, no crossing decides anything."""
    if len(record):
        record[0, : len(V)] = np.arange(len(V))
    values, vectors = np.linalg.eigh(V.T @ V)
    return max(float(values[-1]), incumbent), vectors[:, -1], 1, 1


def _line(
    V: Array, n_nonzero: int, incumbent: float, record: Array, *, nonnegative: bool
) -> tuple[float, Array, int, int]:
    """Rank one: the two supports of Proposition 3.1 (one without non-negativity)."""
    best, direction, found = incumbent, np.zeros(1), 0
    for sign in (1.0, -1.0) if nonnegative else (1.0,):
        heights = sign * V[:, 0]
        size = np.maximum(heights, 0.0) if nonnegative else np.abs(heights)
        support = np.argsort(-size, kind="stable")[:n_nonzero]
        support = support[size[support] > 0.0]
        if support.size == 0:
            continue
        if found < len(record):
            record[found, : support.size] = support
        found += 1
        value = float(np.sum(size[support] ** 2))
        if value > best:
            best, direction = value, np.array([sign])
    return best, direction, found, found


def _plane(
    V: Array, n_nonzero: int, incumbent: float, record: Array, *, nonnegative: bool
) -> tuple[float, Array, int, int]:
    """Rank two: one sweep over the half circle through all crossings of two curves."""
    from loadstone.solvers.spannogram import sweep_kernels as kernels

    angles, first, second = kernels.plane_crossings(V, nonnegative)
    by_angle = np.argsort(angles, kind="stable")
    angles = angles[by_angle]
    middle = 0.5 * (angles[-1] - np.pi + angles[0])
    heights = V @ np.array([np.cos(middle), np.sin(middle)])
    heights = np.append(heights, 0.0) if nonnegative else np.abs(heights)
    order = np.argsort(-heights, kind="stable")
    best, direction, found = kernels.sweep_plane(
        V,
        n_nonzero,
        nonnegative,
        angles,
        first[by_angle],
        second[by_angle],
        order,
        incumbent,
        record,
    )
    return best, direction, found, found


def _space(
    V: Array, n_nonzero: int, incumbent: float, record: Array, *, nonnegative: bool
) -> tuple[float, Array, int, int]:
    """Rank three: one sweep along every great circle on which two curves are equal."""
    from loadstone.solvers.spannogram import circle_kernels as kernels

    rows = np.vstack([V, np.zeros((1, 3))]) if nonnegative else V
    n = V.shape[0]
    # A support is known by the sum of its keys, which fits into 64 bits.
    keys = np.random.default_rng(0).integers(-(2**50), 2**50, size=n + 1)
    best, direction, found = incumbent, np.zeros(3), 0
    prints = []
    for i in range(len(rows) - 1):
        # Each of the other rows crosses each circle twice, with a support on either side.
        room = 4 * n * (len(rows) - i) * (1 if nonnegative else 2)
        buffer = np.empty(room, dtype=np.int64)
        before = found
        best, found = kernels.sweep_row(
            rows, i, n_nonzero, nonnegative, keys, best, direction, record[found:], 0, buffer
        )
        prints.append(np.unique(buffer[:found]))
        found += before
    return best, direction, found, np.unique(np.concatenate(prints)).size
