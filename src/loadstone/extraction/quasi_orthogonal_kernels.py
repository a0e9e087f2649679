"""Compiled power steps for loadings of given signs on one support."""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import math

import numpy as np
from numba import njit

__all__ = ["climb_in_cone"]


@njit(cache=True)
def climb_in_cone(B, signs, start, shift, max_iter, tol):
    """Unit ``w`` with the given signs where power steps ``Bw + shift w`` no longer turn.

    Each step loses its entries of a wrong sign; sign 0 allows both. With a shift that
    makes ``B`` positive semi-definite ``w'Bw`` never falls. A start without an allowed
    entry is replaced by the feature of largest variance.
    """
    n = B.shape[0]
    w = np.empty(n)
    length = 0.0
    for i in range(n):
        w[i] = start[i] if signs[i] * start[i] >= 0.0 else 0.0
        length += w[i] * w[i]
    if length == 0.0:
        best = 0
        for i in range(1, n):
            if B[i, i] > B[best, best]:
                best = i
        w[best] = -1.0 if signs[best] < 0 else 1.0
        length = 1.0
    length = math.sqrt(length)
    for i in range(n):
        w[i] /= length
    step = np.empty(n)
    for _ in range(max_iter):
        for i in range(n):
            step[i] = shift * w[i]
        # Whole rows of a symmetric matrix, and only those that count: sums over columns
        # would neither skip zeros nor use the vector units.
        for j in range(n):
            if w[j] != 0.0:
                weight = w[j]
                for i in range(n):
                    step[i] += weight * B[j, i]
        length = 0.0
        for i in range(n):
            if signs[i] * step[i] < 0.0:
                step[i] = 0.0
            length += step[i] * step[i]
        if length == 0.0:
            break
        length = math.sqrt(length)
        turned = 0.0
        for i in range(n):
            step[i] /= length
            turned += (step[i] - w[i]) ** 2
            w[i] = step[i]
        if turned <= tol * tol:
            break
    return w
