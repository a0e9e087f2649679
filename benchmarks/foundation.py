"""Speed and memory of the foundation, as ratios against scikit-learn in the same process.

Run with ``python benchmarks/foundation.py``; it needs the papers' data sets
(``LOADSTONE_DATA``).
"""

from __future__ import annotations

from measure import import_seconds, interleaved, peak_bytes, table
from sklearn.decomposition import PCA

from loadstone import EMPCA, SparsePCA
from real_data import cbcl_faces, leukemia


def speed(X, k):
    calls = {
        "scikit-learn PCA(1)": lambda: PCA(n_components=1).fit(X),
        "EMPCA": lambda: EMPCA(1, n_nonzero=k, standardize=True).fit(X),
        "EMPCA non-negative, 1 start": lambda: EMPCA(
            1, n_nonzero=k, standardize=True, nonnegative=True, n_init=1
        ).fit(X),
        "EMPCA non-negative, 10 starts": lambda: EMPCA(
            1, n_nonzero=k, standardize=True, nonnegative=True, n_init=10
        ).fit(X),
        "SparsePCA fast": lambda: SparsePCA(1, n_nonzero=k, standardize=True, effort="fast").fit(X),
        "SparsePCA": lambda: SparsePCA(1, n_nonzero=k, standardize=True).fit(X),
        "SparsePCA non-negative": lambda: SparsePCA(
            1, n_nonzero=k, standardize=True, nonnegative=True
        ).fit(X),
    }
    times = interleaved(calls)
    base = times["scikit-learn PCA(1)"]
    return [[name, 1e3 * t, t / base] for name, t in times.items()]


def main():
    print(f"import loadstone: {1e3 * import_seconds():.0f} ms above starting Python\n")
    for name, X, k in (
        ("leukemia 72 x 12582", leukemia(), 50),
        ("CBCL 2429 x 361", cbcl_faces(), 100),
    ):
        print(f"{name}, n_nonzero={k}")
        print(table(["method", "ms", "x PCA(1)"], speed(X, k)), end="\n\n")
    X = leukemia()
    rows = [
        ["EMPCA", peak_bytes(lambda: EMPCA(1, n_nonzero=50, standardize=True).fit(X)) / X.nbytes],
        [
            "SparsePCA",
            peak_bytes(lambda: SparsePCA(1, n_nonzero=50, standardize=True).fit(X)) / X.nbytes,
        ],
        ["scikit-learn PCA(1)", peak_bytes(lambda: PCA(1).fit(X)) / X.nbytes],
    ]
    print("Peak memory above the loaded input, leukemia")
    print(table(["method", "x input"], rows))


if __name__ == "__main__":
    main()
