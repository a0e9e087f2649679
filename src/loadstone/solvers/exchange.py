"""Exchange two features: the local search that ends a portfolio.

Notation: for a feature i that leaves and a feature j that enters, ``u`` is ``w``
without entry i, normalised. The largest eigenvalue of S on span{u, e_j}, a 2 x 2
problem, bounds the variance after the exchange from below.
"""

from __future__ import annotations

import numpy as np

from loadstone.constraints import LoadingConstraint
from loadstone.covariance import Array, Covariance, Support
from loadstone.solvers.polish import polish
from loadstone.solvers.starts import column_starts

#: Features that may leave in one round: those with the smallest loadings.
MAX_LEAVING = 48
#: Pairs tried exactly when their 2 x 2 bound does not promise a gain.
N_TRIED = 1


def improve_by_exchange(
    S: Covariance, w: Array, value: float, constraint: LoadingConstraint, n_exchanges: int
) -> tuple[Array, float]:
    """Exchange features one pair at a time while the variance grows."""
    free = np.setdiff1d(np.arange(S.n_features), constraint.forbidden)
    for _ in range(n_exchanges):
        support = np.flatnonzero(w)
        if free.size <= support.size:
            break
        pair = _best_pair(S, w, value, constraint, support)
        if pair is None:
            break
        i, j, gain = pair
        if gain <= value * (1 + 1e-7 if S.dtype == np.float32 else 1 + 1e-12):
            break
        candidate = w.copy()
        candidate[i] = 0
        candidate[j] = np.abs(w).mean()
        candidate /= np.linalg.norm(candidate)
        candidate, reached = polish(S, candidate, constraint)
        if not reached > value:
            break
        w, value = candidate, reached
    return w, value


def _best_pair(
    S: Covariance, w: Array, value: float, constraint: LoadingConstraint, support: Support
) -> tuple[int, int, float] | None:
    """The exchange (i leaves, j enters) with the largest 2 x 2 bound, and that bound."""
    movable = np.setdiff1d(support, constraint.forced)
    if movable.size == 0:
        return None
    leaving = movable[np.argsort(np.abs(w[movable]), kind="stable")[:MAX_LEAVING]]
    variance = S.diagonal()
    Sw = S @ w
    wi = w[leaving]
    left = np.maximum(1 - wi**2, np.finfo(S.dtype).tiny)
    # (w - w_i e_i)' S (w - w_i e_i) / (1 - w_i^2)
    uSu = (value - 2 * wi * Sw[leaving] + wi**2 * variance[leaving]) / left
    cross = (Sw[:, None] - column_starts(S, leaving) * wi) / np.sqrt(left)
    if constraint.nonnegative:
        cross = np.maximum(cross, 0)
    half = (uSu - variance[:, None]) / 2
    bound = (uSu + variance[:, None]) / 2 + np.hypot(half, cross)
    bound[support] = -np.inf
    bound[constraint.forbidden] = -np.inf
    if not np.isfinite(bound).any():
        return None
    j, column = np.unravel_index(int(np.argmax(bound)), bound.shape)
    return int(leaving[column]), int(j), float(bound[j, column])
