"""The largest eigenvalues of a stored symmetric matrix, whatever its spectrum, and its inverse.

LAPACK's solver for a part of the spectrum is fast and gives up, now and then, on tightly
clustered eigenvalues; the one for all of them does not, and is faster on small matrices.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import LinAlgError, eigh

from loadstone.covariance.protocol import Array

#: Side up to which all eigenvalues take no longer than some.
SMALL = 40


def pseudo_inverse(matrix: Array, rcond: float) -> Array:
    """The inverse of a symmetric matrix without eigenvalues below ``rcond`` of the largest."""
    values, vectors = np.linalg.eigh(matrix)
    size = np.abs(values)
    kept = size > rcond * size.max(initial=0.0)
    result: Array = (vectors * np.where(kept, 1 / np.where(kept, values, 1), 0)) @ vectors.T
    return result


def largest_eigenpairs(matrix: Array, rank: int) -> tuple[Array, Array]:
    """The ``rank`` largest eigenvalues in ascending order, and their vectors as columns."""
    n = matrix.shape[0]
    if n <= SMALL:
        values, vectors = np.linalg.eigh(matrix)
        return values[n - rank :], vectors[:, n - rank :]
    try:
        found = eigh(matrix, subset_by_index=(n - rank, n - 1), check_finite=False)
        return found[0], found[1]
    except LinAlgError:
        values, vectors = np.linalg.eigh(matrix)
        return values[n - rank :], vectors[:, n - rank :]


def largest_eigenvalue(matrix: Array) -> float:
    """The largest eigenvalue."""
    n = matrix.shape[0]
    try:
        values = eigh(matrix, subset_by_index=(n - 1, n - 1), eigvals_only=True, check_finite=False)
    except LinAlgError:
        values = np.linalg.eigvalsh(matrix)
    return float(values[-1])
