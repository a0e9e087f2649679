"""The friendly face of paths: data in, checked, and a fitted estimator out for any size."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import replace
from numbers import Integral
from typing import Any

import numpy as np

from loadstone._sklearn_compat import Options, StrOptions, validate_parameter_constraints
from loadstone.constraints.features import listed
from loadstone.covariance import Array, Covariance, SampleGram
from loadstone.estimators.found import tell, user_level
from loadstone.estimators.parameters import SHARED
from loadstone.estimators.reading import read, read_covariance
from loadstone.extraction import RefusedConstraintError
from loadstone.extraction.size import size_ladder
from loadstone.selection.path import (
    PATH_EFFORTS,
    CardinalityPath,
    automatic_sizes,
    search_path,
)
from loadstone.selection.path_recovery import recovery_path
from loadstone.selection.path_wide import largest_wide_size

#: Values the arguments may have.
RULES: Mapping[str, Any] = {
    "n_nonzeros": [StrOptions({"auto"}), Integral, "array-like"],
    "objective": [StrOptions({"variance", "recovery"})],
    "effort": [StrOptions(set(PATH_EFFORTS))],
    "certify": [Options(bool, {False}), StrOptions({"instant", "standard"})],
    **{name: SHARED[name].rule for name in ("nonnegative", "standardize", "route")},
}

_NO_BOUNDS = (
    "objective='recovery': certify={!r} proves bounds of the variance; use certify=False, or "
    "SparsePCA(objective='recovery', certify=...) for one size"
)


def cardinality_path(
    X: Any = None,
    n_nonzeros: Any = "auto",
    *,
    covariance: Any = None,
    n_samples: float | None = None,
    nonnegative: bool = False,
    objective: str = "variance",
    effort: str = "balanced",
    certify: Any = False,
    standardize: bool | None = None,
    route: str = "auto",
    sample_weight: Any = None,
) -> CardinalityPath:
    """The best first component of every size: variance against cardinality.

    Parameters
    ----------
    X : {array-like, sparse matrix, memmap, Dask array} of shape (n_samples, n_features)
        Data, or its :class:`SampleCovariance`. Give either this or ``covariance``.
    n_nonzeros : "auto" or array-like of int, default="auto"
        Sizes. ``"auto"`` takes every size up to 150 features, and 150 logarithmically
        spaced ones beyond; of wide data out of core, up to what a working set has room for.
    covariance : array-like of shape (n_features, n_features) or SampleCovariance, optional
        A covariance or correlation matrix in place of data.
    n_samples : float, optional
        Number of samples behind ``covariance``, where it is known.
    nonnegative : bool, default=False
        Allow only loadings >= 0.
    objective : {"variance", "recovery"}, default="variance"
        What the component of each size is best at: the variance of its scores, or how much of
        all features a regression on them recovers. Recovery has no bounds, and
        ``"auto"`` takes 1, 2, 3, 4, 5, 7, 10, 14, ... features, at most 50.
    effort : {"fast", "balanced", "thorough"}, default="balanced"
        How many starts are tried, and at how many sizes.
    certify : {False, "instant", "standard"}, default=False
        Prove an upper bound for each size: in milliseconds, or with more effort.
    standardize : bool or None, default=None
        Scale each feature to unit variance. ``None`` does not, and warns where variances
        differ by more than a factor of 10 000.
    route : {"auto", "gram", "data", "wide"}, default="auto"
        Form the covariance matrix, work on the data, or on a working set of columns.
    sample_weight : array-like of shape (n_samples,), optional
        How many samples each row stands for.

    Returns
    -------
    CardinalityPath
        Sizes, variances, supports; ``estimator(k)`` gives a fitted SparsePCA.

    See Also
    --------
    suggest_cardinality : Choose a size from a path.
    SparsePCACV : Choose a size by held-out reconstruction.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from loadstone import cardinality_path
    >>> path = cardinality_path(load_wine().data, standardize=True)
    >>> path.n_nonzeros[:5]
    array([1, 2, 3, 4, 5])
    >>> path.estimator(4).cardinality_
    array([4])
    """
    if (X is None) == (covariance is None):
        msg = "give either X or covariance=..., and not both"
        raise ValueError(msg)
    asked = {
        "nonnegative": nonnegative,
        "objective": objective,
        "effort": effort,
        "standardize": standardize,
        "route": route,
    }
    given = {**asked, "n_nonzeros": n_nonzeros, "certify": certify}
    validate_parameter_constraints(RULES, given, caller_name="cardinality_path")
    recovery = objective == "recovery"
    if recovery and certify:
        raise RefusedConstraintError(_NO_BOUNDS.format(certify))
    if covariance is not None:
        data = read_covariance(covariance, n_samples, standardize=bool(standardize))
    else:
        data = read(X, sample_weight, standardize=bool(standardize), route=route, whole=recovery)
    tell(data.minding_units(standardize=standardize))
    forbidden = np.flatnonzero(data.moments.constant)
    if recovery and isinstance(n_nonzeros, str):
        n_nonzeros = size_ladder(max(1, data.n_features - forbidden.size))
    path = search_path(
        data.S,
        check_n_nonzeros(n_nonzeros, data.n_features, forbidden.size, _largest(data.S)),
        nonnegative=nonnegative,
        effort=effort,
        forbidden=forbidden,
        certify=certify,
    )
    if path.looked is not None:
        for remark in path.looked.remarks(data.n_features):
            warnings.warn(remark, UserWarning, stacklevel=user_level())
    path = recovery_path(path, forbidden) if recovery else path
    return replace(path, data=data, parameters=asked)


def _largest(S: Covariance) -> int | None:
    """The largest size of an automatic path, where it cannot go up to all features."""
    if not isinstance(S, SampleGram):
        return None
    largest = largest_wide_size(S)
    return largest if largest < S.n_features else None


def check_n_nonzeros(
    n_nonzeros: Any, n_features: int, n_constant: int = 0, largest: int | None = None
) -> Array:
    """Sizes ascending and distinct; what had to be changed is told."""
    if isinstance(n_nonzeros, str):
        if largest is not None:
            return automatic_sizes(min(largest, n_features - n_constant))
        sizes = automatic_sizes(n_features - n_constant)
        return sizes if n_constant == 0 else np.append(sizes[:-1], n_features)
    asked: list[Any] = (
        [n_nonzeros]
        if isinstance(n_nonzeros, Integral)
        else list(listed("n_nonzeros", n_nonzeros, n_features))
    )
    if not asked:
        msg = "n_nonzeros is empty; give at least one size, or 'auto'"
        raise ValueError(msg)
    bad = [k for k in asked if not _is_size(k, n_features)]
    if bad:
        msg = (
            f"n_nonzeros has {bad[:5]}; each size must be a whole number between 1 and "
            f"n_features={n_features}"
        )
        raise ValueError(msg)
    sizes = np.unique(np.asarray(asked, dtype=np.intp))
    if sizes.size != len(asked) or not np.array_equal(sizes, asked):
        msg = "n_nonzeros was unsorted or had repeated sizes; it is used sorted and without repeats"
        warnings.warn(msg, UserWarning, stacklevel=user_level())
    return sizes


def _is_size(k: Any, n_features: int) -> bool:
    whole = isinstance(k, Integral) and not isinstance(k, bool | np.bool_)
    return whole and 1 <= k <= n_features
