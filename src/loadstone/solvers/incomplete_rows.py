"""Rows with missing values: found, checked, centred, restricted and filled."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from loadstone.covariance import Array, Moments
from loadstone.covariance.containers import is_dask, pieces
from loadstone.solvers.factor_model import FactorModel
from loadstone.solvers.variational_bayes.missing import (
    IncompleteObservations,
    incomplete_observations,
)


def has_missing(X: Any) -> bool:
    """Whether ``X`` has NaN that are to be read as missing values.

    Dask arrays are not looked at: a pass over them is dear, and their moments are checked.
    """
    if is_dask(X):
        return False
    values = X.data[:, None] if sparse.issparse(X) else X
    if not any(np.isnan(values[piece]).any() for piece in pieces(*values.shape)):
        return False
    if sparse.issparse(X):
        msg = (
            "Input X contains NaN in a sparse matrix; missing values are handled in dense arrays "
            "only. Use X.toarray() where it fits in memory, or drop the rows that hold NaN"
        )
        raise ValueError(msg)
    return True


def refuse_empty(X: Array, names: Any) -> None:
    """Name rows and columns that hold no value at all."""
    missing = np.isnan(X)
    for axis, kind in ((1, "row(s)"), (0, "feature(s)")):
        empty = np.flatnonzero(missing.all(axis=axis))
        if empty.size:
            shown = [
                str(names[i]) if axis == 0 and names is not None else str(i) for i in empty[:5]
            ]
            more = f" and {empty.size - 5} more" if empty.size > 5 else ""
            msg = (
                f"Input X contains NaN throughout in {kind} {', '.join(shown)}{more}; "
                "every row and every feature needs at least one observed value. Drop them first"
            )
            raise ValueError(msg)


def refuse_missing_in_dask(X: Any, moments: Moments) -> None:
    """Say that rows with holes must be in memory, once the moments have shown some."""
    if is_dask(X) and not np.isfinite(moments.mean).all():
        msg = (
            "Input X is a Dask array that contains NaN or infinity; missing values are handled in "
            "arrays in memory only. Use X.compute() where it fits, or drop rows that hold NaN"
        )
        raise ValueError(msg)


def rows_in_use(X: Array, weights: Array | None) -> tuple[Array, Array]:
    """Rows with positive weight; those without must not decide anything."""
    X = np.asarray(X, dtype=np.float64)
    if weights is None:
        return X, np.ones(X.shape[0])
    used = weights > 0
    return X[used], weights[used].astype(np.float64)


def standardized_rows(
    X: Array, weights: Array, *, standardize: bool
) -> tuple[IncompleteObservations, Moments]:
    """Observations and moments of rows with holes."""
    observed = ~np.isnan(X)
    counts = weights @ observed
    mean = (weights @ np.where(observed, X, 0.0)) / counts
    centred = np.where(observed, X - mean, 0.0)
    variance = (weights @ centred**2) / np.maximum(counts - 1.0, 1.0)
    spread = np.where(observed, np.abs(centred), 0.0).max(axis=0)
    constant = spread <= 8 * np.finfo(np.float64).eps * np.abs(mean)
    scale = np.where(constant, 1.0, np.sqrt(variance)) if standardize else None
    if constant.all():
        return IncompleteObservations(centred, observed.astype(float), weights, 1.0), Moments(
            float(weights.sum()), mean, variance, constant, scale
        )
    rows, mean = incomplete_observations(X, weights, scale)
    return rows, Moments(float(weights.sum()), mean, variance, constant, scale)


def restricted_rows(rows: IncompleteObservations, support: Array) -> IncompleteObservations:
    """The observations of the features in ``support`` alone."""
    values, observed = rows.values[:, support], rows.observed[:, support]
    # The unit is the root mean variance, now over fewer features.
    factor = np.sqrt(support.size / rows.values.shape[1])
    return replace(rows, values=values * factor, observed=observed, unit=rows.unit / factor)


def imputed_rows(rows: IncompleteObservations, model: FactorModel, location: Array) -> Array:
    """Rows in scaled units with holes filled by the model."""
    values = rows.values * rows.unit
    scores = model.observed_scores(values - rows.observed * location, rows.observed)
    return np.where(rows.observed > 0, values, scores.mean @ model.loadings.T + location)
