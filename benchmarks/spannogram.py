"""Measure the spannogram: growth with the number of features, exact runs, the paper's figures.

Run ``python benchmarks/spannogram.py growth exact figures`` (any of the three). ``figures``
needs the data folder in ``LOADSTONE_DATA``. Single-threaded times are comparable when
``OPENBLAS_NUM_THREADS=1`` is set.
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path

import numpy as np

from loadstone import EMPCA, SpannogramPCA
from loadstone.solvers.spannogram.exact import exact
from loadstone.solvers.spannogram.solver import search

SIZES = {
    "cbcl_faces": (5, 10, 20, 30, 40, 60, 80, 100, 140, 180, 220, 260, 300, 361),
    "leukemia_armstrong": (5, 10, 20, 30, 50, 75, 100, 150, 200, 300, 400, 500),
    "lrs": (5, 10, 20, 30, 40, 50, 60, 70, 80, 90),
}


def timed(run):
    start = time.perf_counter()
    result = run()
    return result, time.perf_counter() - start


def growth():
    """CPU time of the net over n, and the exponent between neighbouring sizes.

    A fixed number of features lets short rows be skipped, a fixed share does not.
    """
    for name, scale, share in (
        ("50 features, equal eigenvalues", (1.0, 1.0, 1.0), None),
        ("50 features, falling eigenvalues", (4.0, 2.0, 1.0), None),
        ("n/10 features, equal eigenvalues", (1.0, 1.0, 1.0), 10),
    ):
        print(f"net, rank 3, epsilon 0.1, {name}")
        previous = None
        for n in (10**3, 10**4, 10**5, 10**6):
            V = np.random.default_rng(0).standard_normal((n, 3)) * np.array(scale)
            k = 50 if share is None else n // share
            start = time.process_time()
            search(V, k, "net", 0.1, nonnegative=True, rng=np.random.default_rng(0))
            seconds = time.process_time() - start
            exponent = "" if previous is None else f"   exponent {np.log10(seconds / previous):.2f}"
            print(f"  n={n:>8}  {seconds:8.3f} s of CPU{exponent}")
            previous = seconds


def exact_runs():
    """Exact enumeration with all inner problems."""
    rng = np.random.default_rng(0)
    exact(rng.standard_normal((10, 3)), 3, nonnegative=True)
    exact(rng.standard_normal((10, 2)), 3, nonnegative=True)
    print("exact, inner problems included")
    for n, rank, sizes in ((93, 3, (5, 20, 60, 93)), (361, 3, (40,)), (2000, 2, (50, 1000))):
        V = rng.standard_normal((n, rank))
        for n_nonzero in sizes:
            for nonnegative in (True, False):
                found, seconds = timed(
                    lambda V=V, k=n_nonzero, s=nonnegative: exact(V, k, nonnegative=s)
                )
                print(
                    f"  rank {rank} n={n:5d} n_nonzero={n_nonzero:4d} "
                    f"{'nonnegative' if nonnegative else 'signed':11s} "
                    f"{found.n_candidates:7d} supports  {seconds:7.3f} s"
                )


def figures():
    """Figures 4 to 6: share of the leading eigenvalue over n_nonzero, net against EM."""
    folder = Path(os.environ["LOADSTONE_DATA"])
    for name, sizes in SIZES.items():
        with np.load(folder / f"{name}.npz", allow_pickle=False) as file:
            X = file["X"].astype(float)
        largest = np.linalg.norm(X - X.mean(axis=0), ord=2) ** 2 / (len(X) - 1)
        print(f"{name}: share of the leading eigenvalue, rank 3, epsilon 0.1")
        for k in sizes:
            spannogram, seconds = timed(
                lambda X=X, k=k: SpannogramPCA(n_nonzero=k, rank=3, method="net").fit(X)
            )
            # The paper's random starts, and the first principal component: EM's better half.
            (random, pca), em_seconds = timed(
                lambda X=X, k=k: [
                    EMPCA(n_nonzero=k, nonnegative=True, init=init, n_init=20).fit(X)
                    for init in ("random", "pca")
                ]
            )
            em = max(random, pca, key=lambda model: model.marginal_variance_[0])
            value, rival = spannogram.marginal_variance_[0], em.marginal_variance_[0]
            print(
                f"  k={k:4d}  net {value / largest:.5f} ({seconds:.2f} s)  "
                f"EM {rival / largest:.5f} ({em_seconds:.2f} s)  ratio {value / rival:.5f}  "
                f"proven {value / spannogram.upper_bound_[0]:.3f}"
            )


def main():
    parts = {"growth": growth, "exact": exact_runs, "figures": figures}
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="+", choices=sorted(parts))
    for part in parser.parse_args().parts:
        parts[part]()


if __name__ == "__main__":
    main()
