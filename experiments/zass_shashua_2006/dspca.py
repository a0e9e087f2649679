"""DSPCA of d'Aspremont et al. (2004), literally: the semidefinite relaxation by its smoothed dual.

``max tr(SX) - rho sum|X|`` over positive semidefinite X of trace 1 has the dual
``min lambda_max(S + U)`` over ``|U_ij| <= rho``. The largest eigenvalue is smoothed by a soft
maximum and the dual is solved by accelerated gradient steps; its gradient is X.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

_SMOOTHING = 0.01
_STEPS = 120
_HALVINGS = 9
#: Loadings below this share of the largest one are taken for zero.
_ZERO = 0.1


def relaxed(S: Array, rho: float) -> Array:
    """The matrix X of the relaxation for one penalty."""
    U = V = np.zeros_like(S)
    X, momentum = S, 1.0
    for _ in range(_STEPS):
        values, vectors = np.linalg.eigh(S + V)
        weights = np.exp((values - values[-1]) / _SMOOTHING)
        X = (vectors * (weights / weights.sum())) @ vectors.T
        step = np.clip(V - _SMOOTHING * X, -rho, rho)
        further = 0.5 * (1 + np.sqrt(1 + 4 * momentum**2))
        V = step + (momentum - 1) / further * (step - U)
        U, momentum = step, further
    return np.asarray(X)


def component(S: Array, size: int) -> Array:
    """The first eigenvector of X at the smallest penalty that leaves at most ``size`` loadings."""
    low, high = 0.0, float(np.abs(S).max())
    best = np.eye(len(S))[int(np.argmax(np.diagonal(S)))]
    for _ in range(_HALVINGS):
        rho = 0.5 * (low + high)
        w = np.linalg.eigh(relaxed(S, rho))[1][:, -1]
        support = np.abs(w) > _ZERO * np.abs(w).max()
        if support.sum() > size:
            low = rho
        else:
            best, high = np.where(support, w, 0.0), rho
    return np.asarray(best / np.linalg.norm(best))


def dspca(S: Array, sizes: Sequence[int]) -> Array:
    """Components one after another, each taken out of S as the paper does."""
    left, found = S.copy(), []
    for size in sizes:
        w = component(left, size)
        found.append(w)
        left = left - (w @ left @ w) * np.outer(w, w)
    return np.array(found)
