"""Compiled leading eigenpairs of blocks of a stored matrix: a Lanczos run that ends when it may.

Among a few hundred features a step costs less than the call that asks for it.
"""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import math

import numpy as np
from numba import njit

__all__ = ["FAST", "leading_on", "normalise"]

#: Sums may be taken in any order, so that they use the vector units.
FAST = {"reassoc", "contract", "nsz"}
#: Length of a Krylov space, and how often one follows another.
MAX_STEPS, MAX_SPACES = 64, 12
#: Share of a start that points everywhere, so that no eigenvector is left out.
EVERYWHERE = 1e-3


@njit(cache=True)
def _top_of_tridiagonal(alpha, beta, m, above, s):
    """Largest eigenvalue of a tridiagonal matrix of side ``m`` and, in ``s``, its vector.

    Newton's method on the characteristic polynomial, from ``above``, never passes the largest
    root; just above it the matrix minus the shift is negative definite, and inverse iteration
    needs no pivots.
    """
    x = above
    for _ in range(40):
        d, slope = alpha[0] - x, -1.0
        if d >= 0.0:
            break
        total = slope / d
        for i in range(1, m):
            part = beta[i] * beta[i] / d
            d, slope = alpha[i] - x - part, -1.0 + part * slope / d
            if d >= 0.0:
                break
            total += slope / d
        if d >= 0.0 or not total > 0.0:
            break
        step = 1.0 / total
        x -= step
        if step <= 2e-16 * abs(x):
            break
    shift = x + 4e-16 * abs(x)
    pivots = np.empty(m)
    for i in range(m):
        s[i] = 1.0
    pivots[0] = min(alpha[0] - shift, -1e-300)
    for i in range(1, m):
        pivots[i] = min(alpha[i] - shift - beta[i] * beta[i] / pivots[i - 1], -1e-300)
    for _ in range(2):
        for i in range(1, m):
            s[i] -= beta[i] / pivots[i - 1] * s[i - 1]
        s[m - 1] /= pivots[m - 1]
        for i in range(m - 2, -1, -1):
            s[i] = s[i] / pivots[i] - beta[i + 1] / pivots[i] * s[i + 1]
        largest = 0.0
        for i in range(m):
            largest = max(largest, abs(s[i]))
        length = 0.0
        for i in range(m):
            s[i] /= largest
            length += s[i] * s[i]
        length = math.sqrt(length)
        for i in range(m):
            s[i] /= length
    return x


@njit(cache=True, fastmath=FAST)
def _extended(B, Q, m, u):
    """``u = B q_m`` without what lies in ``q_0 .. q_m``; its component along ``q_m`` and its length."""
    k = B.shape[0]
    for i in range(k):
        total = 0.0
        for j in range(k):
            total += B[i, j] * Q[m, j]
        u[i] = total
    along = 0.0
    for turn in range(2):
        for row in range(m, -1, -1):
            inner = 0.0
            for j in range(k):
                inner += Q[row, j] * u[j]
            if turn == 0 and row == m:
                along = inner
            for j in range(k):
                u[j] -= inner * Q[row, j]
    length = 0.0
    for j in range(k):
        length += u[j] * u[j]
    return along, math.sqrt(length)


@njit(cache=True)
def normalise(w):
    """``w`` at unit length, unless it is zero."""
    length = 0.0
    for j in range(w.size):
        length += w[j] * w[j]
    length = math.sqrt(length)
    if length > 0.0:
        for j in range(w.size):
            w[j] /= length


@njit(cache=True, fastmath=FAST)
def _krylov(B, w, tol):
    """One Lanczos run from ``w``, which ends as the best vector of its space; eigenvalue, settled."""
    k = B.shape[0]
    n_steps = min(k, MAX_STEPS)
    Q, u, s = np.empty((n_steps, k)), np.empty(k), np.empty(n_steps)
    alpha, beta = np.empty(n_steps), np.zeros(n_steps + 1)
    for j in range(k):
        Q[0, j] = w[j]
    value, used, settled = 0.0, 0, False
    for m in range(n_steps):
        alpha[m], beta[m + 1] = _extended(B, Q, m, u)
        if m == 0:
            value = alpha[0]
            s[0] = 1.0
        else:
            half = (value - alpha[m]) / 2
            above = alpha[m] + half + math.sqrt(half * half + beta[m] * beta[m])
            value = _top_of_tridiagonal(alpha, beta, m + 1, above + 1e-14 * abs(above), s)
        used = m + 1
        settled = beta[m + 1] * s[m] <= tol * abs(value) or used == k
        if settled or used == n_steps:
            break
        for j in range(k):
            Q[m + 1, j] = u[j] / beta[m + 1]
    for j in range(k):
        w[j] = 0.0
    for row in range(used):
        for j in range(k):
            w[j] += s[row] * Q[row, j]
    normalise(w)
    return value, settled


@njit(cache=True)
def leading_on(A, support, w, tol):
    """Largest eigenvalue of ``A`` on a support; ``w`` is a start and becomes its vector."""
    k = support.size
    if k == 1:
        w[0] = 1.0
        return A[support[0], support[0]]
    B = np.empty((k, k))
    for i in range(k):
        row = A[support[i]]
        for j in range(k):
            B[i, j] = row[support[j]]
    normalise(w)
    for i in range(k):
        # Irregular, because whatever is regular is orthogonal to something regular.
        w[i] += EVERYWHERE / math.sqrt(k) * (1.5 + math.sin(7.0 * i + 1.0))
    normalise(w)
    value = 0.0
    for _ in range(MAX_SPACES):
        value, settled = _krylov(B, w, tol)
        if settled:
            break
    return value
