"""Several components, one after another: search, renormalise, deflate, repeat.

Read this file first: it is the whole of a fit, without the friendly layer above it
and the data below it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from loadstone.constraints import LoadingConstraint
from loadstone.covariance import Array, Covariance, deflate, leading_eigenpairs
from loadstone.loadings import Loadings, Stop, distinct_supports
from loadstone.metrics import total_variance
from loadstone.solvers.protocol import Solver
from loadstone.solvers.renormalise import renormalise, variance_of

#: Share of the total variance below which a direction counts as empty.
NEGLIGIBLE = 1e-10


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
    disjoint : bool
        Whether no feature may serve two components.
    renormalize : bool
        Whether loadings are re-optimised on their support.
    """

    solver: Solver
    deflation: str = "projection"
    disjoint: bool = False
    renormalize: bool = True


def one_by_one(
    S: Covariance,
    constraints: Sequence[LoadingConstraint],
    plan: Plan,
    rng: np.random.Generator,
    starts: Array | None = None,
    report: Callable[[int, Loadings], bool] | None = None,
) -> Extraction:
    """One component for each constraint.

    Parameters
    ----------
    S : Covariance
        Of the data.
    constraints : sequence of LoadingConstraint
        One per component.
    plan : Plan
        Solver, deflation and orthogonality.
    rng : numpy.random.Generator
        For the starts of the solver.
    starts : ndarray, optional
        Where the search for the first component begins.
    report : callable, optional
        Told of each component when it is found; returns whether to stop there.

    Returns
    -------
    Extraction
    """
    if all(constraint.is_free for constraint in constraints) and not plan.disjoint:
        return _principal_components(S, len(constraints), report)
    negligible = NEGLIGIBLE * total_variance(S)
    found: list[Array] = []
    searches: list[Loadings] = []
    remaining = S
    for index, constraint in enumerate(constraints):
        if plan.disjoint and found:
            used = np.flatnonzero(np.column_stack(found).any(axis=1))
            if used.size + constraint.forbidden.size >= S.n_features:
                return _finished(S, found, searches, "every feature is used by a component already")
            constraint = constraint.without(used)
        search = _search(remaining, constraint, plan, rng, starts if index == 0 else None)
        w, value = _best_of(remaining, search.matrix, constraint, plan)
        if not value > negligible:
            return _finished(S, found, searches, "no direction with any variance is left")
        found.append(w)
        searches.append(search)
        if report is not None and report(index, search):
            break
        if index + 1 < len(constraints) and not plan.disjoint:
            remaining = deflate(
                remaining, w, plan.deflation, np.column_stack(found[:-1] or [w * 0])
            )
    return _finished(S, found, searches, None)


def _search(
    S: Covariance,
    constraint: LoadingConstraint,
    plan: Plan,
    rng: np.random.Generator,
    starts: Array | None,
) -> Loadings:
    if constraint.is_free:
        values, vectors = leading_eigenpairs(S, 1)
        return Loadings(vectors, values, 1, Stop.EXACT)
    return plan.solver(S, constraint, rng, starts)


def _best_of(
    S: Covariance, candidates: Array, constraint: LoadingConstraint, plan: Plan
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


def _finished(
    S: Covariance, found: list[Array], searches: list[Loadings], exhausted: str | None
) -> Extraction:
    matrix = np.column_stack(found) if found else np.empty((S.n_features, 0), dtype=S.dtype)
    return Extraction(matrix, tuple(searches), exhausted)
