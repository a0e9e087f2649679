"""How components relate to one another: the choice, its search, and its measurement.

==============  ==========================================================================
``none``        deflation alone; loadings may overlap and correlate
``disjoint``    no feature serves two components
``quasi``       any two components are at least ``min_angle`` degrees apart
``strict``      loadings are orthogonal; where signs are given, by being disjoint
``uncorrelated``  scores are uncorrelated
==============  ==========================================================================
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from loadstone.constraints import Constraint, LoadingConstraint
from loadstone.covariance import Array, Covariance, DeflatedCovariance, leading_eigenpairs
from loadstone.extraction.linear_constraints import Candidate, climb
from loadstone.extraction.penalised_em import best_penalised, least_penalised
from loadstone.extraction.quasi_orthogonal import climb_within_angle
from loadstone.extraction.schur import without_components
from loadstone.extraction.support_table import SupportTable
from loadstone.loadings import NOTHING_LEFT
from loadstone.metrics import score_correlation
from loadstone.solvers.renormalise import variance_of

__all__ = [
    "ORTHOGONALITIES",
    "Orthogonality",
    "Search",
    "orthogonality_violation",
]

ORTHOGONALITIES = ("none", "disjoint", "quasi", "strict", "uncorrelated")
#: Largest inner product of unit-norm loadings that still counts as orthogonal.
STRICT_TOL = 1e-8
#: Largest correlation of scores that still counts as uncorrelated.
UNCORRELATED_TOL = 1e-6
# Variances below this many roundings of the largest one are zero.
_NO_VARIANCE = 1e3
# Length beyond the others below which a component is a combination of them.
_SPANNED = 1e-6
# Starting directions for the constrained searches.
_N_EIGENVECTORS = 8
# Penalties on the angle, relative to the largest variance: the first one tried, the last one,
# and how often the interval that holds the smallest sufficient one is halved.
_FIRST_PENALTY = 0.01
_LAST_PENALTY = 1e6
_N_HALVED = 4
# Shares of the used features, lightest first, that a quasi-orthogonal search may use again.
_FREED = (0.25, 0.5, 0.75)

#: Finds the best component of a covariance under a constraint, others left aside.
Search = Callable[[Covariance, Constraint], "Candidate | None"]


def orthogonality_violation(loadings: Array) -> Array:
    """``|w_i'w_j|`` for every pair of unit-norm components, with a zero diagonal."""
    W = np.asarray(loadings, dtype=np.float64)
    violation = np.abs(W.T @ W)
    np.fill_diagonal(violation, 0.0)
    return violation


@dataclass(frozen=True)
class Orthogonality:
    """One of :data:`ORTHOGONALITIES`, with the angle that ``"quasi"`` keeps.

    With ``alpha`` it is kept as published: by a penalty (Eq. 20) of that weight over the largest
    variance, whatever angle comes of it, or, if it is ``"search"``, of the smallest weight that
    suffices.
    """

    kind: str = "none"
    min_angle: float = 85.0
    alpha: float | str | None = None

    def refuses(self, constraint: Constraint) -> str | None:
        """Why this choice makes no sense for ``constraint``; ``None`` where it does."""
        if self.kind == "uncorrelated" and constraint.signs is not None:
            return (
                "orthogonality='uncorrelated' needs loadings of both signs: features that "
                "correlate positively cannot be added up to uncorrelated scores; use "
                "nonnegative=False or free signs, or orthogonality='disjoint' or 'quasi'"
            )
        if self.equations(constraint) and not constraint.refits:
            return (
                f"orthogonality={self.kind!r} re-optimises loadings on their support, which could "
                f"break the rule of {constraint.describe()}; use orthogonality='disjoint' or 'quasi'"
            )
        return self._refuses_penalty(constraint)

    def _refuses_penalty(self, constraint: Constraint) -> str | None:
        """Why Eq. 20 cannot be kept to; ``None`` where it can, or where nobody asks for it."""
        if self.alpha is None:
            return None
        if self.kind != "quasi":
            return (
                f"alpha={self.alpha!r} is the penalty of orthogonality='quasi'; use that, or None"
            )
        if not isinstance(constraint, LoadingConstraint) or constraint.forced.size:
            return (
                f"alpha={self.alpha!r} shrinks loadings to a given size, which "
                f"{constraint.describe()} does not allow; use alpha=None"
            )
        return None

    def means_disjoint(self, constraint: Constraint) -> bool:
        """Whether the relation is kept by using no feature twice.

        Two vectors of the same given signs are orthogonal only then.
        """
        return self.kind == "disjoint" or (self.kind == "strict" and constraint.signs is not None)

    @property
    def largest_cosine(self) -> float:
        """What ``min_angle`` allows; a penalty of given weight promises nothing."""
        if isinstance(self.alpha, float | int):
            return 1.0
        return float(np.cos(np.deg2rad(self.min_angle)))

    def broken_promise(self, S: Covariance, loadings: Array) -> float:
        """By how much the components miss what was asked; 0 where they keep it."""
        violation = orthogonality_violation(loadings)
        rounding = 16.0 * float(np.finfo(loadings.dtype).eps)
        if self.kind == "disjoint":
            return float(((loadings != 0).sum(axis=1) > 1).any())
        if self.kind == "quasi":
            return max(0.0, float(violation.max(initial=0.0)) - self.largest_cosine - rounding)
        if self.kind == "strict":
            return max(0.0, float(violation.max(initial=0.0)) - max(STRICT_TOL, rounding))
        if self.kind == "uncorrelated":
            R = np.abs(score_correlation(S, loadings))
            np.fill_diagonal(R, 0.0)
            return max(0.0, float(R.max(initial=0.0)) - max(UNCORRELATED_TOL, rounding))
        return 0.0

    def allows_beside(self, S: Covariance, others: Array, w: Array) -> bool:
        """Whether ``w`` relates as asked to components that relate so to one another."""
        if self.kind == "none":
            return True
        if self.kind == "disjoint":
            return not others[w != 0].any()
        if self.kind == "quasi":
            rounding = 16.0 * float(np.finfo(w.dtype).eps)
            cosines = np.abs(others.T.astype(np.float64, copy=False) @ w)
            return bool(cosines.max(initial=0.0) <= self.largest_cosine + rounding)
        return self.broken_promise(S, np.column_stack([others, w])) == 0.0

    def exhausted(self, loadings: Array) -> str:
        """Why no component follows ``loadings``, as a sentence."""
        if self.kind == "none" or loadings.shape[1] == 0:
            return NOTHING_LEFT
        if self.kind == "disjoint" and loadings.any(axis=1).all():
            return "every feature is used by a component already"
        return (
            f"no other component with any variance keeps orthogonality={self.kind!r}; ask for "
            "fewer components, or for components of another size (n_nonzero)"
        )

    def find(
        self,
        S: Covariance,
        remaining: Covariance,
        others: Array,
        constraint: Constraint,
        search: Search,
    ) -> Candidate | None:
        """The best component that relates to ``others`` as asked; ``None`` where there is none.

        Parameters
        ----------
        S : Covariance
            The data.
        remaining : Covariance
            ``S`` without what ``others`` explain, by any rule of deflation.
        others : ndarray of shape (n_features, m)
            Components to relate to.
        constraint : Constraint
            What the loadings may look like.
        search : callable
            The unrelated search.
        """
        if others.shape[1] == 0 or self.kind == "none":
            return search(remaining, constraint)
        if self.kind == "quasi" and self.alpha is not None:
            assert isinstance(constraint, LoadingConstraint)
            found = self._penalised(S, remaining, others, constraint, search)
        elif self.kind == "quasi":
            found = _quasi(remaining, others, self.largest_cosine, constraint, search)
        elif self.means_disjoint(constraint):
            found = _disjoint(remaining, others, constraint, search)
        else:
            C = self.equation_columns(S, others)
            # Off the others every rule of deflation leaves loadings the variance it counts.
            left = remaining if self.kind == "strict" else S
            table = SupportTable.of(left, constraint)
            if table is not None:
                found = table.best(C)
            else:
                found = _constrained(left, C, self._relaxed(left, others), constraint, search)
        negligible = _NO_VARIANCE * np.finfo(S.dtype).eps * float(S.diagonal().max())
        return found if found is not None and found.value > negligible else None

    def _penalised(
        self,
        S: Covariance,
        remaining: Covariance,
        others: Array,
        constraint: LoadingConstraint,
        search: Search,
    ) -> Candidate | None:
        """Eq. 20, from what is best of the rest, of unused features, and of leading eigenvectors."""
        apart = _disjoint(remaining, others, constraint, search)
        vectors = leading_eigenpairs(remaining, min(_N_EIGENVECTORS, S.n_features), 1e-3)[1]
        both = np.hstack([vectors, -vectors]) if constraint.signs is not None else vectors
        starts = [found.w for found in (search(remaining, constraint), apart) if found is not None]
        starts += [w for w in constraint.best_loading(both).T if w.any()]
        scale = float(leading_eigenpairs(S, 1, 1e-6)[0][0])
        if isinstance(self.alpha, str):
            found = least_penalised(S, others, self.largest_cosine, scale, constraint, starts)
        else:
            assert self.alpha is not None
            found = best_penalised(S, others, self.alpha * scale, constraint, starts)
        # A weak penalty, or a small angle, lets a component be found again.
        return apart if found is None or _is_spanned(found.w, others) else found

    def _relaxed(self, S: Covariance, others: Array) -> Covariance:
        """A covariance that agrees with ``S`` on what keeps the equations and is less elsewhere.

        Its best component can therefore not be beaten under the equations: where it
        keeps them, it is the answer.
        """
        if self.kind == "uncorrelated":
            return without_components(S, others)
        return _projected(S, np.linalg.qr(others)[0])

    def equations(self, constraint: Constraint) -> bool:
        """Whether the relation is a set of linear equations ``C'w = 0``."""
        return self.kind in {"strict", "uncorrelated"} and constraint.signs is None

    def equation_columns(self, S: Covariance, others: Array) -> Array:
        """C, with columns of unit norm."""
        C = others if self.kind == "strict" else S @ others
        C = C.astype(np.float64)
        length = np.linalg.norm(C, axis=0)
        return C / np.where(length > 0, length, 1.0)


def _is_spanned(w: Array, others: Array) -> bool:
    """Whether the scores of ``w`` add nothing to those of ``others``, whatever the data."""
    rest = w - others @ np.linalg.lstsq(others, w)[0]
    return bool(np.linalg.norm(rest) <= _SPANNED)


def _projected(S: Covariance, Q: Array) -> Covariance:
    """``(I - QQ') S (I - QQ')`` for orthonormal columns ``Q``."""
    SQ = S @ Q
    identity = np.eye(Q.shape[1])
    C = np.block([[-(Q.T @ SQ), identity], [identity, np.zeros_like(identity)]])
    return DeflatedCovariance(S, np.hstack([Q, SQ]), C.astype(S.dtype))


def _constrained(
    S: Covariance, C: Array, relaxed: Covariance, constraint: Constraint, search: Search
) -> Candidate | None:
    """The best component of ``relaxed`` if it keeps the equations, else a climb that does."""
    free = search(relaxed, constraint)
    if free is not None and np.abs(C.T @ free.w).max() <= 4.0 * np.finfo(S.dtype).eps:
        return free
    vectors = leading_eigenpairs(relaxed, min(_N_EIGENVECTORS, S.n_features), 1e-3)[1]
    starts = vectors if free is None else np.column_stack([free.w, vectors])
    return climb(S, C, constraint, starts)


def _disjoint(
    remaining: Covariance, others: Array, constraint: Constraint, search: Search
) -> Candidate | None:
    left = _without_used(constraint, others)
    return None if left is None else search(remaining, left)


def _without_used(
    constraint: Constraint, others: Array, largest_allowed: float = 0.0
) -> Constraint | None:
    """``constraint`` without the features that weigh more than this in any of ``others``."""
    heavy = np.flatnonzero(np.abs(others).max(axis=1) > largest_allowed)
    banned = np.union1d(heavy, constraint.forbidden)
    if banned.size >= constraint.n_features:
        return None
    return constraint.without(banned.astype(np.intp))


def _quasi(
    remaining: Covariance,
    others: Array,
    limit: float,
    constraint: Constraint,
    search: Search,
) -> Candidate | None:
    """Search freely; where that comes too close, climb within the angle from several supports."""
    free = search(remaining, constraint)
    if free is None or np.abs(others.T @ free.w).max() <= limit:
        return free
    if not constraint.refits:
        return _pushed_away(remaining, others, limit, constraint, search)
    starts = [free.w]
    weights = np.abs(others).max(axis=1)
    levels = np.quantile(weights[weights > 0], _FREED)
    for level in np.unique([0.0, limit, *levels]):
        fewer = _without_used(constraint, others, level)
        found = None if fewer is None else search(remaining, fewer)
        if found is not None:
            starts.append(found.w)
    climbed = [climb_within_angle(remaining, others, limit, constraint, w) for w in starts]
    feasible = [candidate for candidate in climbed if candidate is not None]
    return max(feasible, key=lambda candidate: candidate.value, default=None)


def _pushed_away(
    remaining: Covariance, others: Array, limit: float, constraint: Constraint, search: Search
) -> Candidate | None:
    """The best component found with the least penalty ``alpha w'VV'w`` that keeps the angle.

    For constraints that cannot be optimised on a support; features that no other
    component uses keep any angle.
    """
    apart = _disjoint(remaining, others, constraint, search)
    best = [] if apart is None else [apart]

    def keeps_angle(alpha: float) -> bool:
        penalty = alpha * np.eye(others.shape[1], dtype=others.dtype)
        found = search(DeflatedCovariance(remaining, others, penalty), constraint)
        if found is None or np.abs(others.T @ found.w).max() > limit:
            return False
        best.append(Candidate(found.w, variance_of(remaining, found.w)))
        return True

    scale = float(remaining.diagonal().max())
    low, high = 0.0, _FIRST_PENALTY * scale
    while high <= _LAST_PENALTY * scale and not keeps_angle(high):
        low, high = high, 4.0 * high
    for _ in range(_N_HALVED if high <= _LAST_PENALTY * scale else 0):
        middle = (low + high) / 2.0
        low, high = (low, middle) if keeps_angle(middle) else (middle, high)
    return max(best, key=lambda candidate: candidate.value, default=None)
