"""A sparse factor model as an estimator stores it."""

from __future__ import annotations

from typing import Any

import numpy as np

from loadstone.loadings import Loadings, Stop
from loadstone.solvers.factor_models.sizes import all_needed, missed_size
from loadstone.solvers.factor_models.sparse_factors import FactorFit
from loadstone.solvers.fitted_model import NOTHING_STANDS_OUT, FittedModel, shortfall


def fitted_factors(fit: FactorFit, n_components: Any) -> FittedModel:
    """``fit`` with the further attributes it gives; ``n_components`` as it was asked for."""
    W = fit.model.loadings
    found = W.shape[1] + fit.hidden
    missing = shortfall(found, missed_size(n_components, found), fit.most, NOTHING_STANDS_OUT)
    strength = np.linalg.norm(W, axis=0)
    inclusion = (W != 0).astype(np.float64) if fit.inclusion is None else fit.inclusion
    return FittedModel(
        model=fit.model,
        predictive=fit.predictive,
        location=fit.location,
        searches=(Loadings(W, fit.bounds, fit.n_iter, fit.stop),),
        shortfall=None if fit.stop is Stop.CALLBACK else missing,
        told=(*all_needed(fit.sizes["n_components"], found), *_hidden(fit.hidden)),
        attributes={
            "lower_bound_": fit.lower_bound,
            "lower_bounds_": fit.bounds,
            "refit_lower_bounds_": fit.refit_bounds,
            "hyperparameters_": fit.hyperparameters,
            "criterion_": {name: fit.sizes[name].copy() for name in fit.sizes.dtype.names or ()},
            "n_iter_": fit.n_iter,
        },
        per_loading={
            "components_std_": fit.loadings_std / strength,
            "inclusion_": inclusion,
        },
    )


def _hidden(n_components: int) -> tuple[str, ...]:
    """What to tell of components that the search has found and nobody sees."""
    if not n_components:
        return ()
    return (
        f"{n_components} more component(s) were found and are not shown: none of their loadings is sure "
        "enough to keep. Densities and imputed values may go by them all the same; lower "
        "inclusion_threshold, or zero_threshold with another prior, to see them",
    )
