"""Tighten one case: search a dual, evaluate it, screen, and repeat while that helps."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from loadstone.certificates.bound_dual import Dual, Evaluation, evaluate
from loadstone.certificates.problem import Array, SupportProblem
from loadstone.certificates.proof_cases import ProofNode
from loadstone.certificates.proof_enumeration import (
    MOST_SUPPORTS,
    case_of,
    enumerated,
    exceeding,
    open_supports,
)
from loadstone.certificates.proof_tree import (
    Standing,
    apply_evaluation,
    leaf_optimum,
    standing_without_dual,
)
from loadstone.certificates.search_component import improve
from loadstone.certificates.search_dual import LEVELS, propose_dual
from loadstone.covariance.symmetric import largest_eigenvalue

if TYPE_CHECKING:
    from loadstone.covariance.protocol import Covariance


#: Seconds that looking at single supports may take, and what one of them costs per entry.
LISTING_SECONDS = 0.5
SECONDS_PER_SUPPORT = 2e-8
#: Supports that are solved for a better component after they were looked at.
MOST_SOLVED = 10
#: Supports that eigenvalues do not decide, each of which takes a proof of its own.
MOST_UNDECIDED = 500


@dataclass
class Incumbent:
    """The best loading vector known, and the variance it provably has."""

    value: float
    loading: Array
    takes_others: bool = True

    def offer(self, features: Array, value: float, loading: Array) -> None:
        """Take a better vector, given on ``features``, where those met on the way are rivals."""
        if self.takes_others and value > self.value:
            # A hair below the computed value, so that it is a true lower bound.
            self.value = value - 1e-14 * abs(value)
            self.loading = np.zeros_like(self.loading)
            self.loading[features] = loading


def first_standing(S: Covariance, problem: SupportProblem, incumbent: Incumbent) -> Standing:
    """What is proven without a dual; a single support is solved on the way."""
    if problem.is_leaf:
        _, loading = leaf_optimum(S, problem, incumbent.value)
        if loading is not None:
            support = np.flatnonzero(loading)
            block = np.asarray(S.block(support, support), dtype=np.float64)
            value = float(loading[support] @ block @ loading[support])
            incumbent.offer(support, value, loading[support])
    return standing_without_dual(S, problem, incumbent.value)


@dataclass
class Limits:
    """When to stop; proofs are kept in memory, so their size is limited too."""

    gap_tol: float = 1e-6
    deadline: float = np.inf
    max_nodes: int = 100_000
    max_proof_bytes: int = 1 << 30
    proof_bytes: int = 0

    def hear(self, enough: object) -> None:
        """Take an answer of True for a deadline that has passed."""
        if enough:
            self.deadline = -np.inf

    def closes(self, bound: float, value: float) -> bool:
        """Whether the gap is small enough to call the value optimal."""
        return bound <= value + self.gap_tol * abs(value)

    @property
    def out_of_time(self) -> bool:
        """Whether the deadline has passed."""
        return time.monotonic() > self.deadline


@dataclass
class Bounded:
    """A node after its duals: what is proven, the last dual, the fractional support."""

    standing: Standing
    dual: Dual | None
    fractional: Array


def tighten(
    S: Covariance,
    standing: Standing,
    proof: ProofNode,
    incumbent: Incumbent,
    limits: Limits,
    *,
    start: Dual | None = None,
    levels: tuple[float, ...] = LEVELS,
    n_steps: int = 60,
    max_rounds: int = 4,
) -> Bounded:
    """Search duals for a case level by level, screening after each; then while it helps.

    After the given smoothing levels, up to ``max_rounds`` further ones are chosen from
    the gap that is left, as long as screening leaves a smaller problem.
    """
    assert standing.problem is not None
    schedule = list(levels)
    extra = _GapLevels(max_rounds)
    found = Bounded(standing, start, np.full(standing.problem.features.size, 0.5))
    if start is None:
        found = _with_multipliers(S, found, proof, incumbent, limits)
    while not _is_finished(found.standing, incumbent, limits):
        assert found.standing.problem is not None
        matrix = symmetric_block(S, found.standing.problem)
        gap = relative_gap(found.standing.bound, incumbent.value, matrix)
        # Smoothing far beyond the gap would only lose ground that a warm start has won.
        while schedule and found.dual is not None and schedule[0] > 30.0 * gap:
            schedule.pop(0)
        chosen = (schedule.pop(0),) if schedule else extra.levels(found.standing, gap)
        if not chosen:
            break
        found = _one_round(S, found, matrix, proof, incumbent, limits, chosen, n_steps)
        extra.finest = min(extra.finest, chosen[-1])
    return found


def _with_multipliers(
    S: Covariance, found: Bounded, proof: ProofNode, incumbent: Incumbent, limits: Limits
) -> Bounded:
    """The case after the multipliers of the signs, where these alone end it.

    A component w >= 0 whose gradient is positive at none of its zeros is stationary whatever its
    size. With Z >= 0 that takes the gradient away, w is an eigenvector of A + Z, and where it is
    the leading one nothing exceeds it. As a dual this is P = -Z, whose entries cost nothing.
    """
    problem = found.standing.problem
    assert problem is not None
    if not problem.nonnegative:
        return found
    matrix, w = symmetric_block(S, problem), incumbent.loading[problem.features]
    gradient, zero = matrix @ w, w == 0.0
    if not zero.any() or (gradient[zero] > 0.0).any():
        return found
    half = np.where(zero[:, None], gradient[:, None] * w, 0.0)
    pairing = np.minimum(half + half.T, 0.0)
    size = problem.features.size
    dual = Dual(problem.features, pairing, np.zeros(size), np.zeros((size, 1)))
    standing = apply_evaluation(S, found.standing, evaluate(S, problem, dual), incumbent.value)
    if standing.problem is not None and not limits.closes(standing.bound, incumbent.value):
        return found
    proof.duals.append(dual)
    return Bounded(standing, dual, found.fractional)


def _is_finished(standing: Standing, incumbent: Incumbent, limits: Limits) -> bool:
    """Whether there is nothing left to search a dual for."""
    if standing.problem is None or standing.problem.is_leaf or limits.out_of_time:
        return True
    return limits.closes(standing.bound, incumbent.value)


@dataclass
class _GapLevels:
    """Smoothing levels that match the gap, as long as the problem still shrinks."""

    max_rounds: int
    before: SupportProblem | None = None
    finest: float = np.inf

    def levels(self, standing: Standing, gap: float) -> tuple[float, ...]:
        """The next levels, or none where another round would not pay."""
        assert standing.problem is not None
        stuck = self.before is not None and not _shrunk(self.before, standing.problem)
        if self.max_rounds == 0 or stuck:
            return ()
        self.max_rounds -= 1
        self.before = standing.problem
        # What was smoothed less already gains nothing from smoothing as much as the gap.
        return (0.2 * gap,) if self.finest <= 2.0 * gap else (gap, 0.2 * gap)


def _one_round(
    S: Covariance,
    found: Bounded,
    matrix: Array,
    proof: ProofNode,
    incumbent: Incumbent,
    limits: Limits,
    levels: tuple[float, ...],
    n_steps: int,
) -> Bounded:
    """Propose a dual, round it to a component, evaluate it, screen by it."""
    problem = found.standing.problem
    assert problem is not None
    proposal = propose_dual(
        matrix,
        problem,
        start=None if found.dual is None else found.dual.restrict(problem.features),
        levels=levels,
        n_steps=n_steps,
        # Half the tolerance leaves room for the evaluator's margin.
        target=incumbent.value + 0.5 * limits.gap_tol * abs(incumbent.value),
        deadline=limits.deadline,
    )
    _try_primal(matrix, problem, proposal.fractional, incumbent)
    evaluation = evaluate(S, problem, proposal.dual)
    standing = apply_evaluation(S, found.standing, evaluation, incumbent.value)
    if standing.bound < found.standing.bound or standing.problem is not problem:
        proof.duals.append(proposal.dual)
    left = standing.problem
    if left is None:
        return Bounded(standing, proposal.dual, proposal.fractional)
    kept = np.isin(problem.features, left.features, assume_unique=True)
    if left.is_leaf:
        solved = first_standing(S, left, incumbent)
        standing = Standing(min(standing.bound, solved.bound), standing.name, solved.problem)
    elif not limits.closes(standing.bound, incumbent.value):
        rough = Evaluation(evaluation.bound, evaluation.top, evaluation.terms[kept])
        ended = list_supports(S, left, proposal.dual, rough, proof, incumbent, limits)
        standing = ended or standing
    return Bounded(standing, proposal.dual, proposal.fractional[kept])


def list_supports(
    S: Covariance,
    problem: SupportProblem,
    dual: Dual,
    rough: Evaluation,
    proof: ProofNode,
    incumbent: Incumbent,
    limits: Limits,
) -> Standing | None:
    """End a case by looking at every support its dual leaves, if they are few.

    How many is a matter of their size, not of the clock: answers must not depend on it.
    """
    cost = SECONDS_PER_SUPPORT * problem.n_nonzero**2
    most = min(int(LISTING_SECONDS / cost), MOST_SUPPORTS)
    supports = open_supports(problem, rough, incumbent.value, most)
    if supports is None:
        return None
    supports, largest = exceeding(S, problem, supports, incumbent.value)
    for support in supports[np.argsort(-largest)[:MOST_SOLVED]]:
        first_standing(S, case_of(problem, support), incumbent)
    undecided = supports[largest > incumbent.value]
    if len(undecided) > MOST_UNDECIDED:
        return None
    bound, _ = enumerated(S, problem, supports, incumbent.value)
    solved = all(case_of(problem, support).is_leaf for support in undecided)
    if not solved and not limits.closes(bound, incumbent.value):
        # Eigenvalues alone would end the case with a gap that cases of signs can close.
        return None
    if not proof.duals or proof.duals[-1] is not dual:
        proof.duals.append(dual)
    proof.listed = True
    return Standing(max(bound, incumbent.value), "listed supports", None)


def relative_gap(bound: float, value: float, matrix: Array) -> float:
    """The gap relative to the largest eigenvalue, within the range of useful smoothing."""
    scale = max(abs(largest_eigenvalue(matrix)), 1e-300)
    return float(np.clip((bound - value) / scale, 1e-7, 3e-2))


def _shrunk(before: SupportProblem, after: SupportProblem) -> bool:
    """Whether screening removed enough for another round to pay."""
    fewer = before.features.size - after.features.size
    decided = before.n_free - after.n_free
    return fewer >= max(1, before.features.size // 20) or decided >= max(1, before.n_free // 50)


def symmetric_block(S: Covariance, problem: SupportProblem) -> Array:
    """The covariance on the features of a problem, in double precision."""
    block = np.asarray(S.block(problem.features, problem.features), dtype=np.float64)
    return (block + block.T) / 2.0


def _try_primal(
    matrix: Array, problem: SupportProblem, fractional: Array, incumbent: Incumbent
) -> None:
    """Round the fractional support and climb from it."""
    direction = np.sqrt(np.maximum(fractional, 0.0))
    signs = matrix @ direction if problem.nonnegative else np.linalg.eigh(matrix)[1][:, -1]
    directions = np.column_stack([direction, direction * np.sign(signs), direction * signs])
    value, loading = improve(matrix, problem, directions)
    incumbent.offer(problem.features, value, loading)
