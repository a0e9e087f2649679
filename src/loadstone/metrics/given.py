"""What a measure is given: a covariance, and loadings in its columns."""

from __future__ import annotations

from typing import Any

import numpy as np


def check_covariance(S: Any) -> None:
    """Refuse what is neither a covariance nor a square matrix."""
    if not hasattr(S, "diagonal") or not hasattr(S, "dtype"):
        msg = f"S is a {type(S).__name__}, no covariance; give an array, for example numpy.cov(X.T)"
        raise TypeError(msg)
    if isinstance(S, np.ndarray) and (S.ndim != 2 or S.shape[0] != S.shape[1]):
        msg = f"S has shape {S.shape}, and covariances are square; give numpy.cov(X.T), not X"
        raise ValueError(msg)


def check_loadings(S: Any, loadings: Any) -> None:
    """Refuse loadings that are not one column for each component, with one row for each feature."""
    check_covariance(S)
    # A matrix is a covariance to whoever asks for no more than products.
    n_features = S.n_features if hasattr(S, "n_features") else S.shape[0]
    if isinstance(loadings, np.ndarray) and loadings.ndim == 2 and len(loadings) == n_features:
        return
    shape = np.shape(loadings)
    msg = (
        f"loadings of shape {shape} for {n_features} features; give an array with one row for each "
        "feature and one column for each component, as components_.T is"
    )
    raise ValueError(msg)
