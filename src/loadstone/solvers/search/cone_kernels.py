"""Compiled non-negative loadings of most variance on a support of a small stored matrix.

``renormalise.cone_leading`` for few features, where a step costs less than the call that asks
for it.
"""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import math

import numpy as np
from numba import njit

from loadstone.solvers.search.krylov_kernels import FAST, leading_on, normalise

__all__ = ["leading_in_cone"]

#: Projected power steps between two eigensolves, and eigensolves.
N_STEPS, MAX_ATTEMPTS = 6, 40
#: An entry so far below zero, at unit length, is rounding.
ROUNDING = 1e-12


@njit(cache=True, fastmath=FAST)
def _image_on(A, support, w, image):
    """``image = B w`` of a block ``B`` of ``A``."""
    for i in range(support.size):
        row, total = A[support[i]], 0.0
        for j in range(support.size):
            total += row[support[j]] * w[j]
        image[i] = total


@njit(cache=True)
def _inner(a, b):
    total = 0.0
    for i in range(a.size):
        total += a[i] * b[i]
    return total


@njit(cache=True)
def _power_steps(A, support, w, image, tol):
    """``w <- (B w)_+`` at unit length, a few times; its variance, and whether that has settled.

    ``image`` comes and goes as ``B w``.
    """
    value = _inner(w, image)
    step, image_of_step = np.empty_like(w), np.empty_like(w)
    for _ in range(N_STEPS):
        for i in range(w.size):
            step[i] = max(image[i], 0.0)
        normalise(step)
        _image_on(A, support, step, image_of_step)
        reached = _inner(step, image_of_step)
        if not reached > value * (1 + tol):
            return value, True
        value = reached
        for i in range(w.size):
            w[i], image[i] = step[i], image_of_step[i]
    return value, False


@njit(cache=True)
def _finished(A, support, w, value, tol):
    """The leading eigenvector on the features in use, where it has one sign and is no worse."""
    n_used = 0
    for i in range(w.size):
        n_used += w[i] > 0.0
    used, v = np.empty(n_used, np.int64), np.empty(n_used)
    at = 0
    for i in range(w.size):
        if w[i] > 0.0:
            used[at], v[at] = support[i], w[i]
            at += 1
    reached = leading_on(A, used, v, tol)
    side = 0.0
    at = 0
    for i in range(w.size):
        if w[i] > 0.0:
            side += w[i] * v[at]
            at += 1
    least = 0.0
    for i in range(n_used):
        v[i] = math.copysign(1.0, side) * v[i]
        least = min(least, v[i])
    if least < -ROUNDING or reached < value * (1 - 1e-13):
        return value, False
    at = 0
    for i in range(w.size):
        if w[i] > 0.0:
            w[i] = max(v[at], 0.0)
            at += 1
    return reached, True


@njit(cache=True)
def leading_in_cone(A, support, w, tol):
    """Variance of the best loadings ``w >= 0`` on a support that a climb from ``w`` ends at.

    Power steps find the features that stay, an eigensolve on these finishes at once; the end is
    where no feature of the support wants to grow.
    """
    image, total = np.empty_like(w), 0.0
    for i in range(w.size):
        w[i] = max(w[i], 0.0)
        total += w[i]
    if total == 0.0:
        for i in range(w.size):
            w[i] = 1.0
    normalise(w)
    _image_on(A, support, w, image)
    value = 0.0
    for _ in range(MAX_ATTEMPTS):
        value, settled = _power_steps(A, support, w, image, tol)
        reached, finished = _finished(A, support, w, value, tol)
        if finished:
            gained = reached > value * (1 + tol)
            value = reached
            _image_on(A, support, w, image)
            wanted = 0.0
            for i in range(w.size):
                if w[i] == 0.0:
                    wanted = max(wanted, image[i])
            if wanted <= math.sqrt(tol) * value and not gained:
                break
            if wanted <= tol * value:
                break
        elif settled:
            break
    return value
