"""What is left of a covariance without some scores: their Schur complement."""

from __future__ import annotations

import numpy as np

from loadstone.covariance import Array, Covariance, DeflatedCovariance, ExplicitCovariance
from loadstone.covariance.symmetric import pseudo_inverse
from loadstone.solvers.search.equals import remember_whole
from loadstone.solvers.search.restricted import FEW_FEATURES

__all__ = ["without_components", "without_scores"]


def without_components(S: Covariance, loadings: Array) -> Covariance:
    """``S`` with everything removed that the scores of ``loadings`` explain (Schur complement)."""
    if loadings.shape[1] == 0:
        return S
    U = S @ loadings
    G = loadings.T.astype(np.float64) @ U.astype(np.float64)
    return without_scores(S, U, (G + G.T) / 2)


def without_scores(S: Covariance, U: Array, G: Array) -> Covariance:
    """The same of scores with covariances ``U`` to the features and ``G`` to one another."""
    inverse = pseudo_inverse(G, 1e-10).astype(S.dtype, copy=False)
    if not isinstance(S, ExplicitCovariance) or S.n_features > FEW_FEATURES:
        return DeflatedCovariance(S, U, inverse)
    formed = S.matrix - U @ inverse @ U.T
    # Rounding below zero is cut off, as a deflated covariance does.
    np.fill_diagonal(formed, np.maximum(formed.diagonal(), 0))
    return remember_whole(ExplicitCovariance(formed, S.n_samples), S)
