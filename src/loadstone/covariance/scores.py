"""Scores: rows projected on loadings, and how much of the rows they say; one pass each."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

from loadstone.covariance.checks import WAYS_OUT_OF_NAN
from loadstone.covariance.containers import (
    PerFeature,
    float_dtype,
    is_dask,
    per_row,
    pieces,
    rows_of,
)
from loadstone.covariance.dask_rows import DaskRows
from loadstone.covariance.protocol import Array


def project(rows: Any, V: Array, mean: Array, scale: Array | None) -> Any:
    """``((rows - mean) / scale) V``; sparse rows stay sparse, and a Dask array stays lazy."""
    V = V if scale is None else V / scale[:, None]
    dtype = float_dtype(rows.dtype)
    V = V.astype(dtype, copy=False)
    offset = mean.astype(dtype, copy=False) @ V
    if not is_dask(rows):
        return project_block(rows, V, offset)
    return lazily(project_block, rows, V, offset)


def lazily(f: Any, rows: Any, V: Array, offset: Array) -> Any:
    """``f(block, V, offset)`` of a Dask array, whose column chunks are added where they are many.

    Parameters
    ----------
    f : callable
        Of blocks that have all columns.
    rows : Dask array
        Its chunks may be of unknown length.
    V, offset : ndarray
        As in :func:`project_block`, which serves where columns cannot be joined.

    Returns
    -------
    Dask array of shape (n_samples, V.shape[1])
    """
    if not np.isnan(rows.shape[0]):
        wrapped = DaskRows.wrap(rows)
        if len(wrapped.strips) > 1:
            columns = V.shape[1]
            return wrapped.lazy_rows(_add_projection, PerFeature(V), n_columns=columns) - offset
        rows = wrapped.X
    rows = rows.rechunk({1: -1})
    chunks = (rows.chunks[0], (V.shape[1],))
    return rows.map_blocks(f, V, offset, dtype=V.dtype, chunks=chunks, meta=V[:0])


def _add_projection(block: Any, rows: slice, V: Array) -> Array:
    with np.errstate(over="ignore", invalid="ignore"):
        found = np.asarray(block @ V)
    if not np.isnan(found).any():
        _refuse_no_scores(block, found)
    else:
        msg = (
            "X contains NaN in chunks that do not have all columns; join the columns with "
            "X.rechunk({1: -1}) where that fits into memory, or impute first"
        )
        raise ValueError(msg)
    return found


def project_block(block: Any, V: Array, offset: Array) -> Array:
    """``block V - offset``."""
    if not sparse.issparse(block):
        block = np.asarray(block, dtype=V.dtype)
    with np.errstate(over="ignore", invalid="ignore"):
        found = np.asarray(block @ V) - offset
    _refuse_no_scores(block, found)
    return found


def _refuse_no_scores(block: Any, found: Array) -> None:
    """Refuse scores that are no numbers: values of mapped files and chunks are seen here first."""
    bad = np.flatnonzero(~np.isfinite(found).all(axis=1))
    if bad.size == 0:
        return
    values = block.data if sparse.issparse(block) else block[bad]
    where = f"in {bad.size} of {len(found)} sample(s)"
    if np.isfinite(values).all():
        msg = f"the scores {where} overflow; check the unit of X, or rescale it to a more usual one"
    else:
        msg = f"X contains NaN or infinity {where}; {WAYS_OUT_OF_NAN}"
    raise ValueError(msg)


def share_explained(
    rows: Any, W: Array, mean: Array, scale: Array | None, weights: Array | None = None
) -> float:
    """Share of the squared distances to ``mean`` that lies in the span of ``W``; one pass."""
    unit = np.ones(mean.size) if scale is None else scale
    args = (PerFeature(W / unit[:, None]), PerFeature(mean), PerFeature(1 / unit**2))
    back = pseudo_inverse(W.T)
    lengths = partial(_distances_and_lengths, back.T @ back)
    total, explained = rows_of(rows).sum_over_rows(
        squares_and_scores, (*args, per_row(weights)), lengths
    )
    if not (np.isfinite(total) and np.isfinite(explained)):
        msg = (
            "X contains NaN or infinity, or lies so far from the mean that its squares overflow; "
            f"check its unit, or {WAYS_OUT_OF_NAN}"
        )
        raise ValueError(msg)
    return float(explained) / float(total) if total > 0 else 0.0


def squares_and_scores(
    block: Any, rows: slice, V: Array, mean: Array, scales: Array, weights: Array | None = None
) -> Array:
    """Scaled squared distance to the mean in the first column, projections after it.

    Blocks of columns add up to that. Rows of weight ``w`` count as the root of it. What overflows is
    infinite or NaN, without a warning: whoever sums it up says so.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        return _squares_and_scores(block, V, mean, scales, weights)


def _squares_and_scores(
    block: Any, V: Array, mean: Array, scales: Array, weights: Array | None
) -> Array:
    if sparse.issparse(block):
        squares = block.multiply(block) @ scales - 2.0 * (block @ (scales * mean))
        squares = np.asarray(squares).ravel() + scales @ mean**2
    else:
        squares = np.empty(block.shape[0])
        for piece in pieces(block.shape[0], block.shape[1]):
            squares[piece] = np.square(block[piece] - mean) @ scales
    found = np.column_stack([squares, np.asarray(block @ V, dtype=np.float64) - mean @ V])
    if weights is not None:
        found[:, 0] *= weights
        found[:, 1:] *= np.sqrt(weights)[:, None]
    return found


def _distances_and_lengths(inner: Array, found: Array) -> tuple[float, float]:
    """Sums of squared distances, and of squared lengths of reconstructions from scores."""
    scores = found[:, 1:]
    with np.errstate(over="ignore", invalid="ignore"):
        return found[:, 0].sum(), np.sum(scores * (scores @ inner))


def pseudo_inverse(components: Array) -> Array:
    """Moore-Penrose inverse that treats directions lost to rounding as dependent.

    Components beyond the rank of the data repeat earlier ones up to the precision they
    were computed in, which may be coarser than that of this computation.
    """
    W = np.asarray(components, dtype=np.float64)
    rcond = 100 * max(W.shape) * float(np.finfo(components.dtype).eps)
    return np.linalg.pinv(W, rcond=min(rcond, 0.1))
