"""Finds everything the contract tests run over, so that new code is covered unasked."""

from __future__ import annotations

import importlib
import inspect
import pkgutil

import numpy as np
import pytest
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


#: Parameters that make a fit small, for every estimator that has them.
SMALL = {
    "n_components": 2,
    "n_nonzero": 4,
    "n_features_to_select": 5,
    "effort": "fast",
    "cv": 3,
    "n_nonzeros": (2, 4, 6),
    "n_init": 3,
}

#: What only some ways to use an estimator take; the others leave it alone.
OF_SOME_WAYS = {"SparseNoisyPCA": {"n_init"}, "SparseProbabilisticPCA": {"n_init"}}

#: Ways to use an estimator that search or store something of their own.
#: Every estimator runs with SMALL, and non-negative as well where it can; nothing has to be
#: written here for a new one.
FLAVOURS = {
    "ElasticNetPCA": [{"ridge": float("inf")}, {"n_nonzero": None, "penalty": 0.1}],
    # Kept is the first principal component, where a search starts from it alone.
    "EMPCA": [{"warm_start": True, "n_init": 1}],
    "FeatureSelector": [{"method": "svd_entropy"}],
    "GreedyPCA": [{"direction": "backward"}],
    "NSPCA": [{"n_nonzero": None, "init": "random"}],
    "SpannogramPCA": [{"nonnegative": False}, {"method": "net", "rank": 2}],
    "SparseNoisyPCA": [
        {"noise": "shared", "n_penalties": 4},
        {"noise": "shared", "n_penalties": 4, "n_init": 3, "penalize": "features"},
    ],
    "SparsePCA": [
        {"certify": "instant", "orthogonality": "disjoint"},
        {"n_nonzero": "auto"},
    ],
    "SparseProbabilisticPCA": [
        {"prior": "jeffreys", "noise": "free"},
        {"prior": "laplace", "noise": "shared", "n_init": 3, "refit": False},
    ],
}


def settings(cls):
    """Parameters of every way in which contracts use an estimator."""
    defaults = {name: p.default for name, p in inspect.signature(cls).parameters.items()}
    ways = [{}, *FLAVOURS.get(cls.__name__, [])]
    if defaults.get("nonnegative") is False:
        ways.append({"nonnegative": True})
    common = set(defaults) - OF_SOME_WAYS.get(cls.__name__, set())
    small = {name: value for name, value in SMALL.items() if name in common}
    return [(way, {**small, **way}) for way in ways]


def subjects(*having):
    """An estimator for each class and each way to use it, not fitted, with a readable id.

    Only classes that have all methods and parameters named in ``having``.
    """
    return [
        pytest.param(
            cls(**chosen), id="-".join([cls.__name__, *(f"{n}={v}" for n, v in way.items())])
        )
        for cls in estimators()
        if all(hasattr(cls, name) or name in inspect.signature(cls).parameters for name in having)
        for way, chosen in settings(cls)
    ]


def small_data(seed=1, n_samples=60):
    """Three sparse factors of clearly different strength in 12 features, a few zeros, noise.

    Every estimator finds components in it, and settles, without a warning.
    """
    rng = np.random.default_rng(seed)
    W = np.zeros((3, 12))
    W[0, :5] = [3.0, 2.7, 2.4, 2.1, 1.8]
    W[1, 4:8] = [0.6, -1.6, 1.4, 1.9]
    W[2, 8:] = [0.6, 0.7, 0.8, 1.0]
    X = rng.standard_normal((n_samples, 3)) @ W + 0.4 * rng.standard_normal((n_samples, 12)) + 2
    X[rng.random(X.shape) < 0.1] = 0
    return X


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
