"""A matrix given in place of data, checked to be a covariance."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from scipy.linalg import eigvalsh

from loadstone.covariance.explicit import ExplicitCovariance
from loadstone.covariance.protocol import Array

#: Most negative eigenvalue, relative to the largest, that rounding explains.
PSD_TOL = 1e-6


def check_covariance(S: Any, n_samples: float | None) -> ExplicitCovariance:
    """A matrix given in place of data: square, finite, symmetric, positive semi-definite."""
    if np.ma.is_masked(S):
        msg = "the covariance is a masked array with missing entries; compute it from complete data"
        raise ValueError(msg)
    matrix = np.asarray(S)
    if matrix.dtype.kind not in "fiub":
        msg = f"the covariance has dtype {matrix.dtype}; expected real numbers"
        raise ValueError(msg)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or matrix.size == 0:
        msg = f"the covariance has shape {matrix.shape}; expected a square matrix. Use fit for data"
        raise ValueError(msg)
    matrix = matrix.astype(np.float32 if matrix.dtype == np.float32 else np.float64, copy=False)
    if not np.isfinite(matrix).all():
        msg = "the covariance contains NaN or infinity; compute it from complete data"
        raise ValueError(msg)
    largest = float(np.abs(matrix).max())
    asymmetry = float(np.abs(matrix - matrix.T).max())
    if asymmetry > 1e-8 * largest and asymmetry > 1e3 * np.finfo(matrix.dtype).eps * largest:
        msg = (
            f"the matrix is not symmetric: entries differ from their mirror by up to {asymmetry:.3g}; "
            "use (S + S.T) / 2 if that is rounding, or fit if this is data"
        )
        raise ValueError(msg)
    matrix = (matrix + matrix.T) / 2
    if largest == 0:
        msg = "the covariance is zero throughout, so there is no variance to explain"
        raise ValueError(msg)
    refuse_indefinite(matrix)
    if n_samples is not None and not (isinstance(n_samples, Real) and n_samples >= 2):
        msg = f"n_samples={n_samples!r} must be a number of at least 2, or None if it is not known"
        raise ValueError(msg)
    return ExplicitCovariance(matrix, float("nan") if n_samples is None else float(n_samples))


def refuse_indefinite(matrix: Array) -> None:
    """Raise where a symmetric matrix has negative eigenvalues that rounding does not explain."""
    # In double precision, or rounding of the search for them would count.
    smallest, top = eigvalsh(matrix.astype(np.float64, copy=False))[[0, -1]]
    if smallest < -PSD_TOL * top:
        msg = (
            f"the matrix is not positive semi-definite: its eigenvalues go down to {smallest:.3g} "
            f"(largest {top:.3g}), so it is no covariance. Pairwise-complete correlations can do that; "
            "project it on the semi-definite matrices, or fit the data"
        )
        raise ValueError(msg)
