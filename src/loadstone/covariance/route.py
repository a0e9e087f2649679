"""From checked data to a covariance: the last place where ``X`` is named.

The rule behind ``route="auto"``. Forming the matrix costs ``N D^2`` operations at
matrix-matrix speed; a product on the data route costs ``4 N D`` per column at the
speed of memory, about nine times slower per operation. So the matrix pays once more
than about ``D / 9`` columns are multiplied, and it is formed when

* there are at least as many samples as features (never D x D when D > N),
* it takes no more than ``MAX_GRAM_BYTES``, and
* the algorithm expects to multiply that many columns, or the data is out of core,
  where one pass costs more than anything else.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from loadstone.covariance.containers import Rows, rows_of
from loadstone.covariance.explicit import ExplicitCovariance
from loadstone.covariance.from_data import DataCovariance
from loadstone.covariance.moments import (
    Moments,
    accumulate_gram,
    accumulate_moments,
    constant_features,
)
from loadstone.covariance.protocol import Array, Covariance

ROUTES = ("auto", "gram", "data")
#: Largest matrix that ``route="auto"`` forms: 8192 features in double precision.
MAX_GRAM_BYTES = 512 << 20
#: Columns multiplied per feature from which on the matrix pays.
GRAM_PAYS_AFTER = 1 / 9


def choose_route(rows: Rows, route: str, n_products: int) -> str:
    """``"gram"`` or ``"data"`` by the rule of this module, or as asked."""
    if route != "auto":
        return route
    n_rows, n_features = rows.shape
    fits = n_features <= n_rows and n_features**2 * rows.dtype.itemsize <= MAX_GRAM_BYTES
    pays = not rows.in_memory or n_products >= GRAM_PAYS_AFTER * n_features
    return "gram" if fits and pays else "data"


def covariance_of(
    X: Any,
    *,
    route: str = "auto",
    standardize: bool = False,
    sample_weight: Array | None = None,
    n_products: int = 10_000,
) -> tuple[Covariance, Moments]:
    """The covariance of the rows of ``X``, and the moments it is centred and scaled by.

    Parameters
    ----------
    X : ndarray, memmap, CSR, CSC or Dask array of shape (n_samples, n_features)
        Checked data; never modified and never centred in place.
    route : {"auto", "gram", "data"}
        Form the matrix, work on the data, or choose by the rule of this module.
    standardize : bool
        Divide each feature by its standard deviation; constant features stay as they are.
    sample_weight : ndarray of shape (n_samples,), optional
        How many samples each row stands for.
    n_products : int
        Columns the algorithm expects to multiply, for ``route="auto"``.

    Returns
    -------
    S : Covariance
    moments : Moments
    """
    rows = rows_of(X)
    weights = None if sample_weight is None else sample_weight.astype(rows.dtype, copy=False)
    if choose_route(rows, route, n_products) == "gram":
        n, mean, matrix = accumulate_gram(rows, weights)
        moments = moments_of(n, mean, matrix.diagonal(), rows.dtype, standardize=standardize)
        return ExplicitCovariance(scaled(matrix, moments, rows.dtype), n), moments
    n, mean, variance = accumulate_moments(rows, weights)
    moments = moments_of(n, mean, variance, rows.dtype, standardize=standardize)
    return DataCovariance(rows, moments, weights), moments


def moments_of(
    n: float, mean: Array, variance: Array, dtype: np.dtype[Any], *, standardize: bool
) -> Moments:
    """Moments that know which features are constant, and how the others are scaled."""
    variance = np.maximum(variance, 0).astype(np.float64)
    constant = constant_features(n, mean, variance, dtype)
    moments = Moments(n, mean, variance, constant, None)
    if not standardize:
        return moments
    return replace(moments, scale=np.where(constant, 1.0, np.sqrt(variance)))


def scaled(matrix: Array, moments: Moments, dtype: np.dtype[Any]) -> Array:
    """The matrix divided by the scales, with exact zeros for constant features."""
    if moments.scale is not None:
        matrix = matrix / np.multiply.outer(moments.scale, moments.scale)
    if moments.constant.any():
        matrix[moments.constant] = 0
        matrix[:, moments.constant] = 0
    return matrix.astype(dtype, copy=False)
