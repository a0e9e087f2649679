"""Components as other programs take them: a covariance, or a PCA of scikit-learn."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.decomposition import PCA

from loadstone.covariance.protocol import Array
from loadstone.covariance.scores import pseudo_inverse


def implied_covariance(components: Array, of_scores: Array, total_variance: float) -> Array:
    """``P S P + s (I - P)``: the covariance in the span, and the mean of the rest outside of it.

    Parameters
    ----------
    components : ndarray of shape (n_components, n_features)
        ``P`` projects on their span; they need not be orthogonal.
    of_scores : ndarray of shape (n_components, n_components)
        Covariance of the scores, which says what ``S`` is in the span.
    total_variance : float
        Trace of ``S``, and of the result.

    Returns
    -------
    ndarray of shape (n_features, n_features)
    """
    W = np.asarray(components, dtype=np.float64)
    back = pseudo_inverse(components)
    inside = back @ of_scores @ back.T
    projector = back @ W
    n_outside = W.shape[1] - round(float(np.trace(projector)))
    if n_outside == 0:
        return inside
    rest = max(0.0, total_variance - float(np.trace(inside))) / n_outside
    covariance = inside - rest * projector
    covariance.flat[:: W.shape[1] + 1] += rest
    symmetric: Array = (covariance + covariance.T) / 2
    return symmetric


def plain_pca(fitted: Any, V: Array) -> PCA:
    """A fitted PCA whose ``transform`` is ``((X - mean) / scale) V``."""
    V = np.asarray(V if fitted.scale_ is None else V / fitted.scale_[:, None])
    n_samples = fitted.n_samples_
    pca = PCA(n_components=V.shape[1])
    pca.components_ = np.ascontiguousarray(V.T)
    pca.mean_ = np.asarray(fitted.mean_)
    pca.explained_variance_ = np.asarray(fitted.explained_variance_)
    pca.explained_variance_ratio_ = np.asarray(fitted.explained_variance_ratio_)
    pca.singular_values_ = np.sqrt(pca.explained_variance_ * max(float(n_samples) - 1, 0.0))
    pca.n_components_ = V.shape[1]
    pca.n_samples_ = n_samples
    pca.noise_variance_ = 0.0
    pca.n_features_in_ = V.shape[0]
    if "feature_names_in_" in vars(fitted):
        pca.feature_names_in_ = fitted.feature_names_in_
    return pca
