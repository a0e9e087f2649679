"""Log densities of complete rows in any container, by one pass over them."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from loadstone.covariance.containers import is_dask, pieces, rows_of
from loadstone.covariance.protocol import Array
from loadstone.solvers.factor_model import FactorModel


def row_densities(rows: Any, model: FactorModel, mean: Array, scale: Array | None = None) -> Array:
    """Log density of every row, in the units of the rows.

    ``model`` is one of ``(row - mean) / scale``. Sparse rows stay sparse.
    """
    scale = np.ones(model.noise.size) if scale is None else scale
    V = model.scores_matrix() / scale[:, None]
    weights = 1.0 / (scale**2 * model.noise)
    stacked = rows_of(rows).stack_over_blocks(_squares_and_scores, V, mean, weights)
    if is_dask(rows) and np.isnan(stacked).any():
        msg = (
            "Input X is a Dask array that contains NaN; the likelihood of samples with missing "
            "values needs them in memory. Use X.compute() where it fits"
        )
        raise ValueError(msg)
    density = model.log_density(stacked[:, 0], stacked[:, 1:])
    return np.asarray(density - np.log(scale).sum())


def _squares_and_scores(block: Any, rows: slice, V: Array, mean: Array, weights: Array) -> Array:
    """Weighted squared distance to the mean in the first column, scores after it."""
    if sparse.issparse(block):
        squares = block.multiply(block) @ weights - 2.0 * (block @ (weights * mean))
        squares = np.asarray(squares).ravel() + weights @ mean**2
    else:
        squares = np.empty(block.shape[0])
        for piece in pieces(block.shape[0], block.shape[1]):
            squares[piece] = np.square(block[piece] - mean) @ weights
    return np.column_stack([squares, np.asarray(block @ V) - mean @ V])
