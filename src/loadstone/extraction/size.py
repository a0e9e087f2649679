"""A size for components when none is given: the smallest that recovers most of what PCA does.

Recovered variance hardly falls as the size grows, so the smallest size that reaches the target
is found on a ladder of sizes: in ever larger steps from the bottom, because few features are
quickly searched and often enough, then by bisection between the last two. A size at which fewer
components exist than at a larger one is none of those: uncorrelated ones, and those that share what
is forced, need as many features as there are equations to keep.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Generic, Protocol, TypeVar

import numpy as np

from loadstone.constraints import Constraint, LoadingConstraint
from loadstone.covariance import Array, Covariance, leading_eigenvalues
from loadstone.extraction.orthogonality import Orthogonality
from loadstone.metrics import recovered_variance
from loadstone.metrics.explained_variance import negligible_share

#: Largest size that is chosen: beyond it a component is no longer read.
LARGEST_SIZE = 50
#: Sizes up to this are all on the ladder; from there on each is about 1.4 times the one before.
EVERY_SIZE = 5
#: Digits of the eigenvalues that shares are of.
TOL = 1e-4
#: What rounding of each feature may take of a share, in units of the precision: a score of which
#: less is left is none (``metrics/recovered_variance.py``).
ROUNDING = 1e3


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
        The smallest size tried that reaches the target with all components that any of them has,
        or the largest with all of these.
    sizes, shares : ndarray
        Sizes tried, ascending, and their shares of PCA's recovered variance.
    reached : bool
        Whether the target was reached.
    complete : bool
        Whether there are as many components as asked for, or nothing is left for another.
    found : object
        The components of the size chosen.
    """

    n_nonzero: int
    sizes: Array
    shares: Array
    reached: bool
    complete: bool
    found: Fit

    def told_below(self, target: float) -> str:
        """The share of the size chosen in percent, in digits enough to see that it is less."""
        share = float(self.shares[self.sizes == self.n_nonzero][0])
        texts = (f"{share:.{digits}%}" for digits in range(16))
        return next((text for text in texts if float(text[:-1]) < 100 * target), f"{share:.16%}")


@lru_cache(maxsize=16)
def size_ladder(n_available: int, smallest: int = 1, n_needed: int = 1) -> Array:
    """1, 2, 3, 4, 5, 7, 10, 14, 20, 28, 40, 50: from the smallest size to the features there are.

    Beyond 50 where components may need as many.
    """
    largest = max(min(n_available, max(LARGEST_SIZE, n_needed)), smallest)
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
    # In as many dimensions as there are components, each can keep its equations with the others.
    n_needed = len(constraints) if n_forced or rule.equations(first) else 1
    return size_ladder(max(1, n_available), max(1, n_forced), n_needed)


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
    eigenvalues = leading_eigenvalues(S, min(n_components, S.n_features), TOL)
    tried = _Tried(S, float(np.maximum(eigenvalues, 0).sum()), n_components, target, find)
    chosen = tried.smallest(ladder, n_components)
    most = max(tried.counts.values())
    if most < n_components:
        # No size has all of them.
        chosen = tried.smallest(ladder, most)
    if tried.counts[chosen] < most:
        chosen = max(size for size, count in tried.counts.items() if count == most)
    sizes = np.array(sorted(tried.shares))
    shares = np.array([tried.shares[size] for size in sizes])
    return SizeChoice(
        n_nonzero=chosen,
        sizes=sizes,
        shares=shares,
        reached=tried.reaches(chosen, most),
        complete=most == n_components,
        found=tried.found[chosen],
    )


@dataclass(frozen=True)
class _Tried(Generic[Fit]):
    """Components by size, their shares of what PCA recovers, and how many there are."""

    S: Covariance
    best: float
    n_components: int
    target: float
    find: Callable[[int], Fit]
    found: dict[int, Fit] = field(default_factory=dict)
    shares: dict[int, float] = field(default_factory=dict)
    counts: dict[int, int] = field(default_factory=dict)

    def smallest(self, ladder: Array, n_wanted: int) -> int:
        """The smallest size that reaches the target with so many components, or the largest there is."""

        def reaches(place: int) -> bool:
            return self.reaches(int(ladder[place]), n_wanted)

        low, high = -1, 0
        while not reaches(high) and high < ladder.size - 1:
            low, high = high, min(2 * high + 1, ladder.size - 1)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if reaches(middle) else (middle, high)
        return int(ladder[high])

    def reaches(self, size: int, n_wanted: int) -> bool:
        """Whether components of a size recover the target, but for rounding, and are so many."""
        if size not in self.found:
            self._try(size)
        rounding = ROUNDING * float(np.finfo(self.S.dtype).eps) * self.S.n_features
        enough = self.shares[size] >= self.target - min(rounding, TOL)
        return enough and self.counts[size] >= n_wanted

    def _try(self, size: int) -> None:
        self.found[size] = self.find(size)
        loadings = self.found[size].loadings
        # At some sizes nothing may be found.
        share = float(recovered_variance(self.S, loadings).max(initial=0)) / self.best
        # Where nothing is left to recover, no size has more components.
        nothing_left = share >= 1 - negligible_share(self.S.dtype)
        self.shares[size] = share
        self.counts[size] = self.n_components if nothing_left else loadings.shape[1]
