"""Compiled loops of coordinate ascent for non-negative sparse PCA (Zass & Shashua 2006).

Notation: ``U`` (n_features x n_components) holds the components u_r in its
columns, ``A`` is the covariance, ``X`` a factor of it with ``A = X X'`` and one
row per feature, ``G = A U`` and ``Z = X' U`` are stored with one row per
component, ``M = U'U``, ``R_s`` is the squared norm of row s of ``U``. The numbers
c1 and c2 are those of Eq. 4.
"""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import math

from numba import njit

__all__ = ["priced_maximiser", "quartic_maximiser", "sweep_factor", "sweep_gram", "sweep_sparse"]

# From the starting bound Newton needs about ten steps; the cap only guards against NaN input.
_MAX_NEWTON_STEPS = 100


@njit(cache=True)
def quartic_maximiser(c2, c1, alpha):
    """Argmax over u >= 0 of ``-(alpha/4) u^4 + (c2/2) u^2 + c1 u``; ties go to 0.

    The stationary points solve ``u^3 = P u + Q`` with ``P = c2/alpha`` and
    ``Q = c1/alpha``, and only the largest root can be the maximum. For Q <= 0 its
    value is positive exactly where ``-Q < (P/3) sqrt(2P/3)``, and then it lies above
    ``sqrt(2P/3)``, well away from the double root at ``sqrt(P/3)``: Newton's method
    from an upper bound falls to it monotonically. Cardano's formula cancels here.
    """
    P = c2 / alpha
    Q = c1 / alpha
    if Q <= 0.0:
        if P <= 0.0:
            return 0.0
        if (P / 3.0) * math.sqrt(2.0 * P / 3.0) <= -Q:
            return 0.0
        u = math.sqrt(P)
    elif P > 0.0:
        u = math.sqrt(P) + Q ** (1.0 / 3.0)
    else:
        u = Q ** (1.0 / 3.0)
        if -P * u > Q:
            u = Q / -P
    for _ in range(_MAX_NEWTON_STEPS):
        slope = 3.0 * u * u - P
        if slope <= 0.0:
            break
        lower = u - (u * (u * u - P) - Q) / slope
        if not 0.0 <= lower < u:
            break
        u = lower
    return u


@njit(cache=True)
def priced_maximiser(c2, c1, alpha, price):
    """The same with ``price`` to pay for any u > 0: the l0 term before it is relaxed to l1.

    The price is constant on u > 0, so the maximiser there stays, and zero wins where the
    price takes all of its value.
    """
    u = quartic_maximiser(c2, c1, alpha)
    if u * (c1 + u * (0.5 * c2 - 0.25 * alpha * u * u)) <= price:
        return 0.0
    return u


@njit(cache=True)
def _best_entry(U, M, R, s, r, a_ss, g, alpha, beta, price):
    """The maximiser of the objective in the entry (s, r) alone; ``g = (A U)[s, r]``."""
    u = U[s, r]
    shared = 0.0
    for i in range(U.shape[1]):
        shared += U[s, i] * M[r, i]
    others = R[s] - u * u
    shared -= u * M[r, r] + u * others
    c2 = a_ss + alpha * (1.0 - others - (M[r, r] - u * u))
    c1 = g - a_ss * u - alpha * shared - beta
    if price > 0.0:
        return priced_maximiser(c2, c1, alpha, price)
    return quartic_maximiser(c2, c1, alpha)


@njit(cache=True)
def _store_entry(U, M, R, s, r, new):
    """Write ``U[s, r]`` and carry the change into ``M`` and ``R``; returns the change."""
    old = U[s, r]
    delta = new - old
    for i in range(U.shape[1]):
        if i != r:
            change = delta * U[s, i]
            M[r, i] += change
            M[i, r] += change
    M[r, r] += delta * (new + old)
    R[s] += delta * (new + old)
    U[s, r] = new
    return delta


@njit(cache=True)
def sweep_gram(A, order, U, G, M, R, alpha, beta, price):
    """Update every entry of ``U`` once, component by component, with ``A`` at hand.

    ``order`` says which feature comes when; ``price`` is paid for every entry that is not zero.
    """
    n_features, n_components = U.shape
    for r in range(n_components):
        for s in order:
            new = _best_entry(U, M, R, s, r, A[s, s], G[r, s], alpha, beta, price)
            if new != U[s, r]:
                delta = _store_entry(U, M, R, s, r, new)
                for i in range(n_features):
                    G[r, i] += delta * A[s, i]


@njit(cache=True)
def sweep_factor(X, a, order, U, Z, M, R, alpha, beta, price):
    """The same sweep through a factor ``A = X X'``; ``a`` is the diagonal of ``A``."""
    n_components = U.shape[1]
    n_columns = X.shape[1]
    for r in range(n_components):
        for s in order:
            g = 0.0
            for n in range(n_columns):
                g += X[s, n] * Z[r, n]
            new = _best_entry(U, M, R, s, r, a[s], g, alpha, beta, price)
            if new != U[s, r]:
                delta = _store_entry(U, M, R, s, r, new)
                for n in range(n_columns):
                    Z[r, n] += delta * X[s, n]


@njit(cache=True)
def sweep_sparse(indptr, indices, values, means, n, a, order, U, Z, M, R, alpha, beta, price):
    """The same sweep with ``X = Y - means q'``, ``Y`` a sparse matrix in compressed rows.

    ``q`` is the vector of root sample weights, ``q'q = n`` and ``Y q = n means``, so
    ``(X Z)[s, r] = y_s'z_r - n means_s o_r``. The last column of ``Z`` holds the
    offsets ``o = means'U``, the others ``Y'U``.
    """
    n_components = U.shape[1]
    last = Z.shape[1] - 1
    for r in range(n_components):
        for s in order:
            g = -n * means[s] * Z[r, last]
            for p in range(indptr[s], indptr[s + 1]):
                g += values[p] * Z[r, indices[p]]
            new = _best_entry(U, M, R, s, r, a[s], g, alpha, beta, price)
            if new != U[s, r]:
                delta = _store_entry(U, M, R, s, r, new)
                Z[r, last] += delta * means[s]
                for p in range(indptr[s], indptr[s + 1]):
                    Z[r, indices[p]] += delta * values[p]
