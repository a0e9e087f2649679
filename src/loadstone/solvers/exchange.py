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

#: Features that may leave in one round: those with the smallest loadings.
MAX_LEAVING = 48
#: Features that may enter in one round, those with the best prospects first.
MAX_ENTERING = 2000


def improve_by_exchange(
    S: Covariance, w: Array, value: float, constraint: LoadingConstraint, n_exchanges: int
) -> tuple[Array, float]:
    """Exchange features one pair at a time while the variance grows."""
    for _ in range(n_exchanges):
        support = np.flatnonzero(w)
        if constraint.n_available <= support.size:
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
    # What is left of a feature that was taken out may be a rounding below zero.
    variance = np.maximum(S.diagonal().astype(np.float64), 0)
    Sw = (S @ w).astype(np.float64)
    wi = w[leaving].astype(np.float64)
    left = np.maximum(1 - wi**2, np.finfo(np.float32).tiny)
    # (w - w_i e_i)' S (w - w_i e_i) / (1 - w_i^2)
    uSu = (value - 2 * wi * Sw[leaving] + wi**2 * variance[leaving]) / left
    # |S_ij| <= sqrt(S_ii S_jj) limits what any j can gain before S_ij is looked at.
    reach = np.max(np.abs(wi) * np.sqrt(variance[leaving]))
    grown = Sw if constraint.nonnegative else np.abs(Sw)
    most = np.maximum(grown + reach * np.sqrt(variance), 0) / np.sqrt(left.min())
    prospect = _two_by_two(uSu.max(), variance, most)
    prospect[support] = -np.inf
    prospect[constraint.forbidden] = -np.inf
    entering = np.flatnonzero(prospect > value)
    if entering.size == 0:
        return None
    if entering.size > MAX_ENTERING:
        entering = entering[np.argpartition(-prospect[entering], MAX_ENTERING)[:MAX_ENTERING]]
    cross = (Sw[entering, None] - S.block(entering, leaving) * wi) / np.sqrt(left)
    if constraint.nonnegative:
        cross = np.maximum(cross, 0)
    bound = _two_by_two(uSu, variance[entering, None], cross)
    row, column = np.unravel_index(int(np.argmax(bound)), bound.shape)
    return int(leaving[column]), int(entering[row]), float(bound[row, column])


def _two_by_two(a: Array, b: Array, c: Array) -> Array:
    """Largest eigenvalue of [[a, c], [c, b]]."""
    # hypot: squares of variances overflow long before the variances do.
    result: Array = (a + b) / 2 + np.hypot((a - b) / 2, c)
    return result
