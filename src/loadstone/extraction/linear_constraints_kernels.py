"""Compiled scan over many small supports under linear equations ``C'w = 0``."""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import math

import numpy as np
from numba import njit

__all__ = ["scan_supports"]

_MAX_SWEEPS = 30


@njit(cache=True)
def scan_supports(A, C, supports, order, bounds, factor, negligible):
    """Index into ``supports`` of the highest ``factor * value``, and that product.

    ``order`` sorts ``bounds`` (upper limits of the product) from high to low, so the
    scan ends at the first bound that cannot win. The index is -1 where the equations
    leave no positive variance anywhere.
    """
    size = supports.shape[1]
    basis = np.empty((size, size))
    small = np.empty((size, size))
    best, winner = 0.0, -1
    for position in range(order.size):
        index = order[position]
        if bounds[index] <= best:
            break
        support = supports[index]
        n_bound = _bind(C, support, basis, negligible)
        if n_bound == size:
            continue
        _complete(basis, n_bound)
        n_free = size - n_bound
        _compress(A, support, basis, n_bound, small)
        value = factor[index] * _largest_eigenvalue(small, n_free)
        if value > best:
            best, winner = value, index
    return winner, best


@njit(cache=True)
def _remove(v, basis, n_basis):
    """Take the components along the first rows of ``basis`` out of ``v``; returns its norm."""
    for _ in range(2):
        for b in range(n_basis):
            dot = 0.0
            for i in range(v.size):
                dot += basis[b, i] * v[i]
            for i in range(v.size):
                v[i] -= dot * basis[b, i]
    total = 0.0
    for i in range(v.size):
        total += v[i] * v[i]
    return math.sqrt(total)


@njit(cache=True)
def _bind(C, support, basis, negligible):
    """Orthonormal rows spanning the equations on ``support``; returns how many."""
    size = support.size
    v = np.empty(size)
    n_basis = 0
    for column in range(C.shape[1]):
        any_used = False
        for i in range(size):
            v[i] = C[support[i], column]
            if v[i] != 0.0:
                any_used = True
        if not any_used:
            continue
        length = _remove(v, basis, n_basis)
        if length > negligible:
            for i in range(size):
                basis[n_basis, i] = v[i] / length
            n_basis += 1
            if n_basis == size:
                break
    return n_basis


@njit(cache=True)
def _complete(basis, n_basis):
    """Fill the remaining rows of ``basis`` to an orthonormal square matrix."""
    size = basis.shape[0]
    v = np.empty(size)
    while n_basis < size:
        # The unit vector with the largest part outside the span is the safest one to add.
        chosen, outside = 0, -1.0
        for i in range(size):
            inside = 0.0
            for b in range(n_basis):
                inside += basis[b, i] * basis[b, i]
            if 1.0 - inside > outside:
                chosen, outside = i, 1.0 - inside
        v[:] = 0.0
        v[chosen] = 1.0
        length = _remove(v, basis, n_basis)
        for i in range(size):
            basis[n_basis, i] = v[i] / length
        n_basis += 1


@njit(cache=True)
def _compress(A, support, basis, first, small):
    """``small = N'A_TT N`` with N the rows of ``basis`` from ``first`` on."""
    size = support.size
    image = np.empty(size)
    for a in range(size - first):
        for i in range(size):
            total = 0.0
            for j in range(size):
                total += A[support[i], support[j]] * basis[first + a, j]
            image[i] = total
        for b in range(a + 1):
            total = 0.0
            for i in range(size):
                total += basis[first + b, i] * image[i]
            small[a, b] = total
            small[b, a] = total


@njit(cache=True)
def _largest_eigenvalue(B, n):
    """Largest eigenvalue of the leading n x n block, by Jacobi rotations; ``B`` is spent."""
    for _ in range(_MAX_SWEEPS):
        off, scale = 0.0, 0.0
        for i in range(n):
            scale += B[i, i] * B[i, i]
            for j in range(i):
                off += B[i, j] * B[i, j]
        if off <= 1e-28 * scale:
            break
        for p in range(n - 1):
            for q in range(p + 1, n):
                if B[p, q] != 0.0:
                    _rotate(B, n, p, q)
    best = B[0, 0]
    for i in range(1, n):
        best = max(best, B[i, i])
    return best


@njit(cache=True)
def _rotate(B, n, p, q):
    """One rotation that makes ``B[p, q]`` zero."""
    theta = (B[q, q] - B[p, p]) / (2.0 * B[p, q])
    t = math.copysign(1.0, theta) / (abs(theta) + math.sqrt(theta * theta + 1.0))
    c = 1.0 / math.sqrt(t * t + 1.0)
    s = t * c
    for i in range(n):
        x, y = B[i, p], B[i, q]
        B[i, p], B[i, q] = c * x - s * y, s * x + c * y
    for i in range(n):
        x, y = B[p, i], B[q, i]
        B[p, i], B[q, i] = c * x - s * y, s * x + c * y
