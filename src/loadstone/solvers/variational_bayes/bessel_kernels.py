# mypy: allow-untyped-defs
"""Ratio and logarithm of modified Bessel functions of the second kind.

Notation: ``K0``, ``K1`` are modified Bessel functions, ``s`` their argument. Up to 2 the power
series of Abramowitz & Stegun 9.6.11-13 are summed; beyond, ``sqrt(s) exp(s) K(s)`` is a
polynomial in ``1/s`` on each of a few pieces.
"""

import numpy as np
from numba import njit

EULER_GAMMA = 0.5772156649015329


@njit(cache=True, error_model="numpy")
def bessel_ratio_and_log(arguments, small, edges, large, ratio, log_k1e):
    """Fill ``K0/K1`` and ``ln(exp(s) K1(s))`` at flat ``arguments``.

    ``small`` (4, terms) holds the series of I0, of 2 I1/s and of their logarithm-free
    companions in ``s^2/4``; ``large`` (pieces, 2, terms) those of both functions in ``1/s``
    mapped to [-1, 1] between consecutive ``edges`` (descending in ``1/s``).
    """
    for i in range(arguments.shape[0]):
        s = arguments[i]
        if s <= 2.0:
            y = 0.25 * s * s
            i0 = 0.0
            i1 = 0.0
            rest0 = 0.0
            rest1 = 0.0
            for t in range(small.shape[1] - 1, -1, -1):
                i0 = i0 * y + small[0, t]
                i1 = i1 * y + small[1, t]
                rest0 = rest0 * y + small[2, t]
                rest1 = rest1 * y + small[3, t]
            log_half = np.log(0.5 * s)
            k0 = -(log_half + EULER_GAMMA) * i0 + rest0
            k1 = 1.0 / s + 0.5 * s * (log_half * i1 - rest1)
            ratio[i] = k0 / k1
            log_k1e[i] = np.log(k1) + s
        else:
            inverse = 1.0 / s
            piece = 0
            while piece < large.shape[0] - 1 and inverse < edges[piece + 1]:
                piece += 1
            width = edges[piece] - edges[piece + 1]
            x = 2.0 * (inverse - edges[piece + 1]) / width - 1.0
            k0 = 0.0
            k1 = 0.0
            for t in range(large.shape[2] - 1, -1, -1):
                k0 = k0 * x + large[piece, 0, t]
                k1 = k1 * x + large[piece, 1, t]
            ratio[i] = k0 / k1
            log_k1e[i] = np.log(k1 * np.sqrt(inverse))
