"""What the pictures read off a fitted estimator."""

from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Integral
from typing import Any

import numpy as np

from loadstone._sklearn_compat import check_is_fitted


def components_of(estimator: Any, components: Any = None) -> list[int]:
    """Indices of the components to draw, checked."""
    check_is_fitted(estimator, "components_")
    n = estimator.components_.shape[0]
    if components is None:
        return list(range(n))
    asked: list[Any] = [components] if isinstance(components, Integral) else list(components)
    if asked:
        refuse_nothing(estimator)
    bad = [j for j in asked if not 0 <= j < n]
    if bad:
        msg = f"components={bad} asked for, but there are {n}, counted from 0"
        raise ValueError(msg)
    return [int(j) for j in asked]


def refuse_nothing(estimator: Any) -> None:
    """Say that there is nothing to draw, where no component was found."""
    if not estimator.components_.shape[0]:
        msg = (
            "there are 0 components, and this picture needs at least one: the fit found that nothing "
            "in the data stands out from the noise; draw an estimator that has components, such as "
            "SparsePCA"
        )
        raise ValueError(msg)


def attribute_of(fitted: Any, name: str, owner: str) -> Any:
    """What only one kind of fitted object has, or a sentence that says whose it is."""
    found = getattr(fitted, name, None)
    if found is None:
        msg = f"{type(fitted).__name__} has no {name}; give {owner}"
        raise TypeError(msg)
    return found


def image_size(shape: Any, n_features: int) -> tuple[int, int]:
    """Height and width of images whose pixels are the features, from a pair or an array of two."""
    sizes = np.asarray(shape) if np.ndim(shape) < 2 else np.empty(0)
    whole = sizes.shape == (2,) and sizes.dtype.kind in "iuf" and (sizes == sizes // 1).all()
    # In numbers of Python: narrow ones do not hold the product.
    height, width = (int(size) for size in sizes) if whole else (0, 0)
    if height < 1 or width < 1 or height * width != n_features:
        given = f"{shape!r}" if np.ndim(shape) < 2 else f"a {type(shape).__name__}"
        msg = (
            f"image_shape={given} does not hold {n_features} features; give height and width, "
            f"whose product is the number of features, such as {squarest(n_features)}"
        )
        raise ValueError(msg)
    return height, width


def squarest(n_pixels: int) -> tuple[int, int]:
    """Height and width of the image nearest to a square that has so many pixels."""
    height = next(side for side in range(math.isqrt(n_pixels), 0, -1) if n_pixels % side == 0)
    return height, n_pixels // height


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


def covariance_behind(estimator: Any, X: Any, sample_weight: Any = None) -> Any:
    """The covariance of ``X``, which is centred, and scaled where the estimator scales."""
    from loadstone.covariance import SampleCovariance, covariance_of
    from loadstone.covariance.checks import check_weights, refuse_not_finite
    from loadstone.estimators.checks import check_new_rows

    scaled = getattr(estimator, "scale_", None) is not None
    if isinstance(X, SampleCovariance):
        return X.covariance(standardize=scaled)
    rows = check_new_rows(estimator, X)
    if rows.shape[0] < 2:
        msg = f"X has {rows.shape[0]} sample(s), which do not vary; give those that were fitted"
        raise ValueError(msg)
    S, moments = covariance_of(
        rows,
        standardize=scaled,
        sample_weight=check_weights(sample_weight, rows),
        n_products=20 * estimator.components_.shape[0],
    )
    refuse_not_finite(moments.mean, moments.variance, None, seen=True)
    return S


def pca_pairs(S: Any, n_components: int) -> tuple[Any, Any]:
    """Variances and loadings of plain principal components, largest variance first."""
    from loadstone.covariance.spectrum import leading_eigenpairs

    # Three digits are shown; asking for all of them would cost many more passes.
    values, vectors = leading_eigenpairs(S, n_components, tol=1e-5)
    values = np.maximum(np.asarray(values, dtype=np.float64), 0)
    return values, np.asarray(vectors, dtype=np.float64)


def pca_variances(estimator: Any, X: Any, sample_weight: Any = None) -> Any:
    """Variances of as many plain principal components of ``X``, largest first."""
    S = covariance_behind(estimator, X, sample_weight)
    return pca_pairs(S, estimator.components_.shape[0])[0]


def upper_bounds_of(fitted: Any) -> Any:
    """Proven upper bounds of a fitted estimator or path, NaN where there are none."""
    bounds = getattr(fitted, "bounds", getattr(fitted, "upper_bound_", None))
    if bounds is None:
        certificates = getattr(fitted, "certificates_", getattr(fitted, "certificates", None))
        if not certificates:
            return None
        bounds = [getattr(c, "upper_bound", np.nan) for c in certificates]
    bounds = np.atleast_1d(np.asarray(bounds, dtype=np.float64))
    return bounds if np.isfinite(bounds).any() else None


def is_of_all(estimator: Any, traces: Sequence[Any]) -> bool:
    """Whether searches went for something that components have together, not for the variance of each.

    Of a single component the number of traces does not tell, but the method does.
    """
    from loadstone.estimators.base import Components
    from loadstone.estimators.sequential import SequentialComponents

    if len(traces) != len(estimator.components_):
        return True
    if len(traces) > 1 or not isinstance(estimator, Components):
        return False
    alone = isinstance(estimator, SequentialComponents)
    return not alone or getattr(estimator, "objective", "variance") != "variance"


def pca_variance_of(path: Any) -> float | None:
    """Variance of the first plain principal component, read off a path."""
    ratio = getattr(path, "ratio", None)
    if ratio is None or not ratio[-1] > 0:
        return None
    return float(path.values[-1] / ratio[-1])
