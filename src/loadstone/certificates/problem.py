"""Which loading vectors compete: the feasible set a bound speaks about.

Notation: a support T has at most ``n_nonzero`` features, contains every forced
one and lies inside ``features``; the loading vector lives on T, has unit norm
and, when asked, no negative entry. In a slice, x also obeys (g'x)(h'x) <= 0 for
given vectors g and h.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Indices = NDArray[np.intp]
Mask = NDArray[np.bool_]

#: Work, in operations of an eigensolve, that enumerating the faces of one support may take.
FACE_WORK = 3e6
#: Largest support whose covariance is decomposed as it is.
MAX_LEAF = 1500


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
    positive : ndarray of bool, optional
        Aligned with ``features``: forced by a proof rather than by the user, so their
        loadings are not zero (a case without them is treated elsewhere).
    slices : tuple of (ndarray, ndarray)
        Pairs (g, h), an entry per feature of the covariance: only vectors x with
        (g'x)(h'x) <= 0 compete (the others are treated elsewhere).
    """

    features: Indices
    forced: Mask
    n_nonzero: int
    nonnegative: bool = False
    positive: Mask | None = None
    slices: tuple[tuple[Array, Array], ...] = ()

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
        if n_nonzero < 1 or must.sum() > n_nonzero:
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

    @property
    def is_leaf(self) -> bool:
        """Whether a single support is left that can be solved by enumerating faces."""
        support = self.forced if self.n_free == 0 else np.ones_like(self.forced)
        if not self.is_decided or support.sum() > MAX_LEAF:
            return False
        if not self.nonnegative:
            return True
        undecided = int((support & ~self.nonzero).sum())
        return undecided == 0 or 2.0 ** (undecided + 1) * float(support.sum()) ** 3 <= FACE_WORK

    @property
    def nonzero(self) -> Mask:
        """Features whose loadings are not zero in this case."""
        return np.zeros_like(self.forced) if self.positive is None else self.positive

    def keep(self, kept: Mask) -> SupportProblem:
        """The problem without the features outside ``kept``."""
        return replace(
            self,
            features=self.features[kept],
            forced=self.forced[kept],
            n_nonzero=min(self.n_nonzero, int(kept.sum())),
            positive=self.nonzero[kept],
        )

    def force(self, forced: Mask) -> SupportProblem:
        """The case in which the loadings of ``forced`` are not zero."""
        return replace(self, forced=self.forced | forced, positive=self.nonzero | forced)

    def slice(self, g: Array, h: Array) -> SupportProblem:
        """The case of vectors x with (g'x)(h'x) <= 0."""
        return replace(self, slices=(*self.slices, (g, h)))

    def free_room(self) -> Indices:
        """Per feature, how many free features may join a support that contains it."""
        return np.asarray(self.n_free - ~self.forced, dtype=np.intp)


def sum_of_best(terms: Array, problem: SupportProblem) -> float:
    """Largest sum of non-negative ``terms`` over an admissible support."""
    free = terms[~problem.forced]
    count = min(problem.n_free, free.size)
    best = np.partition(free, free.size - count)[free.size - count :] if count else free[:0]
    return float(terms[problem.forced].sum() + best.sum())
