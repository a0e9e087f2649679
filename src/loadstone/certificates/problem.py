"""Which loading vectors compete: the feasible set a bound speaks about.

Notation: a support T has at most ``n_nonzero`` features, contains every forced
one and lies inside ``features``; the loading vector lives on T, has unit norm
and, when asked, no negative entry.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Indices = NDArray[np.intp]
Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class SupportProblem:
    """The features still in play, those that must be used, and how many may be.

    Attributes
    ----------
    features : ndarray of int
        Allowed features, ascending, as indices of the covariance.
    forced : ndarray of bool
        Aligned with ``features``: must belong to the support.
    n_nonzero : int
        Largest allowed support, forced features included.
    nonnegative : bool
        Whether loadings may not be negative.
    """

    features: Indices
    forced: Mask
    n_nonzero: int
    nonnegative: bool = False

    @classmethod
    def of(
        cls,
        n_features: int,
        n_nonzero: int,
        *,
        nonnegative: bool = False,
        forced: Any = (),
        forbidden: Any = (),
    ) -> SupportProblem:
        """State the problem on all features, with forced and forbidden ones by index."""
        must = np.zeros(n_features, dtype=bool)
        must[np.asarray(forced, dtype=np.intp)] = True
        may = np.ones(n_features, dtype=bool)
        may[np.asarray(forbidden, dtype=np.intp)] = False
        if (must & ~may).any():
            clash = np.flatnonzero(must & ~may).tolist()
            msg = f"features {clash} are both forced and forbidden; remove them from one of the two"
            raise ValueError(msg)
        if not 1 <= n_nonzero or must.sum() > n_nonzero:
            msg = (
                f"n_nonzero={n_nonzero} leaves no room for {must.sum()} forced features; "
                "n_nonzero must be at least 1 and at least the number of forced features"
            )
            raise ValueError(msg)
        if not may.any():
            msg = "every feature is forbidden; allow at least one"
            raise ValueError(msg)
        features = np.flatnonzero(may)
        return cls(features, must[features], min(n_nonzero, features.size), nonnegative)

    @property
    def n_free(self) -> int:
        """How many features may join the forced ones."""
        return self.n_nonzero - int(self.forced.sum())

    @property
    def is_decided(self) -> bool:
        """Whether only one largest support is left."""
        return self.features.size <= self.n_nonzero or self.n_free == 0

    def keep(self, kept: Mask) -> SupportProblem:
        """The problem without the features outside ``kept``."""
        size = int(kept.sum())
        return SupportProblem(
            self.features[kept], self.forced[kept], min(self.n_nonzero, size), self.nonnegative
        )

    def force(self, forced: Mask) -> SupportProblem:
        """The problem with more forced features."""
        return SupportProblem(
            self.features, self.forced | forced, self.n_nonzero, self.nonnegative
        )

    def free_room(self) -> Indices:
        """Per feature, how many free features may join a support that contains it."""
        return np.asarray(self.n_free - ~self.forced, dtype=np.intp)


def sum_of_best(terms: Array, problem: SupportProblem) -> float:
    """Largest sum of non-negative ``terms`` over an admissible support."""
    free = terms[~problem.forced]
    count = min(problem.n_free, free.size)
    best = np.partition(free, free.size - count)[free.size - count :] if count else free[:0]
    return float(terms[problem.forced].sum() + best.sum())
