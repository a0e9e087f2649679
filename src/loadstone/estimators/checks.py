"""The friendly layer: what comes in is checked here, and every error says the way out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy.linalg import eigvalsh
from sklearn.utils.validation import check_array, validate_data

from loadstone._sklearn_compat import _check_sample_weight, _get_feature_names
from loadstone.constraints import LoadingConstraint
from loadstone.covariance import Array, Covariance, ExplicitCovariance, Moments
from loadstone.covariance.containers import is_dask

#: Names of features, as data frames have them.
Names = Sequence[str] | Array
#: Most negative eigenvalue, relative to the largest, that rounding explains.
PSD_TOL = 1e-6
#: Beyond this, or its inverse, squares of variances overflow or vanish.
LARGEST_VARIANCE = {"float64": 1e150, "float32": 1e15}
#: What scikit-learn's own check of arrays is asked for.
_ARRAYS: dict[str, Any] = {"accept_sparse": ("csr", "csc"), "dtype": [np.float64, np.float32]}


def check_rows(X: Any, *, min_samples: int = 2, allow_nan: bool = False) -> Any:
    """``X`` as float ndarray, memmap, CSR/CSC or Dask array; never copied without need.

    scikit-learn's own check turns a Dask array into an ndarray and reads a mapped file
    twice; both go around it, and their values are checked with the moments.
    """
    if is_dask(X) or isinstance(X, np.memmap):
        return _check_out_of_core(X, min_samples)
    _refuse_text_columns(X)
    X = _unmasked(X, allow_nan=allow_nan)
    finite: Any = "allow-nan" if allow_nan else True
    try:
        return check_array(
            X, ensure_min_samples=min_samples, ensure_all_finite=finite, input_name="X", **_ARRAYS
        )
    except ValueError as error:
        if "inhomogeneous" in str(error):
            msg = (
                "X is ragged: its rows have different lengths; give every row one value per feature"
            )
            raise ValueError(msg) from error
        raise


def _unmasked(X: Any, *, allow_nan: bool) -> Any:
    """A masked array with its mask as missing values; NumPy would drop the mask in silence."""
    if not isinstance(X, np.ma.MaskedArray):
        return X
    if not np.ma.is_masked(X):
        return X.data
    if not allow_nan:
        msg = (
            f"X is a masked array with {int(X.mask.sum())} masked value(s), which are "
            "missing; fill them with X.filled(...) or leave their rows out, or use "
            "SparseProbabilisticPCA, which handles missing values"
        )
        raise ValueError(msg)
    dtype = X.dtype if X.dtype.kind in "fc" else np.float64
    return np.where(X.mask, np.nan, X.data.astype(dtype, copy=False)).astype(dtype, copy=False)


def check_new_rows(estimator: Any, X: Any, *, allow_nan: bool = False) -> Any:
    """The same for data that must have the features of the fit, by number and by name."""
    rows = check_rows(X, min_samples=1, allow_nan=allow_nan)
    named = X if _get_feature_names(X) is not None else rows
    validate_data(estimator, named, reset=False, skip_check_array=True)
    return rows


def _check_out_of_core(X: Any, min_samples: int) -> Any:
    if X.ndim != 2:
        msg = f"X has {X.ndim} dimension(s); expected a 2D array. Reshape it to (n_samples, n_features)"
        raise ValueError(msg)
    if X.dtype.kind not in "fiub":
        msg = f"X has dtype {X.dtype}; expected real numbers. Convert it with X.astype(float)"
        raise ValueError(msg)
    if X.shape[0] < min_samples:
        msg = (
            f"X has {X.shape[0]} sample(s), while a minimum of {min_samples} is required to vary at "
            "all; give more samples"
        )
        raise ValueError(msg)
    return X


def _refuse_text_columns(X: Any) -> None:
    """Name the columns of a data frame that hold no numbers."""
    columns, dtypes = getattr(X, "columns", None), getattr(X, "dtypes", None)
    if columns is None or dtypes is None or callable(dtypes):
        return
    bad = [
        str(c)
        for i, (c, dtype) in enumerate(zip(columns, list(dtypes), strict=False))
        if _is_text(dtype) or (str(dtype) == "object" and _holds_text(X.iloc[:, i]))
    ]
    if bad:
        msg = (
            f"column(s) {bad} hold no numbers; drop them, encode them, or select the numeric "
            "columns first, for example X.select_dtypes('number')"
        )
        raise ValueError(msg)


def _is_text(dtype: Any) -> bool:
    name = str(dtype).lower()
    return name.startswith(
        ("str", "string", "category", "date", "time", "categorical", "utf8", "enum")
    )


def _holds_text(column: Any) -> bool:
    """Whether an object column has an entry that is no number, not even in writing."""
    for value in column:
        if isinstance(value, str):
            try:
                float(value)
            except ValueError:
                return True
    return False


def check_weights(sample_weight: Any, X: Any) -> Any:
    """Weights as a float array, or ``None``; they count samples, so they must sum above 1."""
    if sample_weight is None:
        return None
    probe = np.empty((X.shape[0], 1))
    weights = _check_sample_weight(sample_weight, probe, ensure_non_negative=True)
    total = float(weights.sum())
    if total <= 1 + 1e-6:
        msg = (
            f"the sample weights sum to {total:.6g}; a weight says how many samples a row stands for, "
            "so they must sum to more than 1. Multiply them by the number of samples"
        )
        raise ValueError(msg)
    if np.count_nonzero(weights) < 2:
        msg = "a single sample has a positive weight; at least 2 are required to vary at all"
        raise ValueError(msg)
    return weights


def check_moments(moments: Moments, names: Names | None, dtype: Any = np.float64) -> None:
    """Refuse data without variance, with NaN, or beyond the range of its precision."""
    bad = np.flatnonzero(~np.isfinite(moments.mean) | ~np.isfinite(moments.variance))
    if bad.size and np.isfinite(moments.mean).all():
        msg = f"the squares of feature(s) {_named(bad, names)} overflow; rescale X to a usual unit"
        raise ValueError(msg)
    if bad.size:
        msg = (
            f"Input X contains NaN or infinity (or values too large for {moments.mean.dtype}) in "
            f"feature(s) {_named(bad, names)}; impute or drop them, or use SparseProbabilisticPCA, "
            "which handles missing values"
        )
        raise ValueError(msg)
    largest = float(moments.variance.max())
    limit = LARGEST_VARIANCE[np.dtype(dtype).name]
    if largest > limit or 0 < largest < 1 / limit:
        msg = (
            f"the largest variance is {largest:.3g}, where products of variances leave the range of "
            f"{np.dtype(dtype).name}; rescale X to a more usual unit, or convert it to float64"
        )
        raise ValueError(msg)
    if moments.constant.all():
        msg = (
            f"none of the {moments.constant.size} feature(s) varies over the samples, so there is no "
            "variance to explain; check that X holds the data you mean"
        )
        raise ValueError(msg)


def constant_remark(moments: Moments, names: Names | None) -> tuple[str, ...]:
    """What a person should hear of features that do not vary."""
    constant = np.flatnonzero(moments.constant)
    if constant.size == 0:
        return ()
    return (f"{constant.size} constant feature(s) are never selected: {_named(constant, names)}",)


def _named(indices: Iterable[int], names: Names | None, at_most: int = 5) -> str:
    indices = list(indices)
    shown = [str(i) if names is None else repr(str(names[i])) for i in indices[:at_most]]
    more = f" and {len(indices) - at_most} more" if len(indices) > at_most else ""
    return ", ".join(shown) + more


def check_covariance(S: Any, n_samples: float | None) -> ExplicitCovariance:
    """A matrix given in place of data: square, finite, symmetric, positive semi-definite."""
    matrix = np.asarray(_unmasked(S, allow_nan=False))
    if matrix.dtype.kind not in "fiub":
        msg = f"the covariance has dtype {matrix.dtype}; expected real numbers"
        raise ValueError(msg)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or matrix.size == 0:
        msg = f"the covariance has shape {matrix.shape}; expected a square matrix. Use fit for data"
        raise ValueError(msg)
    matrix = matrix.astype(np.float32 if matrix.dtype == np.float32 else np.float64, copy=False)
    if not np.isfinite(matrix).all():
        msg = "the covariance contains NaN or infinity; compute it from complete data"
        raise ValueError(msg)
    largest = float(np.abs(matrix).max())
    asymmetry = float(np.abs(matrix - matrix.T).max())
    if asymmetry > 1e-8 * largest and asymmetry > 1e3 * np.finfo(matrix.dtype).eps * largest:
        msg = (
            f"the matrix is not symmetric: entries differ from their mirror by up to {asymmetry:.3g}; "
            "use (S + S.T) / 2 if that is rounding, or fit if this is data"
        )
        raise ValueError(msg)
    matrix = (matrix + matrix.T) / 2
    if largest == 0:
        msg = "the covariance is zero throughout, so there is no variance to explain"
        raise ValueError(msg)
    smallest, top = eigvalsh(matrix)[[0, -1]]
    if smallest < -PSD_TOL * top:
        msg = (
            f"the matrix is not positive semi-definite: its eigenvalues go down to {smallest:.3g} "
            f"(largest {top:.3g}), so it is no covariance. Pairwise-complete correlations can do that; "
            "project it on the semi-definite matrices, or fit the data"
        )
        raise ValueError(msg)
    if n_samples is not None and n_samples < 2:
        msg = f"n_samples={n_samples} must be at least 2"
        raise ValueError(msg)
    return ExplicitCovariance(matrix, float("nan") if n_samples is None else float(n_samples))


def check_n_samples_known(S: Covariance, who: str) -> None:
    """Refuse a covariance without its number of samples where the likelihood needs it."""
    if not np.isfinite(S.n_samples):
        msg = (
            f"n_samples={S.n_samples}, but {who} needs to know how many samples are behind the "
            "covariance; give n_samples to fit_covariance"
        )
        raise ValueError(msg)


def check_sizes(n_nonzero: Any, n_components: int, n_features: int) -> list[int]:
    """One cardinality per component from ``None``, a count, a fraction, or one of each."""
    if n_nonzero is None or isinstance(n_nonzero, Real):
        return [_size(n_nonzero, n_features)] * n_components
    sizes = list(n_nonzero)
    if len(sizes) != n_components:
        msg = (
            f"n_nonzero has {len(sizes)} values for n_components={n_components}; "
            "give one number for all components, or one per component"
        )
        raise ValueError(msg)
    return [_size(size, n_features) for size in sizes]


def _size(n_nonzero: Any, n_features: int) -> int:
    if n_nonzero is None:
        return n_features
    if isinstance(n_nonzero, Integral) and not isinstance(n_nonzero, bool):
        if 1 <= int(n_nonzero) <= n_features:
            return int(n_nonzero)
        msg = (
            f"n_nonzero={n_nonzero} must be between 1 and n_features={n_features}; "
            "use None for all features, or a fraction in (0, 1]"
        )
        raise ValueError(msg)
    if (
        isinstance(n_nonzero, Real)
        and not isinstance(n_nonzero, bool)
        and 0 < float(n_nonzero) <= 1
    ):
        return max(1, round(float(n_nonzero) * n_features))
    msg = (
        f"n_nonzero={n_nonzero!r} must be a whole number of features between 1 and {n_features}, "
        "a fraction in (0, 1], or None for all features"
    )
    raise ValueError(msg)


def check_features(which: Any, label: str, n_features: int, names: Names | None) -> Any:
    """Indices from indices, a mask, or feature names."""
    if which is None:
        return np.empty(0, dtype=np.intp)
    asked = np.asarray([which] if isinstance(which, str) else which)
    if asked.size == 0:
        return np.empty(0, dtype=np.intp)
    if asked.dtype == bool:
        if asked.shape != (n_features,):
            msg = f"{label} is a mask of length {asked.size}; expected one entry per feature ({n_features})"
            raise ValueError(msg)
        return np.flatnonzero(asked)
    if asked.dtype.kind in "iu":
        bad = asked[(asked < 0) | (asked >= n_features)]
        if bad.size:
            msg = f"{label} names feature(s) {bad.tolist()}; indices go from 0 to {n_features - 1}"
            raise ValueError(msg)
        return np.unique(asked).astype(np.intp)
    return _by_name(asked, label, names)


def _by_name(asked: Any, label: str, names: Names | None) -> Any:
    if names is None:
        msg = (
            f"{label}={asked.tolist()} gives feature names, but X has none; "
            "use indices, or fit a data frame"
        )
        raise ValueError(msg)
    place = {str(name): i for i, name in enumerate(names)}
    unknown = [str(name) for name in asked if str(name) not in place]
    if unknown:
        msg = f"{label} names feature(s) {unknown} that X does not have"
        raise ValueError(msg)
    return np.unique([place[str(name)] for name in asked]).astype(np.intp)


def check_alone(constraint: Any, parameters: Mapping[str, Any]) -> None:
    """Refuse a constraint beside the flat parameters that would build another one."""
    flat = {"n_nonzero": None, "nonnegative": False, "forced": None, "forbidden": None}
    given = [name for name, unset in flat.items() if parameters.get(name, unset) is not unset]
    if given:
        msg = (
            f"constraint={constraint!r} and {given[0]}={parameters[given[0]]!r} both say what a "
            f"component may look like; give one of them, and the rest to the constraint"
        )
        raise ValueError(msg)


def build_constraints(
    sizes: Sequence[int],
    n_features: int,
    constant: Any,
    *,
    nonnegative: bool,
    forced: Any,
    forbidden: Any,
) -> list[LoadingConstraint]:
    """One constraint per component; features that do not vary are never offered."""
    stuck = np.intersect1d(forced, np.flatnonzero(constant))
    if stuck.size:
        msg = (
            f"forced feature(s) {stuck.tolist()} are constant and cannot be used; do not force them"
        )
        raise ValueError(msg)
    closed = np.union1d(forbidden, np.flatnonzero(constant)).astype(np.intp)
    free = not nonnegative and forced.size == 0 and forbidden.size == 0
    constraints = []
    for size in sizes:
        out = np.empty(0, dtype=np.intp) if free and size >= n_features else closed
        constraints.append(LoadingConstraint(n_features, size, nonnegative, forced, out))
    return constraints
