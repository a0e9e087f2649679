"""What a loading vector may look like, as questions that search, check and proof can ask."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Indices = NDArray[np.intp]


@runtime_checkable
class Constraint(Protocol):
    """A set of allowed unit vectors. It is created before the data is known.

    :meth:`bound_to` gives the constraint that everything else is asked of: one that
    knows the features and leaves out those that do not vary.
    """

    @property
    def n_features(self) -> int:
        """Length of a loading vector; 0 where only the data will tell."""
        ...

    @property
    def forbidden(self) -> Indices:
        """Features that stay zero."""
        ...

    @property
    def signs(self) -> Array | None:
        """+1, -1 or 0 (either) for each feature; ``None`` where ``w`` and ``-w`` are both allowed."""
        ...

    @property
    def is_free(self) -> bool:
        """Whether any unit vector is allowed, so that PCA answers."""
        ...

    @property
    def refits(self) -> bool:
        """Whether every unit vector on ``support(w)`` with allowed signs is allowed too."""
        ...

    @property
    def largest_l1(self) -> float:
        """No allowed vector has a larger ``sum |w_i|``."""
        ...

    def best_loading(self, direction: Array) -> Array:
        """Argmax of <direction, w> over allowed unit-norm w, for a vector or each column."""
        ...

    def allows(self, w: Array) -> bool:
        """Whether ``broken_rule(w)`` is ``None``."""
        ...

    def broken_rule(self, w: Array) -> str | None:
        """The first rule the single vector ``w`` breaks, as a sentence; ``None`` where it keeps all."""
        ...

    def support(self, w: Array) -> Indices:
        """Features that may be non-zero together with those of ``w``, those of ``w`` included."""
        ...

    def units(self, w: Array) -> list[Indices]:
        """What an exchange takes out at once: features of ``w`` that come and go together."""
        ...

    def without(self, features: Indices) -> Self:
        """The same with ``features`` forbidden too; at least one feature has to be left."""
        ...

    def on(self, features: Indices) -> Self:
        """The same for loadings on ``features`` alone, in their order."""
        ...

    def largest_sum(self, terms: Array) -> Array:
        """Largest sum of non-negative ``terms`` over the features of one allowed vector.

        For a vector, or for each column of a block. Any limit that is never too small
        keeps certificates valid; the sum of all terms is one.
        """
        ...

    def bound_to(
        self, n_features: int, names: Sequence[str] | None = None, constant: Array | None = None
    ) -> Self:
        """The same for these features: names looked up, ``constant`` ones (a mask) closed."""
        ...

    def describe(self) -> str:
        """What is allowed, as a plural: "components of 4 features"."""
        ...

    @classmethod
    def examples(cls, n_features: int) -> list[Self]:
        """Instances of every flavour, for tests and tables; they need at least six features."""
        ...
