"""Who competes together: the constraints of all components, and how they relate.

==================  ==========================  =====================================
quantity            what it is                  relations with a statement about it
==================  ==========================  =====================================
adjusted variance   squared diagonal of R, in   all: nothing is counted twice
                    the QR of the scores
sum of variances    ``sum w_t'Sw_t``            disjoint, strict, uncorrelated; copies
                                                of one component reach r times its
                                                variance where they are allowed
recovered variance  what the next component     all, one component at a time
                    adds to a regression
==================  ==========================  =====================================
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce

import numpy as np

from loadstone.certificates.problem import Array, Indices, SupportProblem

ADJUSTED = "adjusted variance"
SUM = "sum of variances"
RECOVERED = "recovered variance"
RELATIONS = ("none", "quasi", "disjoint", "strict", "uncorrelated")


@dataclass(frozen=True, eq=False)
class JointProblem:
    """What every component may look like, and their relation.

    Attributes
    ----------
    problems : tuple of SupportProblem
        One per component, in the indices of the covariance.
    relation : str
        One of ``RELATIONS``.
    """

    problems: tuple[SupportProblem, ...]
    relation: str

    @property
    def count(self) -> int:
        """r, the number of components."""
        return len(self.problems)

    @property
    def features(self) -> Indices:
        """The features that any component may use, ascending."""
        return np.asarray(reduce(np.union1d, [p.features for p in self.problems]), dtype=np.intp)

    @property
    def sizes(self) -> tuple[int, ...]:
        """k_1, ..., k_r."""
        return tuple(problem.n_nonzero for problem in self.problems)

    @property
    def largest(self) -> SupportProblem:
        """The component with the most features."""
        return max(self.problems, key=lambda problem: problem.n_nonzero)

    @property
    def is_uniform(self) -> bool:
        """Whether the components differ in their sizes at most."""
        first = self.problems[0]
        return all(
            np.array_equal(problem.features, first.features)
            and np.array_equal(problem.forced, first.forced)
            and problem.nonnegative == first.nonnegative
            for problem in self.problems
        )

    def distinct(self) -> tuple[list[SupportProblem], list[int]]:
        """Problems that differ, and which of them each component has."""
        kinds: list[SupportProblem] = []
        which = []
        for problem in self.problems:
            known = [j for j, kind in enumerate(kinds) if _same(kind, problem)]
            which.append(known[0] if known else len(kinds))
            if not known:
                kinds.append(problem)
        return kinds, which


def _same(one: SupportProblem, other: SupportProblem) -> bool:
    return (
        one.n_nonzero == other.n_nonzero
        and one.nonnegative == other.nonnegative
        and np.array_equal(one.features, other.features)
        and np.array_equal(one.forced, other.forced)
    )


def local(problem: SupportProblem, features: Indices) -> SupportProblem:
    """The problem in the positions of its features among ``features``."""
    return SupportProblem(
        np.searchsorted(features, problem.features),
        problem.forced,
        problem.n_nonzero,
        problem.nonnegative,
    )


def broken_relation(scores: Array, loadings: Array, relation: str, tolerance: float) -> str | None:
    """How components fail to relate as they should; ``None`` where they do.

    Parameters
    ----------
    scores : ndarray of shape (r, r)
        ``W'SW``.
    loadings : ndarray of shape (n_features, r)
        W, unit norm.
    relation : str
        One of ``RELATIONS``.
    tolerance : float
        Largest cosine, or correlation, that counts as zero.
    """
    if relation == "disjoint" and ((loadings != 0).sum(axis=1) > 1).any():
        shared = np.flatnonzero((loadings != 0).sum(axis=1) > 1)
        return f"feature(s) {shared[:5].tolist()} belong to several components"
    if relation == "strict":
        return _too_close(loadings.T @ loadings, relation, tolerance)
    if relation == "uncorrelated":
        return _too_close(scores, relation, tolerance)
    return None


def _too_close(products: Array, relation: str, tolerance: float) -> str | None:
    spread = np.sqrt(np.maximum(products.diagonal(), np.finfo(np.float64).tiny))
    cosines = np.abs(products / np.outer(spread, spread))
    np.fill_diagonal(cosines, 0.0)
    largest = float(cosines.max(initial=0.0))
    return None if largest <= tolerance else f"they miss {relation!r} by {largest:.3g}"
