"""A size for components when none is given: the smallest that recovers most of what PCA does.

Recovered variance hardly falls as the size grows, so the smallest size that reaches the target
is found by bisection on a ladder of sizes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from loadstone.constraints import Constraint, LoadingConstraint
from loadstone.covariance import Array, Covariance, leading_eigenvalues
from loadstone.extraction.orthogonality import Orthogonality
from loadstone.metrics import recovered_variance

#: Largest size that is chosen: beyond it a component is no longer read.
LARGEST_SIZE = 50
#: Sizes up to this are all on the ladder; from there on each is about 1.4 times the one before.
EVERY_SIZE = 5


@dataclass(frozen=True)
class SizeChoice:
    """The size, and what the sizes tried on the way recover of what PCA recovers.

    Attributes
    ----------
    n_nonzero : int
        The smallest size tried that reaches the target, or the largest there is.
    sizes, shares : ndarray
        Sizes tried, ascending, and their shares of PCA's recovered variance.
    reached : bool
        Whether the target was reached.
    """

    n_nonzero: int
    sizes: Array
    shares: Array
    reached: bool


def size_ladder(n_available: int, smallest: int = 1) -> Array:
    """1, 2, 3, 4, 5, 7, 10, 14, 20, 28, 40, 50: from the smallest size to the features there are."""
    largest = max(min(n_available, LARGEST_SIZE), smallest)
    steps = EVERY_SIZE * np.sqrt(2.0) ** np.arange(1, 12)
    sizes = np.concatenate([np.arange(1, EVERY_SIZE + 1), np.round(steps).astype(int), [largest]])
    sizes = np.append(sizes, smallest)
    return np.unique(sizes[(sizes >= smallest) & (sizes <= largest)])


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
    S: Covariance, n_components: int, ladder: Array, target: float, find: Callable[[int], Array]
) -> SizeChoice:
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
        Loadings of the components of a size.
    """
    eigenvalues = leading_eigenvalues(S, min(n_components, S.n_features), 1e-4)
    best = float(np.maximum(eigenvalues, 0).sum())
    shares: dict[int, float] = {}
    low, high = 0, ladder.size - 1
    while low < high:
        middle = (low + high) // 2
        size = int(ladder[middle])
        shares[size] = float(recovered_variance(S, find(size))[-1]) / best
        low, high = (low, middle) if shares[size] >= target else (middle + 1, high)
    chosen = int(ladder[high])
    if chosen not in shares:
        shares[chosen] = float(recovered_variance(S, find(chosen))[-1]) / best
    sizes = np.array(sorted(shares))
    return SizeChoice(
        chosen, sizes, np.array([shares[size] for size in sizes]), shares[chosen] >= target
    )
