"""The Gaussian behind probabilistic PCA: ``N(mean, W W' + noise_variance I)``.

Notation: ``C = W W' + sigma^2 I``, ``M = W'W + sigma^2 I`` (Eq. 7 of Sigg & Buhmann 2008).
Only ``M`` (n_components wide) is ever factorised: ``C^-1 = (I - W M^-1 W')/sigma^2`` and
``ln|C| = (d - q) ln sigma^2 + ln|M|``. Missing values are left out of a sample's likelihood.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from loadstone.covariance.protocol import Array
from loadstone.solvers.variational_bayes.gaussian_rows import GaussianRows, gaussian_rows, pack


@dataclass(frozen=True)
class FactorModel:
    """Isotropic noise around a low-dimensional Gaussian; samples are centred.

    Attributes
    ----------
    loadings : ndarray of shape (n_features, n_components)
        ``W``, not normalised.
    noise_variance : float
        ``sigma^2``.
    """

    loadings: Array
    noise_variance: float

    def _inner(self) -> Array:
        W = self.loadings
        return W.T @ W + self.noise_variance * np.eye(W.shape[1])

    def covariance(self) -> Array:
        """``W W' + sigma^2 I``."""
        W = self.loadings
        return W @ W.T + self.noise_variance * np.eye(W.shape[0])

    def precision(self) -> Array:
        """Inverse covariance by the Woodbury identity."""
        W = self.loadings
        projected = W @ cho_solve(cho_factor(self._inner()), W.T)
        return (np.eye(W.shape[0]) - 0.5 * (projected + projected.T)) / self.noise_variance

    def scores(self, projections: Array) -> Array:
        """Posterior means ``M^-1 W't`` of complete samples, from ``t'W`` as rows."""
        return cho_solve(cho_factor(self._inner()), projections.T).T

    def scores_std(self) -> Array:
        """Posterior standard deviations of the scores of a complete sample."""
        inverse = cho_solve(cho_factor(self._inner()), np.eye(self.loadings.shape[1]))
        return np.sqrt(self.noise_variance * np.diagonal(inverse))

    def log_likelihood(self, squares: Array, projections: Array) -> Array:
        """Log density of complete samples, from their squared norms and ``t'W``."""
        d, q = self.loadings.shape
        inner = cho_factor(self._inner())
        explained = np.einsum("ij,ji->i", projections, cho_solve(inner, projections.T))
        log_det = (d - q) * np.log(self.noise_variance)
        log_det += 2.0 * np.log(np.diagonal(inner[0])).sum()
        distance = (squares - explained) / self.noise_variance
        return -0.5 * (d * np.log(2.0 * np.pi) + log_det + distance)

    def observed_scores(self, values: Array, observed: Array) -> GaussianRows:
        """Posterior scores of samples with holes; ``values`` are zero where not ``observed``."""
        W = self.loadings
        return gaussian_rows(
            pack(W[:, :, None] * W[:, None, :]) @ observed.T,
            np.ones((values.shape[0], W.shape[1])),
            values @ W,
            1.0 / self.noise_variance,
            keep_moments=True,
        )

    def observed_log_likelihood(
        self, values: Array, observed: Array, scores: GaussianRows | None = None
    ) -> Array:
        """Log density of the observed part of every sample."""
        scores = self.observed_scores(values, observed) if scores is None else scores
        explained = ((values @ self.loadings) * scores.mean).sum(axis=1)
        distance = ((values * values).sum(axis=1) - explained) / self.noise_variance
        log_noise = np.log(2.0 * np.pi * self.noise_variance)
        return -0.5 * (observed.sum(axis=1) * log_noise - scores.log_determinants + distance)
