"""Paths of wide data out of core: all sizes on one working set, priced together.

Every size asks all features in the same pass, so that twenty sizes cost no more passes than one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from loadstone.constraints import LoadingConstraint
from loadstone.covariance import Array, Covariance, SampleGram, Support
from loadstone.covariance.working_set import (
    Looked,
    Prices,
    Wanted,
    fits_working_set,
    search_among,
)
from loadstone.selection.path_sweep import BestKnown
from loadstone.solvers.renormalise import renormalise

#: Passes in which all features are asked; with the first two, six.
N_PRICINGS = 4
#: Sizes that ask, spread evenly: neighbours ask the same.
MOST_ASKING = 64

#: Searches all sizes on a covariance, beginning with what is known.
Searched = Callable[[Covariance, list[LoadingConstraint], BestKnown | None], BestKnown]


def largest_wide_size(S: SampleGram) -> int:
    """The largest size that a working set has room for; all features where all of them fit."""
    if fits_working_set(S, S.n_features):
        return S.n_features
    low, high = 1, S.n_features
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits_working_set(S, middle) else (low, middle - 1)
    return low


def search_wide(
    S: SampleGram, constraints: Sequence[LoadingConstraint], searched: Searched
) -> tuple[BestKnown, Looked]:
    """The best known support of every size, among all features, and how far it was looked.

    Parameters
    ----------
    S : SampleGram
        The data.
    constraints : sequence of LoadingConstraint
        One per size, ascending.
    searched : callable
        The search in memory.
    """
    refuse_large_size(S, constraints[-1].size)
    sizes = np.array([constraint.n_nonzero for constraint in constraints])

    def search(features: Support, before: BestKnown | None) -> BestKnown:
        local = [constraint.on(features) for constraint in constraints]
        start = None if before is None else _moved(before, features, sizes)
        found = searched(S.restrict(features), local, start)
        return _moved(found, None, sizes, at=features, n_features=S.n_features)

    def ask(features: Support, found: BestKnown) -> Prices:
        places = np.unique(np.linspace(0, sizes.size - 1, MOST_ASKING).round().astype(int))
        return _prices(S, features, [constraints[i] for i in places], found, places)

    wanted = Wanted(constraints[-1].size, np.empty(0, dtype=np.intp), constraints[0].forbidden)
    return search_among(S, wanted, search, ask, N_PRICINGS)


def refuse_large_size(S: SampleGram, size: int) -> None:
    """Refuse a size that the working set has no room for."""
    largest = largest_wide_size(S)
    if size <= largest:
        return
    msg = (
        f"a size of {size} needs more columns of {S.n_rows} samples in memory than the wide route "
        f"holds; ask for sizes up to {largest}, or use route='data', which reads the data again "
        "and again"
    )
    raise ValueError(msg)


def _moved(
    known: BestKnown,
    features: Support | None,
    sizes: Array,
    *,
    at: Support | None = None,
    n_features: int = 0,
) -> BestKnown:
    """The same supports among fewer features, or from those ``at`` among all."""
    n = n_features if features is None else features.size
    moved = BestKnown(sizes, n)
    for index, value in enumerate(known.values):
        support = known.support(index)
        if features is not None:
            mask = support[features]
        else:
            mask = np.zeros(n, dtype=bool)
            mask[at] = support
        moved.offer(index, mask, float(value))
    return moved


def _prices(
    S: SampleGram,
    features: Support,
    constraints: Sequence[LoadingConstraint],
    found: BestKnown,
    places: Array,
) -> Prices:
    """The best loadings of every size, and the weakest feature each of them keeps."""
    local = S.restrict(features)
    loadings = []
    for constraint, place in zip(constraints, places, strict=True):
        w = found.support(int(place))[features].astype(S.dtype)
        loadings.append(renormalise(local, w / np.linalg.norm(w), constraint.on(features))[0])
    W = np.column_stack(loadings)
    Y = S.centred_columns(features) @ W
    covariances = np.abs(local @ W)
    weakest = np.where(W != 0, covariances, np.inf).min(axis=0)
    return Prices(
        Y,
        np.maximum(weakest, np.finfo(S.dtype).eps * covariances.max(axis=0)),
        np.count_nonzero(W, axis=0),
        np.array([constraint.nonnegative for constraint in constraints]),
    )
