"""Means, variances and Gram matrices of weighted data in one pass.

Everything is accumulated about a reference point close to the mean, because a
Gram matrix centred after it was formed loses its digits: at mean/std = 1e6 the
third one is wrong already.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Any

import numpy as np
from scipy import sparse

from loadstone.covariance.containers import PerFeature, Rows, per_row, pieces
from loadstone.covariance.protocol import Array, Support

#: Most passes that a matrix too large for the workers is made in.
MAX_TILES = 16


@dataclass(frozen=True)
class Moments:
    """First and second moments of the features, and how the data is scaled.

    Attributes
    ----------
    n_samples : float
        Sum of the sample weights, the number of rows where there are none.
    mean : ndarray of shape (n_features,)
        Weighted mean.
    variance : ndarray of shape (n_features,)
        Weighted variance with divisor ``n_samples - 1``, before scaling.
    constant : ndarray of bool of shape (n_features,)
        Features whose values do not vary beyond rounding.
    scale : ndarray of shape (n_features,) or None
        What the centred features are divided by; ``None`` leaves them as they are.
    """

    n_samples: float
    mean: Array
    variance: Array
    constant: Array
    scale: Array | None

    def of(self, features: Support) -> Moments:
        """The moments of some of the features."""
        scale = None if self.scale is None else self.scale[features]
        of_each = (self.mean[features], self.variance[features], self.constant[features])
        return Moments(self.n_samples, *of_each, scale)


def reference_point(rows: Rows, weights: Array | None = None) -> Array:
    """A point near the mean: the mean of the first block, of those of its rows that count.

    A row of weight zero may be far from all others.
    """
    block = rows.first_block()
    if weights is not None and 0 < np.count_nonzero(weights[: block.shape[0]]) < block.shape[0]:
        counted = (weights[: block.shape[0]] > 0).astype(rows.dtype)
        mean = (block.T @ counted) / counted.sum()
    elif sparse.issparse(block):
        mean = np.asarray(block.mean(axis=0), dtype=np.float64).ravel()
    else:
        mean = np.asarray(block, dtype=rows.dtype).mean(axis=0, dtype=np.float64)
    result: Array = np.asarray(mean).astype(rows.dtype)
    return result


def accumulate_moments(rows: Rows, weights: Array | None) -> tuple[float, Array, Array]:
    """Sum of weights, mean and variance; one pass and a look at the first block."""
    # What overflows is infinite, and refused with a sentence afterwards.
    with np.errstate(over="ignore", invalid="ignore"):
        reference = reference_point(rows, weights)
        first, second = rows.sum_over_blocks(_moment_sums, PerFeature(reference), per_row(weights))
    return _finish(rows, _total(rows, weights), first, second, reference)


def _total(rows: Rows, weights: Array | None) -> float:
    """Number of samples that the rows stand for."""
    return float(rows.shape[0] if weights is None else weights.sum(dtype=np.float64))


def accumulate_gram(rows: Rows, weights: Array | None) -> tuple[float, Array, Array]:
    """Sum of weights, mean and covariance matrix; the passes of :func:`accumulate_moments`.

    A sparse Gram matrix is formed about zero, but for features without zeros: nothing is filled
    in where those are shifted, and no others can have a mean far above their deviation. Its
    diagonal, which says what varies at all, is formed beside it and keeps its digits.

    Where results are too large for a worker, the matrix is made of tiles, one pass for each; where
    columns are stored apart and are too many to be joined, of pairs of strips.
    """
    if len(rows.strips) > 1:
        return _gram_of_pairs(rows, weights)
    near = reference_point(rows, weights)
    reference = where_full(rows, near) if rows.is_sparse else near
    args = (reference, near, per_row(weights))
    tiles = tiles_of(rows)
    with np.errstate(over="ignore", invalid="ignore"):
        first, squares, second = rows.sum_over_blocks(_gram_sums, *args, tiles[0])
        if len(tiles) > 1:
            second = _whole(second, tiles[0], rows.shape[1])
        for tile in tiles[1:]:
            part = rows.sum_over_blocks(_gram_sums, *args, tile)[2]
            second[tile, tile.start :] = part
            second[tile.start :, tile] = part.T
    n, mean, matrix = _finish(rows, _total(rows, weights), first[0], second, reference)
    if rows.is_sparse:
        variance = _finish(rows, n, first[1], squares, near)[2]
        np.fill_diagonal(matrix, variance)
    return n, mean, matrix


def tiles_of(rows: Rows) -> list[slice]:
    """Rows of the matrix that the result of a block can have at once; one pass for each.

    Raises
    ------
    MemoryError
        Where that would be more than :data:`MAX_TILES`.
    """
    n_features = rows.shape[1]
    line = n_features * rows.dtype.itemsize
    width = n_features if rows.largest_result >= n_features * line else rows.largest_result // line
    if width * MAX_TILES < n_features:
        msg = (
            f"the covariance of {n_features} features takes {n_features * line / 2**30:.3g} GiB, and a "
            f"worker can hold results of {rows.largest_result / 2**30:.3g} GiB for each of its threads: "
            f"more than {MAX_TILES} passes over the data. Give workers more memory or fewer threads, "
            "select features first, or use route='data'"
        )
        raise MemoryError(msg)
    edges = np.linspace(0, n_features, int(-(-n_features // width)) + 1).round().astype(int)
    return [slice(int(lo), int(hi)) for lo, hi in pairwise(edges)]


def _whole(part: Array, tile: slice, n_features: int) -> Array:
    """A matrix to be filled, with the first of its tiles in place."""
    matrix = np.empty((n_features, n_features), dtype=part.dtype)
    matrix[tile], matrix[:, tile] = part, part.T
    return matrix


def _gram_of_pairs(rows: Rows, weights: Array | None) -> tuple[float, Array, Array]:
    """The same from the columns of two strips at a time."""
    n_features = rows.shape[1]
    mean, matrix = np.empty(n_features), np.empty((n_features, n_features))
    for pair in combinations(rows.strips, 2):
        at = np.r_[pair]
        n, mean[at], matrix[np.ix_(at, at)] = accumulate_gram(rows.narrow(at, joined=True), weights)
    return n, mean, matrix


def where_full(rows: Rows, near: Array) -> Array:
    """The reference point of features whose entries are all stored; zero for the others."""
    block = rows.first_block().tocoo()
    full = np.bincount(block.coords[1], minlength=block.shape[1]) >= block.shape[0]
    result: Array = np.where(full, near, 0).astype(rows.dtype)
    return result


def shifted(block: Any, reference: Array) -> Any:
    """A sparse block without the reference point; zeros of shifted features are written out."""
    moved = np.flatnonzero(reference)
    if moved.size == 0:
        return block
    entries = sparse.csc_array(block, copy=True)
    entries.sum_duplicates()
    counts = np.diff(entries.indptr)
    entries.data -= np.repeat(reference, counts)
    lacking = moved[counts[moved] < block.shape[0]]
    if lacking.size == 0:
        return entries.tocsr()
    absent = [
        np.setdiff1d(np.arange(block.shape[0]), entries.indices[slice(*entries.indptr[j : j + 2])])
        for j in lacking
    ]
    columns = np.repeat(lacking, [rows.size for rows in absent])
    places = (np.concatenate(absent), columns)
    filled = sparse.coo_array((-reference[columns], places), shape=block.shape)
    return (entries + filled.tocsc()).tocsr()


def _finish(
    rows: Rows, n: float, first: Array, second: Array, reference: Array
) -> tuple[float, Array, Array]:
    shift = first / n
    # One sample has a mean, and no variance.
    freedom = n - 1.0 if n > 1 else 1.0
    with np.errstate(over="ignore", invalid="ignore"):
        correction = np.outer(shift, shift) if second.ndim == 2 else shift**2
        result = (second - n * correction) / freedom
    # What is left of a difference of equal numbers is rounding, not variance. It grows with the
    # number of terms: a row of a large weight is one of them.
    squares = second.diagonal() if second.ndim == 2 else second
    variance = result.diagonal() if second.ndim == 2 else result
    rounding = (16 + 4 * np.sqrt(rows.shape[0])) * np.finfo(rows.dtype).eps * squares / freedom
    vanished = np.flatnonzero((variance <= rounding) & np.isfinite(squares))
    if second.ndim == 2:
        result[vanished, vanished] = 0.0
    else:
        result[vanished] = 0.0
    return n, reference + shift, result


def _moment_sums(block: Any, rows: slice, reference: Array, w: Array | None) -> tuple[Array, Array]:
    if sparse.issparse(block):
        return sparse_sums(block, reference.astype(np.float64), w)
    first = np.zeros(block.shape[1])
    second = np.zeros(block.shape[1])
    for piece in pieces(block.shape[0], block.shape[1], block.dtype.itemsize):
        centred = block[piece] - reference
        if w is None:
            first += centred.sum(axis=0, dtype=np.float64)
            np.multiply(centred, centred, out=centred)
            second += centred.sum(axis=0, dtype=np.float64)
        else:
            first += w[piece] @ centred
            np.multiply(centred, centred, out=centred)
            second += w[piece] @ centred
    return first, second


def sparse_sums(block: Any, reference: Array, w: Array | None) -> tuple[Array, Array]:
    """First and second moments about ``reference``: stored entries, then all the zeros."""
    total = float(block.shape[0] if w is None else w.sum(dtype=np.float64))
    stored = block.tocoo()
    if not block.has_canonical_format:
        # An entry may be stored in several parts, and squares of parts are no square of their sum.
        stored.sum_duplicates()
    n_features = block.shape[1]
    rows, columns = stored.coords if hasattr(stored, "coords") else (stored.row, stored.col)
    values = stored.data.astype(np.float64) - reference[columns]
    entry_weights = np.ones(values.size) if w is None else w[rows].astype(np.float64)
    covered = np.bincount(columns, entry_weights, n_features)
    first = np.bincount(columns, entry_weights * values, n_features)
    second = np.bincount(columns, entry_weights * values**2, n_features)
    # Two sums of the same weights differ in their last digits: a full column has no zeros.
    full = np.bincount(columns, minlength=n_features) == block.shape[0]
    zeros = np.where(full, 0.0, np.maximum(total - covered, 0.0))
    return first - zeros * reference, second + zeros * reference**2


def _gram_sums(
    block: Any, rows: slice, reference: Array, near: Array, w: Array | None, tile: slice
) -> tuple[Array, Array, Array]:
    """Sums about ``reference``, and the columns in ``tile`` times those from there on.

    For sparse blocks also first and second moments about ``near``, whatever is not shifted.
    """
    if sparse.issparse(block):
        own, squares = sparse_sums(block, near.astype(np.float64), w)
        block = shifted(block, reference)
        ones = np.ones(block.shape[0]) if w is None else w.astype(np.float64)
        right = block[:, tile.start :]
        weighted = block[:, tile] if w is None else sparse.diags_array(w) @ block[:, tile]
        return np.vstack([block.T @ ones, own]), squares, (weighted.T @ right).toarray()
    first = np.zeros((1, block.shape[1]))
    second = np.zeros((tile.stop - tile.start, block.shape[1] - tile.start), dtype=block.dtype)
    for piece in pieces(block.shape[0], block.shape[1], block.dtype.itemsize):
        centred = block[piece] - reference
        if w is None:
            first[0] += centred.sum(axis=0, dtype=np.float64)
        else:
            first[0] += w[piece] @ centred
            centred *= np.sqrt(w[piece])[:, None]
        left, right = centred[:, tile], centred[:, tile.start :]
        # One matrix twice is half the work.
        second += left.T @ left if left.shape == right.shape else left.T @ right
    return first, np.zeros(0), second


def constant_features(mean: Array, variance: Array, dtype: np.dtype[Any]) -> Array:
    """Features that vary no more than rounding makes a constant one vary.

    Sums are taken about a point near the mean, so that more samples bring no more rounding.
    """
    slack = 16 * np.finfo(dtype).eps
    with np.errstate(over="ignore", invalid="ignore"):
        result: Array = variance <= slack * variance + (slack * mean) ** 2
    return result
