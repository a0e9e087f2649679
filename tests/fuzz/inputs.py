"""Inputs nobody would think of: shapes, kinds of numbers, containers and parameters, by seed."""

from __future__ import annotations

import inspect
import tempfile
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
from scipy import sparse

from loadstone._sklearn_compat import StrOptions
from registry import constraints

#: Small ones find what large ones do, and thousands of them are affordable.
SMALL = [
    (1, 3), (2, 1), (2, 2), (2, 4), (3, 3), (3, 6), (4, 2), (4, 4), (5, 5), (6, 4), (6, 4), (8, 3),
    (8, 6), (8, 6), (10, 4), (12, 5), (12, 5), (15, 6), (20, 3), (30, 4),
]  # fmt: skip
LARGE = [(3, 8), (5, 14), (8, 8), (20, 9), (20, 9), (40, 16), (7, 40)]
#: How many inputs come to one that is large. Some search and prove for seconds on those.
ONE_IN, ONE_IN_LONG = 8, 100
LONG = {
    "ElasticNetPCA", "ExactSparsePCA", "NSPCA", "SparseNoisyPCA", "SparsePCACV",
    "SparseProbabilisticPCA",
}  # fmt: skip


def _gaussian(rng, n, d):
    return rng.standard_normal((n, d))


def _factors(rng, n, d):
    W = np.where(rng.random((2, d)) < 0.5, 0.0, rng.standard_normal((2, d)))
    return 3 * rng.standard_normal((n, 2)) @ W + 0.3 * rng.standard_normal((n, d))


def _exact_rank(rng, n, d):
    r = int(rng.integers(1, 4))
    return rng.standard_normal((n, r)) @ rng.standard_normal((r, d))


def _twins(rng, n, d):
    X = rng.standard_normal((n, d))
    return X[:, rng.integers(max(1, d // 2), size=d)]


def _small_integers(rng, n, d):
    return rng.integers(-2, 3, size=(n, d)).astype(float)


def _binary(rng, n, d):
    return (rng.random((n, d)) < 0.3).astype(float)


def _counts(rng, n, d):
    return rng.poisson(0.4, size=(n, d)).astype(float)


def _heavy(rng, n, d):
    return np.clip(rng.standard_cauchy((n, d)), -1e6, 1e6)


def _outlier(rng, n, d):
    X = rng.standard_normal((n, d))
    X[rng.integers(n), rng.integers(d)] = 1e8
    return X


def _some_constant(rng, n, d):
    X = rng.standard_normal((n, d))
    X[:, rng.random(d) < 0.4] = rng.standard_normal()
    return X


def _all_constant(rng, n, d):
    return np.full((n, d), float(rng.integers(-1, 2)))


def _offset(rng, n, d):
    return rng.standard_normal((n, d)) + 10.0 ** rng.integers(2, 9)


def _unequal(rng, n, d):
    return rng.standard_normal((n, d)) * 10.0 ** rng.integers(-6, 7, size=d)


def _tiny(rng, n, d):
    return rng.standard_normal((n, d)) * 10.0 ** rng.integers(-140, -20)


def _huge(rng, n, d):
    return rng.standard_normal((n, d)) * 10.0 ** rng.integers(20, 300)


def _equal_rows(rng, n, d):
    return np.repeat(rng.standard_normal((1, d)), n, axis=0) + (np.arange(n) == 0)[:, None]


def _orthogonal(rng, n, d):
    # Every direction explains the same: all eigenvalues are tied.
    return np.kron(np.ones((n // d + 1, 1)), np.eye(d))[:n] - 1.0 / d


def _special(rng, n, d):
    X = rng.standard_normal((n, d))
    X[rng.integers(n), rng.integers(d)] = rng.choice([np.nan, np.inf, -np.inf])
    return X


NUMBERS = [
    _gaussian, _factors, _exact_rank, _twins, _small_integers, _binary, _counts, _heavy, _outlier,
    _some_constant, _all_constant, _offset, _unequal, _tiny, _huge, _equal_rows, _orthogonal,
    _special,
]  # fmt: skip
#: Numbers that are mostly refused, of which fewer are enough.
REFUSED = {_all_constant, _special, _huge}
#: Numbers that are all the same where they are whole and small.
NO_INTEGERS = {_tiny, _huge, _offset, _all_constant}


def _dask(X):
    import dask.array as da

    return da.from_array(X, chunks=(max(1, X.shape[0] // 2), max(1, X.shape[1] // 2)))


def _frame(X):
    import pandas as pd

    return pd.DataFrame(X, columns=[f"f{j}" for j in range(X.shape[1])])


def _memmap(X):
    # A file of its own per array, which ends with it: the map holds it open.
    with tempfile.TemporaryFile() as file:
        mapped = np.memmap(file, dtype=X.dtype, mode="w+", shape=X.shape)
    mapped[:] = X
    return mapped


#: Ways to hand the same numbers over; an answer must not depend on them.
CONTAINERS = {
    "array": np.ascontiguousarray,
    "Fortran": np.asfortranarray,
    "strided": lambda X: np.repeat(X, 2, axis=1)[:, ::2],
    "backwards": lambda X: X[::-1][::-1],
    "read-only": lambda X: (Y := X.copy(), Y.setflags(write=False))[0],
    "list": lambda X: X.tolist(),
    "frame": _frame,
    "csr": sparse.csr_array,
    "csc": sparse.csc_matrix,
    "coo": sparse.coo_array,
    "bsr": sparse.bsr_array,
    "memmap": _memmap,
    "dask": _dask,
}
DTYPES = ["float64", "float64", "float64", "float32", "float32", "int64", "uint8", "bool"]

#: Parameters without a list of options, and values to try; a fraction is of the features.
VALUES = {
    "n_components": [1, 1, 2, 2, 3, 7, 50],
    "n_nonzero": [1, 2, 3, 0.5, 1.0, None],
    "n_features_to_select": [1, 2, 0.5],
    "tol": [1e-6, 1e-3],
    "max_iter": [1, 7, 100],
    "n_init": [1, 2, 4],
    "rank": [1, 2],
    "random_state": [0, 1, 2],
    "forced": [[0], [1]],
    "forbidden": [[0], [2, 1]],
    "warm_start": [False, True],
    "penalty": [0.0, 0.01, 1.0, 100.0],
    "ridge": ["auto", 1e-6, 1.0, 1e6, float("inf")],
    "overlap_penalty": [0.1, 10.0, 1e6],
    "sparsity_penalty": [0.0, 0.05, 1.0, 1e3],
    "target": [0.1, 0.5, 1.0],
    "min_angle": [0.0, 45.0, 90.0],
    "epsilon": [0.3, 0.9],
    "inclusion_threshold": [0.0, 0.5, 0.99],
    "zero_threshold": [0.0, 1.0, 10.0],
    "ebic_gamma": [0.0, 0.5],
    "certify": [False, "instant", "full"],
}
#: Parameters that take words besides these values.
WORDS_AS_WELL = {"n_components", "penalty"}
#: Other processes have tests of their own.
LEFT_ALONE = {"n_jobs", "time_limit"}
#: Seconds of a proof, which would take a minute where nobody asks for less.
SECONDS = 5.0
_FEW = [1, 1, 1, 2, 3]
_OLD_PRIORS = ["laplace", "inverse_gaussian", "jeffreys"]
#: Ways to use a class, of which all but one fit in twenty are: values to choose from, because the
#: defaults search for long, and parameters (without values) that belong to another way.
WAYS: dict[str, list[dict[str, list[Any]]]] = {
    "ElasticNetPCA": [{"n_components": _FEW}],
    "ExactSparsePCA": [{"n_components": [1, 1, 1, 1, 2]}],
    "SpannogramPCA": [{"rank": [1, 2]}],
    "SparseNoisyPCA": [
        {"n_components": _FEW, "n_penalties": [], "penalize": [], "init": [], "n_init": []},
        {"n_components": _FEW, "n_penalties": [2, 3], "noise": ["shared"]},
    ],
    "SparsePCACV": [{"cv": [2, 2, 3], "n_nonzeros": [(1,), (1, 2)], "n_components": [1, 2]}],
    "SparseProbabilisticPCA": [
        {"n_components": _FEW, "prior": [], "zero_threshold": []}
        | {"init": [], "rotation_steps": [], "n_init": []},
        {"n_components": _FEW, "prior": _OLD_PRIORS, "noise": ["pooled", "free"]}
        | {"inclusion_threshold": [], "init": [], "rotation_steps": [], "n_init": []},
        {"n_components": _FEW, "prior": _OLD_PRIORS, "noise": ["shared"]}
        | {"inclusion_threshold": []},
    ],
}


@dataclass(frozen=True)
class Input:
    """One input and everything it was made from."""

    seed: int
    numbers: str
    container: str
    X: Any
    dense: np.ndarray
    parameters: dict[str, Any] = field(default_factory=dict)
    weights: np.ndarray | None = None

    @property
    def fit_parameters(self) -> dict[str, Any]:
        """What ``fit`` gets besides the data."""
        return {} if self.weights is None else {"sample_weight": self.weights}

    def __str__(self) -> str:
        shape, dtype = self.dense.shape, self.dense.dtype
        weighted = "" if self.weights is None else "weighted "
        return (
            f"seed {self.seed}: {self.numbers} {shape} {dtype} {self.container} {weighted}"
            f"{self.parameters}"
        )


def make(subject, seed):
    """The input a seed stands for, for a class of estimators or the name of a function."""
    rng = np.random.default_rng(seed)
    name = subject if isinstance(subject, str) else subject.__name__
    large = rng.random() < 1 / (ONE_IN_LONG if name in LONG else ONE_IN)
    kind, dense = _numbers(rng, LARGE if large else SMALL)
    container = list(CONTAINERS)[rng.integers(len(CONTAINERS))]
    if isinstance(subject, str):
        return Input(seed, kind, container, CONTAINERS[container](dense), dense)
    weights = None
    if rng.random() < 0.15:
        weights = rng.choice([0.0, 0.5, 1.0, 2.0, 3.0], size=dense.shape[0])
    return Input(
        seed, kind, container, CONTAINERS[container](dense), dense,
        _parameters(subject, dense.shape[1], rng), weights,
    )  # fmt: skip


def _numbers(rng, shapes):
    n, d = shapes[rng.integers(len(shapes))]
    kind = NUMBERS[rng.integers(len(NUMBERS))]
    if kind in REFUSED and rng.random() < 0.7:
        kind = _factors
    dtype = np.dtype(DTYPES[rng.integers(len(DTYPES))])
    if dtype.kind in "iub" and kind in NO_INTEGERS:
        dtype = np.dtype("float64")
    with np.errstate(all="ignore"):
        numbers = np.asarray(kind(rng, n, d))
        if dtype.kind in "iub":
            numbers = np.clip(np.nan_to_num(numbers), 0 if dtype.kind != "i" else -100, 100)
        return kind.__name__.strip("_"), numbers.astype(dtype)


def _parameters(cls, n_features, rng):
    """About a third of the parameters, each with a value its own rule allows."""
    way: dict[str, list[Any]] = {}
    if cls.__name__ in WAYS and rng.random() < 0.95:
        ways = WAYS[cls.__name__]
        way = ways[rng.integers(len(ways))]
    chosen = {name: values[rng.integers(len(values))] for name, values in way.items() if values}
    for name in _names(cls):
        if name in LEFT_ALONE or name in way or rng.random() > 0.3:
            continue
        values = VALUES.get(name, [])
        if not values or name in WORDS_AS_WELL:
            values = values + _options(cls._parameter_constraints.get(name, []))
        if name == "constraint" and rng.random() < 0.5 and n_features >= 4:
            values = constraints(n_features)
        if values:
            chosen[name] = values[rng.integers(len(values))]
    if "time_limit" in _names(cls):
        chosen["time_limit"] = SECONDS
    return chosen


@cache
def _names(cls):
    return tuple(inspect.signature(cls).parameters)


def _options(rules):
    values = []
    for rule in rules if isinstance(rules, list) else []:
        if isinstance(rule, StrOptions):
            values += sorted(rule.options)
        elif rule == "boolean":
            values += [False, True]
    return values
