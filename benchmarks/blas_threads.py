"""One BLAS thread or as many as there are cores: paths, proofs and fits, alone and beside other work.

    python -m benchmarks.blas_threads [--repeats 3]

`loadstone.blas_threads` gives one thread to paths, proofs and fits of less than a million numbers;
this table says what that is worth. "Beside others" has one busy process for each core. Seconds on the
wall, the median of alternating runs; a ratio above one says that one thread is quicker.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.text_table import table
from loadstone import SparsePCA, cardinality_path, certify
from loadstone import blas_threads as decided

FEATURES = (40, 300, 2000)
SAMPLES = 200


def data(n_features: int) -> np.ndarray:
    """A few overlapping blocks in noise."""
    rng = np.random.default_rng(0)
    loadings = rng.normal(size=(4, n_features)) * (rng.random((4, n_features)) < 0.2)
    return rng.normal(size=(SAMPLES, 4)) @ loadings + rng.normal(size=(SAMPLES, n_features))


def path(X: np.ndarray) -> None:
    """Sizes 1 to 20."""
    cardinality_path(X, range(1, 21))


def proof(X: np.ndarray) -> None:
    """The dual bound of one component of five features."""
    certify(X, n_nonzero=5, effort="standard")


def fit(X: np.ndarray) -> None:
    """Three components of ten features."""
    SparsePCA(3, n_nonzero=10).fit(X)


@contextmanager
def threads(n: int) -> Iterator[None]:
    """Run with so many threads, whatever the library would decide."""
    sections = decided._SECTIONS
    enter, leave = sections.enter, sections.leave
    sections.enter = sections.leave = lambda: None  # type: ignore[method-assign]
    try:
        with threadpool_limits(limits=n, user_api="blas"):
            yield
    finally:
        sections.enter, sections.leave = enter, leave  # type: ignore[method-assign]


def _spin() -> None:
    while True:
        np.square(np.arange(10_000.0)).sum()


@contextmanager
def busy(n_processes: int) -> Iterator[None]:
    """Keep every core busy with something else."""
    others = [multiprocessing.Process(target=_spin, daemon=True) for _ in range(n_processes)]
    for other in others:
        other.start()
    try:
        yield
    finally:
        for other in others:
            other.terminate()
            other.join()


def seconds(work: Callable[[np.ndarray], None], X: np.ndarray, repeats: int) -> list[float]:
    """Median seconds of each number of threads, one and all, in alternation."""
    numbers = (1, os.cpu_count() or 1)
    taken: list[list[float]] = [[], []]
    for _ in range(repeats):
        for n, times in zip(numbers, taken, strict=True):
            with threads(n):
                started = time.perf_counter()
                work(X)
                times.append(time.perf_counter() - started)
    return [float(np.median(times)) for times in taken]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=3)
    repeats = parser.parse_args().repeats
    cores = os.cpu_count() or 1
    rows: list[list[object]] = []
    for load in ("alone", "beside others"):
        with nullcontext() if load == "alone" else busy(cores):
            for n_features in FEATURES:
                X = data(n_features)
                for work in (path, proof, fit):
                    work(X)  # compiled code and caches are warm
                    one, all_of_them = seconds(work, X, repeats)
                    ratio = f"{all_of_them / one:.2f}"
                    rows.append([load, n_features, work.__name__, one, all_of_them, ratio])
    print(table(["load", "features", "work", "1 thread", f"{cores} threads", "ratio"], rows))


if __name__ == "__main__":
    main()
