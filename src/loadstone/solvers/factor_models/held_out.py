"""Number of components by cross-validation: held-out log-likelihood over rows.

The models of a fold are those its search visits on the way, with 0, 1, 2, ... components. All
folds take one step together. A size pays when it predicts the rows better than the last one
that paid, by two units of the log-likelihood of all rows and half a standard error of the
differences row by row: a component that comes to nothing in most folds changes the mean by a
little either way. The walk ends once two sizes in a row do not pay. Held-out rows decide
between models with components; whether there is any is left to the bound, since on noise alone
a component predicts about as well as none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from loadstone.covariance.protocol import Array, Covariance
from loadstone.covariance.route import covariance_of
from loadstone.solvers.factor_model import FactorModel
from loadstone.solvers.factor_models.growth import Growth
from loadstone.solvers.factor_models.rounds import State
from loadstone.solvers.factor_models.samples import samples_of
from loadstone.solvers.factor_models.sparse_factors import (
    MAX_COMPONENTS,
    PATIENCE,
    most_components,
)
from loadstone.solvers.variational_bayes.missing import (
    IncompleteObservations,
    incomplete_observations,
)

#: Standard errors by which a size has to predict better; weak components seldom reach two.
CONFIDENCE = 0.5
#: Gain of the log-likelihood of all rows together below which a size says nothing new.
LEAST_GAIN = 2.0

HELD_OUT_ROW = np.dtype(
    [("n_components", np.intp), ("held_out", np.float64), ("standard_error", np.float64)]
)


@dataclass(frozen=True)
class Fold:
    """Data to fit on, and what a fitted model says of the rows left out.

    Attributes
    ----------
    train : Covariance or IncompleteObservations
    densities : callable
        Log densities of the rows left out, for a model and its location relative to the
        column means of ``train``.
    """

    train: Covariance | IncompleteObservations
    densities: Callable[[FactorModel, Array], Array]


@dataclass(frozen=True)
class HeldOut:
    """What cross-validation found.

    Attributes
    ----------
    table : structured ndarray
        ``n_components``, mean ``held_out`` log density of a row and its ``standard_error``.
    best : int
        Number of components, at least one; the last that paid.
    """

    table: Array
    best: int


def held_out_likelihood(
    folds: Sequence[Fold],
    growth: Growth | None = None,
    max_components: int = MAX_COMPONENTS,
    on_size: Callable[[int, float], bool] | None = None,
) -> HeldOut:
    """Held-out log-likelihood of 0, 1, 2, ... components.

    Parameters
    ----------
    folds : sequence of Fold
    growth : Growth, optional
        Search within a fold.
    max_components : int
        Most components to try.
    on_size : callable, optional
        Told of every size and its mean held-out log density; returns whether to stop.
    """
    growth = Growth() if growth is None else growth
    samples = [samples_of(fold.train) for fold in folds]
    walks = [growth.sequence(one) for one in samples]
    limit = min([max_components, *(most_components(one) for one in samples)])
    rows: list[tuple[int, float, float]] = []
    best, in_vain, chosen = 0, 0, np.empty(0)
    for q in range(limit + 1):
        states = [next(walk) for walk in walks]
        clean = [growth.cleaned(*pair) for pair in zip(samples, states, strict=True)]
        values = np.concatenate(
            [fold.densities(*_described(s)) for fold, s in zip(folds, clean, strict=True)]
        )
        rows.append((q, float(values.mean()), _standard_error(values)))
        if q <= 1 or _pays(values - chosen):
            best, in_vain, chosen = q, 0, values
        else:
            in_vain += 1
        if (on_size is not None and on_size(q, rows[-1][1])) or in_vain == PATIENCE:
            break
    return HeldOut(np.array(rows, dtype=HELD_OUT_ROW), best)


def _standard_error(values: Array) -> float:
    return float(values.std(ddof=1) / np.sqrt(values.size))


def _pays(gains: Array) -> bool:
    sure = gains.mean() > CONFIDENCE * _standard_error(gains)
    return bool(sure and gains.sum() > LEAST_GAIN)


def _described(state: State) -> tuple[FactorModel, Array]:
    return FactorModel(state.law.mean[0].T, 1.0 / state.noise.precision[0]), state.location[0]


def row_folds(
    X: Array, n_folds: int, rng: np.random.Generator, scale: Array | None = None
) -> list[Fold]:
    """Folds over the rows of a dense array; NaN are missing values.

    ``scale`` divides the columns. Features that are constant in a training fold are refused by
    the search.
    """
    X = np.asarray(X, dtype=np.float64) if scale is None else X / scale
    part = rng.permutation(X.shape[0]) % n_folds
    return [_fold(X[part != k], X[part == k]) for k in range(n_folds)]


def _fold(train: Array, test: Array) -> Fold:
    means = np.nanmean(train, axis=0)
    observed = np.isfinite(test).astype(np.float64)
    centred = np.where(observed > 0, test - means, 0.0)

    def densities(model: FactorModel, location: Array) -> Array:
        values = centred - observed * location
        if observed.all():
            squares = np.square(values) @ (1.0 / model.noise)
            return model.log_density(squares, values @ model.scores_matrix())
        return model.observed_log_likelihood(values, observed)

    if np.isnan(train).any():
        return Fold(incomplete_observations(train, np.ones(len(train)))[0], densities)
    return Fold(covariance_of(train)[0], densities)
