"""A size for components when none is given: the smallest that recovers most of what PCA does.

Recovered variance hardly falls as the size grows, so the smallest size that reaches the target
is found on a ladder of sizes: in ever larger steps from the bottom, because few features are
quickly searched and often enough, then by bisection between the last two.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Generic, Protocol, TypeVar

import numpy as np

from loadstone.constraints import Constraint, LoadingConstraint
from loadstone.covariance import Array, Covariance, leading_eigenvalues
from loadstone.extraction.orthogonality import Orthogonality
from loadstone.metrics import recovered_variance

#: Largest size that is chosen: beyond it a component is no longer read.
LARGEST_SIZE = 50
#: Sizes up to this are all on the ladder; from there on each is about 1.4 times the one before.
EVERY_SIZE = 5


class Sized(Protocol):
    """Components of one size."""

    @property
    def loadings(self) -> Array:
        """One column per component."""
        ...


Fit = TypeVar("Fit", bound=Sized)


@dataclass(frozen=True)
class SizeChoice(Generic[Fit]):
    """The size, and what the sizes tried on the way recover of what PCA recovers.

    Attributes
    ----------
    n_nonzero : int
        The smallest size tried that reaches the target, or the largest there is.
    sizes, shares : ndarray
        Sizes tried, ascending, and their shares of PCA's recovered variance.
    reached : bool
        Whether the target was reached.
    found : object
        The components of the size chosen.
    """

    n_nonzero: int
    sizes: Array
    shares: Array
    reached: bool
    found: Fit


@lru_cache(maxsize=16)
def size_ladder(n_available: int, smallest: int = 1) -> Array:
    """1, 2, 3, 4, 5, 7, 10, 14, 20, 28, 40, 50: from the smallest size to the features there are."""
    largest = max(min(n_available, LARGEST_SIZE), smallest)
    steps = EVERY_SIZE * np.sqrt(2.0) ** np.arange(1, 12)
    sizes = np.concatenate([np.arange(1, EVERY_SIZE + 1), np.round(steps).astype(int), [largest]])
    sizes = np.append(sizes, smallest)
    ladder = np.unique(sizes[(sizes >= smallest) & (sizes <= largest)])
    ladder.setflags(write=False)
    return ladder


def ladder_for(constraints: Sequence[Constraint], rule: Orthogonality) -> Array:
    """Sizes to choose from: room for what is forced, features enough for every component."""
    first = constraints[0]
    n_available = first.n_features - first.forbidden.size
    if rule.means_disjoint(first):
        # Components that take more than their part leave nothing for the last ones.
        n_available //= len(constraints)
    n_forced = first.forced.size if isinstance(first, LoadingConstraint) else 0
    return size_ladder(max(1, n_available), max(1, n_forced))


def choose_size(
    S: Covariance, n_components: int, ladder: Array, target: float, find: Callable[[int], Fit]
) -> SizeChoice[Fit]:
    """The smallest size whose components recover ``target`` of what PCA recovers.

    Parameters
    ----------
    S : Covariance
        The data.
    n_components : int
        How many components.
    ladder : ndarray of int
        Sizes to choose from, ascending.
    target : float
        Share of PCA's recovered variance.
    find : callable
        Components of a size.
    """
    eigenvalues = leading_eigenvalues(S, min(n_components, S.n_features), 1e-4)
    best = float(np.maximum(eigenvalues, 0).sum())
    shares: dict[int, float] = {}
    found: dict[int, Fit] = {}

    def reaches(place: int) -> bool:
        size = int(ladder[place])
        if size not in shares:
            found[size] = find(size)
            # At some sizes nothing may be found.
            shares[size] = float(recovered_variance(S, found[size].loadings).max(initial=0)) / best
        return shares[size] >= target

    low, high = -1, 0
    while not reaches(high) and high < ladder.size - 1:
        low, high = high, min(2 * high + 1, ladder.size - 1)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if reaches(middle) else (middle, high)
    chosen = int(ladder[high])
    sizes = np.array(sorted(shares))
    tried = np.array([shares[size] for size in sizes])
    return SizeChoice(chosen, sizes, tried, reaches(high), found[chosen])
