"""Principal components people can read: sparse, non-negative, exactly sized, certified."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

from loadstone._version import __version__ as __version__

#: Functions and results, and where they live; estimators name themselves, see ``registry``.
_HOMES = {
    "CardinalityPath": "loadstone.selection.path",
    "Certificate": "loadstone.certificates.certificate",
    "SampleCovariance": "loadstone.covariance.sample",
    "cardinality_path": "loadstone.selection.cardinality_path",
    "certify": "loadstone.selection.certify",
    "cross_validated_recovery": "loadstone.selection.held_out",
    "Table": "loadstone.files.table",
    "load_model": "loadstone.estimators.model_file",
    "read_table": "loadstone.files.tables",
    "save_model": "loadstone.estimators.model_file",
    "stability_selection": "loadstone.selection.stability",
    "suggest_cardinality": "loadstone.selection.suggest",
    "summarise": "loadstone.report.summarise",
}

#: Packages that are reached as attributes; ``report`` can be called as well.
_PACKAGES = ("anndata", "constraints", "datasets", "metrics", "plotting", "report")


def __getattr__(name: str) -> Any:
    # Nothing is imported, and no estimator looked for, before it is asked for.
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    if name in _PACKAGES:
        return import_module(f"loadstone.{name}")
    from loadstone.registry import entries, entry_of

    if name == "__all__":
        return ["__version__", *sorted([entry.name for entry in entries()] + [*_HOMES]), *_PACKAGES]
    entry = entry_of(name)
    if entry is None:
        msg = f"module 'loadstone' has no attribute {name!r}"
        # With these Python says which name is meant.
        raise AttributeError(msg, name=name, obj=sys.modules[__name__])
    return entry.load()


def __dir__() -> list[str]:
    return sorted({*globals(), *__getattr__("__all__")})
