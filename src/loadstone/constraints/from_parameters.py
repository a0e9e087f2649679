"""Constraints from the flat parameters of estimators: sizes, forced and forbidden features."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from numbers import Integral, Real
from typing import Any

import numpy as np

from loadstone._sklearn_compat import InvalidParameterError
from loadstone.constraints.cardinality import LoadingConstraint
from loadstone.constraints.features import listed
from loadstone.constraints.words import cut_list
from loadstone.covariance.checks import Names


def check_sizes(n_nonzero: Any, n_components: int, n_features: int) -> list[int]:
    """One cardinality per component from ``None``, a count, a fraction, or one of each."""
    if isinstance(n_nonzero, range):
        n_nonzero = listed("n_nonzero", n_nonzero, n_features + 1)
    if n_nonzero is None or np.ndim(n_nonzero) == 0:
        # More components than features cannot add anything; at one more the search says so.
        return [check_size(n_nonzero, n_features)] * min(n_components, n_features + 1)
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
    raise InvalidParameterError(msg)


def check_features(which: Any, label: str, n_features: int, names: Names | None) -> Any:
    """Indices from indices, a mask, or feature names."""
    if which is None:
        return np.empty(0, dtype=np.intp)
    asked = np.asarray([which] if isinstance(which, str) else listed(label, which, n_features))
    if asked.size == 0:
        return np.empty(0, dtype=np.intp)
    if asked.dtype == bool:
        if asked.shape != (n_features,):
            msg = f"{label} is a mask of length {asked.size}; expected one entry per feature ({n_features})"
            raise InvalidParameterError(msg)
        return np.flatnonzero(asked)
    if asked.dtype.kind in "iu":
        bad = asked[(asked < 0) | (asked >= n_features)]
        if bad.size:
            msg = f"{label} names feature(s) {cut_list(bad.tolist())}; indices go from 0 to {n_features - 1}"
            raise InvalidParameterError(msg)
        return np.unique(asked).astype(np.intp)
    return _by_name(asked, label, names)


def _by_name(asked: Any, label: str, names: Names | None) -> Any:
    if names is None:
        msg = (
            f"{label}={cut_list(asked.tolist())} gives feature names, but X has none; "
            "use indices, or fit a data frame"
        )
        raise InvalidParameterError(msg)
    place = {str(name): i for i, name in enumerate(names)}
    unknown = [str(name) for name in asked if str(name) not in place]
    if unknown:
        near = get_close_matches(unknown[0], place, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"it has {list(place)[:5]} and others"
        msg = (
            f"{label}={cut_list(asked.tolist())} names feature(s) {cut_list(unknown)} that X does not "
            f"have; {hint}"
        )
        raise InvalidParameterError(msg)
    return np.unique([place[str(name)] for name in asked]).astype(np.intp)


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
    stuck = np.intersect1d(forced, np.flatnonzero(constant)) if forced.size else forced
    if stuck.size:
        msg = (
            f"forced feature(s) {stuck.tolist()} are constant and cannot be used; do not force them"
        )
        raise InvalidParameterError(msg)
    closed = forbidden
    if constant.any():
        closed = np.union1d(forbidden, np.flatnonzero(constant)).astype(np.intp)
    free = not nonnegative and forced.size == 0 and forbidden.size == 0
    built = {}
    for size in set(sizes):
        out = np.empty(0, dtype=np.intp) if free and size >= n_features else closed
        built[size] = LoadingConstraint(n_features, size, nonnegative, forced, out)
    return [built[size] for size in sizes]
