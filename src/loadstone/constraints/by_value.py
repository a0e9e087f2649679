"""Constraints that say the same are equal, whatever arrays they keep it in."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np


class ByValue:
    """A frozen dataclass whose fields may be arrays: equal where all of them are.

    The equality that dataclasses write compares arrays by ``==``, whose answer is an array.
    """

    def __eq__(self, other: object) -> bool:
        """Whether ``other`` is of the same kind and has the same fields."""
        if type(other) is not type(self):
            return NotImplemented
        return self is other or self._said() == other._said()

    def __hash__(self) -> int:
        """Equal for constraints that are equal."""
        return hash((type(self).__name__, self._said()))

    def _said(self) -> tuple[Any, ...]:
        """The fields as numbers and text."""
        return tuple(_plain(getattr(self, field.name)) for field in fields(self))  # type: ignore[arg-type]


def _plain(value: Any) -> Any:
    return tuple(value.tolist()) if isinstance(value, np.ndarray) else value
