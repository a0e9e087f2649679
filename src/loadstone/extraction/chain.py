"""One component after another: search, renormalise, deflate, repeat.

Chains under several relations and efforts begin alike, so what was searched and deflated once
is remembered: a second chain costs nothing up to where it takes another turn.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from loadstone.constraints import Constraint, LoadingConstraint
from loadstone.covariance import (
    Array,
    Covariance,
    ExplicitCovariance,
    deflate,
    leading_eigenpairs,
    score_moments,
)
from loadstone.extraction.linear_constraints import Candidate
from loadstone.extraction.orthogonality import Orthogonality, Search
from loadstone.extraction.plan import Extraction, Plan
from loadstone.loadings import NOTHING_LEFT, Loadings, Stop, distinct_supports
from loadstone.metrics import total_variance
from loadstone.metrics.explained_variance import (
    adds_from_scores,
    negligible_share,
    unexplained_from_scores,
)
from loadstone.solvers.portfolio import Portfolio
from loadstone.solvers.protocol import Solver
from loadstone.solvers.renormalise import renormalise, variance_of
from loadstone.solvers.search.equals import remember_whole
from loadstone.solvers.search.tiny import is_tiny

#: Smallest singular value with which components span all directions there are.
SPANS = 1e-6
#: Components that add nothing and are passed over, at least, before the search is given up.
PASSED = 8
#: Candidates of a solver that are renormalised before the best is chosen.
RENORMALISED = 16
#: Entries up to which it takes longer to look for zeros than to compare them.
SMALL = 4096

#: For who does not draw: a stream of its own takes as long as a small step.
UNASKED = np.random.default_rng(0)

#: Told of each component when it is found; returns whether to stop there.
Report = Callable[[int, Loadings], bool]


@dataclass(frozen=True)
class Chains:
    """Chains of components of one covariance; level 0 is the effort asked for, 1 that below it."""

    S: Covariance
    constraints: Sequence[Constraint]
    plan: Plan
    seed: int
    starts: Array | None = None
    searched: dict[tuple[Any, ...], Loadings] = field(default_factory=dict)
    deflated: dict[bytes, Covariance] = field(default_factory=dict)
    moments: dict[bytes, tuple[Array, Array]] = field(default_factory=dict)

    @cached_property
    def solvers(self) -> list[Solver[Any]]:
        """The solver asked for and those of the efforts it contains that may find less."""
        solvers: list[Solver[Any]] = [self.plan.solver]
        while isinstance(solvers[-1], Portfolio) and not solvers[-1].is_least(self.S):
            assert solvers[-1].below is not None
            solvers.append(solvers[-1].below)
        return solvers

    @property
    def is_one_level(self) -> bool:
        """Whether smaller efforts find the same."""
        return len(self.solvers) == 1

    @cached_property
    def negligible(self) -> float:
        """Variance below which a direction counts as empty."""
        return negligible_share(self.S.dtype) * total_variance(self.S)

    def follow(
        self,
        rule: Orthogonality,
        level: int = 0,
        *,
        begin: Array | None = None,
        report: Report | None = None,
    ) -> Extraction:
        """One component for each constraint, those of ``begin`` first."""
        W, left = self._begun(begin)
        # Components, and what added nothing to them.
        removed = W
        searches: list[Loadings] = []
        exhausted = None
        negligible = self.negligible
        shares_features = begin is not None
        while (index := W.shape[1]) < len(self.constraints):
            # A sparse component need not lie in the range of S, so deflation alone never ends.
            if index and self._nothing_left(W, left[-1]):
                exhausted = NOTHING_LEFT
                break
            said: list[Loadings] = []
            search = self._searching(index, level, removed, left[-1], said)
            best = (
                None if shares_features else self._free_and_disjoint(rule, index, W, left, search)
            )
            shares_features = best is None
            if best is None:
                best = rule.find(self.S, left[-1], W, self.constraints[index], search)
            if best is None or not best.value > negligible:
                exhausted = rule.exhausted(W)
                break
            removed = np.concatenate([removed, best.w[:, None]], axis=1)
            if index and not self._adds(W, best.w):
                passed = removed.shape[1] - index
                if self._may_be_all(W) or passed > max(PASSED, len(self.constraints)):
                    exhausted = NOTHING_LEFT
                    break
                if self.counts_added(rule):
                    left[-1] = self._deflated(left[-1], removed)
                    continue
            searches.append(said[0] if said else _enumerated(best))
            W = np.concatenate([W, best.w[:, None]], axis=1)
            if index + 1 < len(self.constraints):
                left.append(self._deflated(left[-1], removed))
            asked_to_stop = report is not None and report(index, searches[-1])
            if asked_to_stop or searches[-1].stop is Stop.CALLBACK:
                break
        return Extraction(W, tuple(searches), exhausted, tuple(left[: W.shape[1]]))

    def _stream(self, index: int) -> np.random.Generator:
        return np.random.default_rng((self.seed, index))

    def _nothing_left(self, W: Array, left: Covariance) -> bool:
        if W.shape[1] >= W.shape[0] and np.linalg.matrix_rank(W, tol=SPANS) == W.shape[0]:
            # Scores of components that are nearly alike no longer show it.
            return True
        if self.plan.deflation == "schur" and isinstance(self.S, ExplicitCovariance):
            return total_variance(left) <= self.negligible
        unexplained, rounding = unexplained_from_scores(self.S, *self._moments(W))
        return unexplained + rounding <= self.negligible

    def _may_be_all(self, W: Array) -> bool:
        """Whether it is only rounding that keeps components from explaining all there is."""
        unexplained, rounding = unexplained_from_scores(self.S, *self._moments(W))
        return unexplained <= self.negligible + rounding

    def _adds(self, W: Array, w: Array) -> bool:
        """Whether a component explains anything that those before it do not.

        Schur's deflation leaves nothing else, after the others there is more: projection leaves
        a copy of a feature, whose scores are known.
        """
        if self.plan.deflation == "schur":
            return True
        together = np.concatenate([W, w[:, None]], axis=1)
        return bool(adds_from_scores(self.S, self._moments(together)[0])[-1])

    def _moments(self, W: Array) -> tuple[Array, Array]:
        key = key_of(W)
        if key not in self.moments:
            self.moments[key] = score_moments(self.S, W)
        return self.moments[key]

    def counts_added(self, rule: Orthogonality) -> bool:
        """Whether what a component adds is sought, not the variance it has by itself."""
        return rule.kind in ("none", "quasi") and self.plan.objective != "sum"

    def _free_and_disjoint(
        self, rule: Orthogonality, index: int, W: Array, left: list[Covariance], search: Search
    ) -> Candidate | None:
        """What a free search finds, where it uses no feature of the components before it.

        A chain of disjoint components is then the chain of free ones, up to the first feature
        that would be shared. From there on every search leaves out what is used.
        """
        constraint = self.constraints[index]
        if not self.plan.is_nested(self.constraints) or not rule.means_disjoint(constraint):
            return None
        free = search(left[-1], constraint)
        shared = free is None or (W[np.flatnonzero(free.w)] != 0).any()
        return None if shared else free

    def _begun(self, begin: Array | None) -> tuple[Array, list[Covariance]]:
        """The components that are there already, and what was left for each and for the next one."""
        W, left = np.empty((self.S.n_features, 0), dtype=self.S.dtype), [self.S]
        for w in () if begin is None else begin.T:
            W = np.concatenate([W, w[:, None]], axis=1)
            left.append(self._deflated(left[-1], W))
        return W, left

    def _deflated(self, left: Covariance, W: Array) -> Covariance:
        """What the last component leaves of what those before it have left."""
        key = key_of(W)
        if key not in self.deflated:
            w = W[:, -1]
            small = self.plan.deflation == "schur" and is_tiny(left)
            if small and isinstance(left, ExplicitCovariance):
                self.deflated[key] = _without(left, w)
            else:
                self.deflated[key] = deflate(left, w, self.plan.deflation, W[:, :-1])
        return self.deflated[key]

    def _searching(
        self, index: int, level: int, W: Array, left: Covariance, said: list[Loadings]
    ) -> Search:
        """The search of a component left to itself; what the solver says is kept in ``said``."""
        before = key_of(W)

        def search(S: Covariance, constraint: Constraint) -> Candidate:
            # Only what is left after W is known by W.
            known = (before, index, constraint.forbidden.tobytes()) if S is left else None
            found = self._found(S, constraint, index, level, known)
            said.append(found)
            if _draws_nothing(self.plan.solver, constraint):
                # It ends with the best loadings on their support.
                return Candidate(found.matrix[:, 0], variance_of(S, found.matrix[:, 0]))
            return Candidate(*_best_of(S, found.matrix, constraint, self.plan))

        return search

    def searching_with(self, rng: np.random.Generator) -> Search:
        """The search of a component anywhere, with random numbers of its own."""

        def search(S: Covariance, constraint: Constraint) -> Candidate:
            found = _solved(S, constraint, self.plan.solver, rng, None)
            return Candidate(*_best_of(S, found.matrix, constraint, self.plan))

        return search

    def _found(
        self,
        S: Covariance,
        constraint: Constraint,
        index: int,
        level: int,
        known: tuple[Any, ...] | None,
    ) -> Loadings:
        """What the solver of a level says, asked once."""
        if known is not None and (level, *known) in self.searched:
            return self.searched[(level, *known)]
        solver = self.solvers[level]
        # Each component has its own stream, so that one more does not change those before it.
        rng = UNASKED if _draws_nothing(solver, constraint) else self._stream(index)
        starts = self.starts if index == 0 else None
        found = _solved(S, constraint, solver, rng, starts)
        if known is not None:
            self.searched[(level, *known)] = found
            for below, w in enumerate(found.details.get("below", ()), level + 1):
                self.searched[(below, *known)] = Loadings(w[:, None], n_iter=found.n_iter)
        return found


def _without(S: ExplicitCovariance, w: Array) -> ExplicitCovariance:
    """The Schur complement as a matrix: among few features it is read more often than made."""
    Sw = S.matrix @ w
    # One vector twice, so that the matrix is symmetric to the last digit.
    u = Sw / np.sqrt(w @ Sw)
    return remember_whole(ExplicitCovariance(S.matrix - u[:, None] * u, S.n_samples), S)


def _draws_nothing(solver: Solver[Any], constraint: Constraint) -> bool:
    return isinstance(solver, Portfolio) and isinstance(constraint, LoadingConstraint)


def key_of(W: Array) -> bytes:
    """Components by their supports and loadings."""
    if W.size <= SMALL:
        return W.tobytes()
    rows, columns = np.nonzero(W)
    return rows.tobytes() + columns.tobytes() + W[rows, columns].tobytes()


def _solved(
    S: Covariance,
    constraint: Constraint,
    solver: Solver[Any],
    rng: np.random.Generator,
    starts: Array | None,
) -> Loadings:
    if constraint.is_free:
        values, vectors = leading_eigenpairs(S, 1)
        return Loadings(vectors, values, 1, Stop.EXACT)
    return solver(S, constraint, rng, starts)


def _enumerated(best: Candidate) -> Loadings:
    return Loadings(best.w[:, None], np.array([best.value]), 1, Stop.EXACT)


def _best_of(
    S: Covariance, candidates: Array, constraint: Constraint, plan: Plan
) -> tuple[Array, float]:
    if not plan.renormalize:
        return candidates[:, 0], variance_of(S, candidates[:, 0])
    # A column that leads before renormalising need not lead after it.
    distinct = distinct_supports(candidates)[:, :RENORMALISED]
    tried = [renormalise(S, w, constraint) for w in distinct.T]
    return max(tried, key=lambda found: found[1])
