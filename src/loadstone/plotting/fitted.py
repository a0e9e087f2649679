"""What the pictures read off a fitted estimator."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted


def components_of(estimator: Any, components: Any = None) -> list[int]:
    """Indices of the components to draw, checked."""
    check_is_fitted(estimator, "components_")
    n = estimator.components_.shape[0]
    if components is None:
        return list(range(n))
    asked = [components] if isinstance(components, Integral) else list(components)
    bad = [j for j in asked if not 0 <= j < n]
    if bad:
        msg = f"components={bad} asked for, but there are {n}, counted from 0"
        raise ValueError(msg)
    return [int(j) for j in asked]


def names_of(estimator: Any, feature_names: Any = None) -> Any:
    """Feature names: those given, those seen in ``fit``, or ``x0``, ``x1``, ..."""
    check_is_fitted(estimator, "components_")
    n = estimator.components_.shape[1]
    if feature_names is None:
        feature_names = getattr(estimator, "feature_names_in_", None)
    if feature_names is None:
        return np.array([f"x{i}" for i in range(n)], dtype=object)
    names = np.asarray(feature_names, dtype=object)
    if names.shape != (n,):
        msg = f"{names.size} feature names were given for {n} features"
        raise ValueError(msg)
    return names


def ranked_features(loadings: Any) -> Any:
    """Indices of the non-zero loadings, largest absolute value first."""
    support = np.flatnonzero(loadings)
    return support[np.argsort(-np.abs(np.asarray(loadings)[support]), kind="stable")]
