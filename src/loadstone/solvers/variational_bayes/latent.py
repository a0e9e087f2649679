"""Posterior of scores and mean given the loadings, when no value is missing.

Notation: ``t_n`` are centred samples in units where the mean feature variance is one, ``G`` is
their scatter matrix (n_samples - 1 times the covariance over the squared unit), ``tau`` the
noise precision, ``beta`` the prior precision of the mean (Eqs. 14-17 of Guan & Dy 2009).
The samples enter through ``G W`` alone: ``sum x t' = tau Sigma_x W'G``,
``sum <x x'> = N Sigma_x + tau^2 Sigma_x W'GW Sigma_x``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from loadstone.covariance.protocol import Array, Covariance
from loadstone.solvers.variational_bayes.gaussian_rows import GaussianRows, pack


@dataclass(frozen=True)
class Latent:
    """Sufficient statistics of scores and mean for everything that follows them.

    Attributes
    ----------
    cross : ndarray of shape (n_features, n_components)
        ``sum_n x_n (t_ni - m_i)`` over the samples where feature i was observed.
    second : ndarray of shape (pairs, 1) or (pairs, n_features)
        Packed ``S_i``, the sum of ``<x_n x_n'>`` over the same samples.
    total : ndarray of shape (n_components, n_components)
        The sum of ``<x_n x_n'>`` over all samples.
    log_determinant : float
        Sum of ``ln|Sigma_xn|``.
    centred_square : float
        Sum of ``(t_ni - m_i)^2`` over observed values.
    location, location_variance : ndarray of shape (n_features,)
        Posterior of the mean, relative to the column means.
    """

    cross: Array
    second: Array
    total: Array
    log_determinant: float
    centred_square: float
    location: Array
    location_variance: Array


class Counted(Protocol):
    """Samples of which it is known how many there are."""

    @property
    def n_samples(self) -> float:
        """Number of samples, the sum of their weights."""
        ...

    @property
    def n_features(self) -> int:
        """Number of features."""
        ...

    @property
    def counts(self) -> Array:
        """How often every feature was observed."""
        ...


class Observations(Counted, Protocol):
    """Samples as the model sees them: complete (a covariance) or with holes (rows)."""

    needs_moments: bool

    @property
    def unit(self) -> float:
        """Standard deviation of the data that counts as one."""
        ...

    @property
    def rounding_slack(self) -> float:
        """How much coarser than double precision the products are."""
        ...

    @property
    def lost_square(self) -> float:
        """What rounding of the products takes off the sum of all squares, or adds to it."""
        ...

    def latent(
        self, loadings: GaussianRows, noise_precision: float, location: Array, beta: float
    ) -> Latent:
        """Update scores and mean given the posterior of the loadings."""
        ...


@dataclass(frozen=True)
class CompleteObservations:
    """Samples without holes, seen through their covariance.

    Attributes
    ----------
    covariance : Covariance
        Covariance of the data; only ``S @ W`` is asked of it.
    unit : float
        Standard deviation that becomes one; makes broad priors broad for any data.
    square : float
        Trace of the scatter matrix in these units.
    """

    covariance: Covariance
    unit: float
    square: float
    needs_moments = False

    @property
    def n_samples(self) -> float:
        """Number of samples."""
        return float(self.covariance.n_samples)

    @property
    def n_features(self) -> int:
        """Number of features."""
        return self.covariance.n_features

    @property
    def counts(self) -> Array:
        """How often every feature was observed."""
        return np.full(self.n_features, self.n_samples)

    @property
    def rounding_slack(self) -> float:
        """How much coarser than double precision the products are."""
        return float(np.sqrt(np.finfo(self.covariance.dtype).eps / np.finfo(np.float64).eps))

    @property
    def lost_square(self) -> float:
        """Loadings and products are rounded to the precision of the covariance."""
        return float(np.finfo(self.covariance.dtype).eps) * self.square

    def latent(
        self, loadings: GaussianRows, noise_precision: float, location: Array, beta: float
    ) -> Latent:
        """Scores from one product with the covariance; centred samples leave the mean at 0."""
        W = loadings.mean
        product = np.asarray(self.covariance @ W.astype(self.covariance.dtype), dtype=np.float64)
        product *= (self.n_samples - 1.0) / self.unit**2
        n_latent = W.shape[1]
        factor = np.linalg.cholesky(np.eye(n_latent) + noise_precision * loadings.total)
        inverse_factor = np.linalg.solve(factor, np.eye(n_latent))
        sigma_x = inverse_factor.T @ inverse_factor
        cross = noise_precision * product @ sigma_x
        scatter = noise_precision * sigma_x @ (W.T @ cross)
        total = self.n_samples * sigma_x + 0.5 * (scatter + scatter.T)
        return Latent(
            cross=cross,
            second=pack(total)[:, None],
            total=total,
            log_determinant=-2.0 * self.n_samples * float(np.log(np.diagonal(factor)).sum()),
            centred_square=self.square,
            location=location,
            location_variance=1.0 / (beta + self.counts * noise_precision),
        )


def complete_observations(covariance: Covariance) -> CompleteObservations:
    """Observations behind a covariance, in units of its mean feature variance."""
    if not covariance.n_samples > 1:
        msg = (
            f"The covariance stands for n_samples={covariance.n_samples} samples; the noise model "
            "weighs data against priors and needs at least 2. Give the number of samples with "
            "the matrix, or fit on the data."
        )
        raise ValueError(msg)
    variances = np.asarray(covariance.diagonal(), dtype=np.float64)
    mean_variance = float(variances.mean())
    if not (np.isfinite(mean_variance) and mean_variance > 0):
        msg = (
            f"The mean feature variance is {mean_variance}; it must be positive and finite. "
            "All features are constant, or the data overflows."
        )
        raise ValueError(msg)
    square = (covariance.n_samples - 1.0) * covariance.n_features
    return CompleteObservations(covariance, unit=float(np.sqrt(mean_variance)), square=square)
