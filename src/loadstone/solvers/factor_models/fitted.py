"""A sparse factor model as an estimator stores it."""

from __future__ import annotations

import numpy as np

from loadstone.loadings import Loadings
from loadstone.solvers.factor_models.sparse_factors import FactorFit
from loadstone.solvers.fitted_model import FittedModel

NOTHING_FOUND = "noise alone has the higher bound, so that there is nothing to show"


def fitted_factors(fit: FactorFit) -> FittedModel:
    """``fit`` with the further attributes it gives."""
    W = fit.model.loadings
    strength = np.linalg.norm(W, axis=0)
    inclusion = (W != 0).astype(np.float64) if fit.inclusion is None else fit.inclusion
    return FittedModel(
        model=fit.model,
        location=fit.location,
        searches=(Loadings(W, fit.bounds, fit.n_iter, fit.stop),),
        shortfall=None if W.shape[1] else NOTHING_FOUND,
        attributes={
            "lower_bound_": fit.lower_bound,
            "lower_bounds_": fit.bounds,
            "refit_lower_bounds_": fit.refit_bounds,
            "hyperparameters_": fit.hyperparameters,
            "n_iter_": fit.n_iter,
        },
        per_loading={
            "components_std_": fit.loadings_std / strength,
            "inclusion_": inclusion,
        },
    )
