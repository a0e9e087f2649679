"""Posterior of independent Gaussian rows: the loadings of the features, the scores of the samples.

Notation: see ``gaussian_rows_kernels``; ``D`` is the prior variance, ``tau`` the noise
precision, ``pairs = q(q+1)/2`` the length of a packed symmetric matrix.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from loadstone.covariance.protocol import Array


@dataclass(frozen=True)
class GaussianRows:
    """Moments of independent Gaussian rows; covariances only as far as they are needed.

    Attributes
    ----------
    mean, variance : ndarray of shape (n_rows, n_latent)
        Mean and marginal variances of every row.
    log_determinants : ndarray of shape (n_rows,)
        ``ln|Sigma_i|`` over the entries whose prior variance is positive.
    total : ndarray of shape (n_latent, n_latent)
        ``sum_i <w_i w_i'>``.
    moments : ndarray of shape (pairs, n_rows) or None
        Packed ``<w_i w_i'>`` of every row, where it was asked for.
    """

    mean: Array
    variance: Array
    log_determinants: Array
    total: Array
    moments: Array | None

    @property
    def second(self) -> Array:
        """``<w_ij^2>``, shape (n_rows, n_latent)."""
        return self.mean * self.mean + self.variance


def n_pairs(n_latent: int) -> int:
    """Length of a packed symmetric matrix."""
    return n_latent * (n_latent + 1) // 2


@lru_cache(maxsize=64)
def triangle(n_latent: int) -> tuple[Array, Array]:
    """Rows and columns of a lower triangle, in the order of packed matrices."""
    return np.tril_indices(n_latent)


def pack(matrices: Array) -> Array:
    """Lower triangles of symmetric matrices (..., q, q), as (pairs, ...)."""
    rows, cols = triangle(matrices.shape[-1])
    return np.ascontiguousarray(np.moveaxis(matrices[..., rows, cols], -1, 0))


def unpack(packed: Array) -> Array:
    """Symmetric matrices (..., q, q) from packed ones (pairs, ...)."""
    n_latent = int((np.sqrt(8 * packed.shape[0] + 1) - 1) // 2)
    rows, cols = triangle(n_latent)
    full = np.empty((*packed.shape[1:], n_latent, n_latent))
    moved = np.moveaxis(packed, 0, -1)
    full[..., rows, cols] = moved
    full[..., cols, rows] = moved
    return full


def inverted(systems: Array) -> tuple[Array, Array]:
    """Lower triangular roots ``L`` of positive matrices (..., q, q), and their inverses.

    By way of ``L^-1``: where some directions are known to many digits and others not at all, a general
    inverse has its rounding in both, and what is multiplied by a large precision needs it in neither.
    """
    root = np.linalg.cholesky(systems)
    inverse_root = np.linalg.inv(root)
    return root, inverse_root.swapaxes(-1, -2) @ inverse_root


def gaussian_rows(
    second: Array, prior_variance: Array, cross: Array, precision: float, *, keep_moments: bool
) -> GaussianRows:
    """Posterior rows ``N(tau Sigma_i c_i, Sigma_i)``; a prior variance of zero pins its entry.

    Parameters
    ----------
    second : ndarray of shape (pairs, 1) or (pairs, n_rows)
        Packed ``S_i``, shared by all rows or one for each.
    prior_variance, cross : ndarray of shape (n_rows, n_latent)
        ``D`` and ``c``.
    precision : float
        ``tau``.
    keep_moments : bool
        Whether to return every row's packed second moments.
    """
    from loadstone.solvers.variational_bayes import gaussian_rows_kernels as kernels

    n_rows, n_latent = prior_variance.shape
    prior_sd = np.sqrt(prior_variance)
    moments = np.empty((n_pairs(n_latent), n_rows if keep_moments else 0))
    mean, variance, log_system, total = kernels.gaussian_rows(
        np.ascontiguousarray(second, dtype=np.float64),
        np.ascontiguousarray(prior_sd, dtype=np.float64),
        np.ascontiguousarray(cross, dtype=np.float64),
        float(precision),
        moments,
    )
    free = prior_variance > 0
    log_prior = np.log(np.where(free, prior_variance, 1.0)).sum(axis=1)
    return GaussianRows(
        mean=mean,
        variance=variance,
        log_determinants=log_prior - log_system,
        total=total + mean.T @ mean,
        moments=moments if keep_moments else None,
    )


def point_rows(mean: Array, *, keep_moments: bool) -> GaussianRows:
    """Rows known without doubt, the start of the iteration."""
    moments = pack(mean[:, :, None] * mean[:, None, :]) if keep_moments else None
    return GaussianRows(
        mean=mean,
        variance=np.zeros_like(mean),
        log_determinants=np.zeros(mean.shape[0]),
        total=mean.T @ mean,
        moments=moments,
    )
