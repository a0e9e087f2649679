"""Varimax: the rotation that makes loadings simplest, where starts of factor models come from.

References
----------
Kaiser, H. F. (1958). The varimax criterion for analytic rotation in factor analysis.
Psychometrika, 23, 187-200.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg.lapack import dgesdd

from loadstone.covariance.protocol import Array


def varimax(loadings: Array, max_iter: int = 500, tol: float = 1e-10) -> Array:
    """``loadings @ R`` with the rotation R whose squared columns vary most."""
    r = loadings.shape[1]
    if r < 2:
        return loadings.copy()
    R = np.eye(r)
    for _ in range(max_iter):
        turned = loadings @ R
        squares = turned * turned
        gradient = loadings.T @ (turned * (squares - squares.sum(axis=0) / len(squares)))
        # A small matrix takes less time than NumPy takes to look at it.
        U, _, Vt, info = dgesdd(gradient)
        if info:
            U, _, Vt = np.linalg.svd(gradient)
        step = U @ Vt
        change = float(np.abs(step - R).max())
        R = step
        if change < tol:
            break
    return loadings @ R
