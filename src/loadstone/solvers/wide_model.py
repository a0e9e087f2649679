"""Noise models of wide data out of core: fitted on a working set, priced by all features.

Notation: ``t = G u + e``, noise variances ``Psi``; given the scores, feature i is regressed on
``B_i = S_i Psi^-1 G (I + G'Psi^-1 G)^-1``. A feature whose regression beats that of the weakest one a
component keeps wants in. Features left out have no loadings, and their variance is noise.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from loadstone.covariance import Covariance, SampleGram, Support
from loadstone.covariance.working_set import Looked, Prices, Wanted, search_among
from loadstone.solvers.factor_model import FactorModel
from loadstone.solvers.fitted_model import FittedModel, spread

#: Passes in which all features are asked: every one of them means another fit.
N_PRICINGS = 2


def fit_among(
    S: SampleGram, closed: Support, fit: Callable[[Covariance], FittedModel]
) -> tuple[FittedModel, Support, Looked]:
    """Fit on a working set; the model, its features, and how far it was looked.

    Parameters
    ----------
    S : SampleGram
        The data.
    closed : ndarray of int
        Features that do not vary.
    fit : callable
        Fits a model to a covariance in memory.
    """

    def search(features: Support, before: Looks | None) -> Looks:
        inside = np.setdiff1d(features, closed)
        return inside, fit(S.restrict(inside))

    def ask(features: Support, found: Looks) -> Prices:
        return _prices(S, *found)

    none = np.empty(0, dtype=np.intp)
    (features, fitted), looked = search_among(S, Wanted(1, none, closed), search, ask, N_PRICINGS)
    return _with_noise_of_all(S, features, fitted), features, looked


#: The features of a fit, and the fit.
Looks = tuple[Support, FittedModel]


def _prices(S: SampleGram, features: Support, fitted: FittedModel) -> Prices:
    G = fitted.model.loadings
    Z = S.centred_columns(features).astype(np.float64)
    scores = Z @ fitted.model.scores_matrix()
    regressions = np.abs(Z.T @ scores)
    weakest = np.where(G != 0, regressions, np.inf).min(axis=0, initial=np.inf)
    alive = np.isfinite(weakest) & (weakest > 0)
    return Prices(
        scores[:, alive],
        weakest[alive],
        np.count_nonzero(G, axis=0)[alive],
        np.zeros(int(alive.sum()), dtype=bool),
    )


def _with_noise_of_all(S: SampleGram, features: Support, fitted: FittedModel) -> FittedModel:
    """One noise variance for all features counts those left out as well."""
    if np.ndim(fitted.model.noise_variance) > 0:
        return fitted
    variance = S.diagonal().astype(np.float64) * (S.n_samples - 1.0) / S.n_samples
    outside = float(np.delete(variance, features).sum())
    n_outside = int(np.count_nonzero(~S.moments.constant)) - features.size
    inside = float(fitted.model.noise_variance) * features.size
    noise = (inside + outside) / (features.size + n_outside)
    return replace(fitted, model=FactorModel(fitted.model.loadings, noise))


def of_all_features(S: Covariance, model: FactorModel, features: Support) -> FactorModel:
    """``model``, which knows some ``features``, on all features of ``S``.

    The others have no loadings. One that does not vary gets the mean of their noise; one left out
    of a wide search keeps its variance.
    """
    loadings = spread(model.loadings, features, S.n_features)
    if np.ndim(model.noise_variance) == 0:
        return FactorModel(loadings, model.noise_variance)
    noise = np.full(S.n_features, float(np.mean(model.noise_variance)))
    noise[features] = model.noise_variance
    if isinstance(S, SampleGram):
        left_out = np.setdiff1d(np.flatnonzero(~S.moments.constant), features)
        noise[left_out] = S.diagonal()[left_out]
    return FactorModel(loadings, noise)
