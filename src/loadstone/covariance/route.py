"""From checked data to a covariance: the last place where ``X`` is named.

The rule behind ``route="auto"``. Forming the matrix costs ``N D^2`` operations at
matrix-matrix speed; a product on the data route costs ``4 N D`` per column at the
speed of memory, about nine times slower per operation. So the matrix pays once more
than about ``D / 9`` columns are multiplied, and it is formed when

* there are at least as many samples as features (never D x D when D > N),
* it takes no more than ``MAX_GRAM_BYTES``, and
* the algorithm expects to multiply that many columns, or the data is out of core,
  where one pass costs more than anything else.

Data out of core with more features than samples is read into memory where that takes no more
than ``READ_BYTES``. Beyond, and with at most ``MAX_SAMPLE_GRAM`` samples, it takes the wide
route: the Gram matrix of the samples, and columns where somebody looks (``sample_gram.py``).
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from loadstone.covariance.containers import Rows, is_dask, rows_of
from loadstone.covariance.cost import refuse_beyond_memory
from loadstone.covariance.explicit import ExplicitCovariance
from loadstone.covariance.moments import (
    Moments,
    accumulate_gram,
    accumulate_moments,
    constant_features,
)
from loadstone.covariance.near_zero import data_covariance
from loadstone.covariance.protocol import Array, Covariance
from loadstone.covariance.sample_gram import SampleGram, refuse_many_columns
from loadstone.covariance.spectrum import MAX_SAMPLE_GRAM

ROUTES = ("auto", "gram", "data", "wide")
#: Largest matrix that ``route="auto"`` forms: 8192 features in double precision.
MAX_GRAM_BYTES = 512 << 20
#: Largest wide data that is read from a file or a cluster into memory.
READ_BYTES = 64 << 20
#: Columns multiplied per feature from which on the matrix pays.
GRAM_PAYS_AFTER = 1 / 9


def choose_route(rows: Rows, route: str, n_products: int) -> str:
    """``"gram"``, ``"data"`` or ``"wide"`` by the rule of this module, or as asked."""
    if route != "auto":
        return route
    n_rows, n_features = rows.shape
    if not rows.in_memory and n_rows < n_features and n_rows <= MAX_SAMPLE_GRAM:
        return "wide"
    fits = n_features <= n_rows and n_features**2 * rows.dtype.itemsize <= MAX_GRAM_BYTES
    pays = not rows.in_memory or n_products >= GRAM_PAYS_AFTER * n_features
    return "gram" if fits and pays else "data"


# What overflows is infinite, and refused with a sentence afterwards, not with warnings before.
@np.errstate(over="ignore", invalid="ignore")
def covariance_of(
    X: Any,
    *,
    route: str = "auto",
    standardize: bool = False,
    sample_weight: Array | None = None,
    n_products: int = 10_000,
    whole: bool = False,
) -> tuple[Covariance, Moments]:
    """The covariance of the rows of ``X``, and the moments it is centred and scaled by.

    Parameters
    ----------
    X : ndarray, memmap, CSR, CSC or Dask array of shape (n_samples, n_features)
        Checked data; never modified and never centred in place.
    route : {"auto", "gram", "data", "wide"}
        Form the matrix, work on the data, work on the Gram matrix of the samples, or choose
        by the rule of this module.
    standardize : bool
        Divide each feature by its standard deviation; constant features stay as they are.
    sample_weight : ndarray of shape (n_samples,), optional
        How many samples each row stands for.
    n_products : int
        Columns the algorithm expects to multiply, for ``route="auto"``.
    whole : bool
        Whether the algorithm looks at all features again and again: wide data is then read into
        memory, or refused before it is read.

    Returns
    -------
    S : Covariance
    moments : Moments
    """
    rows = rows_of(X)
    chosen = choose_route(rows, route, n_products)
    if chosen == "wide" and whole:
        refuse_many_columns(rows.shape[1], rows.shape[0], rows.dtype)
    if chosen == "wide" and (whole or (route == "auto" and _is_small(rows))):
        chosen = "data"
        if not rows.in_memory:
            rows = rows_of(X.compute() if is_dask(X) else np.array(X, subok=False))
    if chosen == "wide":
        finish = partial(moments_of, standardize=standardize)
        S = SampleGram.of(X, sample_weight, finish, standardize=standardize)
        return S, S.moments
    weights = None if sample_weight is None else sample_weight.astype(rows.dtype, copy=False)
    if chosen == "gram":
        n, mean, matrix = accumulate_gram(rows, weights)
        moments = moments_of(n, mean, matrix.diagonal(), rows.dtype, standardize=standardize)
        return ExplicitCovariance(scaled(matrix, moments, rows.dtype), n), moments
    refuse_beyond_memory(rows)
    n, mean, variance = accumulate_moments(rows, weights)
    moments = moments_of(n, mean, variance, rows.dtype, standardize=standardize)
    return data_covariance(rows, moments, weights), moments


def _is_small(rows: Rows) -> bool:
    n_rows, n_features = rows.shape
    return n_rows * n_features * rows.dtype.itemsize <= READ_BYTES


def moments_of(
    n: float, mean: Array, variance: Array, dtype: np.dtype[Any], *, standardize: bool
) -> Moments:
    """Moments that know which features are constant, and how the others are scaled."""
    variance = np.maximum(variance, 0).astype(np.float64)
    constant = constant_features(mean, variance, dtype)
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
