"""The friendly layer: parameters are checked here, and every error says the way out."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real
from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from loadstone._sklearn_compat import InvalidParameterError
from loadstone.covariance import Covariance
from loadstone.covariance.checks import check_rows
from loadstone.covariance.opened import feature_names, without_rows_read


def check_new_rows(estimator: Any, X: Any, *, allow_nan: bool = False, lazy: bool = False) -> Any:
    """:func:`check_rows` of data that must have the features of the fit, by number and by name."""
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
