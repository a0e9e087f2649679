"""One round of coordinate updates: scores, mean, loadings, noise, prior.

Notation: ``D = 1/<1/z>`` is the prior variance the loadings feel; zero pins a loading.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from loadstone.covariance.protocol import Array
from loadstone.solvers.variational_bayes.bound import (
    BroadPriors,
    half_squared_error,
    lower_bound,
    update_noise,
)
from loadstone.solvers.variational_bayes.gaussian_rows import (
    GaussianRows,
    gaussian_rows,
    point_rows,
)
from loadstone.solvers.variational_bayes.latent import Latent, Observations
from loadstone.solvers.variational_bayes.priors import Prior
from loadstone.solvers.variational_bayes.rotation import rotate
from loadstone.solvers.variational_bayes.zeros import weakest_vanishing


@dataclass(frozen=True)
class State:
    """Everything one round needs from the round before.

    Attributes
    ----------
    loadings : GaussianRows
        Posterior of the loadings.
    prior_variance : ndarray of shape (n_features, n_components)
        ``D``.
    prior : Prior
        With its current hyperparameters.
    noise_precision : float
        Expected noise precision.
    location : ndarray of shape (n_features,)
        Posterior mean, relative to the column means.
    bound : float
        Lower bound after the round.
    latent : Latent or None
        Scores of the round.
    felt_precision : float
        Noise precision that the loadings of the round were computed with.
    felt_variance : ndarray or None
        ``D`` that the loadings of the round were computed with.
    """

    loadings: GaussianRows
    prior_variance: Array
    prior: Prior
    noise_precision: float
    location: Array
    bound: float = -np.inf
    latent: Latent | None = None
    felt_precision: float = np.nan
    felt_variance: Array | None = None


def start_state(
    observations: Observations, W: Array, noise_variance: float, prior: Prior, free: Array
) -> State:
    """State of loadings known without doubt, the prior adapted to them."""
    _, precision = prior.expectations(W * W)
    return State(
        loadings=point_rows(W, keep_moments=observations.needs_moments),
        prior_variance=np.where(free, 1.0 / precision, 0.0),
        prior=prior,
        noise_precision=1.0 / noise_variance,
        location=np.zeros(observations.n_features),
    )


def update(
    observations: Observations,
    state: State,
    fixed: frozenset[str],
    broad: BroadPriors,
    *,
    prune: bool,
) -> State:
    """Scores, mean, loadings, noise and ``q(z)``, then the hyperparameters for the next round."""
    latent = observations.latent(state.loadings, state.noise_precision, state.location, broad.beta)
    D = state.prior_variance
    keep = observations.needs_moments
    loadings = gaussian_rows(
        latent.second, D, latent.cross, state.noise_precision, keep_moments=keep
    )
    while prune and (vanishing := weakest_vanishing(loadings, D)).any():
        D = np.where(vanishing, 0.0, D)
        loadings = gaussian_rows(
            latent.second, D, latent.cross, state.noise_precision, keep_moments=keep
        )
    error = half_squared_error(latent, loadings, observations.counts)
    noise = update_noise(error, observations.counts, broad)
    bound = lower_bound(observations, latent, loadings, noise, error, state.prior, D > 0, broad)
    felt = replace(
        state,
        loadings=loadings,
        location=latent.location,
        bound=bound,
        latent=latent,
        felt_precision=state.noise_precision,
        felt_variance=D,
        noise_precision=noise.precision,
        prior_variance=D,
    )
    return adapt_prior(felt, fixed)


def adapt_prior(state: State, fixed: frozenset[str]) -> State:
    """``q(z)`` for the present loadings, then type-II maximum likelihood."""
    free = state.prior_variance > 0
    second = state.loadings.second
    if free.all():
        variance, precision = state.prior.expectations(second)
        prior = state.prior.update_hyperparameters(variance, precision, fixed)
        return replace(state, prior=prior, prior_variance=1.0 / precision)
    variance, precision = state.prior.expectations(second[free])
    D = np.zeros_like(second)
    D[free] = 1.0 / precision
    prior = state.prior.update_hyperparameters(variance, precision, fixed)
    return replace(state, prior=prior, prior_variance=D)


def rotated(
    observations: Observations, state: State, before: Prior, fixed: frozenset[str]
) -> tuple[State, float]:
    """The state after rotation steps under the prior ``before``, and the gain of the bound."""
    assert state.latent is not None
    assert state.felt_variance is not None
    loadings = state.loadings
    if loadings.moments is None:
        # Only rotation steps need every row's second moments; they are made here and dropped.
        loadings = gaussian_rows(
            state.latent.second,
            state.felt_variance,
            state.latent.cross,
            state.felt_precision,
            keep_moments=True,
        )
    strength = np.diagonal(loadings.total) * state.noise_precision
    # Two columns far below the noise have nothing to un-mix.
    active = strength > 1e-3
    result = rotate(loadings, state.latent.total, observations.n_samples, before, active)
    moved = result.loadings
    if not observations.needs_moments:
        moved = replace(moved, moments=None)
    state = replace(state, loadings=moved, prior=before)
    return adapt_prior(state, fixed), result.gain
