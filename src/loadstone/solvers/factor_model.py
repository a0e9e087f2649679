"""The Gaussian behind every factor model: ``t = W x + noise`` with ``t ~ N(0, W W' + Psi)``.

Notation: ``Psi`` is diagonal, one noise variance for all features or one for each; with
``V = Psi^-1 W`` and ``M = I + W'V`` (Eq. 7 of Sigg & Buhmann 2008 over the noise variance)
the precision is ``Psi^-1 - V M^-1 V'``, the log-determinant ``sum ln psi + ln|M|`` and the
posterior of the scores ``N(M^-1 V't, M^-1)``. Only ``M``, as wide as there are components,
is ever factorised; no component at all is allowed. Samples are centred. Missing values are
left out of a sample's likelihood.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from numbers import Integral
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular

from loadstone.covariance.protocol import Array
from loadstone.files.foreign import memory_limit
from loadstone.solvers.variational_bayes.gaussian_rows import GaussianRows, inverted, pack, unpack


@dataclass(frozen=True)
class FactorModel:
    """Independent noise around a low-dimensional Gaussian; everything inside is float64.

    Attributes
    ----------
    loadings : ndarray of shape (n_features, n_components)
        ``W``, not normalised; ``n_components`` may be zero.
    noise_variance : float or ndarray of shape (n_features,)
        ``psi``, positive.
    """

    loadings: Array
    noise_variance: float | Array

    @cached_property
    def noise(self) -> Array:
        """``psi`` of every feature."""
        return np.broadcast_to(
            np.asarray(self.noise_variance, dtype=np.float64), (self.loadings.shape[0],)
        )

    @property
    def n_components(self) -> int:
        """Number of components."""
        return int(self.loadings.shape[1])

    @cached_property
    def _double(self) -> Array:
        return np.asarray(self.loadings, dtype=np.float64)

    @cached_property
    def _weighted(self) -> Array:
        """``V = Psi^-1 W``."""
        return self._double / self.noise[:, None]

    @cached_property
    def _root(self) -> Array:
        """Lower triangular ``L`` with ``M = LL'``."""
        return np.linalg.cholesky(np.eye(self.n_components) + self._double.T @ self._weighted)

    @cached_property
    def _whitened(self) -> Array:
        """``L^-1 V'``."""
        if not self.n_components:
            return self._weighted.T
        whitened: Array = solve_triangular(self._root, self._weighted.T, lower=True)
        return whitened

    def covariance(self) -> Array:
        """``W W' + Psi``."""
        matrix = self._double @ self._double.T
        matrix.flat[:: matrix.shape[0] + 1] += self.noise
        return matrix

    def precision(self) -> Array:
        """Inverse covariance, ``Psi^-1 - V M^-1 V'``."""
        matrix = -self._whitened.T @ self._whitened
        matrix.flat[:: matrix.shape[0] + 1] += 1.0 / self.noise
        return matrix

    def log_determinant(self) -> float:
        """Logarithm of the determinant of the covariance, ``sum ln psi + ln|M|``."""
        return float(np.log(self.noise).sum() + 2.0 * np.log(np.diagonal(self._root)).sum())

    def scores_matrix(self) -> Array:
        """``P = V M^-1``, so that ``t @ P`` are the posterior means of complete samples."""
        if not self.n_components:
            return self._weighted
        solved: Array = solve_triangular(self._root, self._whitened, lower=True, trans="T")
        return solved.T

    def scores_std(self) -> Array:
        """Posterior standard deviations of the scores of a complete sample."""
        std: Array = np.sqrt(np.square(np.linalg.inv(self._root)).sum(axis=0))
        return std

    def log_density(self, weighted_squares: Array, scores: Array) -> Array:
        """Log density of complete samples from what one pass over their rows supplies.

        Parameters
        ----------
        weighted_squares : ndarray of shape (n_samples,)
            ``sum_i t_i^2 / psi_i``, that is ``np.square(t) @ (1 / model.noise)``.
        scores : ndarray of shape (n_samples, n_components)
            ``t @ model.scores_matrix()``.
        """
        explained = np.square(scores @ self._root).sum(axis=1)
        constant = self.noise.size * np.log(2.0 * np.pi) + self.log_determinant()
        density: Array = -0.5 * (constant + weighted_squares - explained)
        return density

    def observed_scores(self, values: Array, observed: Array) -> GaussianRows:
        """Posterior scores of samples with holes; ``values`` are zero where not ``observed``."""
        values, observed = values.astype(np.float64), observed.astype(np.float64)
        products = pack(self._weighted[:, :, None] * self._double[:, None, :])
        system = unpack(products @ observed.T) + np.eye(self.n_components)
        root, covariance = inverted(system)
        mean = np.einsum("nij,nj->ni", covariance, values @ self._weighted)
        moments = covariance + mean[:, :, None] * mean[:, None, :]
        return GaussianRows(
            mean=mean,
            variance=np.diagonal(covariance, axis1=1, axis2=2).copy(),
            log_determinants=-2.0 * np.log(np.diagonal(root, axis1=1, axis2=2)).sum(axis=1),
            total=moments.sum(axis=0),
            moments=pack(moments),
        )

    def observed_log_likelihood(
        self, values: Array, observed: Array, scores: GaussianRows | None = None
    ) -> Array:
        """Log density of the observed part of every sample."""
        scores = self.observed_scores(values, observed) if scores is None else scores
        # The squared residual and score cannot cancel, as the squared sample less what the
        # scores explain does where the noise is small.
        residual = (values - scores.mean @ self._double.T) * observed
        distance = np.square(residual) @ (1.0 / self.noise) + np.square(scores.mean).sum(axis=1)
        log_noise = observed @ np.log(2.0 * np.pi * self.noise)
        density: Array = -0.5 * (log_noise - scores.log_determinants + distance)
        return density

    def sample(self, rng: np.random.Generator | np.random.RandomState, n_samples: int) -> Array:
        """Independent centred draws, shape (n_samples, n_features)."""
        _refuse_draws(n_samples, self.noise.size)
        scores = rng.normal(size=(n_samples, self.n_components))
        noise = rng.normal(size=(n_samples, self.noise.size))
        return scores @ self._double.T + np.sqrt(self.noise) * noise


def _refuse_draws(n_samples: Any, n_features: int) -> None:
    """Refuse a number of draws that is none, or that nobody can hold."""
    if not isinstance(n_samples, Integral) or isinstance(n_samples, bool) or n_samples < 0:
        msg = f"n_samples={n_samples!r} must be a whole number of draws, at least 0"
        raise ValueError(msg)
    held, limit = 2 * 8 * int(n_samples) * n_features, memory_limit()
    if held > limit:
        msg = (
            f"n_samples={n_samples} draws of {n_features} features take {held / 2**30:.3g} GiB, and "
            f"this machine has {limit / 2**30:.3g} GiB of memory; draw fewer at a time"
        )
        raise MemoryError(msg)
