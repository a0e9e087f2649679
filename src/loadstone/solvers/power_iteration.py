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
    *,
    keep_best: bool = False,
) -> Loadings:
    """Apply ``W <- step(S @ W)`` until ``|w'w_old| > 1 - tol`` for every column.

    With ``keep_best`` the best iterate of each column competes with its last one.

    Returns
    -------
    Loadings
        Columns in the order of their variance. A column that settled is returned where
        it settled; one that ran out of iterations gives its best iterate, because a step
        may lower the variance. ``objective`` traces the column that won.
    """
    W = step(S @ starts.astype(S.dtype, copy=False))
    n_columns = W.shape[1]
    result, best_value = W.copy(order="F"), np.full(n_columns, -np.inf)
    best = result.copy(order="F")
    value = np.full(n_columns, -np.inf)
    # As long as the search takes: whoever wants no limit asks for a billion iterations.
    trace: list[Array] = []
    active = np.arange(n_columns)
    for _ in range(max_iter):
        SW = S @ W
        value[active] = reached = np.einsum("ij,ij->j", W, SW)
        trace.append(np.full(n_columns, np.nan))
        trace[-1][active] = reached
        moved = step(SW)
        overlap = np.abs(np.einsum("ij,ij->j", moved, W, dtype=np.float64))
        settled = (1.0 - overlap < tol) | (moved == W).all(axis=0)
        better = reached > best_value[active]
        best[:, active[better]] = W[:, better]
        result[:, active[settled]] = moved[:, settled]
        best_value[active] = np.maximum(best_value[active], reached)
        W, active = moved[:, ~settled], active[~settled]
        if active.size == 0:
            break
    value[active], result[:, active] = best_value[active], best[:, active]
    stop = Stop.MAX_ITER if active.size else Stop.CONVERGED
    if keep_best:
        result, value = np.hstack([result, best]), np.concatenate([value, best_value])
    order = np.argsort(-value, kind="stable")
    path = np.array([values[order[0] % n_columns] for values in trace])
    return Loadings(result[:, order], path[~np.isnan(path)], len(trace), stop)
