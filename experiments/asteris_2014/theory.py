"""Sections 2 to 6 of Asteris et al.: what is proven, checked against brute force."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from experiments.claim import Judgement, Measured, Verdict, at_most, claim
from experiments.data import Matrix
from experiments.run import Run
from loadstone import SpannogramPCA


def best_nonnegative(A: Matrix, size: int) -> float:
    """Max x'Ax over unit x >= 0 with at most ``size`` entries, by all supports.

    On the support of a maximiser x is an eigenvector without zeros, so that eigenvectors of one
    sign on all supports are candidates enough.
    """
    best = 0.0
    for k in range(1, size + 1):
        for support in combinations(range(len(A)), k):
            values, vectors = np.linalg.eigh(A[np.ix_(support, support)])
            one_sign = (vectors >= -1e-12).all(axis=0) | (vectors <= 1e-12).all(axis=0)
            best = max(best, float(values[one_sign].max(initial=0.0)))
    return best


@claim(
    "ast.prop3.1",
    printed="For rank 1 the best support is the k largest entries of v or of -v.",
    data="60 random vectors of 9 entries, all k",
    how="SpannogramPCA with rank 1, exact, beside brute force",
    judged=Judgement(expected=Verdict.REPRODUCED, as_printed=(at_most("largest gap", 1e-12),)),
    reference=(at_most("largest gap", 1e-12),),
)
def proposition_3_1(run: Run) -> Measured:
    """Relative gap between the rank-1 solver and brute force."""
    rng = np.random.default_rng(0)
    worst = 0.0
    for case in range(10 if run.quick else 60):
        A = np.outer(v := rng.standard_normal(9), v)
        size = 1 + case % 8
        model = SpannogramPCA(
            n_nonzero=size, rank=1, method="exact", standardize=False
        ).fit_covariance(A)
        x = model.components_[0]
        best = best_nonnegative(A, size)
        worst = max(worst, abs(float(x @ A @ x) - best) / best)
    return Measured(numbers={"largest gap": worst})
