"""How likely the data is under a model whose loadings and noise are not known.

Notation: see ``rounds`` and ``information``. The lower bound takes scores and loadings, and loadings
among each other, for independent once the data is known. They are not, and what that costs grows
with every component: on 214 samples of nine features by 8 nats with two components, by 60 with six,
more the less noise there is and the more values are missing. Between a few numbers of components
of sparse factors it does not matter; where all features hang together, the bound stops too early.

Here the scores are integrated out exactly, and loadings and ``ln psi`` as if their law were normal
around the model (Laplace), with the support that is most likely:

    ln p(T) = ln p(T, W, psi, support) + (k + d)/2 ln 2 pi - 1/2 ln|I + prior| - ln q(support)
"""

from __future__ import annotations

import numpy as np
from scipy.special import expit, gammaln

from loadstone.covariance.protocol import Array
from loadstone.solvers.factor_models.information import THERE, information, with_one_noise
from loadstone.solvers.factor_models.noise import ETA, Noise, own_law_of
from loadstone.solvers.factor_models.point_normal import SCALE_PRICE, PointNormal
from loadstone.solvers.factor_models.rounds import State
from loadstone.solvers.factor_models.samples import IncompleteSamples, Samples

#: Parameters up to which this is done, and entries of all matrices together.
MOST_PARAMETERS, MOST_ENTRIES = 300, 1e8


def log_evidence(samples: Samples, state: State) -> float | None:
    """Log evidence of the first model of ``state``; ``None`` where the matrices are too large."""
    law, noise = state.law, state.noise
    kept = law.inclusion[0] > THERE
    n_parameters = int(np.count_nonzero(kept)) + samples.n_features
    patterns = len(samples.patterns) if isinstance(samples, IncompleteSamples) else 1
    if n_parameters > MOST_PARAMETERS or patterns * n_parameters**2 > MOST_ENTRIES:
        return None
    tau, W = noise.precision[0], law.slab_mean[0] * kept
    value, matrix = _likelihood(samples, W, 1.0 / tau, kept, state.location[0])
    component, feature = np.nonzero(kept)
    variance = law.scale[0][component] / tau[feature]
    value -= 0.5 * float(np.sum(np.log(2.0 * np.pi * variance) + np.square(W[kept]) / variance))
    value += _log_chance_of_support(law, kept) - SCALE_PRICE * len(W)
    own = np.arange(component.size)
    matrix[own, own] += 1.0 / variance
    prior, curvature = _noise_prior(noise, samples.variance)
    if noise.kind == "shared":
        matrix = with_one_noise(matrix, component.size)
    own = np.arange(component.size, len(matrix))
    matrix[own, own] += curvature
    value += prior + 0.5 * (len(matrix) * float(np.log(2.0 * np.pi)) - _log_determinant(matrix))
    return value if np.isfinite(value) else None


def _log_chance_of_support(law: PointNormal, kept: Array) -> float:
    """Log prior of the support less the log posterior: what all supports together have."""
    chance, share = law.inclusion[0], law.share[0]
    sizes, d = kept.sum(axis=1), kept.shape[1]
    prior = sizes @ np.log(share) + (d - sizes) @ np.log1p(-share)
    return float(prior - np.log(np.maximum(chance, 1.0 - chance)).sum())


def _noise_prior(noise: Noise, variance: Array) -> tuple[float, Array]:
    """Log density of the ``ln tau`` under their prior, and its curvature there."""
    tau = noise.precision[0]
    a0, b0 = own_law_of(variance)
    if noise.kind == "pooled":
        return _pooled_prior(noise, a0, b0, ETA * variance * tau)
    if noise.kind == "shared":
        tau, b0 = tau[:1], np.mean(b0, keepdims=True)
    return float(_log_density_of(a0, b0, tau).sum()), b0 * tau


def _pooled_prior(noise: Noise, a0: Array, b0: Array, floor: Array) -> tuple[float, Array]:
    """The same for the pool and the law ``Gamma(a0, b0)`` of features that stand apart."""
    tau, chance = noise.precision, noise.chance_apart
    pool = noise.pool
    together = np.log1p(-chance) + _log_density_of(*pool, tau)
    apart = np.log(chance) + _log_density_of(a0, b0, tau)
    r = expit(apart - together)
    value = np.logaddexp(together, apart).sum() - floor.sum()
    between = pool[0] - pool[1] * tau - (a0 - b0 * tau)
    curvature = (1.0 - r) * pool[1] * tau + r * b0 * tau - r * (1.0 - r) * np.square(between)
    return float(value), np.maximum(curvature[0], 0.0) + floor


def _log_density_of(a0: Array, b0: Array, tau: Array) -> Array:
    """Of ``ln tau`` where ``tau`` is ``Gamma(a0, b0)``."""
    result: Array = a0 * np.log(b0 * tau) - gammaln(a0) - b0 * tau
    return result


def _likelihood(
    samples: Samples, W: Array, psi: Array, kept: Array, location: Array
) -> tuple[float, Array]:
    """Log likelihood with the scores integrated out, and the information of the samples."""
    d = psi.size
    C = W.T @ W + np.diag(psi)
    if not isinstance(samples, IncompleteSamples):
        n, scatter = samples.n_samples, samples.products(np.eye(d))
        matrix = information(W, psi, kept, n)
        return _log_density(C, scatter, n), matrix
    value, n_parameters = 0.0, int(np.count_nonzero(kept)) + d
    total = np.zeros((n_parameters, n_parameters))
    for p, observed in enumerate(samples.patterns > 0):
        of_pattern = samples.pattern == p
        weights = samples.weights[of_pattern]
        n, seen = float(weights.sum()), np.flatnonzero(observed)
        rows = samples.values[np.ix_(of_pattern, seen)] - location[seen]
        value += _log_density(C[np.ix_(seen, seen)], (rows.T * weights) @ rows, n)
        total += information(W, psi, kept, n, observed)
    return value, total


def _log_density(C: Array, scatter: Array, n: float) -> float:
    """Of ``n`` samples with this scatter around their mean."""
    sd = np.sqrt(np.diagonal(C))
    units = np.multiply.outer(sd, sd)
    distance = float(np.trace(np.linalg.solve(C / units, scatter / units)))
    constant = len(C) * float(np.log(2.0 * np.pi))
    return -0.5 * (n * (_log_determinant(C) + constant) + distance)


def _log_determinant(matrix: Array) -> float:
    """Of a positive matrix whose entries may have very different units; NaN where it is not."""
    sd = np.sqrt(np.diagonal(matrix))
    sign, value = np.linalg.slogdet(matrix / np.multiply.outer(sd, sd))
    return float(value) + 2.0 * float(np.log(sd).sum()) if sign > 0 else float("nan")
