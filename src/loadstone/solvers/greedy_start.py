"""A support grown one feature at a time."""

from __future__ import annotations

import numpy as np

from loadstone.constraints import LoadingConstraint
from loadstone.covariance import Array, Covariance
from loadstone.solvers.renormalise import renormalise


def greedy_support(S: Covariance, constraint: LoadingConstraint) -> Array:
    """Loadings on the support that forward selection finds.

    Each step adds the feature with the largest eigenvalue of S on span{w, e_j}.
    """
    variance = S.diagonal()
    w = np.zeros(S.n_features, dtype=S.dtype)
    if constraint.forced.size:
        w[constraint.forced] = 1 / np.sqrt(constraint.forced.size)
    else:
        allowed = variance.astype(np.float64)
        allowed[constraint.forbidden] = -np.inf
        w[int(np.argmax(allowed))] = 1
    w, value = renormalise(S, w, constraint)
    for _ in range(np.count_nonzero(w), constraint.size):
        cross = S @ w
        if constraint.nonnegative:
            cross = np.maximum(cross, 0)
        bound = (value + variance) / 2 + np.hypot((value - variance) / 2, cross)
        bound[np.flatnonzero(w)] = -np.inf
        bound[constraint.forbidden] = -np.inf
        j = int(np.argmax(bound))
        w[j] = np.abs(w).max()
        w, value = renormalise(S, w / np.linalg.norm(w), constraint)
    return w
