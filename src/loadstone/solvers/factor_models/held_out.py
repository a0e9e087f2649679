"""Number of components by cross-validation: held-out log-likelihood over rows.

The models of a fold are those its search visits on the way, with 0, 1, 2, ... components, fitted
to the rows of the fold alone: starts from a fit to all rows would know what to look for, and on
strong signals superfluous components predicted better. All folds take one step together. A size is
taken for one where most folds have as many components alive, and the size that predicts the rows
best is chosen. The walk ends once two sizes in a row are none or do not predict better. Held-out
rows decide between models with components; whether there is any is left to the bound, since on
noise alone a component predicts about as well as none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from loadstone.covariance.protocol import Array, Covariance
from loadstone.covariance.route import covariance_of
from loadstone.solvers.factor_model import FactorModel
from loadstone.solvers.factor_models.samples import Samples, samples_of
from loadstone.solvers.factor_models.sizes import MAX_COMPONENTS, PATIENCE, most_components
from loadstone.solvers.row_densities import row_densities
from loadstone.solvers.variational_bayes.missing import (
    IncompleteObservations,
    incomplete_observations,
)

N_FOLDS = 5
HELD_OUT_ROW = np.dtype(
    [("n_components", np.intp), ("held_out", np.float64), ("standard_error", np.float64)]
)


class Walk(Protocol):
    """Models of 0, 1, 2, ... components with their locations, as a search meets them."""

    def __call__(self, samples: Samples) -> Iterator[tuple[FactorModel, Array]]:
        """Begin with noise alone."""
        ...


@dataclass(frozen=True)
class Fold:
    """Data to fit on, and what a fitted model says of the rows left out.

    Attributes
    ----------
    train : Covariance or IncompleteObservations
    densities : callable
        Log densities of the rows left out, for a model and its location relative to the
        column means of ``train``.
    weights : ndarray of shape (n_left_out,)
        How many samples each of them stands for.
    """

    train: Covariance | IncompleteObservations
    densities: Callable[[FactorModel, Array], Array]
    weights: Array


@dataclass(frozen=True)
class HeldOut:
    """What cross-validation found.

    Attributes
    ----------
    table : structured ndarray
        ``n_components``, mean ``held_out`` log density of a row and its ``standard_error``.
    best : int
        Number of components, at least one where one can be fitted.
    """

    table: Array
    best: int


def held_out_likelihood(
    folds: Sequence[Fold],
    walk: Walk,
    max_components: int = MAX_COMPONENTS,
    on_size: Callable[[int, float], bool] | None = None,
) -> HeldOut:
    """Held-out log-likelihood of 0, 1, 2, ... components.

    Parameters
    ----------
    folds : sequence of Fold
    walk : Walk
        Search within a fold.
    max_components : int
        Most components to try.
    on_size : callable, optional
        Told of every size and its mean held-out log density; returns whether to stop.
    """
    samples = [samples_of(fold.train) for fold in folds]
    walks = [walk(one) for one in samples]
    limit = min([max_components, *(most_components(one) for one in samples)])
    weights = np.concatenate([fold.weights for fold in folds])
    rows: list[tuple[int, float, float]] = []
    best, in_vain, top = 0, 0, -np.inf
    for q in range(limit + 1):
        models = [next(walk) for walk in walks]
        values = np.concatenate([f.densities(*m) for f, m in zip(folds, models, strict=True)])
        rows.append((q, *_mean(values, weights)))
        # A component that comes to nothing changes the mean by a little either way.
        alive = np.median([model.n_components for model, _ in models]) >= q
        if q <= 1 or (alive and rows[-1][1] > top):
            best, in_vain, top = q, 0, rows[-1][1]
        else:
            in_vain += 1
        if (on_size is not None and on_size(q, rows[-1][1])) or in_vain == PATIENCE:
            break
    return HeldOut(np.array(rows, dtype=HELD_OUT_ROW), best)


def _mean(values: Array, weights: Array) -> tuple[float, float]:
    """Weighted mean and its standard error; weights count like repetitions."""
    n = float(weights.sum())
    mean = float(weights @ values) / n
    variance = float(weights @ np.square(values - mean)) / max(n - 1.0, 1.0)
    return mean, float(np.sqrt(variance / n))


def row_folds(
    X: Any,
    n_folds: int,
    rng: np.random.Generator,
    weights: Array | None = None,
    *,
    standardize: bool = False,
) -> list[Fold]:
    """Folds over the rows of a matrix in memory, dense or sparse and complete.

    Rows without which nothing varies have no fold: there is no model that could predict them.
    """
    weights = np.ones(X.shape[0]) if weights is None else weights
    used = np.flatnonzero(weights > 0)
    part = rng.permutation(used.size) % n_folds
    folds = [
        _fold(X, weights, used[part != k], used[part == k], standardize=standardize)
        for k in range(n_folds)
    ]
    return [fold for fold in folds if fold is not None]


def _fold(X: Any, weights: Array, train: Array, test: Array, *, standardize: bool) -> Fold | None:
    """Features that do not vary in the rows to fit on are left out of the fold."""
    S, moments = covariance_of(X[train], standardize=standardize, sample_weight=weights[train])
    varying = np.flatnonzero(~moments.constant)
    if not varying.size:
        return None
    left_out, mean, scale = X[test], moments.mean, moments.scale
    if varying.size < S.n_features:
        S, left_out, mean = S.restrict(varying), left_out[:, varying], mean[varying]
        scale = None if scale is None else scale[varying]

    def densities(model: FactorModel, location: Array) -> Array:
        shift = location if scale is None else location * scale
        return row_densities(left_out, model, mean + shift, scale)

    return Fold(S, densities, weights[test])


def incomplete_folds(
    rows: IncompleteObservations, n_folds: int, rng: np.random.Generator
) -> list[Fold]:
    """Folds over rows with holes; see :func:`row_folds`."""
    X = np.where(rows.observed > 0, rows.values * rows.unit, np.nan)
    part = rng.permutation(X.shape[0]) % n_folds
    folds = [_incomplete_fold(X, rows.weights, part != k) for k in range(n_folds)]
    return [fold for fold in folds if fold is not None]


def _incomplete_fold(X: Array, weights: Array, train: Array) -> Fold | None:
    seen = np.isfinite(X[train])
    # A feature that was never seen has no largest value, and none that lies above the smallest.
    largest = np.where(seen, X[train], -np.inf).max(axis=0)
    varying = largest > np.where(seen, X[train], np.inf).min(axis=0)
    if not varying.any():
        return None
    X = X[:, varying]
    # A row of which nothing is left says nothing.
    known = np.isfinite(X).any(axis=1)
    fitted, means = incomplete_observations(X[train & known], weights[train & known])
    left_out = X[~train & known]
    observed = np.isfinite(left_out).astype(np.float64)
    values = np.where(observed > 0, left_out - means, 0.0)

    def densities(model: FactorModel, location: Array) -> Array:
        return model.observed_log_likelihood(values - observed * location, observed)

    return Fold(fitted, densities, weights[~train & known])
