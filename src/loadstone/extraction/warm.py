"""Improve components in turn from where they are: no new starts, hardly any time.

Notation: with the others in the columns of ``O``, component j adds ``w'S_j w`` to the total
adjusted variance, ``S_j = S - S O (O'SO)^+ O'S``. So each component in turn climbs on its own
``S_j``, and the total never falls. Linear relations (strict, uncorrelated) are left alone: a
component that keeps the equations has nowhere to climb.

The total depends on the order of the components: where the constraints are alike, it is that of
the order in which each adds most to those before it, and so they are returned.

Every climb is free at first. Where it gains nothing, a climb within fewer components would gain
nothing either; where its end breaks the relation, a climb that keeps it follows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from loadstone.constraints import Constraint, LoadingConstraint
from loadstone.covariance import Array, Covariance, ExplicitCovariance
from loadstone.extraction.linear_constraints import Candidate, n_places
from loadstone.extraction.orthogonality import Orthogonality
from loadstone.extraction.quasi_orthogonal import climb_within_angle
from loadstone.extraction.state import FirstLook, State
from loadstone.solvers.exchange import improve_by_exchange
from loadstone.solvers.polish import polish
from loadstone.solvers.search.few_places import best_feature, best_pair
from loadstone.solvers.search.tiny import is_tiny, tiny_climb

#: Rise of the total, as a share of it, that counts as a gain.
GAIN = 1e-5
#: What is seen of it at a first look, where there are few features and places.
FIRST = GAIN / 4
#: Rounds over all components; two are the rule.
MAX_ROUNDS = 6
#: Share of a rival that has to be there after one round.
WITHIN_REACH = 0.98
#: Exchanges of two features in one climb.
N_EXCHANGES = 5


@dataclass(frozen=True)
class Refined:
    """Components after climbs from where they were.

    Attributes
    ----------
    loadings : ndarray of shape (n_features, n_components)
        The components.
    settled : bool
        Whether none of them has anywhere to climb, under any relation.
    total : float or None
        What they explain together; only known where something was tried.
    apart : bool
        Whether no two shared a feature, before any climb and after each: then the relation
        has made no difference.
    """

    loadings: Array
    settled: bool
    total: float | None = None
    apart: bool = False


def warm_refine(
    S: Covariance,
    loadings: Array,
    constraints: Sequence[Constraint],
    rule: Orthogonality,
    rival: float = 0.0,
) -> Refined:
    """Components under the same constraints with at least the adjusted variance of ``loadings``.

    Parameters
    ----------
    S : Covariance
        The data.
    loadings : ndarray of shape (n_features, n_components)
        Unit-norm components that keep every constraint.
    constraints : sequence of Constraint
        One for each component.
    rule : Orthogonality
        How the components relate to one another.
    rival : float
        What must be within reach after one round; where it is not, that is all.
    """
    r = loadings.shape[1]
    if r < 2 or rule.equations(constraints[0]):
        return Refined(loadings, settled=False)
    state = State.of(S, loadings, alike=_alike(constraints, rule))
    look = state.first_look(constraints[0], FIRST * state.total)
    refused = n_settled = 0
    apart = is_disjoint(state.W)
    for step in range(MAX_ROUNDS * r):
        j = step % r
        better, free = None, True
        if look.may_climb[j]:
            better, free = _climbed(state, j, constraints[j], rule, look)
        refused, n_settled = refused + 1, n_settled + free
        if better is not None:
            state, refused, n_settled = better, 0, 0
            apart = apart and _is_alone(state.W, j)
            look = state.first_look(constraints[0], FIRST * state.total)
        hopeless = step == r - 1 and state.total < WITHIN_REACH * rival
        if refused == r or hopeless:
            break
    return Refined(state.ordered(), refused == n_settled == r, state.total, apart)


def is_disjoint(W: Array) -> bool:
    """Whether no feature serves two components."""
    return int((W != 0).sum(axis=1).max(initial=0)) <= 1


def _is_alone(W: Array, j: int) -> bool:
    """Whether component j has its features to itself."""
    used = W[:, j] != 0
    return bool(np.count_nonzero(W[used]) == np.count_nonzero(used))


def _alike(constraints: Sequence[Constraint], rule: Orthogonality) -> bool:
    """Whether components may change places: they share all of their constraints but the size.

    What every component must use, disjoint ones leave to the first, which stays where it is.
    """
    first = constraints[0]
    forces = isinstance(first, LoadingConstraint) and first.forced.size > 0
    if forces and rule.means_disjoint(first):
        return False
    return len({n_places(constraint) for constraint in constraints}) == 1


def _climbed(
    state: State, j: int, constraint: Constraint, rule: Orthogonality, look: FirstLook
) -> tuple[State | None, bool]:
    """The state with a better component j, if there is one; whether even a free climb gains nothing."""
    w = state.W[:, j]
    if look.ends is not None and look.values is not None:
        free, enough = Candidate(look.ends[j].w, look.ends[j].value), look.values[j]
    else:
        left = state.left_for(j)
        free, enough = _free(left, w, constraint), float(w @ (left @ w))
    enough += GAIN * state.total
    better = _improved(state, j, free, enough)
    if better is None:
        return None, True
    if rule.kind == "none":
        return better, False
    others = np.delete(state.W, j, axis=1)
    if rule.allows_beside(state.S, others, free.w):
        return better, False
    within = _within(state.left_for(j), w, others, constraint, rule)
    return _improved(state, j, within, enough), False


def _improved(state: State, j: int, found: Candidate | None, enough: float) -> State | None:
    """The state with ``found`` in the place of component j, where that explains more."""
    if found is None or not found.value > enough:
        return None
    # The variance of the climb has lost digits to the deflation; the total has not.
    trial = state.replaced(j, found.w)
    return trial if trial.total > state.total else None


def _free(S: Covariance, w: Array, constraint: Constraint) -> Candidate:
    """Where a climb from ``w`` ends that nothing but the constraint limits."""
    if not isinstance(constraint, LoadingConstraint):
        return Candidate(*polish(S, w, constraint))
    if constraint.size == 1:
        alone = best_feature(S, constraint)
        return Candidate(alone.w, alone.value)
    if isinstance(S, ExplicitCovariance) and is_tiny(S):
        small = constraint.size == 2
        climbed = best_pair(S, constraint) if small else tiny_climb(S, w, constraint)
        return Candidate(climbed.w, climbed.value)
    w, value = polish(S, w, constraint)
    return Candidate(*improve_by_exchange(S, w, value, constraint, N_EXCHANGES))


def _within(
    S: Covariance, w: Array, others: Array, constraint: Constraint, rule: Orthogonality
) -> Candidate | None:
    """Where a climb from ``w`` ends that keeps the relation to the others."""
    if rule.means_disjoint(constraint):
        return _free(S, w, constraint.without(np.flatnonzero(others.any(axis=1))))
    if not constraint.refits:
        return None
    return climb_within_angle(S, others, rule.largest_cosine, constraint, w)
