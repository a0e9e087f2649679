"""The largest eigenvalues of a stored symmetric matrix, whatever its spectrum, and its inverse.

LAPACK's solver for a part of the spectrum is fast and gives up, now and then, on tightly
clustered eigenvalues; the one for all of them does not, and is faster on small matrices.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import LinAlgError, eigh
from scipy.linalg.lapack import dsyevr, ssyevr

from loadstone.covariance.protocol import Array

#: Side up to which all eigenvalues take no longer than some.
SMALL = 40
#: Side up to which all eigenpairs of a stack take no longer than the leading ones, one by one.
TINY = 5
#: What finds some eigenpairs, for each precision.
_SOLVERS = {np.dtype(np.float64): dsyevr, np.dtype(np.float32): ssyevr}


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


def shifted_inverse(matrix: Array, shift: float) -> Array:
    """``(matrix + shift I)^-1`` of a positive semi-definite matrix, and positive itself.

    Where the shift is below the rounding of the matrix, an inverse by elimination may not be.
    """
    inverse: Array = np.linalg.inv(matrix + shift * np.eye(len(matrix)))
    if (inverse.diagonal() > 0).all():
        return inverse
    values, Q = np.linalg.eigh(matrix)
    inverse = (Q / (np.maximum(values, 0) + shift)) @ Q.T
    return inverse


def largest_eigenvalue(matrix: Array) -> float:
    """The largest eigenvalue."""
    n = matrix.shape[0]
    try:
        values = eigh(matrix, subset_by_index=(n - 1, n - 1), eigvals_only=True, check_finite=False)
    except LinAlgError:
        values = np.linalg.eigvalsh(matrix)
    return float(values[-1])


def leading_pair(matrix: Array) -> tuple[float, Array]:
    """The largest eigenvalue of a small matrix and its vector, without a call more than it takes."""
    n = len(matrix)
    largest, vector, n_found, _, info = _SOLVERS[matrix.dtype](
        matrix, range="I", il=n, iu=n, lower=1
    )
    if info == 0 and n_found == 1:
        return float(largest[0]), vector[:, 0]
    values, vectors = np.linalg.eigh(matrix)
    return float(values[-1]), vectors[:, -1]


def leading_pairs(matrices: Array) -> tuple[Array, Array]:
    """The same of each matrix of a stack; vectors are rows."""
    if matrices.shape[1] <= TINY or not len(matrices):
        values, vectors = np.linalg.eigh(matrices)
        return values[:, -1].astype(np.float64), vectors[:, :, -1]
    pairs = [leading_pair(matrix) for matrix in matrices]
    return np.array([value for value, _ in pairs]), np.stack([v for _, v in pairs])
