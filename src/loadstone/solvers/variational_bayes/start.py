"""Where the iteration starts: the closed form of probabilistic PCA.

Notation: ``W = U (Lambda - sigma^2 I)^1/2`` is the maximum-likelihood solution of probabilistic
PCA (Tipping & Bishop 1999; Section 2 of Guan & Dy 2009).
"""

from __future__ import annotations

import numpy as np

from loadstone.covariance.protocol import Array


def probabilistic_start(
    eigenvalues: Array, eigenvectors: Array, total: float, n_features: int
) -> tuple[Array, float]:
    """Loadings and noise variance of probabilistic PCA from leading eigenpairs."""
    n_latent = eigenvalues.size
    left = max(total - float(eigenvalues.sum()), 0.0)
    noise = left / max(n_features - n_latent, 1)
    # All variance explained leaves no noise to start from; the iteration will find its own.
    noise = max(noise, 1e-6 * total / n_features)
    # A column of exact zeros would never move: it starts at a tenth of the noise instead.
    return eigenvectors * np.sqrt(np.maximum(eigenvalues - noise, 0.1 * noise)), noise
