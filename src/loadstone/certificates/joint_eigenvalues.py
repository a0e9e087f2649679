"""Sums of the largest eigenvalues, bounded from above without trust in any eigensolver.

Notation: ``KF_r(M)`` is the sum of the r largest eigenvalues of M, ``KF_r(S, K)`` the same
for the pencil ``S g = lambda K g`` with K positive definite.

* For any G, ``M <= GG' + tI`` with ``t >= lambda_max(M - GG')``, so that
  ``KF_r(M) <= |G|_F^2 + rt``.
* Let ``K >= kappa I`` and let F, t and ``d >= 0`` obey ``S <= tK + FF' + dI``. Then
  ``KF_r(S, K) <= rt + tr F'K^-1 F + rd/kappa``; and with ``F = KH + Delta`` the trace is at
  most ``(sqrt(tr H'KH) + |Delta|_F/sqrt(kappa))^2``.

Approximate eigenvectors give good G and H; nothing else is asked of them.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import LinAlgError, eigh

from loadstone.certificates.bound_eigenvalue import UNIT, eigenvalue_bound, gamma
from loadstone.certificates.certificate_error import CertificateError
from loadstone.certificates.problem import Array
from loadstone.covariance.given import PSD_TOL
from loadstone.covariance.symmetric import largest_eigenpairs, largest_eigenvalue

#: Eigenvalues of this size come of rounding a matrix of zeros.
TINY = 1e-290


def up(value: float, n_roundings: int = 4) -> float:
    """A sum or product after so many roundings, made larger than the exact one."""
    return float(np.nextafter(value + 2.0 * n_roundings * UNIT * abs(value), np.inf))


def ky_fan(matrix: Array, error: Array | float, count: int) -> float:
    """No matrix within ``error`` of ``matrix`` has a larger sum of ``count`` eigenvalues."""
    n = matrix.shape[0]
    count = min(count, n)
    values, vectors = largest_eigenpairs(matrix, count)
    # Finite whatever the solver returned: other numbers only make the bound weaker.
    root = np.nan_to_num(vectors * np.sqrt(np.maximum(values - values[0], 0.0)))
    square = root @ root.T
    doubt = error + gamma(count + 3) * (np.abs(matrix) + np.abs(root) @ np.abs(root).T)
    rest = eigenvalue_bound(matrix - square, doubt)
    total = float(np.square(root).sum()) * (1.0 + 2.0 * gamma(root.size + 2))
    return up(count * rest + total) + up(4.0 * UNIT * (abs(count * rest) + total))


def negative_part(matrix: Array, error: Array | float) -> float:
    """D >= 0 with ``matrix >= -d I``."""
    return max(0.0, eigenvalue_bound(-matrix, error))


def below_zero(matrix: Array) -> float:
    """How far a covariance is from being positive semi-definite, which is rounding only."""
    below = negative_part(matrix, 0.0)
    # The rounding of a matrix grows with its largest eigenvalue, not with its entries.
    if below > PSD_TOL * max(largest_eigenvalue(matrix), 0.0) + TINY:
        msg = (
            f"the matrix has an eigenvalue of about {-below:.3g}: it is no covariance, and "
            "there is no adjusted variance in it"
        )
        raise CertificateError(msg)
    return below


def pencil_sums(
    matrix: Array, error: Array | float, K: Array, K_error: Array | float, counts: list[int]
) -> list[float] | None:
    """``KF_r(S, K)`` for each r of ``counts``; ``None`` where K is not proven definite.

    Parameters
    ----------
    matrix, K : ndarray of shape (n, n)
        S and K as they were computed.
    error, K_error : ndarray of shape (n, n) or float
        How far their true entries may be.
    counts : list of int
        The numbers of eigenvalues, each at most n.
    """
    n = matrix.shape[0]
    floor = -eigenvalue_bound(-K, K_error)
    if not floor > 0.0:
        return None
    most = max(counts)
    try:
        values, vectors = eigh(matrix, K, subset_by_index=(n - most, n - 1), check_finite=False)
    except (LinAlgError, ValueError):
        return None
    sums = []
    for count in counts:
        level = max(float(values[-count]), 0.0)
        H = np.nan_to_num(vectors * np.sqrt(np.maximum(values - level, 0.0)))
        sums.append(_pencil_sum(matrix, error, K, K_error, H, level, floor, count))
    return sums


def _pencil_sum(
    matrix: Array,
    error: Array | float,
    K: Array,
    K_error: Array | float,
    H: Array,
    level: float,
    floor: float,
    count: int,
) -> float:
    """``rt + tr F'K^-1F + rd/kappa`` for ``F = KH`` and t = ``level``, rounded upwards."""
    n = matrix.shape[0]
    F, absolute, size = K @ H, np.abs(H), np.abs(K)
    inner = matrix - level * K - F @ F.T
    doubt = error + level * K_error
    doubt = doubt + gamma(H.shape[1] + 6) * (
        np.abs(matrix) + level * size + np.abs(F) @ np.abs(F).T
    )
    rest = max(0.0, eigenvalue_bound(inner, doubt))
    delta = gamma(n + 2) * (size @ absolute)
    delta = delta + (K_error @ absolute if isinstance(K_error, np.ndarray) else 0.0)
    off = float(np.linalg.norm(delta)) * (1.0 + 4.0 * gamma(delta.size + 2))
    trace = float(np.sum(H * F))
    trace += float(np.sum(absolute * (delta + gamma(n * H.shape[1] + 2) * np.abs(F))))
    root = np.sqrt(max(trace, 0.0)) * (1.0 + 8.0 * UNIT) + off / np.sqrt(floor)
    total = count * level + root * root + count * rest / floor
    return up(float(total), 16)
