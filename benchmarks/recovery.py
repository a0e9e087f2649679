"""What ``objective="recovery"`` reaches: on faces, against brute force, and never above PCA.

``python -m benchmarks.recovery [faces] [optimum] [never_above]`` runs the parts named, or all.
"""

from __future__ import annotations

import sys
import time
import warnings
from itertools import combinations, combinations_with_replacement, product

import numpy as np
from tests import real_data
from tests.brute_force import best_beside

from loadstone import SparsePCA, cross_validated_recovery
from loadstone.constraints import LoadingConstraint
from loadstone.covariance import ExplicitCovariance
from loadstone.metrics import recovered_variance
from loadstone.solvers.recovery import Recovery


def faces() -> None:
    """3 x 10 pixels of CBCL: share of what PCA recovers, in sample and held out."""
    images = {
        "grey values": real_data.arrays("cbcl_faces.npz")["X"].astype(float),
        "scaled images": real_data.cbcl_faces(),
    }
    asked = {"n_components": 3, "n_nonzero": 10, "standardize": True}
    for (name, X), objective in product(images.items(), ("variance", "recovery")):
        start = time.process_time()
        model = SparsePCA(**asked, objective=objective).fit(X)
        seconds = time.process_time() - start
        plain = SparsePCA(3, n_nonzero=None, standardize=True).fit(X)
        share = model.recovered_variance_ratio_[-1] / plain.recovered_variance_ratio_[-1]
        held_out = cross_validated_recovery(model, X)
        print(
            f"{name}, {objective}: {share:.4f} of PCA in sample, "
            f"{held_out.recovered[-1] / held_out.pca[-1]:.4f} held out, {seconds:.2f} s",
            flush=True,
        )


def _brute_force(S: np.ndarray, r: int, k: int) -> float:
    A, p = S @ S, len(S)
    supports = list(combinations(range(p), k))
    if r == 1:
        return max(best_beside(A, S, T, None)[0] for T in supports)
    best = 0.0
    for T, U in combinations_with_replacement(supports, 2):
        for seed in range(2):
            w = np.zeros(p)
            w[list(U)] = np.random.default_rng(seed).standard_normal(k)
            for _ in range(10):
                v = best_beside(A, S, T, w)[1]
                w = best_beside(A, S, U, v)[1]
            best = max(best, recovered_variance(ExplicitCovariance(S), np.stack([v, w], 1))[-1])
    return best


def optimum() -> None:
    """300 small problems: 240 with one component, 60 with two, against every support."""
    hits = {1: [], 2: []}
    for seed in range(300):
        rng = np.random.default_rng(seed)
        r = 2 if seed % 5 == 0 else 1
        p = int(rng.integers(4, 6)) if r == 2 else int(rng.integers(5, 11))
        k = 2 if r == 2 else int(rng.integers(1, 5))
        X = rng.standard_normal((int(rng.integers(5, 40)), p)) @ rng.standard_normal((p, p))
        S = np.cov(X.T) if seed % 2 else np.corrcoef(X.T)
        found = Recovery()(ExplicitCovariance(S), [LoadingConstraint(p, k)] * r).objective[-1]
        hits[r].append(found >= _brute_force(S, r, k) * (1 - 1e-6))
    for r, reached in hits.items():
        print(f"r={r}: optimum in {sum(reached)} of {len(reached)}", flush=True)


def never_above(n: int = 10_000) -> None:
    """Random problems: random loadings on all, both objectives on every tenth, beside PCA's."""
    above = below = fitted = 0
    for seed in range(n):
        rng = np.random.default_rng(seed)
        N, p = int(rng.integers(3, 30)), int(rng.integers(2, 10))
        X = rng.standard_normal((N, p)) * 10 ** rng.uniform(-2, 2, p)
        if seed % 3 == 0:
            X[:, rng.integers(p)] = X[:, rng.integers(p)]
        Z = X - X.mean(axis=0)
        Z = Z / Z.std(axis=0, ddof=1) if seed % 2 else Z
        r, k = int(rng.integers(1, 4)), int(rng.integers(1, p + 1))
        W = rng.standard_normal((p, r)) * (rng.random((p, r)) < k / p)
        W[rng.integers(p), ~W.any(axis=0)] = 1
        S = ExplicitCovariance(Z.T @ Z / (N - 1), float(N))
        shares = [recovered_variance(S, W) / np.trace(S.matrix)]
        if seed % 10 == 0:
            asked = {"n_components": r, "n_nonzero": k, "effort": "fast"}
            for objective in ("variance", "recovery"):
                model = SparsePCA(**asked, objective=objective).fit(Z)
                shares.append(model.recovered_variance_ratio_)
            below += shares[2][-1] < shares[1][-1] * (1 - 1e-9)
            fitted += 1
        squares = np.linalg.svd(Z, compute_uv=False) ** 2
        for share in shares:
            pca = np.cumsum(squares)[: share.size] / squares.sum()
            above += bool((share[: pca.size] > pca * (1 + 1e-9) + 1e-12).any())
    print(
        f"{n} random problems, {fitted} of them fitted: {above} above PCA, {below} recoveries below variance"
    )


PARTS = {"faces": faces, "optimum": optimum, "never_above": never_above}

if __name__ == "__main__":
    warnings.simplefilter("ignore")
    for part in sys.argv[1:] or PARTS:
        PARTS[part]()
