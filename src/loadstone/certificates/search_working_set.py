"""Certificates for thousands of features: optimise on a working set, extend to the rest.

The evaluator extends a dual to features it does not know (see there). What it makes
of them depends on the dual only through the top eigenvalue and the rows' ceilings,
so their terms join the objective as functions of the top eigenvalue; features
whose terms would count move into the working set. A is never stored.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from loadstone.certificates.bound_dual import Dual, Evaluation, evaluate
from loadstone.certificates.bound_rows import (
    best_squares,
    bracket,
    counted_squares,
    limited_squares,
    reach_limits,
)
from loadstone.certificates.bound_wide_entries import rows_in_reach
from loadstone.certificates.problem import Array, Indices, SupportProblem
from loadstone.certificates.proof_cases import ProofNode
from loadstone.certificates.proof_tree import Standing, apply_evaluation
from loadstone.certificates.search_case import (
    Bounded,
    Incumbent,
    Limits,
    relative_gap,
    symmetric_block,
)
from loadstone.certificates.search_dual import LEVELS, OutsideFeatures, propose_dual
from loadstone.covariance.sample_gram import SampleGram

if TYPE_CHECKING:
    from loadstone.covariance.protocol import Covariance

FIRST_SIZE = 250
LARGEST_SIZE = 700
GROWTH = 120
#: Components of more features than this, among thousands, get instant bounds only.
LARGEST_SUPPORT = 1000
#: Steps of a round at each smoothing level.
N_STEPS = 40
#: A round that closes less than this share of the gap is the last one.
STALL = 0.03


def tighten_large(
    S: Covariance,
    standing: Standing,
    proof: ProofNode,
    incumbent: Incumbent,
    limits: Limits,
    *,
    max_rounds: int,
) -> Bounded:
    """Prove and screen with a growing working set until few features are left."""
    problem = standing.problem
    assert problem is not None
    fractional = np.full(problem.features.size, 0.5)
    dual = _row_norm_dual(S, problem, incumbent.loading, standing.bound)
    for round_number in range(max_rounds):
        dual = with_limits(dual, problem)
        evaluation = evaluate(S, problem, dual)
        proof.duals.append(dual)
        before = standing.bound
        standing = apply_evaluation(S, standing, evaluation, incumbent.value)
        left = standing.problem
        if left is None or limits.closes(standing.bound, incumbent.value):
            break
        gained = before - standing.bound
        stalled = round_number > 1 and gained < STALL * (standing.bound - incumbent.value)
        shrunk = left.features.size < problem.features.size
        evaluation, problem = _aligned(evaluation, problem, left), left
        if problem.features.size <= LARGEST_SIZE or limits.out_of_time or (stalled and not shrunk):
            break
        if round_number > 0:
            dual = _grow(S, problem, dual, evaluation)
        inner = restricted(problem, dual.features)
        proposal = propose_dual(
            symmetric_block(S, inner),
            inner,
            start=dual,
            outside=_outside_features(S, problem, dual.features, evaluation),
            levels=LEVELS[:3] if round_number == 0 else LEVELS[1:],
            n_steps=N_STEPS,
            target=incumbent.value,
            deadline=limits.deadline,
        )
        dual = proposal.dual
        fractional = np.zeros(problem.features.size)
        fractional[np.searchsorted(problem.features, dual.features)] = proposal.fractional
    return _handed_on(S, standing, dual, fractional)


def tighten_child(
    S: Covariance,
    standing: Standing,
    proof: ProofNode,
    incumbent: Incumbent,
    limits: Limits,
    *,
    start: Dual,
    levels: tuple[float, ...] = (),
    n_steps: int = 25,
) -> Bounded:
    """One more dual for a case of many features, on the working set of its parent.

    What lies beyond the working set changes little from parent to child: it is left out of the
    search, and the evaluator has the last word.
    """
    problem = standing.problem
    assert problem is not None
    inner = restricted(problem, start.features)
    matrix = symmetric_block(S, inner)
    level = 0.2 * relative_gap(standing.bound, incumbent.value, matrix)
    levels = levels or (5.0 * level, level)
    proposal = propose_dual(
        matrix,
        inner,
        start=start,
        levels=levels,
        n_steps=n_steps,
        target=incumbent.value,
        deadline=limits.deadline,
    )
    dual = with_limits(proposal.dual, problem)
    proof.duals.append(dual)
    evaluation = evaluate(S, problem, dual)
    standing = apply_evaluation(S, standing, evaluation, incumbent.value)
    fractional = np.zeros(problem.features.size)
    fractional[np.searchsorted(problem.features, dual.features)] = proposal.fractional
    return _handed_on(S, standing, dual, fractional)


def is_hopeless(S: Covariance, standing: Standing, value: float) -> bool:
    """Whether features whose rows are out of reach keep every dual above the bound there is."""
    problem = standing.problem
    if not isinstance(S, SampleGram) or problem is None:
        return False
    variances = np.asarray(S.diagonal(), dtype=np.float64)[problem.features]
    terms = bracket(4.0 * reach_limits(S, problem, variances), standing.bound - variances)
    beyond = np.sort(terms)[::-1][rows_in_reach(S) :][: problem.n_nonzero]
    return value + float(beyond.sum()) >= standing.bound


def _handed_on(S: Covariance, standing: Standing, dual: Dual, fractional: Array) -> Bounded:
    """What the next step starts from: a dual on all features where few enough are left."""
    left = standing.problem
    if left is None:
        return Bounded(standing, dual, fractional)
    if fractional.size != left.features.size:
        fractional = np.full(left.features.size, 0.5)
    if left.features.size <= LARGEST_SIZE:
        known = dual.restrict(np.intersect1d(dual.features, left.features))
        dual = extended(S, left, known, left.features)
    return Bounded(standing, dual, fractional)


def restricted(problem: SupportProblem, features: Indices) -> SupportProblem:
    """The problem as seen from a working set: same room, fewer features."""
    at = np.searchsorted(problem.features, features)
    return replace(
        problem, features=features, forced=problem.forced[at], positive=problem.nonzero[at]
    )


def _row_norm_dual(S: Covariance, problem: SupportProblem, loading: Array, bound: float) -> Dual:
    """P = A and one t for all: the Frobenius bound, when t is half of it."""
    working = _first_working_set(S, problem, loading)
    matrix = symmetric_block(S, restricted(problem, working))
    shift = bound / 2.0 - matrix.diagonal()
    return Dual(working, matrix, shift, np.zeros((working.size, 1)))


def with_limits(dual: Dual, problem: SupportProblem) -> Dual:
    """Let rows whose terms do not count take as much from outside as keeps it so.

    The limit of a row is the largest one, by bisection, at which its term stays
    below the smallest term that counts.
    """
    inner = restricted(problem, dual.features)
    squares = counted_squares(dual.pairing, nonnegative=problem.nonnegative)
    np.fill_diagonal(squares, 0.0)
    room = inner.free_room()
    own = np.square(dual.factor).sum(axis=1)
    reach, ceiling = best_squares(squares.copy(), inner.forced, room)
    terms = np.where(inner.forced, np.inf, bracket(reach, dual.shift) + own)
    cut = np.sort(terms)[-min(inner.n_nonzero, terms.size)]
    high = np.full(terms.size, 2.0 * float(np.sqrt(squares.max())))
    low = np.zeros(terms.size)
    # No row gains from a limit that the smallest counted term forbids at once.
    rising = (terms < cut) & (room > 0) & np.isfinite(ceiling)
    for _ in range(25 if rising.any() else 0):
        middle = (low + high) / 2.0
        raised, _ = limited_squares(squares, inner.forced, room, np.square(middle))
        fits = rising & (bracket(raised, dual.shift) + own < cut)
        low, high = np.where(fits, middle, low), np.where(fits, high, middle)
    return replace(dual, limits=low)


def _first_working_set(S: Covariance, problem: SupportProblem, loading: Array) -> Indices:
    """Support, forced features, and those with the largest gradient or variance."""
    features = problem.features
    gradient = np.asarray(S @ loading.astype(S.dtype))[features]
    gradient = np.maximum(gradient, 0.0) if problem.nonnegative else np.abs(gradient)
    variances = S.diagonal()[features]
    size = max(FIRST_SIZE, min(2 * problem.n_nonzero, LARGEST_SIZE), problem.n_nonzero + GROWTH)
    size = min(features.size, size)
    chosen = (loading[features] != 0) | problem.forced
    for worth, share in ((gradient, 0.6), (variances, 1.0)):
        missing = int(share * size) - int(chosen.sum())
        if missing > 0:
            ranked = np.argsort(-np.where(chosen, -np.inf, worth), kind="stable")
            chosen[ranked[:missing]] = True
    return np.asarray(features[chosen])


def _outside_features(
    S: Covariance, problem: SupportProblem, working: Indices, evaluation: Evaluation
) -> OutsideFeatures:
    """phi_i^2 of the features beyond the working set, recovered from their terms."""
    outside = ~np.isin(problem.features, working, assume_unique=True)
    variances = np.asarray(S.diagonal(), dtype=np.float64)[problem.features[outside]]
    terms = evaluation.terms[outside]
    reach = 4.0 * terms * np.maximum(terms + evaluation.top - variances, 0.0)
    return OutsideFeatures(reach, variances, problem.forced[outside])


def _aligned(evaluation: Evaluation, before: SupportProblem, after: SupportProblem) -> Evaluation:
    """The evaluation on the features that screening left."""
    kept = np.isin(before.features, after.features, assume_unique=True)
    return Evaluation(evaluation.bound, evaluation.top, evaluation.terms[kept])


def _grow(S: Covariance, problem: SupportProblem, dual: Dual, evaluation: Evaluation) -> Dual:
    """Move the outside features with the largest terms into the working set."""
    inside = np.isin(problem.features, dual.features, assume_unique=True)
    outside = np.flatnonzero(~inside)
    room = min(GROWTH, max(0, LARGEST_SIZE - int(inside.sum())), outside.size)
    ranked = outside[np.argsort(-evaluation.terms[outside], kind="stable")[:room]]
    inside[ranked] = True
    return extended(S, problem, dual, problem.features[inside])


def extended(S: Covariance, problem: SupportProblem, dual: Dual, working: Indices) -> Dual:
    """The dual with rows for new features, by the evaluator's own extension.

    It proves the same bound as before, now with rows the optimiser may change.
    """
    old = np.isin(working, dual.features, assume_unique=True)
    if old.all():
        return dual.restrict(working)
    kept = dual.restrict(working[old])
    inner = restricted(problem, working)
    matrix = symmetric_block(S, inner)
    squares = counted_squares(kept.pairing, nonnegative=problem.nonnegative)
    np.fill_diagonal(squares, 0.0)
    limits = np.zeros(kept.features.size) if kept.limits is None else kept.limits
    _, ceiling = limited_squares(
        squares, inner.forced[old], inner.free_room()[old], np.square(limits)
    )
    limit = np.sqrt(ceiling)[:, None]
    doubled = 2.0 * matrix[np.ix_(old, ~old)]
    given = np.clip(doubled, -np.inf if problem.nonnegative else -limit, limit)
    given[:, inner.forced[~old]] = np.minimum(given[:, inner.forced[~old]], 0.0)
    top = evaluate(S, restricted(problem, kept.features), kept).top
    pairing = matrix.copy()
    pairing[np.ix_(old, old)] = kept.pairing
    pairing[np.ix_(old, ~old)] = given
    pairing[np.ix_(~old, old)] = (doubled - given).T
    np.fill_diagonal(pairing, 0.0)
    shift = top - matrix.diagonal()
    shift[old] = kept.shift
    factor = np.zeros((working.size, kept.factor.shape[1]))
    factor[old] = kept.factor
    return Dual(working, pairing, shift, factor, multipliers=kept.multipliers)
