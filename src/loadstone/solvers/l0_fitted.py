"""An l0 model as an estimator stores it, from the search at one penalty or from a path."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from loadstone.covariance import Array, Covariance, covariance_of
from loadstone.loadings import Loadings, Stop
from loadstone.solvers.criterion_surface import CriterionSurface
from loadstone.solvers.factor_model import FactorModel
from loadstone.solvers.factor_models.sizes import all_needed, missed_size
from loadstone.solvers.fitted_model import FittedModel, shortfall
from loadstone.solvers.incomplete_rows import imputed_rows
from loadstone.solvers.l0_noise_fit import L0Fit
from loadstone.solvers.l0_noise_model import NoiseModel
from loadstone.solvers.variational_bayes.missing import IncompleteObservations


def fitted_l0(
    fit: L0Fit, S: Covariance, holes: IncompleteObservations | None, n_components: Any
) -> FittedModel:
    """``fit`` with the further attributes it gives; ``n_components`` as it was asked for."""
    if holes is not None:
        S = covariance_of(
            imputed_rows(holes, fit.model, fit.location), sample_weight=holes.weights
        )[0]
    G = fit.model.loadings
    missing = shortfall(G.shape[1], missed_size(n_components, G.shape[1]), fit.most)
    return FittedModel(
        model=fit.model,
        location=fit.location,
        searches=(Loadings(G, fit.objective, fit.objective.size, fit.stop),),
        # What a search did not get to is not known to be worth nothing.
        shortfall=None if fit.stop is Stop.CALLBACK else missing,
        told=all_needed(fit.table["n_components"], G.shape[1]),
        attributes={
            "model_variance_": model_variance(S, fit.model),
            "penalty_": fit.penalty,
            "deviance_": fit.deviance,
            **_table(fit.table, fit.best),
            "path_": (),
        },
    )


def fitted_path(surface: CriterionSurface, S: Covariance, n_components: Any) -> FittedModel:
    """The model a walk along a path has chosen, components by decreasing variance."""
    chosen = surface.models[surface.best]
    model = FactorModel(chosen.loadings, chosen.noise_variance)
    variance = model_variance(S, model)
    order = np.argsort(-variance, kind="stable")
    G = chosen.loadings[:, order]
    return FittedModel(
        model=replace(model, loadings=G),
        searches=(Loadings(G, chosen.objective, chosen.n_iter, chosen.stop),),
        shortfall=shortfall(G.shape[1], missed_size(n_components, G.shape[1])),
        attributes={
            "model_variance_": variance[order],
            "penalty_": chosen.penalty,
            "deviance_": chosen.deviance,
            **_table(surface.table, surface.best),
            "path_": surface.models,
        },
    )


def model_variance(S: Covariance, model: FactorModel) -> Array:
    """Contributions of the components to ``tr(Q'SQ)``, Eq. 2 of the paper.

    ``Q = Psi^-1/2 G (I + G'Psi^-1 G)^-1/2``, and ``S`` with divisor ``n_samples``.
    """
    G = model.loadings / np.sqrt(model.noise)[:, None]
    if not G.shape[1]:
        return np.zeros(0)
    values, vectors = np.linalg.eigh(np.eye(G.shape[1]) + G.T @ G)
    Q = G @ (vectors / np.sqrt(values)) @ vectors.T
    product = (S @ Q.astype(S.dtype, copy=False)).astype(np.float64)
    shrink = (S.n_samples - 1.0) / S.n_samples if np.isfinite(S.n_samples) else 1.0
    return np.asarray(shrink * np.einsum("ij,ij->j", Q, product))


def on_all_features(models: tuple[NoiseModel, ...], varying: Array, n_features: int) -> Any:
    """Models of the varying features, their places counted among all of them."""
    return tuple(_spread(model, varying, n_features) for model in models)


def _spread(model: NoiseModel, varying: Array, n_features: int) -> NoiseModel:
    r = max(1, model.n_components)
    rows, columns = np.divmod(model.places, r)
    places = varying[rows] * r + columns
    return replace(model, shape=(n_features, model.n_components), places=places)


def _table(table: Array, best: int) -> dict[str, Any]:
    names = table.dtype.names or ()
    return {
        "criterion_": {name: table[name].copy() for name in names},
        "best_": {name: table[name][best].item() for name in names},
        "best_index_": best,
    }
