"""Features as people point them out: by number, by a mask, or by name."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Any

import numpy as np

from loadstone._sklearn_compat import InvalidParameterError
from loadstone.covariance.checks import Names


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
            raise InvalidParameterError(msg)
        return np.flatnonzero(asked)
    if asked.dtype.kind in "iu":
        bad = asked[(asked < 0) | (asked >= n_features)]
        if bad.size:
            msg = f"{label} names feature(s) {bad.tolist()}; indices go from 0 to {n_features - 1}"
            raise InvalidParameterError(msg)
        return np.unique(asked).astype(np.intp)
    return _by_name(asked, label, names)


def _by_name(asked: Any, label: str, names: Names | None) -> Any:
    if names is None:
        msg = (
            f"{label}={asked.tolist()} gives feature names, but X has none; "
            "use indices, or fit a data frame"
        )
        raise InvalidParameterError(msg)
    place = {str(name): i for i, name in enumerate(names)}
    unknown = [str(name) for name in asked if str(name) not in place]
    if unknown:
        near = get_close_matches(unknown[0], place, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"it has {list(place)[:5]} and others"
        msg = f"{label}={asked.tolist()} names feature(s) {unknown} that X does not have; {hint}"
        raise InvalidParameterError(msg)
    return np.unique([place[str(name)] for name in asked]).astype(np.intp)
