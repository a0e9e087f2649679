"""Loadings on one feature alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np

from loadstone.constraints.columns import broken_features, broken_norm, least_loss, on_columns
from loadstone.constraints.features import (
    NONE,
    check_length,
    constant_features,
    moved,
    refuse_nothing_left,
)
from loadstone.constraints.protocol import Array, Indices
from loadstone.constraints.words import short_repr


@dataclass(frozen=True, repr=False)
class Single:
    """Unit vectors with a single non-zero loading.

    Attributes
    ----------
    n_features : int
        Length of a loading vector; 0, the default, leaves that to the data.
    forbidden : ndarray of intp
        Features that stay zero.
    """

    n_features: int = 0
    forbidden: Indices = field(default_factory=lambda: NONE)

    def __post_init__(self) -> None:
        refuse_nothing_left(self.n_features, self.forbidden)

    def __repr__(self) -> str:
        return short_repr(self)

    @property
    def signs(self) -> Array | None:
        """Both signs are allowed."""
        return None

    @property
    def is_free(self) -> bool:
        """Never: a second feature is one too many."""
        return False

    @property
    def refits(self) -> bool:
        """On one feature there is nothing else to find."""
        return True

    @property
    def largest_l1(self) -> float:
        """The length of a unit vector."""
        return 1.0

    def best_loading(self, direction: Array) -> Array:
        """Argmax of <direction, w>: the largest entry alone."""
        return on_columns(
            direction,
            lambda block: np.column_stack([least_loss(d, None, self.forbidden) for d in block.T]),
        )

    def allows(self, w: Array) -> bool:
        """Whether ``w`` has unit norm and a single allowed feature."""
        return self.broken_rule(w) is None

    def broken_rule(self, w: Array) -> str | None:
        """The first rule ``w`` breaks, as a sentence; ``None`` where it keeps them all."""
        return (
            broken_norm(w, self.n_features)
            or (f"it uses {np.count_nonzero(w)} features" if np.count_nonzero(w) > 1 else None)
            or broken_features(w, None, self.forbidden)
        )

    def support(self, w: Array) -> Indices:
        """The feature of ``w``."""
        return np.flatnonzero(w)

    def units(self, w: Array) -> list[Indices]:
        """The feature of ``w``."""
        return [np.flatnonzero(w)]

    def without(self, features: Indices) -> Self:
        """The same with ``features`` forbidden too."""
        return replace(self, forbidden=np.union1d(self.forbidden, features).astype(np.intp))

    def on(self, features: Indices) -> Self:
        """The same for loadings on ``features`` alone."""
        forbidden = moved(self.forbidden, features, self.n_features)
        return replace(self, n_features=features.size, forbidden=forbidden)

    def largest_sum(self, terms: Array) -> Array:
        """The largest term."""
        return on_columns(terms, lambda block: np.delete(block, self.forbidden, axis=0).max(axis=0))

    def bound_to(
        self, n_features: int, names: Sequence[str] | None = None, constant: Array | None = None
    ) -> Self:
        """The same for ``n_features`` features, without those that do not vary."""
        check_length("the constraint", self.n_features, n_features)
        closed = constant_features(constant)
        bound = replace(self, n_features=n_features)
        return bound if closed.size == 0 else bound.without(closed)

    def describe(self) -> str:
        """In words."""
        return "components of a single feature"

    @classmethod
    def examples(cls, n_features: int) -> list[Self]:
        """With and without a forbidden feature."""
        return [cls(n_features), cls(n_features, forbidden=np.array([1]))]
