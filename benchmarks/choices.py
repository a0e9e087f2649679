"""Which way to choose the number of features finds the right one, on data with a known component.

Run: OPENBLAS_NUM_THREADS=1 python -m benchmarks.choices [--seeds 10] [--first 1] [--table FILE]

``--seeds 20 --table docs/measured/sizes.md`` makes the table of the documentation.

One component with random signs is planted among features of noise, and every way of choosing is
asked for its features. Counted are data sets with exactly the right features; beside that stand
the median number of features chosen, and the time.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np

from loadstone import (
    SparseNoisyPCA,
    SparsePCA,
    SparsePCACV,
    SparseProbabilisticPCA,
    cardinality_path,
    stability_selection,
    suggest_cardinality,
)

SIZE = 8
#: Samples, features, and the strength of the component in units of the noise.
DESIGNS = {
    "strong: 100 x 40": (100, 40, 1.5),
    "weak: 100 x 40": (100, 40, 0.6),
    "uneven loadings: 200 x 40": (200, 40, 1.0),
    "wide: 60 x 600": (60, 600, 1.2),
}


def planted(design: str, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Samples, and which features the component has."""
    n_samples, n_features, strength = DESIGNS[design]
    rng = np.random.default_rng(seed)
    loading = np.zeros(n_features)
    there = rng.choice(n_features, SIZE, replace=False)
    sizes = np.linspace(0.5, 1.5, SIZE) if design.startswith("uneven") else np.ones(SIZE)
    loading[there] = strength * sizes * rng.choice([-1, 1], SIZE)
    noise = rng.normal(size=(n_samples, n_features))
    return np.outer(rng.normal(size=n_samples), loading) + noise, loading != 0


def by_knee(X: np.ndarray) -> np.ndarray:
    path = cardinality_path(X, standardize=True)
    chosen = suggest_cardinality(path).n_nonzero
    return path.estimator(chosen).support_[0]


def by_target(X: np.ndarray) -> np.ndarray:
    return SparsePCA(1, standardize=True).fit(X).support_[0]


def by_folds(X: np.ndarray) -> np.ndarray:
    return SparsePCACV(1, n_nonzeros=range(1, 31), standardize=True).fit(X).support_[0]


def by_ebic(X: np.ndarray) -> np.ndarray:
    return _any_support(SparseNoisyPCA(standardize=True).fit(X))


def by_bayes(X: np.ndarray) -> np.ndarray:
    return _any_support(SparseProbabilisticPCA(standardize=True).fit(X))


def by_stability(X: np.ndarray) -> np.ndarray:
    search = SparsePCA(1, n_nonzero=2 * SIZE, standardize=True, effort="fast")
    chosen = stability_selection(search, X, n_subsamples=30, threshold=0.9)
    return np.isin(np.arange(X.shape[1]), chosen.selected)


def _any_support(model: SparseNoisyPCA | SparseProbabilisticPCA) -> np.ndarray:
    return np.asarray(model.support_, dtype=bool).any(axis=0)


WAYS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "knee of the path": by_knee,
    '`n_nonzero="auto"`': by_target,
    "`SparsePCACV`": by_folds,
    "`SparseNoisyPCA` (EBIC)": by_ebic,
    "`SparseProbabilisticPCA` (bound)": by_bayes,
    "`stability_selection`, 16 features asked for, 0.9": by_stability,
}


def measure(way: Callable[[np.ndarray], np.ndarray], design: str, seeds: range) -> tuple[int, int]:
    """How often exactly the right features were chosen, and the median of their number."""
    exact, sizes = 0, []
    for seed in seeds:
        X, truth = planted(design, seed)
        found = way(X)
        exact += bool(np.array_equal(found, truth))
        sizes.append(int(found.sum()))
    return exact, int(np.median(sizes))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--table", type=Path)
    asked = parser.parse_args()
    seeds = range(asked.first, asked.first + asked.seeds)
    lines = [f"| chosen by | {' | '.join(DESIGNS)} | s CPU |", "|---" * (len(DESIGNS) + 2) + "|"]
    for name, way in WAYS.items():
        start, cells = time.process_time(), []
        for design in DESIGNS:
            exact, size = measure(way, design, seeds)
            cells.append(f"{exact} ({size})")
        spent = (time.process_time() - start) / (len(DESIGNS) * len(seeds))
        lines.append(f"| {name} | {' | '.join(cells)} | {spent:.2f} |")
        print(lines[-1], flush=True)
    if asked.table:
        asked.table.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
