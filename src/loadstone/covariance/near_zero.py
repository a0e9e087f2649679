"""Rows whose values lie far from zero, moved there before products are formed with them.

Products on the data route are centred afterwards, ``X V - mean'V``, which costs as many digits as
the mean is larger than the deviation. A shift of the rows costs none: neighbours subtract exactly.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from loadstone.covariance.containers import InMemoryRows, Rows
from loadstone.covariance.from_data import DataCovariance
from loadstone.covariance.moments import Moments, shifted, where_full
from loadstone.covariance.protocol import Array

#: Deviations between zero and the mean of a feature from which on its rows are moved: a copy of
#: the rows is less than digits that single precision cannot spare.
FAR = {"float32": 8.0, "float64": 256.0}


def data_covariance(rows: Rows, moments: Moments, weights: Array | None) -> DataCovariance:
    """The covariance by products with the rows, or with a copy of them near zero.

    Rows that are read in blocks stay as they are. So do sparse features that have zeros: their
    mean is no larger than their deviation times the root of the number of samples.
    """
    origin = _origin(rows, moments) if isinstance(rows, InMemoryRows) else None
    if origin is None or not isinstance(rows, InMemoryRows):
        return DataCovariance(rows, moments, weights)
    moved = shifted(rows.X, origin) if rows.is_sparse else rows.X - origin
    near = replace(moments, mean=moments.mean - origin)
    return DataCovariance(InMemoryRows(moved), near, weights, origin)


def _origin(rows: InMemoryRows, moments: Moments) -> Array | None:
    """The means of features far from zero, rounded, and zero for others; nothing if none is."""
    deviation = np.sqrt(moments.variance)
    # A constant has no deviation: it spoils products with the others.
    deviation[moments.constant] = deviation.max(initial=0.0)
    far = np.abs(moments.mean) > FAR[rows.dtype.name] * deviation
    if not far.any():
        return None
    origin: Array = np.where(far, moments.mean, 0).astype(rows.dtype)
    origin = where_full(rows, origin) if rows.is_sparse else origin
    return origin if origin.any() else None
