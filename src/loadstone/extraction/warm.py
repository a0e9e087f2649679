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
from functools import cached_property

import numpy as np

from loadstone.constraints import Constraint, LoadingConstraint
from loadstone.covariance import Array, Covariance, DeflatedCovariance, ExplicitCovariance
from loadstone.covariance.symmetric import pseudo_inverse
from loadstone.extraction.linear_constraints import Candidate, n_places
from loadstone.extraction.orthogonality import Orthogonality
from loadstone.extraction.quasi_orthogonal import climb_within_angle
from loadstone.metrics import adjusted_from_scores
from loadstone.solvers.exchange import improve_by_exchange
from loadstone.solvers.polish import polish
from loadstone.solvers.search.few_places import best_feature
from loadstone.solvers.search.restricted import FEW_FEATURES
from loadstone.solvers.search.tiny import is_tiny, tiny_climb

#: Rise of the total, as a share of it, that counts as a gain.
GAIN = 1e-5
#: Rounds over all components; two are the rule.
MAX_ROUNDS = 6
#: Share of a rival that has to be there after one round.
WITHIN_REACH = 0.98
#: Exchanges of two features in one climb.
N_EXCHANGES = 5


@dataclass(frozen=True)
class Refined:
    """Components, and whether none of them has anywhere to climb, under any relation."""

    loadings: Array
    settled: bool


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
    state = _State.of(S, loadings, alike=_alike(constraints))
    refused = n_settled = 0
    for step in range(MAX_ROUNDS * r):
        j = step % r
        better, free = _climbed(state, j, constraints[j], rule)
        refused, n_settled = refused + 1, n_settled + free
        if better is not None:
            state, refused, n_settled = better, 0, 0
        hopeless = step == r - 1 and state.total < WITHIN_REACH * rival
        if refused == r or hopeless:
            break
    return Refined(state.ordered(), settled=refused == n_settled == r)


def _alike(constraints: Sequence[Constraint]) -> bool:
    """Whether components may change places: they share all of their constraints but the size."""
    return len({n_places(constraint) for constraint in constraints}) == 1


@dataclass(frozen=True)
class _State:
    """Components with their products, so that one more component costs one more product."""

    S: Covariance
    W: Array
    SW: Array
    G: Array
    alike: bool

    @classmethod
    def of(cls, S: Covariance, W: Array, *, alike: bool) -> _State:
        return cls._with(S, W, S @ W, alike=alike)

    @classmethod
    def _with(cls, S: Covariance, W: Array, SW: Array, *, alike: bool) -> _State:
        G = W.T.astype(np.float64) @ SW.astype(np.float64)
        return cls(S, W, SW, (G + G.T) / 2, alike)

    @cached_property
    def order(self) -> list[int]:
        """Components in the order in which they are best, where they may change places."""
        return _greedy_order(self.G) if self.alike else list(range(len(self.G)))

    @cached_property
    def total(self) -> float:
        """What all components explain together."""
        return float(adjusted_from_scores(self.G[np.ix_(self.order, self.order)]).sum())

    def others(self, j: int) -> Array:
        """The components beside j."""
        return np.delete(self.W, j, axis=1)

    def left_for(self, j: int) -> Covariance:
        """``S_j``: what the others leave for component j."""
        kept = np.delete(np.arange(self.W.shape[1]), j)
        inner = self.G[np.ix_(kept, kept)]
        inverse = pseudo_inverse(inner, 1e-10).astype(self.S.dtype)
        U = self.SW[:, kept]
        if isinstance(self.S, ExplicitCovariance) and self.S.n_features <= FEW_FEATURES:
            formed = self.S.matrix - U @ inverse @ U.T
            # Rounding below zero is cut off, as a deflated covariance does.
            np.fill_diagonal(formed, np.maximum(formed.diagonal(), 0))
            return ExplicitCovariance(formed, self.S.n_samples)
        return DeflatedCovariance(self.S, U, inverse)

    def replaced(self, j: int, w: Array) -> _State:
        """The same with ``w`` in the place of component j."""
        W, SW = self.W.copy(), self.SW.copy()
        W[:, j], SW[:, j] = w, self.S @ w
        return self._with(self.S, W, SW, alike=self.alike)

    def ordered(self) -> Array:
        """Those that explain most first, where the constraints do not care."""
        result: Array = self.W[:, self.order]
        return result


def _greedy_order(G: Array) -> list[int]:
    """Scores in the order in which each adds most to those before it; ``G`` is their covariance."""
    left, order = G.copy(), [int(np.argmax(G.diagonal()))]
    while len(order) < len(G):
        last = order[-1]
        if left[last, last] > 0:
            left -= np.outer(left[:, last], left[last]) / left[last, last]
        gains = left.diagonal().copy()
        gains[order] = -np.inf
        order.append(int(np.argmax(gains)))
    return order


def _climbed(
    state: _State, j: int, constraint: Constraint, rule: Orthogonality
) -> tuple[_State | None, bool]:
    """The state with a better component j, if there is one; whether even a free climb gains nothing."""
    others, left, w = state.others(j), state.left_for(j), state.W[:, j]
    enough = float(w @ (left @ w)) + GAIN * state.total
    free = _free(left, w, constraint)
    better = _improved(state, j, free, enough)
    if better is None:
        return None, True
    if rule.broken_promise(state.S, np.column_stack([others, free.w])) == 0.0:
        return better, False
    return _improved(state, j, _within(left, w, others, constraint, rule), enough), False


def _improved(state: _State, j: int, found: Candidate | None, enough: float) -> _State | None:
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
        climbed = tiny_climb(S, w, constraint, sure=True)
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
