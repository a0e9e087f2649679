# mypy: disable-error-code="no-untyped-def, assignment"
"""Compiled sweeps over the spannogram: every support that a direction can select.

Notation: ``v_i`` are the rows of V, ``c`` a direction; the curve of feature i
is ``v_i.c`` (its absolute value without non-negativity). A zero row stands for
the zero axis (Section 4 of Asteris et al. 2014). ``record`` receives the
supports while it has room, as rows padded with -1.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from loadstone.solvers.spannogram.inner_kernels import (
    SLACK,
    inner_plane,
    inner_space,
    leading_eigenpair,
)

# Crossings closer than this (in radians) are one crossing with ties.
SAME_ANGLE = 1e-13
# Rows (the longest has norm one) that differ by no more than this count as tied.
SAME_ROW = 1e-12


@njit(cache=True)
def solve_support(V, members, size, nonnegative, incumbent):  # pragma: no cover - compiled
    """Value and direction of one support, or the incumbent and a zero direction."""
    d = V.shape[1]
    G = np.zeros((d, d))
    for t in range(size):
        for a in range(d):
            for b in range(d):
                G[a, b] += V[members[t], a] * V[members[t], b]
    trace = 0.0
    for a in range(d):
        trace += G[a, a]
    nothing = np.zeros(d)
    if trace <= incumbent * (1.0 + SLACK):
        return incumbent, nothing
    if not nonnegative:
        value, u = leading_eigenpair(G)
        if value <= incumbent * (1.0 + SLACK):
            return incumbent, nothing
        return value, u
    R = np.empty((size, d))
    for t in range(size):
        for a in range(d):
            R[t, a] = V[members[t], a]
    if d == 2:
        return inner_plane(R, size, G, incumbent)
    return inner_space(R, size, G, incumbent)


@njit(cache=True)
def plane_crossings(V, nonnegative):  # pragma: no cover - compiled
    """Angles in [0, pi) where two curves of a rank-2 spannogram meet, and which two.

    The direction is ``(cos phi, sin phi)``. With non-negativity the index
    ``n`` stands for the zero axis; without, curve i meets curve j at
    ``v_i = v_j`` and at ``v_i = -v_j``.
    """
    n = V.shape[0]
    rows = n + 1 if nonnegative else n
    total = rows * (rows - 1) // 2 * (1 if nonnegative else 2)
    angles = np.empty(total)
    first = np.empty(total, dtype=np.int32)
    second = np.empty(total, dtype=np.int32)
    found = 0
    for i in range(rows - 1):
        for j in range(i + 1, rows):
            for side in range(1 if nonnegative else 2):
                sign = 1.0 - 2.0 * side
                x = V[i, 0]
                y = V[i, 1]
                if j < n:
                    x -= sign * V[j, 0]
                    y -= sign * V[j, 1]
                if x == 0.0 and y == 0.0:
                    continue
                angle = np.arctan2(-x, y)
                if angle < 0.0:
                    angle += np.pi
                if angle >= np.pi:
                    angle -= np.pi
                angles[found] = angle
                first[found] = i
                second[found] = j
                found += 1
    return angles[:found], first[:found], second[:found]


@njit(cache=True)
def _curve(V, i, cosine, sine, nonnegative):  # pragma: no cover - compiled
    """Height of curve i; the zero axis is the index after the last row."""
    if i == V.shape[0]:
        return 0.0
    value = V[i, 0] * cosine + V[i, 1] * sine
    return value if nonnegative else abs(value)


@njit(cache=True)
def _settle(V, order, position, lo, hi, angle, nonnegative):  # pragma: no cover - compiled
    """Sort the curves at positions lo..hi, highest first, by their heights at ``angle``."""
    cosine = np.cos(angle)
    sine = np.sin(angle)
    height = np.empty(hi - lo + 1)
    for p in range(lo, hi + 1):
        moved = order[p]
        value = _curve(V, moved, cosine, sine, nonnegative)
        q = p - 1
        while q >= lo and height[q - lo] < value:
            order[q + 1] = order[q]
            height[q + 1 - lo] = height[q - lo]
            position[order[q + 1]] = q + 1
            q -= 1
        order[q + 1] = moved
        height[q + 1 - lo] = value
        position[moved] = q + 1


@njit(cache=True)
def _try_support(
    V, members, nonnegative, best, direction, record, found
):  # pragma: no cover - compiled
    """Record one support, solve it, and keep its direction if it beats ``best``."""
    size = members.shape[0]
    if found < record.shape[0]:
        for t in range(size):
            record[found, t] = members[t]
    value, c = solve_support(V, members, size, nonnegative, best)
    if value > best:
        for a in range(V.shape[1]):
            direction[a] = c[a]
        return value
    return best


@njit(cache=True)
def _positions(order):  # pragma: no cover - compiled
    """Where each curve stands in ``order``."""
    position = np.empty(order.shape[0], dtype=np.int64)
    for p in range(order.shape[0]):
        position[order[p]] = p
    return position


@njit(cache=True)
def sweep_plane(
    V, n_nonzero, nonnegative, angles, first, second, order, incumbent, record
):  # pragma: no cover - compiled
    """Sweep a rank-2 spannogram once; returns value, direction, number of supports.

    ``angles`` are sorted crossings, ``order`` lists the curves, highest first,
    just before the first of them; it is overwritten.
    """
    n = V.shape[0]
    rows = order.shape[0]
    n_angles = angles.shape[0]
    position = _positions(order)
    best = incumbent
    direction = np.zeros(2)
    # A plain 0 would make the compiler build everything below twice.
    found = np.int64(0)
    # The supports at c and at -c are order[:top] and order[bottom:].
    top = -1
    bottom = rows + 1
    lo = np.int64(0)
    hi = np.int64(rows - 1)
    previous = angles[n_angles - 1] - np.pi
    e = 0
    while e < n_angles:
        _settle(V, order, position, lo, hi, 0.5 * (previous + angles[e]), nonnegative)
        zero = position[n] if nonnegative else rows
        new_top = min(n_nonzero, zero)
        if lo < max(top, new_top) and hi >= min(top, new_top) and new_top > 0:
            best = _try_support(V, order[:new_top], nonnegative, best, direction, record, found)
            found += 1
        top = new_top
        if nonnegative:
            new_bottom = max(rows - n_nonzero, zero + 1)
            touched = lo < max(bottom, new_bottom) and hi >= min(bottom, new_bottom)
            if touched and new_bottom < rows:
                members = order[new_bottom:]
                best = _try_support(V, members, nonnegative, best, direction, record, found)
                found += 1
            bottom = new_bottom
        # Crossings at one angle change places together, by their heights just after it.
        lo = rows
        hi = -1
        previous = angles[e]
        while e < n_angles and angles[e] - previous <= SAME_ANGLE:
            p = position[first[e]]
            q = position[second[e]]
            lo = min(lo, p, q)
            hi = max(hi, p, q)
            previous = angles[e]
            e += 1
    return best, direction, found
