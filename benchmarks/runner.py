"""Data set x method x measure: every method in one process, time and memory beside values.

A method is a function from centred data and a task to loadings. What it cannot do, or what is not
installed, it says in a sentence, which stands in the results in place of numbers.
"""

from __future__ import annotations

import json
import os
import platform
import re
import time
import tracemalloc
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from loadstone.covariance import covariance_of
from loadstone.metrics import adjusted_variance

Array = NDArray[np.float64]
RESULTS = Path(__file__).resolve().parent / "results"
#: Seconds below which a fit is timed five times, and the shortest counts.
SHORT = 0.2
#: Packages whose versions are kept with the results, where they are installed.
PACKAGES = ("loadstone", "numpy", "scipy", "scikit-learn", "numba", "abess")
#: Why loadings are not compared that break the one constraint all methods are asked to keep.
TOO_MANY = "returns more loadings than were asked for on {} samples of {} features"


@dataclass(frozen=True, kw_only=True)
class Task:
    """What every method is asked for.

    Attributes
    ----------
    n_nonzero : int
        Most non-zero loadings of a component.
    n_components : int
        Number of components.
    nonnegative : bool
        Whether loadings may not be negative.
    """

    n_nonzero: int
    n_components: int = 1
    nonnegative: bool = False


@dataclass(frozen=True, kw_only=True)
class Fit:
    """Loadings by a program that is timed by itself.

    Attributes
    ----------
    components : ndarray of shape (n_components, n_features)
        Loadings, not necessarily of unit norm.
    cpu_seconds : float
        Processor time of the fit alone.
    """

    components: Array
    cpu_seconds: float


@dataclass(frozen=True, kw_only=True)
class Method:
    """A way to find loadings.

    Attributes
    ----------
    name : str
        As tables call it.
    find : callable
        From data and task to components, or to a :class:`Fit` where it keeps its own time.
    refuses : callable
        From data and task to the reason why it is not run, or "".
    """

    name: str
    find: Callable[[Array, Task], Array | Fit]
    refuses: Callable[[Array, Task], str] = field(default=lambda X, task: "")


@dataclass(frozen=True, kw_only=True)
class Suite:
    """Cases and the methods that are compared on them.

    Attributes
    ----------
    name : str
        Name of its results.
    cases : sequence of (str, callable, Task)
        Name of the data, what loads it (centred), and what is asked for.
    methods : sequence of Method
        The first is the one that times are relative to.
    """

    name: str
    cases: Sequence[tuple[str, Callable[[], Array], Task]]
    methods: Sequence[Method]


def measures(X: Array, components: Array) -> dict[str, float]:
    """What loadings are worth on centred data: shares of the variance, sizes, inner products."""
    W = components.T / np.linalg.norm(components, axis=1)
    S = covariance_of(X)[0]
    total = float(S.diagonal().sum())
    apart = np.abs(W.T @ W - np.eye(W.shape[1]))
    scores = X @ W
    return {
        "variance": float(np.sum(scores**2) / (len(X) - 1) / total),
        "adjusted": float(np.sum(adjusted_variance(S, W)) / total),
        "largest size": int((W != 0).sum(axis=0).max()),
        "inner product": float(apart.max()),
        "most negative": float(min(W.min(), 0.0)),
    }


def measured(method: Method, X: Array, task: Task) -> dict[str, Any]:
    """One row: what the loadings are worth, and what they cost; nothing where they are too many."""
    if reason := method.refuses(X, task):
        return {"skipped": reason}
    row = _measured(method, X, task)
    if row["largest size"] > task.n_nonzero:
        return {"skipped": TOO_MANY.format(X.shape[0], X.shape[1])}
    return row


def _measured(method: Method, X: Array, task: Task) -> dict[str, Any]:
    with warnings.catch_warnings(), threadpool_limits(1):
        # A method that stops at its limit counts as it is.
        warnings.simplefilter("ignore")
        seconds, found = _timed(method, X, task)
        if isinstance(found, Fit):
            return {**measures(X, found.components), "cpu seconds": found.cpu_seconds}
        if seconds < SHORT:
            seconds = min(seconds, *(_timed(method, X, task)[0] for _ in range(4)))
        # Once more, because counting allocations takes time of its own.
        tracemalloc.start()
        method.find(X, task)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    return {**measures(X, found), "cpu seconds": seconds, "peak megabytes": peak / 1e6}


def _timed(method: Method, X: Array, task: Task) -> tuple[float, Array | Fit]:
    start = time.process_time()
    found = method.find(X, task)
    return time.process_time() - start, found


def rows_of(
    suite: Suite, *, data: Sequence[str] = (), methods: Sequence[str] = ()
) -> Iterator[dict[str, Any]]:
    """Rows of a suite, or of the data and methods named."""
    chosen = [m for m in suite.methods if not methods or m.name in methods]
    small = np.random.default_rng(0).standard_normal((12, 8))
    for method in chosen:
        # What is compiled or imported at the first call is no part of the time.
        measured(method, small - small.mean(axis=0), Task(n_nonzero=3))
    for name, load, task in suite.cases:
        if data and name not in data:
            continue
        X = load()
        shape = {"n_samples": X.shape[0], "n_features": X.shape[1]}
        for method in chosen:
            row = {"data": name, **shape, **asdict(task), "method": method.name}
            yield {**row, **measured(method, X, task)}


def surroundings() -> dict[str, Any]:
    """Machine and versions that values and times depend on."""
    versions = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            versions[name] = "not installed"
    return {
        "machine": {
            "processor": _processor(),
            "cores": os.cpu_count(),
            "system": f"{platform.system()} {platform.machine()}",
            "BLAS threads": 1,
        },
        "versions": versions,
    }


def _processor() -> str:
    """The model of the processor as Linux tells it, or what Python knows."""
    cpuinfo = Path("/proc/cpuinfo")
    text = cpuinfo.read_text(encoding="utf-8") if cpuinfo.exists() else ""
    found = re.search(r"model name\s*:\s*(.*)", text)
    return found[1] if found else platform.processor() or "unknown"


def write(path: Path, rows: Sequence[dict[str, Any]]) -> None:
    """Rows and surroundings as JSON, one row on a line."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = ",\n  ".join(json.dumps(_rounded(row), ensure_ascii=False) for row in rows)
    head = json.dumps(surroundings(), indent=1, ensure_ascii=False)[:-2]
    path.write_text(f'{head},\n "rows": [\n  {lines}\n ]\n}}\n', encoding="utf-8")


def read(path: Path) -> dict[str, Any]:
    """What :func:`write` wrote."""
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def _rounded(row: dict[str, Any]) -> dict[str, Any]:
    return {k: float(f"{v:.6g}") if isinstance(v, float) else v for k, v in row.items()}
