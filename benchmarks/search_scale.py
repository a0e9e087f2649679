"""Time and memory of the search as features and samples grow, against scikit-learn's PCA(1).

``python -m benchmarks.search_scale dense|sparse [n_samples n_features]`` measures one shape in
this process; without a shape it runs a ladder of shapes, each in a process of its own, and
prints the exponents with which time and memory grow.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from scipy import sparse

from benchmarks.text_table import table

SIZE = 50
#: Shapes of the ladders: features grow first, then samples.
WIDE = [(200, 62_500), (200, 250_000), (200, 1_000_000), (50, 250_000), (800, 250_000)]
SPARSE = [(100_000, 100_000)]


def peak_rss() -> int:
    """Largest resident memory of this process so far, in bytes."""
    with Path("/proc/self/status").open() as status:
        lines = dict(line.split(":", 1) for line in status)
    return int(lines["VmHWM"].split()[0]) * 1024


def forget_peak() -> None:
    """Let the largest resident memory count from here on."""
    Path("/proc/self/clear_refs").write_text("5")


def measured(call: object) -> tuple[float, int]:
    """CPU seconds and memory beyond what was held before."""
    forget_peak()
    before = peak_rss()
    start = time.process_time()
    call()  # type: ignore[operator]
    return time.process_time() - start, peak_rss() - before


def dense_data(n_samples: int, n_features: int) -> np.ndarray:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_samples, n_features), dtype=np.float32)
    for group in range(20):
        X[:, group * 60 : group * 60 + 60] += rng.standard_normal((n_samples, 1), dtype=np.float32)
    return X


def sparse_data(n_samples: int, n_features: int) -> sparse.csr_array:
    rng = np.random.default_rng(0)
    return sparse.random_array(
        (n_samples, n_features), density=2e6 / (n_samples * n_features), format="csr", rng=rng
    )


def one(kind: str, n_samples: int, n_features: int, effort: str) -> None:
    from sklearn.decomposition import PCA

    from loadstone import SparsePCA
    from loadstone.constraints import LoadingConstraint
    from loadstone.covariance import covariance_of
    from loadstone.solvers.portfolio import PORTFOLIOS

    X = dense_data(n_samples, n_features) if kind == "dense" else sparse_data(n_samples, n_features)
    size = X.nbytes if kind == "dense" else X.data.nbytes + X.indices.nbytes + X.indptr.nbytes
    SparsePCA(n_nonzero=3).fit(np.random.default_rng(0).standard_normal((9, 5)))

    def ours() -> None:
        S, _ = covariance_of(X, standardize=True)
        constraint = LoadingConstraint(n_features, SIZE)
        found = PORTFOLIOS[effort](S, constraint, np.random.default_rng(0))
        print(f"value {found.objective[-1]:.6f}", file=sys.stderr)

    seconds, memory = measured(ours)
    theirs, their_memory = np.nan, 0
    if kind == "dense":
        theirs, their_memory = measured(lambda: PCA(1).fit(X))
    else:
        theirs, their_memory = measured(lambda: PCA(1, svd_solver="arpack").fit(X))
    print(seconds, theirs, memory / size, their_memory / size)


def ladder(kind: str, effort: str) -> None:
    rows, results = [], {}
    for shape in WIDE if kind == "dense" else SPARSE:
        command = [
            sys.executable,
            "-m",
            "benchmarks.search_scale",
            kind,
            *map(str, shape),
            "--effort",
            effort,
        ]
        said = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
        ours, theirs, memory, their_memory = map(float, said.split())
        results[shape] = (ours, memory)
        rows.append([*shape, ours, theirs, ours / theirs, memory, their_memory])
    header = ["samples", "features", "CPU s", "PCA(1)", "ratio", "memory / data", "PCA's"]
    print(table(header, rows))
    if kind == "dense":
        for name, left, right in (("D", WIDE[0], WIDE[2]), ("N", WIDE[3], WIDE[4])):
            grown = np.log(right[name == "D"] / left[name == "D"])
            exponent = np.log(results[right][0] / results[left][0]) / grown
            print(f"time grows as {name}^{exponent:.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kind", choices=["dense", "sparse"])
    parser.add_argument("shape", nargs="*", type=int)
    parser.add_argument("--effort", default="balanced")
    options = parser.parse_args()
    if options.shape:
        one(options.kind, *options.shape, options.effort)
    else:
        ladder(options.kind, options.effort)


if __name__ == "__main__":
    main()
