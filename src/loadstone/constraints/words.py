"""Constraints in words: short representations and plurals."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np

#: Entries of a list that are written out.
SHOWN = 6


def short_repr(constraint: Any) -> str:
    """The class and the fields that say something; long lists are cut."""
    parts = []
    for field in fields(constraint):
        value = vars(constraint)[field.name]
        if isinstance(value, np.ndarray):
            if value.size:
                parts.append(f"{field.name}={cut_list(value.tolist())}")
        elif value != field.default:
            parts.append(f"{field.name}={value!r}")
    return f"{type(constraint).__name__}({', '.join(parts)})"


def cut_list(items: list[Any]) -> str:
    """The first few items, and how many follow."""
    if len(items) <= SHOWN:
        return repr(items)
    shown = ", ".join(repr(item) for item in items[:SHOWN])
    return f"[{shown}, ... {len(items) - SHOWN} more]"


def counted(n: int, noun: str) -> str:
    """As in "1 feature" and "2 features"."""
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"


def kind_of(*, nonnegative: bool) -> str:
    """What the loadings make of a component."""
    return "non-negative components" if nonnegative else "components"
