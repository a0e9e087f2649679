"""Data as people hand it over: checked here, and every error says the way out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_array

from loadstone._sklearn_compat import _check_sample_weight
from loadstone.covariance.containers import is_dask
from loadstone.covariance.moments import Moments
from loadstone.covariance.no_data import refuse_broken, refuse_no_data
from loadstone.covariance.opened import (
    feature_names,
    is_dask_frame,
    opened,
    without_rows_read,
)
from loadstone.covariance.protocol import Array
from loadstone.covariance.text_columns import refuse_text_columns, without_filled

#: Names of features, as data frames have them.
Names = Sequence[str] | Array
#: Beyond this, or its inverse, squares of variances overflow or vanish. No powers of ten: data that
#: have one as their largest number would be refused or not by the rounding of their container.
LARGEST_VARIANCE = {"float64": 1.3e150, "float32": 1.3e15}
#: Bytes up to which an array is copied into the order of its rows.
SMALL_BYTES = 1 << 24
#: Rounding of a mean from which on it may hide that data vary.
FAR = 1e-4
#: Ratio of the largest to the smallest variance from which on scaling is suggested.
UNEVEN = 1e4
#: Samples that weights may stand for: squares of sums over more of them may overflow.
MOST_SAMPLES = 1e100
#: What to do about missing values.
WAYS_OUT_OF_NAN = (
    "fill missing values, for example with sklearn.impute.SimpleImputer, leave out their rows or "
    "columns, or use SparseProbabilisticPCA, SparseNoisyPCA or ProbabilisticPCA, which model them; "
    "loadstone fit and read_table do so as --missing and missing= say"
)
#: What scikit-learn's own check of arrays is asked for.
_ARRAYS: dict[str, Any] = {"accept_sparse": ("csr", "csc"), "dtype": [np.float64, np.float32]}


def check_rows(X: Any, *, min_samples: int = 2, allow_nan: bool = False, lazy: bool = False) -> Any:
    """``X`` as float ndarray, memmap, CSR/CSC or Dask array; never copied without need.

    scikit-learn's own check turns a Dask array into an ndarray and reads a mapped file
    twice; both go around it, and their values are checked with the moments.
    """
    if _is_ready(X, min_samples):
        return _row_by_row(X)
    refuse_no_data(X)
    if is_dask_frame(X):
        refuse_text_columns(without_rows_read(X), unseen=True)
    X = opened(X, lazy=lazy)
    if out_of_core(X):
        return _check_out_of_core(X, min_samples)
    refuse_text_columns(X)
    refuse_broken(X)
    names = feature_names(X)
    X = _unmasked(without_filled(X), allow_nan=allow_nan)
    finite: Any = "allow-nan" if allow_nan else True
    try:
        # Infinities of both signs have no sum, which scikit-learn takes; they are refused below.
        with np.errstate(invalid="ignore"):
            return _row_by_row(
                check_array(
                    X,
                    ensure_min_samples=min_samples,
                    ensure_all_finite=finite,
                    input_name="X",
                    **_ARRAYS,
                )
            )
    except ValueError as error:
        if "sample(s)" in str(error) and np.ndim(X) == 2:
            raise ValueError(_too_few(np.shape(X)[0], min_samples)) from None
        if "contains NaN" in str(error) or "contains infinity" in str(error):
            raise ValueError(_not_finite(X, names, allow_nan=allow_nan)) from None
        for words, way_out in _REFUSED.items():
            if words in str(error):
                msg = f"{str(error).splitlines()[0].rstrip('.:')}; {way_out}"
                raise ValueError(msg) from None
        raise
    except OverflowError:
        msg = "X holds a whole number beyond the range of float64; rescale X to a more usual unit"
        raise ValueError(msg) from None
    except TypeError as error:
        if "float() argument" in str(error) and "complex" not in str(error):
            msg = f"X holds more than numbers ({error}); leave other values out, or encode them"
            raise TypeError(msg) from None
        if "complex" not in str(error):
            raise
        # Rows that are lists are not looked at as a whole.
        msg = f"Complex data not supported; {_REFUSED['Complex data']}"
        raise ValueError(msg) from None


def _is_ready(X: Any, min_samples: int) -> bool:
    """Whether ``X`` is what the checks would return; they take longer than a small fit may."""
    if type(X) is not np.ndarray or X.ndim != 2 or X.dtype not in _ARRAYS["dtype"]:
        return False
    if len(X) < max(1, min_samples) or not X.shape[1] or not X.dtype.isnative:
        return False
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isfinite(X.sum()))


def _row_by_row(X: Any) -> Any:
    """``X`` with its rows one after another where it is small: sums in another order round otherwise."""
    small = isinstance(X, np.ndarray) and X.nbytes <= SMALL_BYTES
    return np.ascontiguousarray(X) if small else X


#: What scikit-learn refuses, and what to do about it.
_REFUSED = {
    "inhomogeneous": "X is ragged, its rows have different lengths: give every row one value per feature",
    "Complex data": "only real numbers are analysed: take X.real, or abs(X)",
    "got 1D array": "Reshape your data: X.reshape(-1, 1) is one feature, X.reshape(1, -1) one sample",
    "Found array with dim": "make one row of each sample: X.reshape(len(X), -1)",
    "string to float": "features are numbers: leave words out, or encode them as numbers",
    "0 feature(s)": "give at least one column of numbers",
    "at least one array": "X has no columns: give at least one of numbers",
    "with a sequence": "give every cell one number, and spread lists over columns of their own",
    "CSR must be": "make one row of each sample: X.reshape((X.shape[0], -1))",
}


def _not_finite(X: Any, names: Names | None, *, allow_nan: bool) -> str:
    """Where values are missing or infinite, how many there are, and what to do about them."""
    rows = check_array(X, ensure_all_finite=False, **_ARRAYS)
    is_sparse = sparse.issparse(rows)
    values = rows.data if is_sparse else rows
    missing, infinite = np.isnan(values), np.isinf(values)
    what, bad = ("NaN", missing) if missing.any() and not allow_nan else ("infinity", infinite)
    columns = rows.tocoo().col[bad] if is_sparse else np.flatnonzero(bad.any(axis=0))
    where = named_features(np.unique(columns).tolist(), names)
    if what == "infinity":
        return (
            f"X contains infinity, {int(bad.sum())} time(s), in feature(s) {where}; replace it by a number, "
            f"or by NaN where the value is missing, or check for values beyond {rows.dtype}"
        )
    return f"X contains NaN, {int(bad.sum())} time(s), in feature(s) {where}; {WAYS_OUT_OF_NAN}"


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


def _check_out_of_core(X: Any, min_samples: int) -> Any:
    if X.ndim != 2:
        msg = f"X has {X.ndim} dimension(s); expected a 2D array. Reshape it to (n_samples, n_features)"
        raise ValueError(msg)
    if X.dtype.kind not in "fiub":
        msg = f"X has dtype {X.dtype}; expected real numbers. Convert it with X.astype(float)"
        raise ValueError(msg)
    if is_dask(X) and np.ma.isMaskedArray(X._meta):
        msg = "X is a Dask array of masked arrays; fill what is masked with dask.array.ma.filled"
        raise ValueError(msg)
    if X.shape[0] < min_samples:
        raise ValueError(_too_few(X.shape[0], min_samples))
    return X


def _too_few(n_samples: int, min_samples: int) -> str:
    return (
        f"X has {n_samples} sample(s), while a minimum of {min_samples} is required to vary at all; "
        "give more samples, one in each row"
    )


def check_weights(sample_weight: Any, X: Any) -> Any:
    """Weights as a float array, or ``None``; they count samples, so they must sum above 1."""
    weights = check_block_weights(sample_weight, X)
    if weights is None:
        return None
    total = float(weights.sum())
    if total <= 1 + 1e-6:
        msg = (
            f"the sample weights sum to {total:.6g}; a weight says how many samples a row stands for, "
            "so they must sum to more than 1. Multiply them by the number of samples"
        )
        raise ValueError(msg)
    if total > MOST_SAMPLES:
        msg = (
            f"the sample weights sum to {total:.6g}; a weight says how many samples a row stands for, "
            f"and sums over more than {MOST_SAMPLES:g} leave the range of numbers. Divide them"
        )
        raise ValueError(msg)
    if np.count_nonzero(weights) < 2:
        msg = "a single sample has a positive weight; at least 2 are required to vary at all"
        raise ValueError(msg)
    return weights


def check_block_weights(sample_weight: Any, X: Any) -> Any:
    """Weights of rows that are only some of all: one must count, and they need not vary."""
    if sample_weight is None:
        return None
    # Containers of others need not be taken by NumPy's functions, but become arrays.
    shape = np.asarray(sample_weight).shape
    if shape and shape != (X.shape[0],):
        msg = (
            f"sample_weight has the shape {shape} for {X.shape[0]} samples; give one "
            "weight for each"
        )
        raise ValueError(msg)
    _refuse_no_numbers_of_samples(np.asarray(sample_weight))
    probe = np.empty((X.shape[0], 1))
    return _check_sample_weight(sample_weight, probe, ensure_non_negative=True)


def _refuse_no_numbers_of_samples(weights: Array) -> None:
    """Refuse weights below zero, missing or infinite ones, with the first of them."""
    if weights.dtype.kind not in "biuf":
        weights = np.array([_weight_of(weight) for weight in weights.ravel()])
    numbers = np.atleast_1d(weights)
    bad = np.flatnonzero(~((numbers >= 0) & (numbers < np.inf)))
    if bad.size:
        first = numbers[bad[0]]
        what = "negative" if first < 0 else "no finite number"
        value = "NaN" if np.isnan(first) else f"{first:g}"
        msg = (
            f"sample_weight is {what} for sample {bad[0]}, {value}; it says how many "
            "samples a row stands for: give at least 0"
        )
        raise ValueError(msg)


def _weight_of(weight: Any) -> float:
    """A number of samples from an object, NaN where it is missing."""
    if weight is None or type(weight).__name__ == "NAType":
        return float("nan")
    try:
        # Of complex numbers NumPy would drop a half.
        return float(weight.item() if isinstance(weight, np.generic) else weight)
    except (TypeError, ValueError):
        msg = (
            f"sample_weight holds {str(weight)[:40]!r}, which is no real number; it says how many "
            "samples a row stands for: give at least 0"
        )
        raise ValueError(msg) from None


def check_moments(
    moments: Moments, names: Names | None, dtype: Any = np.float64, *, seen: bool = True
) -> None:
    """Refuse data without variance, with NaN where nobody has ``seen`` to it, or beyond range."""
    refuse_not_finite(moments.mean, moments.variance, names, seen=seen)
    largest = float(moments.variance.max())
    limit = LARGEST_VARIANCE[np.dtype(dtype).name]
    if largest > limit or 0 < largest < 1 / limit:
        single = np.dtype(dtype) == np.float32
        msg = (
            f"the largest variance is {largest:.3g}, where products of variances leave the range of "
            f"{np.dtype(dtype).name}; rescale X to a more usual unit"
            f"{', or convert it to float64' if single else ''}"
        )
        raise ValueError(msg)
    if moments.constant.all():
        msg = (
            f"none of the {moments.constant.size} feature(s) varies over the samples, so there is no "
            "variance to explain; check that X holds the data you mean"
        )
        raise ValueError(msg + _vanishing(moments.mean, dtype))


def _vanishing(mean: Array, dtype: Any) -> str:
    """What else may be the matter with numbers whose squares are too small to be counted."""
    size = float(np.abs(mean).max())
    if size * np.finfo(dtype).eps > FAR:
        return f", or take its offset away: beside numbers near {size:.0e} small differences are rounding"
    if size == 0 or size > np.sqrt(np.finfo(dtype).tiny):
        return ""
    return f", or rescale it: the squares of numbers near {size:.0e} vanish"


def refuse_not_finite(mean: Array, variance: Array, names: Names | None, *, seen: bool) -> None:
    """Refuse sums that are not finite; those of values ``seen`` to be finite have overflown."""
    bad = np.flatnonzero(~np.isfinite(mean) | ~np.isfinite(variance))
    if bad.size == 0:
        return
    features = named_features(bad, names)
    if seen or np.isfinite(mean).all():
        msg = f"the squares of feature(s) {features} overflow; rescale X to a usual unit"
    else:
        msg = (
            f"X contains NaN or infinity (or values too large for {mean.dtype}) in feature(s) "
            f"{features}; {WAYS_OUT_OF_NAN}"
        )
    raise ValueError(msg)


def out_of_core(X: Any) -> bool:
    """Whether values are read with the moments, and checked with them."""
    return is_dask(X) or isinstance(X, np.memmap)


def constant_remark(moments: Moments, names: Names | None) -> tuple[str, ...]:
    """What a person should hear of features that do not vary."""
    constant = np.flatnonzero(moments.constant)
    if constant.size == 0:
        return ()
    return (
        f"{constant.size} constant feature(s) are never selected: {named_features(constant, names)}",
    )


def units_remark(moments: Moments) -> tuple[str, ...]:
    """What a person should hear of features in units that differ by orders of magnitude."""
    factor = unevenness(moments.variance[~moments.constant])
    if factor <= UNEVEN:
        return ()
    return (
        f"the variances of the features differ by a factor of {factor:.0e}, so the largest decide; "
        "standardize=True gives every feature the same say, standardize=False says that this is meant",
    )


def unevenness(variance: Array) -> float:
    """The largest variance over the smallest, of features that vary."""
    variance = variance[np.isfinite(variance) & (variance > 0)]
    return float(variance.max() / variance.min()) if variance.size > 1 else 1.0


def named_features(indices: Iterable[int], names: Names | None, at_most: int = 5) -> str:
    """A few features by name, or by number where they have none."""
    indices = list(indices)
    shown = [str(i) if names is None else repr(str(names[i])) for i in indices[:at_most]]
    more = f" and {len(indices) - at_most} more" if len(indices) > at_most else ""
    return ", ".join(shown) + more
