"""What a search of the published model found, in units of the data."""

from __future__ import annotations

from typing import Any

import numpy as np

from loadstone.covariance import Array, Covariance
from loadstone.loadings import Loadings
from loadstone.solvers.factor_model import FactorModel
from loadstone.solvers.fitted_model import NOTHING_STANDS_OUT, FittedModel
from loadstone.solvers.variational_bayes.latent import Observations
from loadstone.solvers.variational_bayes.missing import IncompleteObservations
from loadstone.solvers.variational_bayes.model import Posterior
from loadstone.solvers.variational_bayes.zeros import inclusion_probability

#: Components a search starts with at most when their number is left open.
MOST_COMPONENTS = 20
ALL_NEEDED = (
    f"all {MOST_COMPONENTS} components of the search are needed, and n_components='auto' "
    "starts with no more; set n_components to look for further ones"
)


def check_n_components(n_components: int | None, S: Covariance) -> int:
    """Components to start from; refused where the data cannot have as many."""
    limit = int(min(S.n_features, np.ceil(S.n_samples) - 1))
    if n_components is None:
        return max(1, min(limit, S.n_features - 1, MOST_COMPONENTS))
    if n_components > limit:
        msg = (
            f"n_components={n_components} exceeds {limit}, the largest rank that "
            f"n_samples={S.n_samples:g} and n_features={S.n_features} (that vary) allow; lower it, "
            "or use 'auto'"
        )
        raise ValueError(msg)
    return n_components


def check_rank(n_components: int | None, values: Array, S: Covariance) -> int:
    """The rank of the data among its eigenvalues; refused where it is below what was asked."""
    negligible = values[0] * S.n_features * np.finfo(S.dtype).eps
    rank = int(np.count_nonzero(values > negligible))
    if n_components is not None and rank < n_components:
        msg = (
            f"n_components={n_components} exceeds the rank of the data, which is {rank} "
            f"(n_samples={S.n_samples:g}, n_features={S.n_features}); lower it, or use 'auto'"
        )
        raise ValueError(msg)
    return max(rank, 1)


def noise_alone(observations: Observations, S: Covariance, search: Posterior) -> FittedModel:
    """The model without components, when the data supports none."""
    nothing = np.zeros((S.n_features, 0))
    if isinstance(observations, IncompleteObservations):
        squares = observations.weights @ np.square(observations.values * observations.unit)
        variance = float(np.mean(squares / observations.counts))
    else:
        shrink = (S.n_samples - 1.0) / S.n_samples
        variance = shrink * float(np.mean(np.asarray(S.diagonal(), dtype=np.float64)))
    return FittedModel(
        model=FactorModel(nothing, variance),
        location=np.zeros(S.n_features),
        searches=(Loadings(nothing, search.bounds, search.n_iter, search.stop),),
        shortfall=NOTHING_STANDS_OUT,
        attributes=_attributes(observations, search, None),
        per_loading={"components_std_": nothing, "inclusion_": nothing},
    )


def described(
    observations: Observations,
    search: Posterior,
    selected: Posterior,
    support: Array,
    final: Posterior | None,
    told: tuple[str, ...],
) -> FittedModel:
    """The final model in units of the data, components by decreasing strength."""
    unit = observations.unit
    kept = np.flatnonzero(support.any(axis=0))
    felt = selected.state.felt_variance
    assert felt is not None
    inclusion = inclusion_probability(selected.state.loadings, felt)[:, kept]
    support = support[:, kept]
    if final is None:
        state = selected.state
        mean = np.where(support, state.loadings.mean[:, kept], 0.0)
        std = np.sqrt(state.loadings.variance[:, kept])
    else:
        state = final.state
        mean, std = state.loadings.mean, np.sqrt(state.loadings.variance)
    strength = np.linalg.norm(mean, axis=0)
    order = np.argsort(-strength, kind="stable")
    searches = [search] if final is None else [search, final]
    return FittedModel(
        model=FactorModel(mean[:, order] * unit, unit**2 / state.noise_precision),
        location=state.location * unit,
        searches=tuple(Loadings(mean, p.bounds, p.n_iter, p.stop) for p in searches),
        told=told,
        attributes=_attributes(observations, search, final),
        per_loading={
            "components_std_": std[:, order] / strength[order],
            "inclusion_": inclusion[:, order],
        },
    )


def _attributes(
    observations: Observations, search: Posterior, final: Posterior | None
) -> dict[str, Any]:
    last = search if final is None else final
    hyperparameters = vars(search.state.prior).items()
    return {
        "lower_bound_": float(last.bounds[-1]),
        "lower_bounds_": search.bounds,
        "refit_lower_bounds_": np.empty(0) if final is None else final.bounds,
        "hyperparameters_": {name: v * observations.unit**2 for name, v in hyperparameters},
        "n_iter_": search.n_iter,
    }
