"""Finds everything the contract tests run over, so that new code is covered unasked."""

from __future__ import annotations

import importlib
import inspect
import pkgutil

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator

import loadstone


def _modules(package):
    root = importlib.import_module(package)
    for info in pkgutil.walk_packages(root.__path__, prefix=f"{package}."):
        yield importlib.import_module(info.name)


def _classes(package):
    for module in _modules(package):
        for _, cls in inspect.getmembers(module, inspect.isclass):
            if cls.__module__ == module.__name__:
                yield cls


def estimators():
    """Every public estimator class of the package."""
    public = [getattr(loadstone, name) for name in loadstone.__all__ if name[0].isupper()]
    return sorted(
        (cls for cls in public if inspect.isclass(cls) and issubclass(cls, BaseEstimator)),
        key=lambda cls: cls.__name__,
    )


def sequential_estimators():
    """Estimators with an exact number of non-zeros and signs."""
    from loadstone.estimators.sequential import SequentialComponents

    return [cls for cls in estimators() if issubclass(cls, SequentialComponents)]


def solvers():
    """Every one-component solver: a dataclass with ``refuses`` and a call."""
    found = {
        cls
        for cls in _classes("loadstone.solvers")
        if hasattr(cls, "refuses") and "Protocol" not in str(cls.__mro__)
    }
    return sorted(found, key=lambda cls: cls.__name__)


def constraints(n_features):
    """Instances of every kind of constraint, in all their flavours."""
    from loadstone.constraints import KINDS

    return [constraint for kind in KINDS for constraint in kind.examples(n_features)]


def constraint_classes():
    """Every class of the folder that can be asked for its best loading."""
    return {cls for cls in _classes("loadstone.constraints") if hasattr(cls, "best_loading")} - {
        importlib.import_module("loadstone.constraints.protocol").Constraint
    }


def containers():
    """Ways to hand over the same matrix: name -> function of (X, tmp_path)."""
    import dask.array as da

    def memmap(X, tmp_path):
        path = tmp_path / "X.dat"
        mapped = np.memmap(path, dtype=X.dtype, mode="w+", shape=X.shape)
        mapped[:] = X
        mapped.flush()
        return np.memmap(path, dtype=X.dtype, mode="r", shape=X.shape)

    return {
        "c_order": lambda X, _: np.ascontiguousarray(X),
        "f_order": lambda X, _: np.asfortranarray(X),
        "strided": lambda X, _: np.repeat(X, 2, axis=1)[:, ::2],
        "memmap": memmap,
        "csr_array": lambda X, _: sparse.csr_array(X),
        "csr_matrix": lambda X, _: sparse.csr_matrix(X),
        "csc_array": lambda X, _: sparse.csc_array(X),
        "dask": lambda X, _: da.from_array(X, chunks=(max(2, X.shape[0] // 3), X.shape[1] // 2)),
        "dask_sparse": lambda X, _: da.from_array(
            X, chunks=(max(2, X.shape[0] // 3), -1)
        ).map_blocks(sparse.csr_array, meta=sparse.csr_array((0, 0), dtype=X.dtype)),
    }
