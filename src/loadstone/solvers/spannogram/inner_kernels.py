# mypy: disable-error-code="no-untyped-def, assignment"
"""Compiled inner problem: the best direction for one candidate support.

Notation (Section 5 of Asteris et al. 2014): ``R`` holds the rows of V in a
support, ``G = R'R``, and (P_d) is ``max c'Gc`` over unit c with ``R c >= 0``.
"""

from __future__ import annotations

import numpy as np
from numba import njit

# A row may miss zero by this fraction of its norm: the loss is its square, below rounding.
FEASIBILITY = 1e-9
# Smaller improvements than this are rounding, and following them only costs time.
SLACK = 1e-13


@njit(cache=True)
def leading_eigenpair(G):  # pragma: no cover - compiled
    """Largest eigenvalue and its eigenvector of a small symmetric matrix (cyclic Jacobi)."""
    d = G.shape[0]
    A = np.empty((d, d))
    Q = np.empty((d, d))
    for i in range(d):
        for j in range(d):
            A[i, j] = G[i, j]
            Q[i, j] = 1.0 if i == j else 0.0
    for _ in range(30):
        off = 0.0
        total = 0.0
        for i in range(d):
            total += A[i, i] * A[i, i]
            for j in range(i + 1, d):
                off += A[i, j] * A[i, j]
        if off <= 1e-32 * total:
            break
        for p in range(d - 1):
            for q in range(p + 1, d):
                if A[p, q] == 0.0:
                    continue
                theta = (A[q, q] - A[p, p]) / (2.0 * A[p, q])
                t = 1.0 / (abs(theta) + np.sqrt(theta * theta + 1.0))
                if theta < 0.0:
                    t = -t
                c = 1.0 / np.sqrt(t * t + 1.0)
                s = t * c
                for i in range(d):
                    x = A[i, p]
                    y = A[i, q]
                    A[i, p] = c * x - s * y
                    A[i, q] = s * x + c * y
                for i in range(d):
                    x = A[p, i]
                    y = A[q, i]
                    A[p, i] = c * x - s * y
                    A[q, i] = s * x + c * y
                    x = Q[i, p]
                    y = Q[i, q]
                    Q[i, p] = c * x - s * y
                    Q[i, q] = s * x + c * y
    best = 0
    for i in range(1, d):
        if A[i, i] > A[best, best]:
            best = i
    u = np.empty(d)
    for i in range(d):
        u[i] = Q[i, best]
    return A[best, best], u


@njit(cache=True)
def feasible_side(R, size, c):  # pragma: no cover - compiled
    """1 if ``R c >= 0``, -1 if ``R c <= 0``, 0 if the signs are mixed."""
    d = c.shape[0]
    above = True
    below = True
    for i in range(size):
        value = 0.0
        norm = 0.0
        for a in range(d):
            value += R[i, a] * c[a]
            norm += R[i, a] * R[i, a]
        limit = FEASIBILITY * np.sqrt(norm)
        if value < -limit:
            above = False
        if value > limit:
            below = False
        if not above and not below:
            return 0
    return 1 if above else -1


@njit(cache=True)
def inner_plane(R, size, G, incumbent):  # pragma: no cover - compiled
    """(P_2): the leading eigenvector where feasible, else the best feasible end of the arc."""
    best = incumbent
    direction = np.zeros(2)
    value, u = leading_eigenpair(G)
    if value <= incumbent * (1.0 + SLACK):
        return best, direction
    side = feasible_side(R, size, u)
    if side != 0:
        direction[0] = side * u[0]
        direction[1] = side * u[1]
        return value, direction
    c = np.empty(2)
    for i in range(size):
        norm = np.sqrt(R[i, 0] * R[i, 0] + R[i, 1] * R[i, 1])
        if norm == 0.0:
            continue
        c[0] = -R[i, 1] / norm
        c[1] = R[i, 0] / norm
        value = c[0] * c[0] * G[0, 0] + 2.0 * c[0] * c[1] * G[0, 1] + c[1] * c[1] * G[1, 1]
        if value <= best * (1.0 + SLACK):
            continue
        side = feasible_side(R, size, c)
        if side != 0:
            best = value
            direction[0] = side * c[0]
            direction[1] = side * c[1]
    return best, direction


@njit(cache=True)
def orthogonal_plane(r):  # pragma: no cover - compiled
    """Orthonormal basis (3, 2) of the plane orthogonal to a non-zero vector."""
    norm = np.sqrt(r[0] * r[0] + r[1] * r[1] + r[2] * r[2])
    n0 = r[0] / norm
    n1 = r[1] / norm
    n2 = r[2] / norm
    B = np.empty((3, 2))
    # The smallest entry gives the axis farthest from r, so nothing cancels.
    if abs(n0) <= abs(n1) and abs(n0) <= abs(n2):
        length = np.sqrt(n1 * n1 + n2 * n2)
        B[0, 0] = 0.0
        B[1, 0] = n2 / length
        B[2, 0] = -n1 / length
    elif abs(n1) <= abs(n2):
        length = np.sqrt(n0 * n0 + n2 * n2)
        B[0, 0] = -n2 / length
        B[1, 0] = 0.0
        B[2, 0] = n0 / length
    else:
        length = np.sqrt(n0 * n0 + n1 * n1)
        B[0, 0] = n1 / length
        B[1, 0] = -n0 / length
        B[2, 0] = 0.0
    B[0, 1] = n1 * B[2, 0] - n2 * B[1, 0]
    B[1, 1] = n2 * B[0, 0] - n0 * B[2, 0]
    B[2, 1] = n0 * B[1, 0] - n1 * B[0, 0]
    return B


@njit(cache=True)
def inner_space(R, size, G, incumbent):  # pragma: no cover - compiled
    """(P_3): the leading eigenvector where feasible, else recurse on every active row."""
    best = incumbent
    direction = np.zeros(3)
    value, u = leading_eigenpair(G)
    if value <= incumbent * (1.0 + SLACK):
        return best, direction
    side = feasible_side(R, size, u)
    if side != 0:
        for a in range(3):
            direction[a] = side * u[a]
        return value, direction
    flat = np.empty((size, 2))
    for i in range(size):
        if R[i, 0] == 0.0 and R[i, 1] == 0.0 and R[i, 2] == 0.0:
            continue
        B = orthogonal_plane(R[i])
        G2 = np.zeros((2, 2))
        for a in range(2):
            for b in range(a, 2):
                for p in range(3):
                    for q in range(3):
                        G2[a, b] += B[p, a] * G[p, q] * B[q, b]
        G2[1, 0] = G2[0, 1]
        half = 0.5 * (G2[0, 0] + G2[1, 1])
        spread = 0.5 * (G2[0, 0] - G2[1, 1])
        if half + np.sqrt(spread * spread + G2[0, 1] * G2[0, 1]) <= best * (1.0 + SLACK):
            continue
        for j in range(size):
            for a in range(2):
                # The active row itself is zero here; rounding must not make it a constraint.
                flat[j, a] = 0.0
                if j != i:
                    flat[j, a] = R[j, 0] * B[0, a] + R[j, 1] * B[1, a] + R[j, 2] * B[2, a]
        value, c = inner_plane(flat, size, G2, best)
        if value > best:
            best = value
            for a in range(3):
                direction[a] = B[a, 0] * c[0] + B[a, 1] * c[1]
    return best, direction
