"""Several components, one after another: search, renormalise, deflate, repeat.

Read this file first: it is the whole of a fit, without the friendly layer above it
and the data below it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any

import numpy as np

from loadstone.constraints import Constraint
from loadstone.covariance import Array, Covariance, deflate, leading_eigenpairs
from loadstone.extraction.linear_constraints import Candidate
from loadstone.extraction.orthogonality import Orthogonality, Search
from loadstone.extraction.refine import refine
from loadstone.extraction.warm import warm_refine
from loadstone.loadings import Loadings, Stop, distinct_supports
from loadstone.metrics import regressed_variance, total_variance
from loadstone.solvers.protocol import Solver
from loadstone.solvers.renormalise import renormalise, variance_of

#: Share of the total variance below which a direction counts as empty.
NEGLIGIBLE = 1e-10


class RefusedConstraintError(ValueError):
    """A constraint that the solver or the orthogonality cannot serve; the message says why."""


@dataclass(frozen=True)
class Extraction:
    """The components found, and how each of them was.

    Attributes
    ----------
    matrix : ndarray of shape (n_features, n_found)
        Unit-norm loadings; fewer columns than asked for where nothing was left.
    searches : tuple of Loadings
        What the solver said of each component.
    exhausted : str or None
        Why there are fewer components than asked for.
    """

    matrix: Array
    searches: tuple[Loadings, ...]
    exhausted: str | None = None


@dataclass(frozen=True)
class Plan:
    """How components follow each other.

    Attributes
    ----------
    solver : Solver
        What searches a component.
    deflation : str
        How a component is removed before the next is sought.
    orthogonality : Orthogonality
        How components relate to one another.
    refine : {"warm", "full"} or None
        How components are improved together once all are found: in turn from where they
        are, with searches of their own as well, or not at all.
    renormalize : bool
        Whether loadings are re-optimised on their support.
    """

    solver: Solver[Any]
    _: KW_ONLY
    deflation: str = "projection"
    orthogonality: Orthogonality = field(default_factory=Orthogonality)
    refine: str | None = None
    renormalize: bool = True

    def refuse(self, constraints: Sequence[Constraint]) -> None:
        """Raise with the reason where the solver or the orthogonality cannot serve a constraint."""
        for constraint in constraints:
            # Without constraints nobody is asked: the answer is PCA.
            reason = None if constraint.is_free else self.solver.refuses(constraint)
            reason = reason or self.orthogonality.refuses(constraint)
            if reason is not None:
                raise RefusedConstraintError(reason)


def one_by_one(
    S: Covariance,
    constraints: Sequence[Constraint],
    plan: Plan,
    rng: np.random.Generator,
    *,
    starts: Array | None = None,
    report: Callable[[int, Loadings], bool] | None = None,
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
    free = all(constraint.is_free for constraint in constraints)
    if free and earlier is None and plan.orthogonality.kind != "disjoint":
        return _principal_components(S, len(constraints), report)
    total = total_variance(S)
    negligible = max(NEGLIGIBLE, 100 * float(np.finfo(S.dtype).eps)) * total
    # Each component has its own stream, so that one more does not change those before it.
    seed = int(rng.integers(2**63))
    W, left = _begin(S, plan, earlier)
    searches: list[Loadings] = []
    exhausted = None
    for index in range(W.shape[1], len(constraints)):
        said: list[Loadings] = []
        stream = np.random.default_rng((seed, index))
        search = _searching(plan, stream, starts if index == 0 else None, said)
        best = plan.orthogonality.find(S, left[-1], W, constraints[index], search)
        if best is None or not best.value > negligible:
            exhausted = plan.orthogonality.exhausted(W)
            break
        searches.append(said[0] if said else _enumerated(best))
        wanted = index + 1 < len(constraints)
        if wanted:
            left.append(deflate(left[-1], best.w, plan.deflation, W))
        W = np.column_stack([W, best.w])
        if report is not None and report(index, searches[-1]):
            break
        # A sparse component need not lie in the range of S, so deflation alone never ends.
        if wanted and total - regressed_variance(S, W) <= negligible:
            exhausted = "no direction with any variance is left"
            break
    found = Extraction(W, tuple(searches), exhausted)
    if plan.refine is None or earlier is not None:
        return found
    return _refined(S, found, constraints, plan, np.random.default_rng((seed, len(constraints))))


def _begin(S: Covariance, plan: Plan, earlier: Array | None) -> tuple[Array, list[Covariance]]:
    """The components that are there already, and what was left for each and for the next one."""
    W, left = np.empty((S.n_features, 0), dtype=S.dtype), [S]
    for w in () if earlier is None else earlier.T:
        left.append(deflate(left[-1], w, plan.deflation, W))
        W = np.column_stack([W, w])
    return W, left


def _refined(
    S: Covariance,
    found: Extraction,
    constraints: Sequence[Constraint],
    plan: Plan,
    rng: np.random.Generator,
) -> Extraction:
    """The components improved together."""
    kept = constraints[: found.matrix.shape[1]]
    better = warm_refine(S, found.matrix, kept, plan.orthogonality)
    if plan.refine == "full":
        search = _searching(plan, rng, None, [])
        better = refine(S, better, kept, plan.orthogonality, search, rng)
    if np.array_equal(better, found.matrix):
        return found
    return replace(found, matrix=better)


def _check_lengths(S: Covariance, constraints: Sequence[Constraint]) -> None:
    for constraint in constraints:
        if constraint.n_features != S.n_features:
            msg = (
                f"{constraint!r} is about {constraint.n_features} features, the covariance has "
                f"{S.n_features}; use constraint.bound_to({S.n_features})"
            )
            raise ValueError(msg)


def _searching(
    plan: Plan, rng: np.random.Generator, starts: Array | None, said: list[Loadings]
) -> Search:
    """The search of a component left to itself; what the solver says is kept in ``said``."""

    def search(S: Covariance, constraint: Constraint) -> Candidate:
        found = _search(S, constraint, plan, rng, starts)
        said.append(found)
        return Candidate(*_best_of(S, found.matrix, constraint, plan))

    return search


def _enumerated(best: Candidate) -> Loadings:
    return Loadings(best.w[:, None], np.array([best.value]), 1, Stop.EXACT)


def _search(
    S: Covariance,
    constraint: Constraint,
    plan: Plan,
    rng: np.random.Generator,
    starts: Array | None,
) -> Loadings:
    if constraint.is_free:
        values, vectors = leading_eigenpairs(S, 1)
        return Loadings(vectors, values, 1, Stop.EXACT)
    return plan.solver(S, constraint, rng, starts)


def _best_of(
    S: Covariance, candidates: Array, constraint: Constraint, plan: Plan
) -> tuple[Array, float]:
    if not plan.renormalize:
        return candidates[:, 0], variance_of(S, candidates[:, 0])
    # A column that leads before renormalising need not lead after it.
    distinct = distinct_supports(candidates)[:, :RENORMALISED]
    tried = [renormalise(S, w, constraint) for w in distinct.T]
    return max(tried, key=lambda found: found[1])


#: Candidates of a solver that are renormalised before the best is chosen.
RENORMALISED = 16


def _principal_components(
    S: Covariance, n: int, report: Callable[[int, Loadings], bool] | None
) -> Extraction:
    """Without constraints the answer is PCA, all components at once."""
    values, vectors = leading_eigenpairs(S, n)
    solid = np.flatnonzero(values > NEGLIGIBLE * total_variance(S))
    searches = [Loadings(vectors[:, [j]], values[[j]], 1, Stop.EXACT) for j in solid]
    for index, search in enumerate(searches):
        if report is not None and report(index, search):
            break
    exhausted = None if solid.size == n else "no direction with any variance is left"
    return Extraction(vectors[:, solid], tuple(searches), exhausted)
