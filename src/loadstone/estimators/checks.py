"""The friendly layer: parameters are checked here, and every error says the way out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from loadstone.constraints import LoadingConstraint
from loadstone.covariance import Covariance
from loadstone.covariance.checks import Names, check_rows
from loadstone.covariance.opened import feature_names, without_rows_read


def check_new_rows(estimator: Any, X: Any, *, allow_nan: bool = False, lazy: bool = False) -> Any:
    """The same for data that must have the features of the fit, by number and by name."""
    rows = check_rows(X, min_samples=1, allow_nan=allow_nan, lazy=lazy)
    named = without_rows_read(X) if feature_names(X) is not None else rows
    validate_data(estimator, named, reset=False, skip_check_array=True)
    return rows


def check_n_samples_known(S: Covariance, who: str) -> None:
    """Refuse a covariance without its number of samples where the likelihood needs it."""
    if not np.isfinite(S.n_samples):
        msg = (
            f"n_samples={S.n_samples}, but {who} needs to know how many samples are behind the "
            "covariance; give n_samples to fit_covariance"
        )
        raise ValueError(msg)


def refuse_changed(estimator: Any, unused: Mapping[str, Any], where: str) -> None:
    """Refuse parameters that differ from ``unused``, the values of a model they are no part of."""
    given = estimator.get_params(deep=False)
    for name, value in unused.items():
        if isinstance(given[name], str | Real | None) and given[name] == value:
            continue
        msg = f"{name}={given[name]!r} belongs to {where}. Otherwise leave it at {value!r}"
        raise ValueError(msg)


def check_sizes(n_nonzero: Any, n_components: int, n_features: int) -> list[int]:
    """One cardinality per component from ``None``, a count, a fraction, or one of each."""
    if n_nonzero is None or np.ndim(n_nonzero) == 0:
        # More components than features cannot add anything; at one more the search says so.
        return [check_size(n_nonzero, n_features)] * min(n_components, n_features + 1)
    sizes = list(n_nonzero)
    if any(isinstance(size, str) for size in sizes):
        msg = (
            f"n_nonzero={n_nonzero!r} mixes sizes and words; 'auto' chooses one size for all "
            "components and stands alone, otherwise give a number for each"
        )
        raise ValueError(msg)
    if len(sizes) != n_components:
        msg = (
            f"n_nonzero has {len(sizes)} values for n_components={n_components}; "
            "give one number for all components, or one per component"
        )
        raise ValueError(msg)
    return [check_size(size, n_features) for size in sizes]


def check_size(size: Any, n_features: int, name: str = "n_nonzero") -> int:
    """A number of features from ``None``, a count, or a fraction."""
    if size is None:
        return n_features
    if isinstance(size, Real) and not isinstance(size, bool):
        if isinstance(size, Integral) and 1 <= int(size) <= n_features:
            return int(size)
        if not isinstance(size, Integral) and 0 < float(size) <= 1:
            return max(1, round(float(size) * n_features))
    every = ", or None for all features" if name == "n_nonzero" else ""
    msg = (
        f"{name}={size!r} must be between 1 and n_features={n_features} as a whole number, or a "
        f"fraction in (0, 1]{every}"
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
    flat = ("n_nonzero", "nonnegative", "forced", "forbidden")
    given = [name for name in flat if not _is_unset(parameters.get(name))]
    if given:
        msg = (
            f"constraint={constraint!r} and {given[0]}={parameters[given[0]]!r} both say what a "
            f"component may look like; give one of them, and the rest to the constraint"
        )
        raise ValueError(msg)


def _is_unset(value: Any) -> bool:
    return value is None or value is False or (isinstance(value, str) and value == "auto")


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
