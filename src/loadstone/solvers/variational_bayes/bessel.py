"""``K0/K1`` and ``ln k1e`` over arrays, for the inverse-Gaussian prior."""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.polynomial import chebyshev
from scipy import special

from loadstone.covariance.protocol import Array

# Pieces of 1/s on which 14 terms reach rounding; beyond s = 2 nothing else is needed.
_EDGES = np.array([0.5, 0.25, 0.1, 0.03, 0.0])
_N_TERMS = 14
_N_SERIES = 13


@cache
def _small_series() -> Array:
    """Coefficients in ``s^2/4`` of I0, 2 I1/s and of what K0 and K1 add to them."""
    k = np.arange(_N_SERIES)
    square = 1.0 / special.factorial(k) ** 2
    neighbours = square / (k + 1)
    harmonic = special.digamma(k + 1) + np.euler_gamma
    companions = 0.5 * (special.digamma(k + 1) + special.digamma(k + 2))
    return np.array([square, neighbours, square * harmonic, neighbours * companions])


@cache
def _large_series() -> Array:
    """Polynomials of ``sqrt(s) k0e(s)`` and ``sqrt(s) k1e(s)`` on the pieces of ``1/s``."""

    def coefficients(function: np.ufunc, low: float, high: float) -> Array:
        def values(x: Any) -> Any:
            s = 1.0 / (low + 0.5 * (x + 1.0) * (high - low))
            return np.sqrt(s) * function(s)

        return chebyshev.cheb2poly(chebyshev.chebinterpolate(values, _N_TERMS - 1))

    return np.array(
        [
            [coefficients(f, low, high) for f in (special.k0e, special.k1e)]
            for high, low in pairwise(_EDGES)
        ]
    )


def bessel_ratio_and_log(arguments: Array) -> tuple[Array, Array]:
    """``K0(s)/K1(s)`` and ``ln(exp(s) K1(s))``, elementwise for s > 0; one pass for both."""
    from loadstone.solvers.variational_bayes import bessel_kernels as kernels

    flat = np.ascontiguousarray(arguments, dtype=np.float64).ravel()
    ratio = np.empty_like(flat)
    log_k1e = np.empty_like(flat)
    kernels.bessel_ratio_and_log(flat, _small_series(), _EDGES, _large_series(), ratio, log_k1e)
    return ratio.reshape(arguments.shape), log_k1e.reshape(arguments.shape)
