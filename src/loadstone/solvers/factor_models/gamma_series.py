"""Logarithm of the gamma function and its slope, of whole arrays at the cost of a logarithm.

By Stirling's series, of which four terms are exact to the last digits from ``STIRLING`` on. Rounds
of wide data take most of their time for these two functions when they are computed entry by entry.
"""

from __future__ import annotations

import numpy as np
from scipy.special import digamma as digamma_by_entry
from scipy.special import gammaln

from loadstone.covariance.protocol import Array

#: Numbers from which on four terms of Stirling's series are exact.
STIRLING = 20.0
_HALF_LOG_2PI = 0.5 * float(np.log(2.0 * np.pi))


def log_gamma(x: Array, log_x: Array) -> Array:
    """``ln G(x)`` of positive numbers whose logarithms are known."""
    if x.min(initial=np.inf) < STIRLING:
        return np.asarray(gammaln(x))
    result: Array = (x - 0.5) * log_x - x + _HALF_LOG_2PI + stirling_rest(x)
    return result


def digamma(x: Array, log_x: Array) -> Array:
    """The slope of ``ln G`` at positive numbers whose logarithms are known."""
    if x.min(initial=np.inf) < STIRLING:
        return np.asarray(digamma_by_entry(x))
    inverse = 1.0 / x
    square = np.square(inverse)
    series = square * (1 / 12 - square * (1 / 120 - square * (1 / 252 - square / 240)))
    result: Array = log_x - 0.5 * inverse - series
    return result


def log_rising(a: Array, n: Array, log_end: Array) -> Array:
    """``ln G(a + n) - ln G(a)``, ``log_end = ln(a + n)``; where ``a`` is large nothing cancels."""
    small = a < STIRLING
    if small.all():
        return np.asarray(log_gamma(a + n, log_end) - gammaln(a))
    large = np.maximum(a, STIRLING)
    end = large + n
    series = (large - 0.5) * np.log1p(n / large) + n * (np.log(end) - 1.0)
    series = series + stirling_rest(end) - stirling_rest(large)
    if not small.any():
        return np.asarray(series)
    return np.asarray(np.where(small, gammaln(a + n) - gammaln(a), series))


def stirling_rest(x: Array) -> Array:
    """``ln G(x)`` less ``(x - 1/2) ln x - x + ln(2 pi)/2``."""
    inverse = 1.0 / x
    square = np.square(inverse)
    result: Array = inverse * (1 / 12 - square * (1 / 360 - square * (1 / 1260 - square / 1680)))
    return result
