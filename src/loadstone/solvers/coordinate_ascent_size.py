"""A sparsity penalty for a total size: bisection over beta of non-negative sparse PCA.

How many entries of ``U`` are not zero falls with beta, though not at every step: each penalty
leads to a local optimum of its own, and some sizes have no penalty. So the size asked for is a
limit, and the penalty that comes closest to it from below is kept.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace

import numpy as np

from loadstone.covariance import Array, Covariance
from loadstone.loadings import Loadings
from loadstone.solvers.coordinate_ascent import (
    CoordinateAscent,
    largest_price,
    largest_sparsity_penalty,
)

#: Smallest penalty that is tried, as a share of the one that leaves nothing.
_SMALLEST = 1e-7
#: Penalties that are tried; the last two differ by a factor of 1.0005.
_HALVINGS = 15


def of_total_size(
    solver: CoordinateAscent,
    S: Covariance,
    n_components: int,
    n_nonzero_total: int,
    rng: np.random.Generator,
    init: str | Array = "pca",
) -> Loadings:
    """The result with the most components, then the most non-zeros, of at most that many.

    Each penalty starts afresh from the same starts, so that a fit with the penalty found,
    ``details["sparsity_penalty"]``, gives the same components.
    """
    best: tuple[tuple[int, int], Loadings] | None = None
    penalty, low, high = 0.0, _SMALLEST * _largest(solver, S), _largest(solver, S)
    for _ in range(_HALVINGS + 1):
        found = replace(solver, sparsity_penalty=penalty)(S, n_components, deepcopy(rng), init)
        size = (found.matrix.shape[1], int(np.count_nonzero(found.matrix)))
        if 0 < size[1] <= n_nonzero_total and (best is None or size > best[0]):
            best = size, found
        if size[1] == n_nonzero_total or (penalty == 0.0 and size[1] < n_nonzero_total):
            break
        if penalty > 0.0:
            low, high = (penalty, high) if size[1] > n_nonzero_total else (low, penalty)
        penalty = float(np.sqrt(low * high))
    if best is None:
        msg = (
            f"n_nonzero_total={n_nonzero_total}: no sparsity penalty leaves {n_components} "
            "components with so few non-zeros; ask for more, or for fewer components"
        )
        raise ValueError(msg)
    return best[1]


def _largest(solver: CoordinateAscent, S: Covariance) -> float:
    """The penalty that leaves nothing: not even a feature with all the variance."""
    if solver.sparsity_norm == "l0":
        return largest_price(1.0, solver.overlap_penalty) * S.n_features
    return float(largest_sparsity_penalty(1.0, solver.overlap_penalty) * np.sqrt(S.n_features))
