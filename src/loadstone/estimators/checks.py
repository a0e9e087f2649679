"""The friendly layer: parameters are checked here, and every error says the way out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from loadstone._sklearn_compat import InvalidParameterError
from loadstone.constraints import LoadingConstraint
from loadstone.covariance import Covariance
from loadstone.covariance.checks import check_rows
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
        raise InvalidParameterError(msg)


def check_sizes(n_nonzero: Any, n_components: int, n_features: int) -> list[int]:
    """One cardinality per component from ``None``, a count, a fraction, or one of each."""
    if n_nonzero is None or np.ndim(n_nonzero) == 0:
        # More components than features cannot add anything; at one more the search says so.
        return [_size(n_nonzero, n_features)] * min(n_components, n_features + 1)
    sizes = list(n_nonzero)
    if any(isinstance(size, str) for size in sizes):
        msg = (
            f"n_nonzero={n_nonzero!r} mixes sizes and words; 'auto' chooses one size for all "
            "components and stands alone, otherwise give a number for each"
        )
        raise InvalidParameterError(msg)
    if len(sizes) != n_components:
        msg = (
            f"n_nonzero has {len(sizes)} values for n_components={n_components}; "
            "give one number for all components, or one per component"
        )
        raise InvalidParameterError(msg)
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
        raise InvalidParameterError(msg)
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
    raise InvalidParameterError(msg)


def check_alone(constraint: Any, parameters: Mapping[str, Any]) -> None:
    """Refuse a constraint beside the flat parameters that would build another one."""
    flat = ("n_nonzero", "nonnegative", "forced", "forbidden")
    given = [name for name in flat if not _is_unset(parameters.get(name))]
    if given:
        msg = (
            f"constraint={constraint!r} and {given[0]}={parameters[given[0]]!r} both say what a "
            f"component may look like; give one of them, and the rest to the constraint"
        )
        raise InvalidParameterError(msg)


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
        raise InvalidParameterError(msg)
    closed = np.union1d(forbidden, np.flatnonzero(constant)).astype(np.intp)
    free = not nonnegative and forced.size == 0 and forbidden.size == 0
    constraints = []
    for size in sizes:
        out = np.empty(0, dtype=np.intp) if free and size >= n_features else closed
        constraints.append(LoadingConstraint(n_features, size, nonnegative, forced, out))
    return constraints
