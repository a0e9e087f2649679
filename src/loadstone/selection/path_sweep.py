"""Sweeps over sizes: each size starts where its neighbour ended.

One sweep down from the principal component and one up from the best single feature; at
every size the better of what the sweep carries and what is already known goes on, so a
good component found at one size spreads to its neighbours in both directions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from loadstone.constraints import LoadingConstraint
from loadstone.covariance import Array
from loadstone.solvers.renormalise import nonnegative_leading
from loadstone.solvers.support_spectrum import SupportSpectrum

#: Rounds of {eigenpair on the support} and {best support for it} at one size.
MAX_ROUNDS = 20
#: Gain below which a round has gained nothing.
GAIN = 1e-10


class Component(NamedTuple):
    """A support (as a mask), the variance of its best loadings ``w``, and ``S w``.

    ``S w`` is known up to a positive factor; on the support it points along ``w``.
    """

    support: Array
    value: float
    image: Array


class BestKnown:
    """The best support of every size so far, as packed bits, and its variance."""

    def __init__(self, sizes: Array, n_features: int) -> None:
        self.sizes = [int(size) for size in sizes]
        self.values = np.full(len(self.sizes), -np.inf)
        self.packed = np.zeros((len(self.sizes), (n_features + 7) // 8), dtype=np.uint8)
        self.n_features = n_features

    def offer(self, index: int, support: Array, value: float) -> bool:
        """Keep ``support`` where it beats what is known; whether it did."""
        if not value > self.values[index]:
            return False
        self.values[index] = value
        self.packed[index] = np.packbits(support)
        return True

    def support(self, index: int) -> Array:
        """The mask kept for a size."""
        return np.unpackbits(self.packed[index], count=self.n_features).view(bool)


def sweep(
    spectrum: SupportSpectrum,
    constraints: Sequence[LoadingConstraint],
    known: BestKnown,
    news: Array,
    *,
    upwards: bool,
) -> Array:
    """Visit the sizes in one direction, carrying what is best from each to the next.

    Parameters
    ----------
    spectrum : SupportSpectrum
        Of the covariance.
    constraints : sequence of LoadingConstraint
        One per size, ascending.
    known : BestKnown
        Improved in place.
    news : ndarray of bool
        Sizes whose component is worth carrying on; elsewhere the sweep rests until it
        meets the next one.
    upwards : bool
        Whether sizes are visited in ascending order.

    Returns
    -------
    improved : ndarray of bool
        Sizes that gained.
    """
    order = range(len(constraints)) if upwards else range(len(constraints) - 1, -1, -1)
    improved = np.zeros(len(constraints), dtype=bool)
    carried: Component | None = None
    for index in order:
        constraint, before = constraints[index], known.values[index]
        if carried is not None:
            found = settle(
                spectrum, best_mask(carried.image, constraint), constraint, carried.image
            )
            # A smaller component is allowed at a larger size.
            carried = carried if upwards and carried.value > found.value else found
            improved[index] = carried.value > before * (1 + GAIN) or not np.isfinite(before)
            known.offer(index, carried.support, carried.value)
        if carried is None or carried.value < before * (1 - GAIN):
            carried = None
            if news[index] and np.isfinite(before):
                support = known.support(index)
                carried = _optimum(spectrum, support, constraint, support)
        elif not improved[index] and not news[index]:
            carried = None
    return improved


def best_mask(image: Array, constraint: LoadingConstraint) -> Array:
    """The support of the best allowed loadings for a direction ``S w``, as a mask.

    Entries that no allowed loading can use stay out, so under non-negativity the mask
    may be smaller than the size.
    """
    worth = constraint.candidates(image)
    mask = np.zeros(image.size, dtype=bool)
    if constraint.size >= image.size:
        mask[:] = True
    else:
        mask[np.argpartition(worth, image.size - constraint.size)[-constraint.size :]] = True
    if constraint.nonnegative or constraint.forbidden.size:
        mask &= worth > 0
        if not mask.any():
            mask[int(np.argmax(worth))] = True
    return mask


def settle(
    spectrum: SupportSpectrum, support: Array, constraint: LoadingConstraint, direction: Array
) -> Component:
    """Alternate best loadings and best support while the variance grows.

    ``direction`` is where the loadings come from: under non-negativity a support has
    several local optima, and its own is climbed to from there.
    """
    best: Component | None = None
    for _ in range(MAX_ROUNDS):
        found = _optimum(spectrum, support, constraint, direction)
        if best is not None and found.value <= best.value * (1 + GAIN):
            break
        best, direction = found, found.image
        support = best_mask(best.image, constraint)
        if np.array_equal(support, best.support):
            break
    assert best is not None
    return best


def _optimum(
    spectrum: SupportSpectrum, support: Array, constraint: LoadingConstraint, direction: Array
) -> Component:
    """The best loadings on a support; under non-negativity on the part that stays positive."""
    value, image = spectrum.leading(support)
    if not constraint.nonnegative:
        return Component(support, value, image)
    inside = np.flatnonzero(support)
    if image[inside].sum() < 0:
        image = -image
    # A leading eigenvector without negative entries is optimal on its support.
    if image[inside].min() >= 0:
        return Component(support, value, image)
    S = spectrum.S
    local, value = nonnegative_leading(
        S.restrict(inside), np.maximum(direction[inside], 0).astype(S.dtype)
    )
    w = np.zeros(S.n_features, dtype=S.dtype)
    w[inside] = local
    return Component(w > 0, value, S @ w)
