"""Densities and dense matrices of ``N(mean, D (GG' + noise I) D)``, ``D`` the scales."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg import cholesky, solve_triangular
from sklearn.utils.validation import check_is_fitted

from loadstone.covariance import Array
from loadstone.covariance.containers import pieces, rows_of
from loadstone.estimators.checks import check_data
from loadstone.solvers.l0_noise_model import NoiseModel, SecondMoment


class NoiseLikelihoodMixin:
    """What a Gaussian model of the data can tell beyond its components.

    Needs ``mean_``, ``scale_``, ``noise_variance_`` and ``_scaled_loadings`` (``G``).
    """

    def score_samples(self, X: Any) -> Array:
        """Log-likelihood of each sample under the model.

        Parameters
        ----------
        X : {array-like, sparse matrix, Dask array} of shape (n_samples, n_features)
            Data in its own units, standardised inside where the fit was.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        X = check_data(self, X, reset=False)
        return log_densities(
            X, self.mean_, self.scale_, self._scaled_loadings, self.noise_variance_
        )

    def score(self, X: Any, y: Any = None) -> float:
        """Average log-likelihood of the samples.

        Parameters
        ----------
        X : {array-like, sparse matrix, Dask array} of shape (n_samples, n_features)
            Data, held out or not.
        y : None
            Ignored.

        Returns
        -------
        float
        """
        return float(np.mean(self.score_samples(X)))

    def get_covariance(self) -> Array:
        """Covariance of the model, ``GG' + noise_variance_ I``, in the units of the data.

        Returns
        -------
        ndarray of shape (n_features, n_features)
        """
        check_is_fitted(self)
        return covariance_matrix(self._scaled_loadings, self.noise_variance_, self.scale_)

    def get_precision(self) -> Array:
        """Inverse of :meth:`get_covariance`, by the matrix inversion lemma.

        Returns
        -------
        ndarray of shape (n_features, n_features)
        """
        check_is_fitted(self)
        return precision_matrix(self._scaled_loadings, self.noise_variance_, self.scale_)


def log_densities(X: Any, mean: Array, scale: Array | None, G: Array, noise: float) -> Array:
    """Log-density of each row; one pass, sparse data stays sparse, blocks stay blocks."""
    n_features, r = G.shape
    spread = np.ones(n_features) if scale is None else scale
    log_det = (n_features - r) * np.log(noise) + 2 * np.log(spread).sum()
    whitener = np.zeros((n_features, 0))
    if r:
        root = cholesky(G.T @ G + noise * np.eye(r), lower=True)
        log_det += 2 * np.log(root.diagonal()).sum()
        whitener = solve_triangular(root, G.T, lower=True).T / spread[:, None]
    squares = rows_of(X).stack_over_blocks(_mahalanobis, mean, spread, whitener, noise)
    return -(n_features * np.log(2 * np.pi) + log_det + squares) / 2


def model_variance(moment: SecondMoment, model: NoiseModel) -> Array:
    """Contributions of the components to ``tr(Q'SQ)``, Eq. 2 of the paper."""
    G = model.loadings
    if not G.shape[1]:
        return np.zeros(0)
    values, vectors = np.linalg.eigh(G.T @ G + model.noise_variance * np.eye(G.shape[1]))
    Q = G @ (vectors / np.sqrt(values)) @ vectors.T
    return np.einsum("ij,ij->j", Q, moment @ Q)


def covariance_matrix(G: Array, noise: float, scale: Array | None) -> Array:
    """``D (GG' + noise I) D``."""
    matrix = G @ G.T
    matrix.flat[:: matrix.shape[0] + 1] += noise
    return matrix if scale is None else matrix * np.multiply.outer(scale, scale)


def precision_matrix(G: Array, noise: float, scale: Array | None) -> Array:
    """``D^-1 (I - G W^-1 G') D^-1 / noise`` with ``W = G'G + noise I``."""
    r = G.shape[1]
    matrix = -G @ np.linalg.inv(G.T @ G + noise * np.eye(r)) @ G.T if r else 0 * (G @ G.T)
    matrix.flat[:: matrix.shape[0] + 1] += 1.0
    matrix /= noise
    return matrix if scale is None else matrix / np.multiply.outer(scale, scale)


def _mahalanobis(
    block: Any, rows: slice, mean: Array, spread: Array, whitener: Array, noise: float
) -> Array:
    """``(|y|^2 - |L^-1 G'y|^2) / noise`` of every row ``y`` of a block, centred and scaled."""
    if sparse.issparse(block):
        # |y|^2 expanded, so that the zeros of the data are never touched.
        weights = 1 / spread**2
        length = block.multiply(block) @ weights - 2 * (block @ (mean * weights))
        length += float(np.sum(mean**2 * weights))
        projected = block @ whitener - mean @ whitener
        return (length - np.square(projected).sum(axis=1)) / noise
    result = np.empty(block.shape[0])
    for piece in pieces(*block.shape):
        centred = np.asarray(block[piece], dtype=np.float64) - mean
        length = np.square(centred / spread).sum(axis=1)
        result[piece] = length - np.square(centred @ whitener).sum(axis=1)
    return result / noise
