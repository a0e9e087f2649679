"""The rank-one problem, and climbing from one direction to the next.

Notation: ``V`` (n_features, rank) with ``A_d = V V'``; ``C`` (rank, m) holds
directions as columns; ``g(c)`` is the norm of the ``n_nonzero`` largest entries
of ``(V c)_+``, or of ``|V c|`` without non-negativity. The whole method rests on
``max_x x'A_d x = max_{|c|=1} g(c)^2`` (Eq. 13 of Asteris et al. 2014).
"""

from __future__ import annotations

import numpy as np

from loadstone.covariance.protocol import Array

# Largest number of curve heights held at once: the block stays inside the cache.
_BLOCK = 1 << 18
# Rows shorter than this share of the longest one are zero: they cannot be selected.
_ZERO_ROW = 1e-14


def longest_first(V: Array) -> Array:
    """The non-zero rows of V by falling length; the order of rows does not matter to ``g``."""
    norms = np.linalg.norm(V, axis=1)
    order = np.argsort(-norms, kind="stable")
    solid = int(np.count_nonzero(norms > _ZERO_ROW * norms.max()))
    return np.ascontiguousarray(V[order[:solid]], dtype=np.float64)


def direction_values(V: Array, C: Array, n_nonzero: int, *, nonnegative: bool) -> Array:
    """``g(c)^2`` for every column of C, one product and one partition per block.

    Where the rows of V come longest first, a row shorter than the ``n_nonzero``-th height
    among the leading rows cannot be selected, and all rows behind it are left out.
    """
    n, m = V.shape[0], C.shape[1]
    norms = np.linalg.norm(V, axis=1)
    head = max(4 * n_nonzero, 256)
    if 4 * head >= n or np.any(np.diff(norms) > 0.0):
        return _block_values(V, C, n_nonzero, nonnegative=nonnegative)
    # The height every selected row must reach, by direction; zero where too few are positive.
    floor = _kth_height(V[:head], C, n_nonzero, nonnegative=nonnegative)
    needed = n - np.searchsorted(norms[::-1], floor)
    values = np.empty(m)
    order = np.argsort(needed, kind="stable")
    for group in np.array_split(order, max(1, m // 16)):
        rows = V[: needed[group].max(initial=head)]
        values[group] = _block_values(rows, C[:, group], n_nonzero, nonnegative=nonnegative)
    return values


def _kth_height(V: Array, C: Array, n_nonzero: int, *, nonnegative: bool) -> Array:
    heights = C.T @ V.T
    heights = np.maximum(heights, 0.0) if nonnegative else np.abs(heights)
    return np.partition(heights, len(V) - n_nonzero, axis=1)[:, len(V) - n_nonzero]


def _block_values(V: Array, C: Array, n_nonzero: int, *, nonnegative: bool) -> Array:
    n, m = V.shape[0], C.shape[1]
    width = max(1, _BLOCK // n)
    values = np.empty(m)
    for begin in range(0, m, width):
        heights = C[:, begin : begin + width].T @ V.T
        np.square(np.maximum(heights, 0.0) if nonnegative else heights, out=heights)
        if n_nonzero < n:
            heights.partition(n - n_nonzero, axis=1)
            heights = heights[:, n - n_nonzero :]
        values[begin : begin + width] = heights.sum(axis=1)
    return values


def best_loading(V: Array, c: Array, n_nonzero: int, *, nonnegative: bool) -> Array:
    """The rank-one solution (Prop. 3.1): the largest entries of ``V c``, unit norm."""
    heights = V @ c
    size = np.maximum(heights, 0.0) if nonnegative else np.abs(heights)
    loading = np.zeros(V.shape[0])
    keep = np.arange(V.shape[0])
    if n_nonzero < keep.size:
        keep = np.argpartition(size, keep.size - n_nonzero)[keep.size - n_nonzero :]
    loading[keep] = np.where(size[keep] > 0.0, heights[keep], 0.0)
    norm = np.linalg.norm(loading)
    return loading / norm if norm > 0.0 else loading


def climb(
    V: Array, c: Array, n_nonzero: int, *, nonnegative: bool, max_steps: int = 200
) -> tuple[Array, float]:
    """Repeat ``c <- V'x(c)``, the power step on ``A_d``; ``g`` never decreases.

    Returns the last direction and its ``g(c)^2``.
    """
    value = -1.0
    for _ in range(max_steps):
        image = V.T @ best_loading(V, c, n_nonzero, nonnegative=nonnegative)
        norm = float(np.linalg.norm(image))
        if norm == 0.0 or norm**2 <= value * (1.0 + 1e-15):
            break
        c, value = image / norm, norm**2
    reached = direction_values(V, c[:, None], n_nonzero, nonnegative=nonnegative)[0]
    return c, float(reached)


def first_incumbent(V: Array, n_nonzero: int, *, nonnegative: bool) -> tuple[Array, float]:
    """Climb from a few fixed directions: a good value to prune against."""
    d = V.shape[1]
    corners = np.stack(np.meshgrid(*[(-1.0, 1.0)] * d, indexing="ij")).reshape(d, -1)
    starts = np.hstack([np.eye(d), -np.eye(d), corners / np.sqrt(d)])
    values = direction_values(V, starts, n_nonzero, nonnegative=nonnegative)
    best, top = starts[:, 0], -1.0
    for s in np.argsort(-values, kind="stable")[:6]:
        c, value = climb(V, starts[:, s], n_nonzero, nonnegative=nonnegative)
        if value > top:
            best, top = c, value
    return best, top
