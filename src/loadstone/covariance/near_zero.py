"""Rows whose values lie far from zero, moved there before products are formed with them.

Products on the data route are centred afterwards, ``X V - mean'V``, which costs as many digits as
the mean is larger than the deviation. A shift of the rows costs none: neighbours subtract exactly.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from loadstone.covariance.containers import InMemoryRows, MappedRows, Rows
from loadstone.covariance.dask_rows import DaskRows
from loadstone.covariance.from_data import DataCovariance
from loadstone.covariance.moments import Moments, shifted, where_full
from loadstone.covariance.protocol import Array

#: Deviations between zero and the mean of a feature from which on its rows are moved: a copy of
#: the rows is less than digits that single precision cannot spare.
FAR = {"float32": 8.0, "float64": 256.0}


def data_covariance(rows: Rows, moments: Moments, weights: Array | None) -> DataCovariance:
    """The covariance by products with the rows, or with rows that were moved near zero.

    Rows in memory are copied, others moved block by block as they are read. Sparse features that
    have zeros stay: their mean is no larger than their deviation times the root of the number of
    samples. So do sparse chunks on workers.

    A feature that varies no more than rounding makes a constant one vary is made constant: beside
    features of a small deviation, or scaled ones, its rounding would be what varies most.
    """
    origin = _origin(rows, moments)
    if origin is None:
        return DataCovariance(rows, moments, weights)
    constant = moments.constant & (origin != 0)
    near = replace(moments, mean=np.where(constant, 0.0, moments.mean - origin))
    moved = _moved(rows, origin, constant if constant.any() else None)
    return DataCovariance(moved, near, weights, origin)


def _moved(rows: Rows, origin: Array, constant: Array | None) -> Rows:
    """Rows less ``origin``, and zero where they are ``constant``."""
    if isinstance(rows, MappedRows):
        return replace(rows, origin=origin, constant=constant)
    if isinstance(rows, DaskRows):
        X = rows.X.astype(rows.dtype) - origin
        return DaskRows(X if constant is None else X * ~constant)
    assert isinstance(rows, InMemoryRows)
    X = shifted(rows.X, origin) if rows.is_sparse else rows.X - origin
    if constant is not None:
        X = X.multiply(~constant).tocsr() if rows.is_sparse else X * ~constant
    return InMemoryRows(X)


def _origin(rows: Rows, moments: Moments) -> Array | None:
    """The means of features far from zero, rounded, and zero for others; nothing if none is."""
    if rows.is_sparse and not rows.in_memory:
        return None
    deviation = np.sqrt(moments.variance)
    # A constant has no deviation: it spoils products with the others.
    deviation[moments.constant] = deviation.max(initial=0.0)
    far = np.abs(moments.mean) > FAR[rows.dtype.name] * deviation
    far |= moments.constant & (moments.variance > 0)
    if not far.any():
        return None
    origin: Array = np.where(far, moments.mean, 0).astype(rows.dtype)
    if isinstance(rows, InMemoryRows) and rows.is_sparse:
        origin = where_full(rows, origin)
    return origin if origin.any() else None
