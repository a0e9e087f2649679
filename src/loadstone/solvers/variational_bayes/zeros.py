"""Exact zeros: the test of the Jeffreys prior, the zero rule and the component rule.

Notation: ``t = |mean|/sd`` of a loading; ``s_j = 1/Sigma_jj - 1/D_j`` and
``q_j = mu_j/Sigma_jj`` are what the data alone says about loading j (Tipping & Faul 2003):
with ``q_j^2 <= s_j`` the evidence falls with ``D_j`` from zero on.
"""

from __future__ import annotations

import numpy as np

from loadstone.covariance.protocol import Array
from loadstone.solvers.variational_bayes.gaussian_rows import GaussianRows


def weakest_vanishing(loadings: GaussianRows, prior_variance: Array) -> Array:
    """Mark in every row the loading whose removal raises the evidence most, if any does.

    One a row: removing it changes what the data says about the others. With ``g = D s``,
    ``D = 0`` instead of ``D`` changes the evidence by ``(ln(1 + g) - q^2 D/(1 + g))/2 > 0``.
    """
    free = prior_variance > 0
    variance = np.where(free, loadings.variance, 1.0)
    prior = np.where(free, prior_variance, 1.0)
    data_precision = 1.0 / variance - 1.0 / prior
    vanishing = free & ((loadings.mean / variance) ** 2 <= data_precision)
    rise = np.where(vanishing, np.log(prior / variance) - loadings.mean**2 / variance, -np.inf)
    best = rise.argmax(axis=1)
    marked = np.zeros_like(free)
    rows = np.arange(free.shape[0])
    marked[rows, best] = vanishing[rows, best]
    return marked


def inclusion_probability(loadings: GaussianRows, prior_variance: Array) -> Array:
    """Posterior probability at even odds that a loading is not zero, all others as they are.

    The evidence of ``w_j ~ N(0, D_j)`` over that of ``w_j = 0`` is
    ``sqrt(Sigma_jj/D_j) exp(mu_j^2/(2 Sigma_jj))``.
    """
    free = prior_variance > 0
    variance = np.where(free, loadings.variance, 1.0)
    ratio = variance / np.where(free, prior_variance, 1.0)
    log_odds = 0.5 * (loadings.mean**2 / variance + np.log(ratio))
    return np.where(free, 1.0 / (1.0 + np.exp(-np.clip(log_odds, -500, 500))), 0.0)


def kept_loadings(
    loadings: GaussianRows,
    noise_variance: float,
    n_samples: float,
    zero_threshold: float,
    component_threshold: float | None,
) -> Array:
    """Support by the zero rule: ``t > zero_threshold``, in components that stand out of noise.

    Component j stays when ``||w_j||^2 > c noise_variance``, by default
    ``c = (1 + sqrt(k_j/N))^2 - 1 + 2 sqrt(2 ln d/N)`` with ``k_j`` its support size: what the
    largest of noise directions reaches by chance.
    """
    n_features = loadings.mean.shape[0]
    support = np.abs(loadings.mean) > zero_threshold * np.sqrt(loadings.variance)
    support &= loadings.mean != 0
    sizes = support.sum(axis=0)
    strength = np.where(support, loadings.mean**2, 0.0).sum(axis=0)
    if component_threshold is None:
        chance = (1.0 + np.sqrt(sizes / n_samples)) ** 2 - 1.0
        level = chance + 2.0 * np.sqrt(2.0 * np.log(n_features) / n_samples)
    else:
        level = np.full(sizes.shape, component_threshold)
    result: Array = support & (strength > level * noise_variance)
    return result
