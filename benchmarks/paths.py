"""Paths, sizes and baselines: how good and how fast.

Run with ``python -m benchmarks.paths [part ...]``, where a part is ``speed``, ``agreement``,
``greedy``, ``sizes`` or ``genes``; by default all of them. It needs the papers' data sets
(``LOADSTONE_DATA``). ``agreement`` searches thoroughly sixty times and takes minutes.
"""

from __future__ import annotations

import sys
import time
import warnings

import numpy as np
from sklearn.cluster import KMeans
from sklearn.metrics.cluster import pair_confusion_matrix
from tests.real_data import arrays, cbcl_faces, leukemia, nci60

from benchmarks.text_table import table
from loadstone import (
    FeatureSelector,
    SparsePCA,
    SparsePCACV,
    cardinality_path,
    stability_selection,
    suggest_cardinality,
)
from loadstone.covariance import ExplicitCovariance
from loadstone.solvers.greedy import greedy_path

DATA = {"CBCL faces": cbcl_faces, "NCI60": nci60, "leukemia": leukemia}


def elapsed(call):
    wall, cpu = time.perf_counter(), time.process_time()
    result = call()
    return result, time.perf_counter() - wall, time.process_time() - cpu


def speed():
    rows = []
    for name, load in DATA.items():
        X = load()
        every = np.arange(1, X.shape[1] + 1)
        for nonnegative in (False, True):
            for label, sizes in (("150 sizes", "auto"), ("every size", every)):
                path, wall, cpu = elapsed(
                    lambda X=X, sizes=sizes, nonnegative=nonnegative: cardinality_path(
                        X, sizes, standardize=True, nonnegative=nonnegative
                    )
                )
                rows.append((name, nonnegative, label, len(path), f"{wall:.2f}", f"{cpu:.2f}"))
    return table(["data", "non-negative", "sizes", "n", "seconds", "processor seconds"], rows)


def agreement(n_sizes=10):
    rows = []
    for name, load in DATA.items():
        X = load()
        sizes = np.unique(np.round(np.geomspace(2, X.shape[1] // 2, n_sizes)).astype(int))
        for nonnegative in (False, True):
            options = {"standardize": True, "nonnegative": nonnegative}
            path = cardinality_path(X, **options)
            sizes = path.n_nonzeros[np.unique(np.searchsorted(path.n_nonzeros, sizes))]
            values = path.values[np.isin(path.n_nonzeros, sizes)]
            fresh = np.array(
                [
                    SparsePCA(n_nonzero=int(k), effort="thorough", **options)
                    .fit(X)
                    .marginal_variance_[0]
                    for k in sizes
                ]
            )
            gain = values / fresh - 1
            rows.append(
                (name, nonnegative, sizes.tolist(), f"{gain.min():+.1e}", f"{gain.max():+.1e}",
                 f"{np.diff(path.values).min():.1e}", f"{path.ratio[-1]:.6f}")
            )  # fmt: skip
    return table(
        ["data", "non-negative", "sizes", "worst", "best", "smallest step", "ratio at k = D"], rows
    )


def greedy():
    rows = []
    for n in (200, 400, 800, 1600):
        rng = np.random.default_rng(0)
        X = rng.standard_normal((2 * n, n)) + rng.standard_normal((2 * n, 1)) * rng.random(n)
        S = ExplicitCovariance(np.cov(X.T))
        steps = n // 4
        row = [n, steps]
        for rule in ("exact", "approximate"):
            cpu = elapsed(lambda S=S, rule=rule, steps=steps: greedy_path(S, steps, rule=rule))[2]
            row.append(f"{1e3 * cpu / steps:.2f}")
        rows.append(row)
    return table(["features", "steps", "ms per step, exact", "ms per step, approximate"], rows)


def three_factors(seed, n_samples=200, n_features=100, size=10, *, equal):
    rng = np.random.default_rng(seed)
    W = np.zeros((n_features, 3))
    for j, inside in enumerate(rng.permutation(n_features)[: 3 * size].reshape(3, size)):
        w = rng.choice([-1, 1], size) * (1 if equal else rng.uniform(0.5, 1.5, size))
        W[inside, j] = w / np.linalg.norm(w)
    scores = rng.standard_normal((n_samples, 3)) * [3, 2.5, 2]
    return scores @ W.T + rng.standard_normal((n_samples, n_features)), W.any(axis=1)


def sizes(n_seeds=20):
    rows = []
    for equal in (True, False):
        hits = {"knee": 0, "variance": 0, "sparseness_index": 0, "cross-validation": 0}
        separated = 0
        for seed in range(n_seeds):
            X, true = three_factors(seed, equal=equal)
            path = cardinality_path(X)
            for rule in ("knee", "variance", "sparseness_index"):
                hits[rule] += abs(suggest_cardinality(path, rule).n_nonzero - 10) <= 2
            hits["cross-validation"] += abs(SparsePCACV(3).fit(X).n_nonzero_ - 10) <= 2
            model = SparsePCA(3, n_nonzero=10, effort="fast")
            frequency = stability_selection(model, X, n_subsamples=50).frequency
            separated += frequency[true].min() > frequency[~true].max()
        label = "equal loadings" if equal else "loadings 1:3"
        rows.append((label, *(f"{h}/{n_seeds}" for h in (*hits.values(), separated))))
    return table(["three factors", *hits, "stability"], rows)


def genes(n_runs=100):
    stored = arrays("leukemia_armstrong.npz")
    y = stored["y"]

    def score(Z):
        def jaccard(seed):
            found = KMeans(3, init="random", n_init=1, random_state=seed).fit_predict(Z)
            pairs = pair_confusion_matrix(y, found)
            return pairs[1, 1] / (pairs[1, 1] + pairs[0, 1] + pairs[1, 0])

        runs = [jaccard(seed) for seed in range(n_runs)]
        return f"{np.mean(runs):.3f} ({np.std(runs):.3f})"

    rows = []
    floored = np.log2(np.maximum(stored["X"], 20))
    for label, X in (("floored, log2", floored), ("raw", stored["X"])):
        rows.append((label, "all genes", X.shape[1], score(X)))
        entropy = FeatureSelector(200, method="svd_entropy").fit(X).ranking_
        for n in (20, 40, 70, 100, 200):
            component = FeatureSelector(n, nonnegative=True).fit_transform(X)
            rows.append((label, "first non-negative component", n, score(component)))
            rows.append((label, "entropy ranking", n, score(X[:, entropy[:n]])))
    return table(["values", "selection", "genes", "Jaccard score (deviation)"], rows)


PARTS = {part.__name__: part for part in (speed, agreement, greedy, sizes, genes)}

if __name__ == "__main__":
    warnings.simplefilter("ignore", UserWarning)
    for part in sys.argv[1:] or PARTS:
        print(f"\n{part}")
        print(PARTS[part](), flush=True)
