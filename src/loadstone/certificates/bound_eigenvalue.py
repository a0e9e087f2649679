"""The largest eigenvalue, bounded from above without trust in any eigensolver.

For any matrix G, ``C = GG' + R`` implies ``C >= -|R| I`` with ``|R|`` the largest row sum
of absolute values. So let t be an approximate largest eigenvalue of M and G a Cholesky
factor of ``C = tI - M``: then ``lambda_max(M) <= t + |R|``. Nothing is assumed about the
eigensolver or the factorisation, only that a matrix product is a sum of products,
whose rounding ``gamma_j = ju/(1 - ju)`` bounds.
"""

from __future__ import annotations

import numpy as np

from loadstone.certificates.problem import Array
from loadstone.covariance.symmetric import largest_eigenvalue

#: Half the distance of 1 to the next number.
UNIT = 2.0**-53
#: A shift grows this often before the row sums are taken instead.
_TRIES = 30


def gamma(n_roundings: int) -> float:
    """What a sum of products may be off by after this many roundings, relatively."""
    return n_roundings * UNIT / (1.0 - n_roundings * UNIT)


def largest_row_sum(matrix: Array) -> float:
    """The largest row sum of a non-negative matrix, rounded upwards."""
    return float(matrix.sum(axis=1).max()) * (1.0 + 2.0 * gamma(matrix.shape[0]))


def eigenvalue_bound(matrix: Array, error: Array | float = 0.0) -> float:
    """No symmetric matrix within ``error`` of ``matrix``, entry by entry, has a larger eigenvalue.

    Parameters
    ----------
    matrix : ndarray of shape (n, n)
        Symmetric, in double precision.
    error : ndarray of shape (n, n) or float
        How far the true entries may be.
    """
    n = matrix.shape[0]
    if not np.isfinite(matrix).all():
        return np.inf
    top = largest_eigenvalue(matrix)
    spread = float(np.abs(top - matrix.diagonal()).max(initial=0.0))
    shift = 4.0 * n * UNIT * max(spread, abs(top))
    for _ in range(_TRIES):
        limit = top + shift
        inner = -matrix
        inner[np.diag_indices(n)] += limit
        try:
            root = np.linalg.cholesky(inner)
        except np.linalg.LinAlgError:
            shift = 4.0 * shift if shift > 0 else np.finfo(np.float64).tiny
            continue
        size = np.abs(root)
        rest = np.abs(inner - root @ root.T)
        rest += gamma(n + 2) * (np.abs(inner) + size @ size.T) + error
        return _above(limit, largest_row_sum(rest))
    return _above(largest_row_sum(np.abs(matrix) + error), 0.0)


def _above(first: float, second: float) -> float:
    """The sum, rounded upwards; infinite where numbers left their range on the way."""
    total = float(np.nextafter(first + second, np.inf))
    return total if np.isfinite(total) else np.inf
