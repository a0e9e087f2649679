"""Noise precision and the lower bound on the log evidence.

Notation: ``tau`` is the noise precision with posterior Gamma(c, e), ``R`` half the expected
squared error (Eqs. 21, 22 corrected), ``w2 = <w_ij^2>``, ``S = sum <x_n x_n'>``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import digamma, gammaln

from loadstone.covariance.protocol import Array
from loadstone.solvers.variational_bayes.gaussian_rows import GaussianRows, pack
from loadstone.solvers.variational_bayes.latent import Latent, Observations
from loadstone.solvers.variational_bayes.priors import Prior


@dataclass(frozen=True)
class BroadPriors:
    """Priors of noise precision, Gamma(a0, b0), and mean, precision beta; in data units^2."""

    a0: float = 1e-3
    b0: float = 1e-3
    beta: float = 1e-3


@dataclass(frozen=True)
class NoisePosterior:
    """Gamma(c, e) posterior of the noise precision."""

    c: float
    e: float

    @property
    def precision(self) -> float:
        """Expected noise precision."""
        return self.c / self.e

    @property
    def log_precision(self) -> float:
        """Expected logarithm of the noise precision."""
        return float(digamma(self.c) - np.log(self.e))


def half_squared_error(latent: Latent, loadings: GaussianRows, counts: Array) -> float:
    """``R``: half the expected squared distance of the data from the model."""
    if latent.second.shape[1] == 1:
        quadratic = float(np.sum(loadings.total * latent.total))
    else:
        assert loadings.moments is not None
        # A packed matrix holds every off-diagonal entry once.
        multiplicity = 2.0 - pack(np.eye(loadings.total.shape[0]))
        quadratic = float(multiplicity @ np.einsum("ij,ij->i", loadings.moments, latent.second))
    linear = float(np.sum(latent.cross * loadings.mean))
    location = float(counts @ latent.location_variance)
    # Of squares, of which rounding can leave less than nothing where hardly any noise is left.
    return 0.5 * (max(latent.centred_square - 2.0 * linear + quadratic, 0.0) + location)


def update_noise(error: float, counts: Array, broad: BroadPriors) -> NoisePosterior:
    """Posterior of the noise precision (Eqs. 21, 22)."""
    return NoisePosterior(c=broad.a0 + 0.5 * float(counts.sum()), e=broad.b0 + error)


def lower_bound(
    observations: Observations,
    latent: Latent,
    loadings: GaussianRows,
    noise: NoisePosterior,
    error: float,
    prior: Prior,
    free: Array,
    broad: BroadPriors,
) -> float:
    """Lower bound on the log evidence, to be read right after the update of ``q(z)``.

    ``free`` marks the loadings that are not pinned to zero.
    """
    n_observed = float(observations.counts.sum())
    n_latent = loadings.mean.shape[1]
    c, log_e, log_tau = noise.c, float(np.log(noise.e)), noise.log_precision
    location_square = latent.location**2 + latent.location_variance
    value = 0.5 * n_observed * (log_tau - np.log(2.0 * np.pi)) - noise.precision * error
    value += 0.5 * (latent.log_determinant - np.trace(latent.total))
    value += 0.5 * observations.n_samples * n_latent
    value += 0.5 * float(
        np.sum(np.log(broad.beta * latent.location_variance) + 1.0 - broad.beta * location_square)
    )
    value += broad.a0 * np.log(broad.b0) - gammaln(broad.a0) + (broad.a0 - 1.0) * log_tau
    value += -broad.b0 * noise.precision + c - log_e + gammaln(c) + (1.0 - c) * digamma(c)
    n_free = int(np.count_nonzero(free))
    second = loadings.second
    terms = prior.bound_term(second) if n_free == free.size else prior.bound_term(second[free])
    value += 0.5 * float(loadings.log_determinants.sum()) + float(terms.sum())
    value += 0.5 * n_free * (np.log(2.0 * np.pi) + 1.0) + (free.size - n_free) * prior.zero_term
    return float(value)
