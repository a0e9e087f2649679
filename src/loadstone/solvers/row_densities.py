"""Log densities of complete rows in any container, by one pass over them."""

from __future__ import annotations

from typing import Any

import numpy as np

from loadstone.covariance.containers import PerFeature, is_dask, rows_of
from loadstone.covariance.protocol import Array
from loadstone.covariance.scores import squares_and_scores
from loadstone.solvers.factor_model import FactorModel


def row_densities(rows: Any, model: FactorModel, mean: Array, scale: Array | None = None) -> Array:
    """Log density of every row, in the units of the rows.

    ``model`` is one of ``(row - mean) / scale``. Sparse rows stay sparse.
    """
    scale = np.ones(model.noise.size) if scale is None else scale
    V = model.scores_matrix() / scale[:, None]
    weights = 1.0 / (scale**2 * model.noise)
    stacked = rows_of(rows).stack_over_blocks(
        squares_and_scores, PerFeature(V), PerFeature(mean), PerFeature(weights)
    )
    if is_dask(rows) and np.isnan(stacked).any():
        msg = (
            "Input X is a Dask array that contains NaN; what a model says of samples with missing "
            "values needs them in memory. Use X.compute() where it fits"
        )
        raise ValueError(msg)
    density = model.log_density(stacked[:, 0], stacked[:, 1:])
    return np.asarray(density - np.log(scale).sum())


def refuse_no_density(density: Array) -> None:
    """Refuse samples whose squared distance from the mean is no number any more."""
    far = np.flatnonzero(~np.isfinite(density))
    if far.size:
        msg = (
            f"{far.size} sample(s), the first of them sample {far[0]}, lie so far from the mean that "
            "the squares of their values overflow; check their unit"
        )
        raise ValueError(msg)
