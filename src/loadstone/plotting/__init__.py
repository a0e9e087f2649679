"""Pictures of fitted estimators and paths; every function returns the Axes it drew on."""

from __future__ import annotations

from importlib import import_module
from typing import Any

#: Public names and where they live; matplotlib is imported when one is used.
_HOMES = {
    "plot_loadings": "loadstone.plotting.loadings",
    "plot_loadings_heatmap": "loadstone.plotting.loadings",
}

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    msg = f"module 'loadstone.plotting' has no attribute {name!r}"
    raise AttributeError(msg)
