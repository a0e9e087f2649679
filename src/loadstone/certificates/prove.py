"""From a component to its certificate: as little effort as asked for, in a fixed order."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

from loadstone.certificates.branch_and_bound import Progress, branch_and_bound, status
from loadstone.certificates.certificate import (
    OPTIMAL_GAP,
    Certificate,
    lower_value,
    problem_of,
    refuse_impossible,
    variance_on_support,
)
from loadstone.certificates.dual_bound import LEVELS
from loadstone.certificates.known_block import KnownBlock
from loadstone.certificates.problem import Array, SupportProblem
from loadstone.certificates.proof import ProofNode
from loadstone.certificates.tighten import (
    Bounded,
    Incumbent,
    Limits,
    settle_and_solve,
    tighten,
)
from loadstone.certificates.working_set import LARGEST_SIZE, tighten_large

if TYPE_CHECKING:
    from loadstone.constraints import LoadingConstraint
    from loadstone.covariance.protocol import Covariance

EFFORTS = ("instant", "standard", "full")
#: Smoothing levels beyond the usual ones, before cases are distinguished.
FINE_LEVELS = (3e-4, 1e-4)


def prove(
    S: Covariance,
    constraint: LoadingConstraint,
    loading: Array,
    *,
    effort: str = "standard",
    time_limit: float | None = None,
    gap_tol: float = OPTIMAL_GAP,
    max_nodes: int = 100_000,
    relative_to: str = "in the covariance of the data",
    progress: Progress | None = None,
) -> Certificate:
    """Certify ``loading`` under ``constraint``.

    Parameters
    ----------
    S : Covariance
        What the variance is measured in.
    constraint : LoadingConstraint
        What the component competes under.
    loading : ndarray of shape (n_features,)
        The component; must obey the constraint.
    effort : {"instant", "standard", "full"}
        Bounds read off the matrix; the dual bound and screening; also branch and bound.
    time_limit : float, optional
        Seconds after which the best bound so far is returned.
    gap_tol : float
        Relative gap at which to stop.
    max_nodes : int
        Cases that may be distinguished.
    relative_to : str
        How the certificate names ``S``.
    progress : callable, optional
        Called with bound, incumbent and number of open cases.

    Returns
    -------
    Certificate
    """
    _check(constraint, loading, effort, time_limit)
    begun = time.monotonic()
    limits = Limits(gap_tol, begun + (np.inf if time_limit is None else time_limit), max_nodes)
    # Single precision leaves the norm off by 1e-7, too much for a proof.
    loading = np.asarray(loading, dtype=np.float64)
    loading = loading / np.linalg.norm(loading)
    incumbent = Incumbent(lower_value(S, loading), loading)
    tree = ProofNode()
    problem = problem_of(constraint)
    bounded = Bounded(settle_and_solve(S, problem, incumbent), None, np.empty(0))
    n_nodes = 1
    if effort != "instant":
        bounded, S = _tighten_root(S, bounded, tree, incumbent, limits, fine=effort == "full")
    bound, name = bounded.standing.bound, bounded.standing.name
    if progress is not None:
        progress(status(bound, incumbent, int(_worth_branching(bounded, incumbent, limits))))
    open_problem = bounded.standing.problem
    if effort == "full" and _worth_branching(bounded, incumbent, limits):
        root = bounded.standing.bound
        bound, n_nodes = branch_and_bound(S, bounded, tree, incumbent, limits, progress)
        name = "branch and bound" if bound < root else name
    value = variance_on_support(S, loading)
    best_value = max(value, variance_on_support(S, incumbent.loading))
    refuse_impossible(best_value, bound)
    bound = max(bound, best_value)
    fixed_in, fixed_out = _fixed(
        problem, open_problem, incumbent.loading, closed=limits.closes(bound, best_value)
    )
    return Certificate(
        value=value,
        upper_bound=bound,
        loading=loading,
        constraint=constraint,
        proof=name,
        fixed_in=fixed_in,
        fixed_out=fixed_out,
        seconds=time.monotonic() - begun,
        relative_to=relative_to,
        best_loading=incumbent.loading,
        best_value=best_value,
        n_nodes=n_nodes,
        tree=tree,
    )


def _check(
    constraint: LoadingConstraint, loading: Array, effort: str, time_limit: float | None
) -> None:
    """Refuse what cannot be certified, and say why."""
    if effort not in EFFORTS:
        msg = f"effort={effort!r} is unknown; choose one of {', '.join(map(repr, EFFORTS))}"
        raise ValueError(msg)
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
    if _worth_branching(bounded, incumbent, limits) and _n_open(bounded) > LARGEST_SIZE:
        bounded = tighten_large(S, bounded.standing, tree, incumbent, limits)
        levels = levels[1:]
    if _n_open(bounded) > LARGEST_SIZE or not _worth_branching(bounded, incumbent, limits):
        return bounded, S
    assert bounded.standing.problem is not None
    S = KnownBlock.of(S, bounded.standing.problem.features)
    start = bounded.dual
    return (
        tighten(S, bounded.standing, tree, incumbent, limits, start=start, levels=levels),
        S,
    )


def _n_open(bounded: Bounded) -> int:
    problem = bounded.standing.problem
    return 0 if problem is None else problem.features.size


def _worth_branching(bounded: Bounded, incumbent: Incumbent, limits: Limits) -> bool:
    standing = bounded.standing
    if standing.problem is None or standing.problem.is_leaf or limits.out_of_time:
        return False
    return not limits.closes(standing.bound, incumbent.value)


def _fixed(
    problem: SupportProblem, left: SupportProblem | None, best: Array, *, closed: bool
) -> tuple[Array, Array]:
    """Features that every better component must, and none may, use."""
    if left is None or closed:
        support = np.flatnonzero(best)
        return support, np.setdiff1d(np.arange(best.size), support)
    fixed_in = left.features[left.forced]
    return fixed_in, np.setdiff1d(np.arange(best.size), left.features)
