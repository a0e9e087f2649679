"""Means, variances and Gram matrices of weighted data in one pass.

Everything is accumulated about a reference point close to the mean, because a
Gram matrix centred after it was formed loses its digits: at mean/std = 1e6 the
third one is wrong already.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from loadstone.covariance.containers import Rows, pieces
from loadstone.covariance.protocol import Array


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


def reference_point(rows: Rows) -> Array:
    """A point near the mean: the mean of the first block."""
    block = rows.first_block()
    if sparse.issparse(block):
        return np.asarray(block.mean(axis=0), dtype=np.float64).ravel().astype(rows.dtype)
    result: Array = (
        np.asarray(block, dtype=rows.dtype).mean(axis=0, dtype=np.float64).astype(rows.dtype)
    )
    return result


def accumulate_moments(rows: Rows, weights: Array | None) -> tuple[float, Array, Array]:
    """Sum of weights, mean and variance; one pass and a look at the first block."""
    # What overflows is infinite, and refused with a sentence afterwards.
    with np.errstate(over="ignore", invalid="ignore"):
        reference = reference_point(rows)
        total, first, second = rows.sum_over_blocks(_moment_sums, reference, weights)
    return _finish(total, first, second, reference, rows.dtype)


def accumulate_gram(rows: Rows, weights: Array | None) -> tuple[float, Array, Array]:
    """Sum of weights, mean and covariance matrix; the passes of :func:`accumulate_moments`.

    A sparse Gram matrix is formed about zero, but for features without zeros: nothing is filled
    in where those are shifted, and no others can have a mean far above their deviation. Its
    diagonal, which says what varies at all, takes a pass of its own and keeps its digits.
    """
    reference = _where_full(rows) if rows.is_sparse else reference_point(rows)
    with np.errstate(over="ignore", invalid="ignore"):
        total, first, second = rows.sum_over_blocks(_gram_sums, reference, weights)
    n, mean, matrix = _finish(total, first, second, reference, rows.dtype)
    if rows.is_sparse:
        np.fill_diagonal(matrix, accumulate_moments(rows, weights)[2])
    return n, mean, matrix


def _where_full(rows: Rows) -> Array:
    """The reference point of features whose entries are all stored; zero for the others."""
    block = rows.first_block().tocoo()
    full = np.bincount(block.coords[1], minlength=block.shape[1]) >= block.shape[0]
    if not full.any():
        return np.zeros(rows.shape[1], rows.dtype)
    return np.where(full, reference_point(rows), 0).astype(rows.dtype)


def _shifted(block: Any, reference: Array) -> Any:
    """A sparse block without the reference point; zeros of shifted features are written out."""
    moved = np.flatnonzero(reference)
    if moved.size == 0:
        return block
    shifted = sparse.csc_array(block, copy=True)
    shifted.sum_duplicates()
    counts = np.diff(shifted.indptr)
    shifted.data -= np.repeat(reference, counts)
    lacking = moved[counts[moved] < block.shape[0]]
    if lacking.size == 0:
        return shifted.tocsr()
    absent = [
        np.setdiff1d(np.arange(block.shape[0]), shifted.indices[slice(*shifted.indptr[j : j + 2])])
        for j in lacking
    ]
    columns = np.repeat(lacking, [rows.size for rows in absent])
    places = (np.concatenate(absent), columns)
    filled = sparse.coo_array((-reference[columns], places), shape=block.shape)
    return (shifted + filled.tocsc()).tocsr()


def _finish(
    total: Array, first: Array, second: Array, reference: Array, dtype: np.dtype[Any]
) -> tuple[float, Array, Array]:
    n = float(total)
    shift = first / n
    with np.errstate(over="ignore", invalid="ignore"):
        correction = np.outer(shift, shift) if second.ndim == 2 else shift**2
        result = (second - n * correction) / (n - 1.0)
    # What is left of a difference of equal numbers is rounding, not variance.
    squares = second.diagonal() if second.ndim == 2 else second
    variance = result.diagonal() if second.ndim == 2 else result
    rounding = (16 + 4 * np.sqrt(n)) * np.finfo(dtype).eps * squares / (n - 1.0)
    vanished = np.flatnonzero((variance <= rounding) & np.isfinite(squares))
    if second.ndim == 2:
        result[vanished, vanished] = 0.0
    else:
        result[vanished] = 0.0
    return n, reference + shift, result


def _moment_sums(
    block: Any, rows: slice, reference: Array, weights: Array | None
) -> tuple[Array, Array, Array]:
    w = None if weights is None else weights[rows]
    total = np.float64(block.shape[0]) if w is None else w.sum(dtype=np.float64)
    if sparse.issparse(block):
        return np.asarray(total), *sparse_sums(block, reference.astype(np.float64), w, total)
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
    return np.asarray(total), first, second


def sparse_sums(block: Any, reference: Array, w: Array | None, total: float) -> tuple[Array, Array]:
    """First and second moments about ``reference``: stored entries, then all the zeros."""
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
    block: Any, rows: slice, reference: Array, weights: Array | None
) -> tuple[Array, Array, Array]:
    w = None if weights is None else weights[rows]
    total = np.float64(block.shape[0]) if w is None else w.sum(dtype=np.float64)
    if sparse.issparse(block):
        block = _shifted(block, reference)
        ones = np.ones(block.shape[0]) if w is None else w.astype(np.float64)
        weighted = block if w is None else sparse.diags_array(w) @ block
        return np.asarray(total), block.T @ ones, (weighted.T @ block).toarray()
    first = np.zeros(block.shape[1])
    second = np.zeros((block.shape[1], block.shape[1]), dtype=block.dtype)
    for piece in pieces(block.shape[0], block.shape[1], block.dtype.itemsize):
        centred = block[piece] - reference
        if w is None:
            first += centred.sum(axis=0, dtype=np.float64)
        else:
            first += w[piece] @ centred
            centred *= np.sqrt(w[piece])[:, None]
        second += centred.T @ centred
    return np.asarray(total), first, second


def constant_features(n: float, mean: Array, variance: Array, dtype: np.dtype[Any]) -> Array:
    """Features that vary no more than rounding makes a constant one vary."""
    slack = (16 + 4 * np.sqrt(n)) * np.finfo(dtype).eps
    with np.errstate(over="ignore", invalid="ignore"):
        result: Array = variance <= slack * variance + (slack * mean) ** 2
    return result
