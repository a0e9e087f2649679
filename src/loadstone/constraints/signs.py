"""Loadings of given signs: features that may only be added, or only subtracted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import sqrt
from typing import Any, Self

import numpy as np

from loadstone.constraints.by_value import ByValue
from loadstone.constraints.columns import (
    allowed_part,
    broken_features,
    broken_norm,
    on_columns,
    top_k,
    unit_columns,
)
from loadstone.constraints.features import (
    NONE,
    as_features,
    check_length,
    constant_features,
    feature_indices,
    moved,
    places_of,
    refuse_nothing_left,
)
from loadstone.constraints.protocol import Array, Indices
from loadstone.constraints.words import SHOWN, counted, cut_list


@dataclass(frozen=True, eq=False, repr=False)
class Signs(ByValue):
    """Given signs for some features, any sign for the others, and at most ``n_nonzero`` of all.

    Attributes
    ----------
    pattern : mapping of feature to +1 or -1
        Features by name or by number. Kept as pairs.
    n_nonzero : int or None
        Largest number of non-zero loadings; ``None`` allows all.
    n_features : int
        Length of a loading vector; 0, the default, leaves that to the data.
    forbidden : ndarray of intp
        Features that stay zero.

    Examples
    --------
    >>> import numpy as np
    >>> from loadstone.constraints import Signs
    >>> signs = Signs({"rent": -1, "income": +1}, n_nonzero=2)
    >>> constraint = signs.bound_to(3, ["rent", "age", "income"])
    >>> constraint.best_loading(np.array([-3.0, 1.0, 4.0]))
    array([-0.6,  0. ,  0.8])
    >>> constraint.best_loading(np.array([3.0, -1.0, 4.0])).round(2)
    array([ 0.  , -0.24,  0.97])
    """

    pattern: Any
    n_nonzero: int | None = None
    n_features: int = 0
    forbidden: Indices = field(default_factory=lambda: NONE)

    def __post_init__(self) -> None:
        pairs = self.pattern.items() if isinstance(self.pattern, Mapping) else self.pattern
        try:
            given = tuple((_plain(feature), sign) for feature, sign in pairs)
        except (TypeError, ValueError):
            msg = (
                f"Signs({self.pattern!r}) does not say which feature has which sign; give a mapping "
                "such as {'rent': -1, 'income': +1}"
            )
            raise TypeError(msg) from None
        for feature, sign in given:
            if sign not in {1, -1}:
                msg = (
                    f"the sign of {feature!r} is {sign!r}; give +1 or -1, or leave the feature out"
                )
                raise ValueError(msg)
        object.__setattr__(self, "pattern", tuple((f, int(sign)) for f, sign in given))
        if self.n_nonzero is not None and not self.n_nonzero >= 1:
            msg = f"n_nonzero={self.n_nonzero!r} must be at least 1, or None for all features"
            raise ValueError(msg)
        forbidden = as_features("forbidden", self.forbidden, self.n_features)
        object.__setattr__(self, "forbidden", forbidden)
        refuse_nothing_left(self.n_features, self.forbidden)

    def __repr__(self) -> str:
        shown = ", ".join(f"{feature!r}: {sign:+d}" for feature, sign in self.pattern[:SHOWN])
        more = len(self.pattern) - SHOWN
        parts = [f"{{{shown}{f', ... {more} more' if more > 0 else ''}}}"]
        parts += [f"n_nonzero={self.n_nonzero}"] if self.n_nonzero is not None else []
        parts += [f"n_features={self.n_features}"] if self.n_features else []
        parts += [f"forbidden={cut_list(self.forbidden.tolist())}"] if self.forbidden.size else []
        return f"Signs({', '.join(parts)})"

    def _said(self) -> tuple[Any, ...]:
        # In whatever order the signs were given.
        return (frozenset(self.pattern), *super()._said()[1:])

    @cached_property
    def _given(self) -> Array:
        """+1, -1 or 0 per feature."""
        if any(isinstance(feature, str) for feature, _ in self.pattern) or not self.n_features:
            msg = f"{self!r} does not know the features yet; use the one that bound_to returns"
            raise ValueError(msg)
        signs = np.zeros(self.n_features, dtype=np.int8)
        places = feature_indices([f for f, _ in self.pattern], self.n_features, None)
        signs[places] = [sign for _, sign in self.pattern]
        return signs

    @property
    def signs(self) -> Array | None:
        """+1, -1 or 0; ``None`` where no feature that may be used has a sign."""
        return self._given if np.delete(self._given, self.forbidden).any() else None

    @property
    def size(self) -> int:
        """Places that can be filled."""
        available = self.n_features - self.forbidden.size
        return available if self.n_nonzero is None else min(self.n_nonzero, available)

    @property
    def is_free(self) -> bool:
        """Whether any unit vector is allowed."""
        return self.signs is None and self.size >= self.n_features

    @property
    def refits(self) -> bool:
        """On the features of ``w`` only the signs still matter."""
        return True

    @property
    def largest_l1(self) -> float:
        """The square root of the number of places."""
        return sqrt(self.size)

    def best_loading(self, direction: Array) -> Array:
        """Argmax of <direction, w>: allowed entries, the largest of them, normalised."""
        return on_columns(direction, self._best)

    def _best(self, block: Array) -> Array:
        part = np.array(allowed_part(block, self._given))
        part[self.forbidden] = 0
        top = top_k(np.abs(part), self.size)
        W = np.zeros_like(part)
        np.put_along_axis(W, top, np.take_along_axis(part, top, axis=0), axis=0)
        return unit_columns(W, block, self._given, self.forbidden)

    def allows(self, w: Array) -> bool:
        """Whether ``w`` has unit norm, few enough places, allowed signs and features."""
        return self.broken_rule(w) is None

    def broken_rule(self, w: Array) -> str | None:
        """The first rule ``w`` breaks, as a sentence; ``None`` where it keeps them all."""
        return (
            broken_norm(w, self.n_features)
            or self._too_many(w)
            or broken_features(w, self._given, self.forbidden)
        )

    def _too_many(self, w: Array) -> str | None:
        used = int(np.count_nonzero(w))
        if self.n_nonzero is None or used <= self.n_nonzero:
            return None
        return f"it uses {used} features, more than n_nonzero={self.n_nonzero}"

    def support(self, w: Array) -> Indices:
        """The features of ``w``."""
        return np.flatnonzero(w)

    def units(self, w: Array) -> list[Indices]:
        """Single features."""
        return list(np.flatnonzero(w)[:, None])

    def without(self, features: Indices) -> Self:
        """The same with ``features`` forbidden too."""
        return replace(self, forbidden=np.union1d(self.forbidden, features).astype(np.intp))

    def on(self, features: Indices) -> Self:
        """The same for loadings on ``features`` alone."""
        places = places_of(features, self.n_features)
        kept = {int(places[f]): sign for f, sign in self.pattern if places[f] >= 0}
        forbidden = moved(self.forbidden, features, self.n_features)
        return replace(self, pattern=kept, n_features=features.size, forbidden=forbidden)

    def largest_sum(self, terms: Array) -> Array:
        """The largest terms."""
        return on_columns(terms, self._largest_sum)

    def _largest_sum(self, terms: Array) -> Array:
        open_terms = np.array(terms)
        open_terms[self.forbidden] = 0
        top = top_k(open_terms, self.size)
        total: Array = np.take_along_axis(open_terms, top, axis=0).sum(axis=0)
        return total

    def bound_to(
        self, n_features: int, names: Sequence[str] | None = None, constant: Array | None = None
    ) -> Self:
        """The same for ``n_features`` features, by number, without those that do not vary."""
        check_length("the constraint", self.n_features, n_features)
        places = feature_indices([feature for feature, _ in self.pattern], n_features, names)
        taken: dict[int, Any] = {}
        for place, (feature, _) in zip(places.tolist(), self.pattern, strict=True):
            if place in taken:
                msg = f"{taken[place]!r} and {feature!r} are the same feature; give its sign once"
                raise ValueError(msg)
            taken[place] = feature
        pattern = dict(zip(places.tolist(), (sign for _, sign in self.pattern), strict=True))
        bound = replace(self, pattern=pattern, n_features=n_features)
        closed = constant_features(constant)
        return bound if bound.is_free or closed.size == 0 else bound.without(closed)

    def describe(self) -> str:
        """In words."""
        size = "" if self.n_nonzero is None else f" of {counted(self.n_nonzero, 'feature')}"
        return f"components{size} with {counted(len(self.pattern), 'given sign')}"

    @classmethod
    def examples(cls, n_features: int) -> list[Self]:
        """Some and all signs given, with and without a size."""
        some = {0: 1, 3: -1, 4: 1, 5: -1}
        everything = {i: -1 if i % 3 == 1 else 1 for i in range(n_features)}
        return [
            cls(some, 3, n_features),
            cls(some, n_features=n_features),
            cls(everything, 3, n_features),
            cls(some, 2, n_features, forbidden=np.array([0, 1])),
        ]


def _plain(feature: Any) -> str | int:
    return feature if isinstance(feature, str) else int(feature)
