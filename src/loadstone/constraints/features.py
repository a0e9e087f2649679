"""Features by name or number: looked up, closed, and followed to their new places."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from itertools import islice
from numbers import Integral
from typing import Any

import numpy as np

from loadstone._sklearn_compat import InvalidParameterError
from loadstone.constraints.protocol import Array, Indices

#: Values that are made into a list even where fewer can be right, to say which are wrong.
FEW = 100_000
#: No feature at all.
NONE: Indices = np.empty(0, dtype=np.intp)


def listed(what: str, values: Iterable[Any], most: int) -> Any:
    """``values`` where they are in memory, or a list; ``range(10**9)`` is refused, not made."""
    if hasattr(values, "__array__") or isinstance(values, list | tuple):
        return values
    most = max(most, FEW)
    taken = list(islice(values, most + 1))
    if len(taken) > most:
        msg = f"{what}={values!r} has more than {most} values; give fewer"
        raise InvalidParameterError(msg)
    return taken


def refuse_nothing_left(n_features: int, forbidden: Indices) -> None:
    """Raise where no feature may be used."""
    if 0 < n_features <= forbidden.size:
        msg = f"all {n_features} features are forbidden; allow at least one"
        raise ValueError(msg)


def as_features(what: str, features: Iterable[int] | Indices, n_features: int) -> Indices:
    """Numbers of features as an array, each of them once; all must exist.

    Parameters
    ----------
    what : str
        What they are called by whoever gave them.
    features : array-like of int
        Their numbers.
    n_features : int
        How many there are; 0 where that is not known yet.
    """
    if features is NONE:
        return NONE
    numbers: Array = np.asarray(listed(what, features, n_features))
    if not numbers.size:
        return NONE
    if numbers.ndim != 1 or numbers.dtype.kind not in "iu":
        msg = f"{what}={features!r} must be the numbers of features, for example [0, 3]"
        raise ValueError(msg)
    if n_features and not 0 <= numbers.min() <= numbers.max() < n_features:
        wrong = next(int(i) for i in numbers if not 0 <= i < n_features)
        msg = f"feature {wrong} of {what} does not exist; features go from 0 to {n_features - 1}"
        raise ValueError(msg)
    if numbers.size > 1 and (numbers[1:] <= numbers[:-1]).any():
        numbers = np.unique(numbers)
    return numbers.astype(np.intp, copy=False)


def check_size(what: str, size: Any) -> None:
    """Raise where a number of features is none."""
    if type(size) is int and size >= 1:
        return
    if not isinstance(size, Integral) or isinstance(size, bool) or size < 1:
        msg = f"{what}={size!r} must be a whole number of at least 1"
        raise ValueError(msg)


def check_length(what: str, asked: int, n_features: int) -> None:
    """Raise where a constraint was made for another number of features."""
    if asked not in {0, n_features}:
        msg = f"{what} is about {asked} features, the data has {n_features}; they have to agree"
        raise ValueError(msg)


def constant_features(constant: Array | None) -> Indices:
    """Features that do not vary, from their mask."""
    return NONE if constant is None else np.flatnonzero(constant)


def places_of(features: Indices, n_features: int) -> Indices:
    """Where each of ``n_features`` features stands in ``features``; -1 where it does not."""
    places = np.full(n_features, -1, dtype=np.intp)
    places[features] = np.arange(features.size)
    return places


def moved(chosen: Indices, features: Indices, n_features: int) -> Indices:
    """The places of ``chosen`` in ``features``, without those that are not there."""
    places = places_of(features, n_features)[chosen]
    return np.sort(places[places >= 0])


def feature_indices(
    features: Iterable[str | int], n_features: int, names: Sequence[str] | None
) -> Indices:
    """The numbers of features given by number or name, in their order."""
    known = {} if names is None else {str(name): i for i, name in enumerate(names)}
    return np.array(
        [_index(feature, n_features, None if names is None else known) for feature in features],
        dtype=np.intp,
    )


def _index(feature: str | int, n_features: int, known: dict[str, int] | None) -> int:
    if not isinstance(feature, str):
        if not 0 <= feature < n_features:
            msg = f"feature {feature} does not exist; features go from 0 to {n_features - 1}"
            raise ValueError(msg)
        return int(feature)
    if known is None:
        msg = (
            f"feature {feature!r} is given by its name, but the data has no names; "
            "use its number, or fit a data frame"
        )
        raise ValueError(msg)
    if feature not in known:
        nearest = get_close_matches(feature, known, n=1, cutoff=0.0)
        hint = f"; did you mean {nearest[0]!r}?" if nearest else ""
        msg = f"the data has no feature {feature!r}{hint}"
        raise ValueError(msg)
    return known[feature]
