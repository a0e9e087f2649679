"""How well inclusion probabilities can be known: exact inference by Gibbs sampling.

Two factors; noise variances and the law of the loadings are known, and the chain begins at the
truth. What an estimator that knows none of this can reach is no better.
"""

from __future__ import annotations

import numpy as np

#: Sweeps of a chain, and how many at its beginning do not count.
SWEEPS, BURN_IN = 1500, 300


def exact_inclusion(X, W, sd, share=1 / 3, seed=0):
    """Posterior probabilities that loadings (d, 2) are not zero, for slabs ``N(0, 1)``."""
    rng = np.random.default_rng(seed)
    X, variance, W = X - X.mean(axis=0), sd**2, W.copy()
    odds = np.log([(1 - share) ** 2, share * (1 - share), share * (1 - share), share**2])
    total = np.zeros(W.shape)
    for sweep in range(SWEEPS):
        covariance = np.linalg.inv(np.eye(2) + W.T @ (W / variance[:, None]))
        Z = (X / variance) @ W @ covariance
        Z += rng.normal(size=Z.shape) @ np.linalg.cholesky(covariance).T
        A = np.eye(2)[:, :, None] + (Z.T @ Z)[:, :, None] / variance
        b = (Z.T @ X) / variance
        chances = _chances(A, b, odds)
        if sweep >= BURN_IN:
            total += np.stack([chances[1] + chances[3], chances[2] + chances[3]], axis=1)
        drawn = (rng.random(len(sd)) > np.cumsum(chances, axis=0)).sum(axis=0)
        W = _drawn_loadings(A, b, drawn, rng)
    return total / (SWEEPS - BURN_IN)


def _chances(A, b, odds):
    """Chances that no loading of a feature is there, the first, the second, both; (4, d)."""
    determinant = A[0, 0] * A[1, 1] - A[0, 1] ** 2
    both = A[1, 1] * b[0] ** 2 - 2 * A[0, 1] * b[0] * b[1] + A[0, 0] * b[1] ** 2
    evidence = np.stack(
        [
            np.zeros_like(b[0]),
            0.5 * (b[0] ** 2 / A[0, 0] - np.log(A[0, 0])),
            0.5 * (b[1] ** 2 / A[1, 1] - np.log(A[1, 1])),
            0.5 * (both / determinant - np.log(determinant)),
        ]
    )
    evidence += odds[:, None]
    chances = np.exp(evidence - evidence.max(axis=0))
    return chances / chances.sum(axis=0)


def _drawn_loadings(A, b, drawn, rng):
    W = np.zeros((b.shape[1], 2))
    for i, case in enumerate(drawn):
        there = np.array([case in (1, 3), case in (2, 3)])
        if there.any():
            covariance = np.linalg.inv(A[:, :, i][np.ix_(there, there)])
            root = np.linalg.cholesky(covariance)
            W[i, there] = covariance @ b[there, i] + root @ rng.normal(size=there.sum())
    return W
