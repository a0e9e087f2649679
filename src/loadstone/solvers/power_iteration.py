"""The loop shared by EM and truncated power: product, constrained step, repeat.

All restarts travel as one block, so that an iteration is one product ``S @ W``;
columns that have settled leave the block.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from loadstone.covariance import Array, Covariance
from loadstone.loadings import Loadings, Stop


def iterate(
    S: Covariance,
    step: Callable[[Array], Array],
    starts: Array,
    max_iter: int,
    tol: float,
) -> Loadings:
    """Apply ``W <- step(S @ W)`` until ``|w'w_old| > 1 - tol`` for every column.

    Returns
    -------
    Loadings
        The best iterate of each column (a step may lower the variance), best column
        first; ``objective`` traces the variance of the column that won.
    """
    W = step(S @ starts.astype(S.dtype, copy=False))
    n_columns = W.shape[1]
    best = W.copy(order="F")
    best_value = np.full(n_columns, -np.inf)
    trace = np.full((max_iter + 1, n_columns), np.nan)
    active = np.arange(n_columns)
    n_iter = 0
    for n_iter in range(1, max_iter + 1):
        SW = S @ W
        trace[n_iter - 1, active] = value = np.einsum("ij,ij->j", W, SW)
        better = value > best_value[active]
        best[:, active[better]] = W[:, better]
        best_value[active[better]] = value[better]
        moved = step(SW)
        # 1 - |cos| loses its digits in float32; the squared distance does not.
        overlap = np.abs(np.einsum("ij,ij->j", moved, W, dtype=np.float64))
        going = 1.0 - overlap >= tol
        going &= ~(moved == W).all(axis=0)
        W, active = moved[:, going], active[going]
        if active.size == 0:
            break
    stop = Stop.MAX_ITER if active.size else Stop.CONVERGED
    order = np.argsort(-best_value, kind="stable")
    path = trace[:, order[0]]
    return Loadings(best[:, order], path[~np.isnan(path)], n_iter, stop)
