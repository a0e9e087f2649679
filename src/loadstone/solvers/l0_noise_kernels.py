"""Compiled inner loop of the l0 noise model: cyclic hard thresholding of single entries."""

import numba as nb
import numpy as np

from loadstone.covariance.protocol import Array


@nb.njit(cache=True)
def threshold_entries(A: Array, B: Array, G: Array, level: float, max_sweeps: int) -> None:
    """Lower ``g'Ag/2 - g'b + level/2 |g|_0`` for every row ``g`` of ``G``, in place.

    Algorithm 2 of Ulfarsson & Solo, row by row instead of column by column: the rows
    do not interact, so the sweeps are the same and each row stays in cache. A row is
    left as soon as a sweep hardly moves it; every single update is exact.
    """
    n_features, r = B.shape
    inverse = np.empty(r)
    cut = np.empty(r)
    for i in range(r):
        inverse[i] = 1.0 / A[i, i]
        cut[i] = level * A[i, i]
    for v in range(n_features):
        for _ in range(max_sweeps):
            moved = 0.0
            size = 0.0
            for i in range(r):
                residual = B[v, i] + A[i, i] * G[v, i]
                for j in range(r):
                    residual -= A[i, j] * G[v, j]
                entry = 0.0
                if residual * residual > cut[i]:
                    entry = residual * inverse[i]
                moved = max(moved, abs(entry - G[v, i]))
                size = max(size, abs(entry))
                G[v, i] = entry
            if moved <= 1e-6 * size:
                break
