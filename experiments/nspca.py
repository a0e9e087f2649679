"""NSPCA at a wanted size, as others ran it: the sparsity penalty is searched by bisection."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from experiments.data import Matrix
from loadstone import NSPCA

#: Bisection ends where the interval of penalties is this small, relatively.
INTERVAL = 1e-5


def fit(S: Matrix, sparsity: float, **options: Any) -> NSPCA | None:
    """NSPCA of a covariance; ``None`` where the penalty leaves nothing."""
    model = NSPCA(sparsity_penalty=sparsity, **options)
    with warnings.catch_warnings():
        # Some penalties leave fewer components, some stop at the limit: both count as they are.
        warnings.simplefilter("ignore")
        try:
            return model.fit_covariance(S)
        except ValueError as error:
            if "empty" not in str(error):
                raise
            return None


def n_used(model: NSPCA | None) -> int:
    """Non-zero loadings of all components."""
    return 0 if model is None else int(np.count_nonzero(model.components_))


def of_size(
    S: Matrix, size: int, *, largest: float = 8.0, interval: float = INTERVAL, **options: Any
) -> tuple[NSPCA | None, int]:
    """The model whose components have ``size`` non-zeros in all, or come closest; and the fits."""
    low, high = 0.0, largest
    best = fit(S, 0.0, **options)
    n_fits = 1
    while (high - low) > interval * high and n_used(best) != size:
        middle = (low + high) / 2
        found = fit(S, middle, **options)
        n_fits += 1
        best = _closer(best, found, size)
        low, high = (middle, high) if n_used(found) > size else (low, middle)
    return best, n_fits


def near_size(S: Matrix, size: int, sparsities: Any, **options: Any) -> NSPCA | None:
    """The model of some penalties that comes closest to ``size`` non-zeros in all.

    The size is no monotone function of the penalty, so that bisection may pass it by.
    """
    best: NSPCA | None = None
    for sparsity in sparsities:
        if n_used(best) != size:
            best = _closer(best, fit(S, float(sparsity), **options), size)
    return best


def _closer(best: NSPCA | None, found: NSPCA | None, size: int) -> NSPCA | None:
    return found if abs(n_used(found) - size) < abs(n_used(best) - size) else best


def path(S: Matrix, sparsities: Any, **options: Any) -> dict[int, float]:
    """Largest variance of one component at every size that a penalty leads to."""
    found: dict[int, float] = {}
    for sparsity in sparsities:
        model = fit(S, float(sparsity), **options)
        if model is None:
            break
        size, variance = n_used(model), float(model.marginal_variance_[0])
        found[size] = max(variance, found.get(size, 0.0))
    return dict(sorted(found.items()))
