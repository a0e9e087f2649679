"""What a loading vector may look like, as three questions a solver can ask."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

from numpy.typing import NDArray

Array = NDArray[Any]


@runtime_checkable
class Constraint(Protocol):
    """A set of allowed unit vectors; all methods work on blocks of columns."""

    @property
    def n_features(self) -> int:
        """Length of a loading vector."""
        ...

    def best_loading(self, direction: Array) -> Array:
        """Argmax of <direction, w> over allowed unit-norm w, for each column."""
        ...

    def allows(self, w: Array) -> bool:
        """Whether the single vector ``w`` is allowed."""
        ...

    def relaxed(self) -> Constraint | None:
        """What renormalisation on a fixed support may use; ``None`` forbids it."""
        ...
