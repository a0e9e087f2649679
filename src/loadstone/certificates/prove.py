"""From a component to its certificate: as little effort as asked for, in a fixed order.

Read this file first; the order for the others is in the docstring of the folder.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from loadstone._sklearn_compat import InvalidParameterError
from loadstone.blas_threads import one_blas_thread
from loadstone.certificates.bound_any_constraint import as_cardinality, constraint_bound
from loadstone.certificates.bound_every_support import every_support_bound
from loadstone.certificates.certificate import OPTIMAL_GAP, Certificate, refuse_impossible
from loadstone.certificates.certificate_about import About, refuse_out_of_range
from loadstone.certificates.certificate_value import (
    lower_value,
    problem_of,
    recomputed,
    stated_value,
    variance_on_support,
)
from loadstone.certificates.problem import Array, SupportProblem
from loadstone.certificates.problem_after import FIRST, Earlier, broken_earlier, broken_relation
from loadstone.certificates.proof_cases import ProofNode, as_list
from loadstone.certificates.proof_processes import shared_by
from loadstone.certificates.proof_rounds import Each
from loadstone.certificates.proof_tree import Replayed
from loadstone.certificates.search_any_constraint import propose_for
from loadstone.certificates.search_branch_and_bound import Progress, branch_and_bound, status
from loadstone.certificates.search_case import (
    Bounded,
    Incumbent,
    Limits,
    first_standing,
    tighten,
)
from loadstone.certificates.search_dual import LEVELS
from loadstone.certificates.search_known_block import KnownBlock
from loadstone.certificates.search_slices import cut_open
from loadstone.certificates.search_working_set import (
    LARGEST_SIZE,
    LARGEST_SUPPORT,
    is_hopeless,
    tighten_large,
)
from loadstone.constraints import L1Budget
from loadstone.covariance.flipped import FlippedCovariance
from loadstone.covariance.sample_gram import SampleGram
from loadstone.covariance.sample_space import lies_in_samples

if TYPE_CHECKING:
    from loadstone.constraints import Constraint
    from loadstone.covariance.protocol import Covariance

EFFORTS = ("instant", "standard", "full")
#: Up to as many features branching alone closes gaps sooner than slices do.
FEW_TO_BRANCH = 150
#: Smoothing levels beyond the usual ones, before cases are distinguished.
FINE_LEVELS = (3e-4, 1e-4)
#: Relative room for two computations of one bound.
CLAIM_ROOM = 1e-10
#: Rounds of a growing working set; out of core each of them may take two passes.
ROUNDS, ROUNDS_OUT_OF_CORE = 12, 3
#: Cases of signs on a single support that "standard" may distinguish, and their work.
SIGN_CASES = 400
SIGN_WORK = 4e6


def prove(
    S: Covariance,
    constraint: Constraint,
    loading: Array,
    *,
    effort: str = "standard",
    time_limit: float | None = None,
    gap_tol: float = OPTIMAL_GAP,
    max_nodes: int = 100_000,
    earlier: Earlier = FIRST,
    progress: Progress | None = None,
    n_jobs: int = 1,
) -> Certificate:
    """Bound ``max w'Sw`` over the loadings ``constraint`` allows, and compare ``loading`` with it.

    Parameters
    ----------
    S : Covariance
        Of the data.
    constraint : Constraint
        What the component competes under.
    loading : ndarray of shape (n_features,)
        The component; must obey the constraint.
    effort : {"instant", "standard", "full"}
        Bounds read off the matrix; the dual bound, screening and slices; also branch and bound.
        Branch and bound needs a cardinality, alone or with a sign for every feature; under
        groups and some signs every support is tried where there are few, else they get the
        dual bound; an l1 budget gets the instant ones.
    time_limit : float, optional
        Seconds after which the best bound so far is returned.
    gap_tol : float
        Relative gap at which to stop.
    max_nodes : int
        Cases that may be distinguished.
    earlier : Earlier
        Components that came before, and how rivals relate to them.
    progress : callable, optional
        Called with bound, incumbent and number of open cases.
    n_jobs : int
        Processes that bound cases; the answer is the same for every number.
    """
    _check(constraint, loading, effort, time_limit)
    refuse_out_of_range(S)
    begun = time.monotonic()
    limits = Limits(gap_tol, begun + (np.inf if time_limit is None else time_limit), max_nodes)
    # Single precision leaves the norm off by 1e-7, too much for a proof.
    loading = np.asarray(loading, dtype=np.float64)
    loading = loading / np.linalg.norm(loading)
    _check_relation(S, constraint, earlier, loading)
    view = as_cardinality(constraint)
    flips = 1 if view is None else view[1]
    measured = earlier.measured_in(S)
    matrix, margin = earlier.bounded_by(S)
    # Vectors met on the way need not keep equations, so that none of them is a rival.
    value = lower_value(measured, loading) - margin
    incumbent = Incumbent(value, flips * loading, takes_others=not earlier.is_linear)
    with one_blas_thread(), shared_by(n_jobs) as each:
        if view is None:
            found = _any_constraint(matrix, constraint, incumbent, limits, effort, progress)
        else:
            problem, flipped = problem_of(view[0]), FlippedCovariance.of(matrix, view[1])
            found = _search_proof(flipped, problem, incumbent, limits, effort, progress, each)
        best = flips * incumbent.loading
        best = loading if np.array_equal(best, loading) else best / np.linalg.norm(best)
        stated = _stated(S, measured, constraint, loading, best, found, margin, earlier, each)
    return replace(stated, seconds=time.monotonic() - begun)


def _stated(
    S: Covariance,
    measured: Covariance,
    constraint: Constraint,
    loading: Array,
    best_loading: Array,
    found: _Found,
    margin: float,
    earlier: Earlier,
    each: Each,
) -> Certificate:
    """The certificate of ``loading``: what a replay of the proof that was found says."""
    value = variance_on_support(measured, loading)
    best_value = variance_on_support(measured, best_loading)
    if best_value <= value:
        best_loading, best_value = loading, value
    proof = as_list(found.tree)
    if len(proof) == 1 and not proof[0].duals:
        # Nothing was stored, so that a replay would only do the same again.
        proven = Replayed(found.bound + margin, () if found.left is None else (found.left,))
    else:
        known = stated_value(measured, best_loading)
        claimed = found.bound + margin + CLAIM_ROOM * abs(found.bound)
        proven = recomputed(S, constraint, earlier, known, proof, each, claimed)
    refuse_impossible(best_value, proven.bound)
    fixed_in, fixed_out = proven.fixed(S.n_features)
    return Certificate(
        value=value,
        upper_bound=float(max(proven.bound, best_value)),
        loading=loading,
        constraint=constraint,
        fixed_in=fixed_in,
        fixed_out=fixed_out,
        seconds=0.0,
        best_loading=best_loading,
        best_value=best_value,
        cases=proof,
        about=About.of(S),
        earlier=earlier,
    )


def _check_relation(
    S: Covariance, constraint: Constraint, earlier: Earlier, loading: Array
) -> None:
    """Refuse a component that is not related to the earlier ones as it says."""
    fault = broken_earlier(earlier, S.n_features) or broken_relation(
        earlier, S, loading, constraint.forbidden
    )
    if fault is not None:
        msg = f"this component cannot be certified: {fault}"
        raise ValueError(msg)


class _Found(NamedTuple):
    """What a search for a proof ends with."""

    bound: float
    left: SupportProblem | None
    tree: ProofNode


def _any_constraint(
    S: Covariance,
    constraint: Constraint,
    incumbent: Incumbent,
    limits: Limits,
    effort: str,
    progress: Progress | None,
) -> _Found:
    """The bound of a constraint that is no cardinality: no cases, but duals where they pay."""
    bound, tree = constraint_bound(S, constraint).value, ProofNode()
    n_open = S.n_features - constraint.forbidden.size
    sums_help = not isinstance(constraint, L1Budget)
    if effort != "instant" and sums_help and n_open <= LARGEST_SIZE:
        listed = every_support_bound(S, constraint, incumbent.value)
        if listed is None:
            bound, tree = propose_for(S, constraint, bound, limits)
        elif listed[0] < bound:
            bound, tree = listed[0], ProofNode(listed=True)
            if listed[1] is not None:
                value = variance_on_support(S, listed[1])
                incumbent.offer(np.arange(S.n_features), value, listed[1])
    if progress is not None:
        progress(status(bound, incumbent, 0))
    everything = SupportProblem.of(S.n_features, S.n_features, forbidden=constraint.forbidden)
    return _Found(bound, everything, tree)


def _search_proof(
    S: Covariance,
    problem: SupportProblem,
    incumbent: Incumbent,
    limits: Limits,
    effort: str,
    progress: Progress | None,
    each: Each,
) -> _Found:
    """Instant bounds, then duals, then cases: as far as ``effort`` goes."""
    tree = ProofNode()
    bounded = Bounded(first_standing(S, problem, incumbent), None, np.empty(0))
    if effort != "instant" and not _is_out_of_reach(S, problem):
        bounded, S = _tighten_root(S, bounded, tree, incumbent, limits, fine=effort == "full")
    standing = bounded.standing
    more = effort != "instant" and _worth_branching(bounded, incumbent, limits)
    # A case out of core would take passes of its own.
    more = more and not (isinstance(S, SampleGram) and _n_open(bounded) > LARGEST_SIZE)
    more = more and not _is_out_of_reach(S, problem)
    if progress is not None:
        progress(status(standing.bound, incumbent, int(more)))
    if not more:
        return _Found(standing.bound, standing.problem, tree)
    open_cases = [(bounded, tree)]
    if effort == "standard" or _n_open(bounded) > FEW_TO_BRANCH:
        open_cases = cut_open(S, bounded, tree, incumbent, limits, each)
    if effort == "standard":
        limits = _limits_of_signs(limits, standing.problem)
    bound = branch_and_bound(S, open_cases, incumbent, limits, progress, each)
    return _Found(bound, standing.problem, tree)


def _check(constraint: Constraint, loading: Array, effort: str, time_limit: float | None) -> None:
    """Refuse what cannot be certified, and say why."""
    if effort not in EFFORTS:
        msg = f"effort={effort!r} is unknown; choose one of {', '.join(map(repr, EFFORTS))}"
        raise InvalidParameterError(msg)
    if time_limit is not None and not time_limit > 0:
        msg = f"time_limit={time_limit} must be a positive number of seconds, or None"
        raise ValueError(msg)
    if loading.shape != (constraint.n_features,):
        msg = (
            f"a component of shape {loading.shape} does not fit {constraint.n_features} features; "
            "pass one loading per feature"
        )
        raise ValueError(msg)
    if not np.isfinite(loading).all():
        msg = "the component has loadings that are not finite; pass finite ones"
        raise ValueError(msg)
    broken = constraint.broken_rule(loading)
    if broken is not None:
        msg = f"this component cannot be certified: {broken}"
        raise ValueError(msg)


def _tighten_root(
    S: Covariance,
    bounded: Bounded,
    tree: ProofNode,
    incumbent: Incumbent,
    limits: Limits,
    *,
    fine: bool,
) -> tuple[Bounded, Covariance]:
    """Working set where there are many features, all of them where few are (left)."""
    levels: tuple[float, ...] = LEVELS + FINE_LEVELS if fine else LEVELS
    if bounded.standing.problem is not None and _is_beyond_duals(bounded.standing.problem):
        return bounded, S
    if _n_open(bounded) > LARGEST_SIZE and is_hopeless(S, bounded.standing, incumbent.value):
        return bounded, S
    if _worth_branching(bounded, incumbent, limits) and _n_open(bounded) > LARGEST_SIZE:
        n_rounds = ROUNDS_OUT_OF_CORE if isinstance(S, SampleGram) else ROUNDS
        bounded = tighten_large(S, bounded.standing, tree, incumbent, limits, max_rounds=n_rounds)
        levels = levels[1:]
    if _n_open(bounded) > LARGEST_SIZE or not _worth_branching(bounded, incumbent, limits):
        return bounded, S
    assert bounded.standing.problem is not None
    S = KnownBlock.of(S, bounded.standing.problem.features)
    start = bounded.dual
    found = tighten(S, bounded.standing, tree, incumbent, limits, start=start, levels=levels)
    return found, S


def _limits_of_signs(limits: Limits, problem: SupportProblem | None) -> Limits:
    """Where only signs are undecided, as many cases as take a moment; elsewhere none."""
    assert problem is not None
    if not problem.is_decided:
        return replace(limits, max_nodes=1)
    affordable = int(SIGN_WORK / problem.features.size**3)
    return replace(limits, max_nodes=min(limits.max_nodes, affordable, SIGN_CASES))


def _is_out_of_reach(S: Covariance, problem: SupportProblem) -> bool:
    """Whether rows of the covariance would cost a pass over the data each."""
    many = problem.features.size > LARGEST_SIZE
    return many and lies_in_samples(S) and not isinstance(S, SampleGram)


def _is_beyond_duals(problem: SupportProblem) -> bool:
    """Whether a working set that holds a support would be too large to optimise on."""
    return problem.features.size > LARGEST_SIZE and problem.n_nonzero > LARGEST_SUPPORT


def _n_open(bounded: Bounded) -> int:
    problem = bounded.standing.problem
    return 0 if problem is None else problem.features.size


def _worth_branching(bounded: Bounded, incumbent: Incumbent, limits: Limits) -> bool:
    standing = bounded.standing
    if standing.problem is None or standing.problem.is_leaf or limits.out_of_time:
        return False
    if _is_beyond_duals(standing.problem):
        return False
    return not limits.closes(standing.bound, incumbent.value)
