"""Several components, one after another, and then together.

Read this file first: it is the whole of a fit, without the friendly layer above it
and the data below it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from loadstone.constraints import Constraint, LoadingConstraint
from loadstone.covariance import Array, Covariance, DataCovariance, leading_eigenpairs
from loadstone.extraction.chain import Chains, Report
from loadstone.extraction.disjoint_sum import largest_disjoint_sum
from loadstone.extraction.exact_ties import evened
from loadstone.extraction.linear_constraints import n_places
from loadstone.extraction.nested import Nested
from loadstone.extraction.orthogonality import Orthogonality
from loadstone.extraction.plan import Extraction, Plan, RefusedConstraintError, distinct
from loadstone.extraction.refine import refine
from loadstone.extraction.warm import is_disjoint, warm_refine
from loadstone.loadings import NOTHING_LEFT, Loadings, Stop
from loadstone.metrics import adds_variance, total_variance
from loadstone.metrics.explained_variance import NEGLIGIBLE
from loadstone.solvers.search.restricted import formed_where_few

__all__ = ["Extraction", "Plan", "RefusedConstraintError", "one_by_one"]

#: The rule of deflation whose chains come closest to the largest sum of variances.
FOR_SUMS = "projection"


def one_by_one(
    S: Covariance,
    constraints: Sequence[Constraint],
    plan: Plan,
    rng: np.random.Generator,
    *,
    starts: Array | None = None,
    report: Report | None = None,
    earlier: Array | None = None,
) -> Extraction:
    """One component for each constraint.

    Parameters
    ----------
    S : Covariance
        Of the data.
    constraints : sequence of Constraint
        One per component, those of ``earlier`` included.
    plan : Plan
        Solver, deflation and orthogonality.
    rng : numpy.random.Generator
        For the starts of the solver.
    starts : ndarray, optional
        Where the search for the first component begins.
    report : callable, optional
        Told of each component when it is found; returns whether to stop there.
    earlier : ndarray of shape (n_features, m), optional
        Components that are there already and stay as they are.

    Returns
    -------
    Extraction

    Raises
    ------
    RefusedConstraintError
        Before anything is searched, where the plan cannot serve a constraint.
    """
    _check_lengths(S, constraints)
    plan.refuse(constraints)
    free = all(constraint.is_free for constraint in distinct(constraints))
    if free and earlier is None and plan.orthogonality.kind != "disjoint":
        return _principal_components(S, len(constraints), report)
    if isinstance(S, DataCovariance):
        S = formed_where_few(S)
    even = evened(S, plan)
    if even is None:
        return _one_by_one(S, constraints, plan, rng, starts, report, earlier)
    plan, report = even.plan(plan), even.report(report)
    return even.in_units(_one_by_one(even.S, constraints, plan, rng, starts, report, earlier))


def _one_by_one(
    S: Covariance,
    constraints: Sequence[Constraint],
    plan: Plan,
    rng: np.random.Generator,
    starts: Array | None,
    report: Report | None,
    earlier: Array | None,
) -> Extraction:
    """The same once it is known on which matrix."""
    chains = Chains(S, constraints, plan, int(rng.integers(2**63)), starts)
    if plan.objective == "sum" and earlier is None:
        return _summed(chains, report)
    if earlier is not None or plan.refine is None:
        return chains.follow(plan.orthogonality, begin=earlier, report=report)
    if plan.is_nested(constraints):
        found = _nested(chains, report)
    else:
        found = chains.follow(plan.orthogonality, report=report)
        kept = constraints[: found.matrix.shape[1]]
        refined = warm_refine(S, found.matrix, kept, plan.orthogonality).loadings
        if chains.counts_added(plan.orthogonality):
            refined = _that_add(S, refined)
        found = _replaced(found, refined, plan.orthogonality)
    return found if plan.refine == "warm" else _searched_again(chains, found)


def _that_add(S: Covariance, W: Array) -> Array:
    """Components up to the last that adds variance: others may have taken what it had."""
    return W[:, : int(np.flatnonzero(adds_variance(S, W)).max(initial=-1)) + 1]


def _nested(chains: Chains, report: Report | None) -> Extraction:
    """The best of what the relation and every stricter one find."""
    rule, constraints = chains.plan.orthogonality, chains.constraints
    free = rule.kind == "none"
    each = distinct(constraints)
    forced = _force(each)
    single = all(n_places(constraint) == 1 for constraint in each) and not forced
    if single:
        # Of two components on the same feature one adds nothing.
        rule = Orthogonality("disjoint")
    disjoint = rule.means_disjoint(constraints[0])
    # What the relation asks for beyond a free search is seen to afterwards.
    kind = "disjoint" if disjoint else "none"
    found = chains.follow(Orthogonality(kind), report=report)
    if found.matrix.shape[1] < min(2, len(constraints)):
        return found
    stopped = found.exhausted is None and found.matrix.shape[1] < len(constraints)
    if stopped:
        chains = replace(chains, constraints=constraints[: found.matrix.shape[1]])
    complete = found.matrix.shape[1] == len(chains.constraints)
    nested = Nested(chains, owned={(kind, 0): found.matrix})
    alike = not (disjoint and forced)
    if complete and alike and is_disjoint(found.matrix) and chains.is_one_level:
        # Where no climb ends at a shared feature, all relations have the same components.
        refined = warm_refine(chains.S, found.matrix, chains.constraints, Orthogonality("none"))
        W = found.matrix if nested.loses(found.matrix, refined) else refined.loadings
        # Single features climb to unused ones only.
        if single or (refined.settled and refined.apart):
            return _replaced(found, nested.or_together(W, refined.total) if free else W, rule)
    W = nested.asked_for(rule.kind)
    # Free components of one feature each were sought as disjoint ones.
    return _replaced(found, nested.or_together(W) if free and rule.kind != "none" else W, rule)


def _force(constraints: Sequence[Constraint]) -> bool:
    """Whether a component must use some feature."""
    return any(isinstance(c, LoadingConstraint) and c.forced.size > 0 for c in constraints)


def _summed(chains: Chains, report: Report | None) -> Extraction:
    """Components with the largest sum of variances, related as they should be."""
    S, constraints, rule = chains.S, chains.constraints, chains.plan.orthogonality
    found = chains.follow(rule, report=report)
    r = len(constraints)
    if found.exhausted is None and found.matrix.shape[1] < r:
        # Somebody stopped the search.
        return found
    rng = np.random.default_rng((chains.seed, r))
    begun = [found.matrix, *_by_variances(chains)]
    W, exact = max(begun, key=lambda w: (w.shape[1], _total(S, w))), False
    # Features are dealt out there without a look at what is forced.
    if rule.kind != "uncorrelated" and not _force(constraints):
        W, exact = largest_disjoint_sum(S, begun, constraints, rng)
    if not rule.means_disjoint(constraints[0]):
        exact = False
        # Components without a feature in common are orthogonal; others may have more variance.
        search = chains.searching_with(rng)
        tried = [
            refine(S, w, constraints[: w.shape[1]], rule, search, rng, keep_adjusted=False)
            for w in (*begun, W)
        ]
        W = max(tried, key=lambda w: _total(S, w))
    if np.array_equal(W, found.matrix):
        return found
    stop = Stop.EXACT if exact else Stop.CONVERGED
    search_of_all = Loadings(W, np.array([_total(S, W)]), 1, stop)
    exhausted = found.exhausted if W.shape[1] < r else None
    return replace(found, matrix=W, searches=(search_of_all,), exhausted=exhausted, left=())


def _by_variances(chains: Chains) -> list[Array]:
    """The components of a chain that is greedy for sums of variances, where that is another one.

    Schur's rule leaves what a component adds to the others, and takes more away than a sum misses.
    """
    plan = chains.plan
    if plan.deflation == FOR_SUMS:
        return []
    plan = replace(plan, deflation=FOR_SUMS)
    other = Chains(chains.S, chains.constraints, plan, chains.seed, chains.starts)
    return [other.follow(plan.orthogonality).matrix]


def _total(S: Covariance, W: Array) -> float:
    """The sum of the variances."""
    return float(np.sum(W * (S @ W)))


def _replaced(found: Extraction, better: Array, rule: Orthogonality | None = None) -> Extraction:
    """The same with other components; nobody deflated for these."""
    if np.array_equal(better, found.matrix):
        return found
    n = better.shape[1]
    exhausted = found.exhausted
    if rule is not None and n < found.matrix.shape[1]:
        exhausted = rule.exhausted(better)
    return replace(found, matrix=better, searches=found.searches[:n], exhausted=exhausted, left=())


def _searched_again(chains: Chains, found: Extraction) -> Extraction:
    """The components after full refinement."""
    plan, W = chains.plan, found.matrix
    rng = np.random.default_rng((chains.seed, len(chains.constraints)))
    search = chains.searching_with(rng)
    kept = chains.constraints[: W.shape[1]]
    return _replaced(found, refine(chains.S, W, kept, plan.orthogonality, search, rng))


def _check_lengths(S: Covariance, constraints: Sequence[Constraint]) -> None:
    for constraint in distinct(constraints):
        if constraint.n_features != S.n_features:
            msg = (
                f"{constraint!r} is about {constraint.n_features} features, the covariance has "
                f"{S.n_features}; use constraint.bound_to({S.n_features})"
            )
            raise ValueError(msg)


def _principal_components(S: Covariance, n: int, report: Report | None) -> Extraction:
    """Without constraints the answer is PCA, all components at once."""
    values, vectors = leading_eigenpairs(S, n)
    negligible = max(NEGLIGIBLE, 8 * float(np.finfo(S.dtype).eps)) * total_variance(S)
    solid = np.flatnonzero(values > negligible)
    searches = [Loadings(vectors[:, [j]], values[[j]], 1, Stop.EXACT) for j in solid]
    for index, search in enumerate(searches):
        if report is not None and report(index, search):
            break
    exhausted = None if solid.size == n else NOTHING_LEFT
    return Extraction(vectors[:, solid], tuple(searches), exhausted)
