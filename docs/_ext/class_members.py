"""What the page of a class shows: what the package wrote itself, and neither fields nor bases."""

from __future__ import annotations

import inspect
from importlib import import_module
from typing import Any

#: Methods that layers of the package ask each other; users have no task to hand over.
INTERNAL = {"constraints_on", "plan"}


def methods_of(address: str) -> list[str]:
    """Public methods that are defined in this package."""
    return [
        name
        for name, value in _members(address).items()
        if inspect.isroutine(value) and _function(value).__module__.startswith("loadstone.")
    ]


def properties_of(address: str) -> list[str]:
    """Public properties; fields stand in the docstring of the class."""
    return [name for name, value in _members(address).items() if isinstance(value, property)]


def _members(address: str) -> dict[str, Any]:
    module, _, name = address.rpartition(".")
    cls = getattr(import_module(module), name)
    public = [name for name in dir(cls) if not name.startswith("_") and name not in INTERNAL]
    return {name: inspect.getattr_static(cls, name) for name in public}


def _function(value: Any) -> Any:
    return value.__func__ if isinstance(value, classmethod | staticmethod) else value
