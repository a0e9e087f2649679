"""Improve components in turn from where they are: no new starts, hardly any time.

Notation: with the others in the columns of ``O``, component j adds ``w'S_j w`` to the total
adjusted variance, ``S_j = S - S O (O'SO)^+ O'S``. So each component in turn climbs on its own
``S_j``, and the total never falls. Linear relations (strict, uncorrelated) are left alone: a
component that keeps the equations has nowhere to climb.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from loadstone.constraints import Constraint, LoadingConstraint
from loadstone.covariance import Array, Covariance, DeflatedCovariance
from loadstone.extraction.linear_constraints import Candidate
from loadstone.extraction.orthogonality import Orthogonality
from loadstone.extraction.quasi_orthogonal import climb_within_angle
from loadstone.metrics import adjusted_from_scores
from loadstone.solvers.exchange import improve_by_exchange
from loadstone.solvers.polish import polish

#: Rise of the total, as a share of it, that counts as a gain.
GAIN = 1e-5
#: Rounds over all components; two are the rule.
MAX_ROUNDS = 6
#: Exchanges of two features in one climb.
N_EXCHANGES = 5


def warm_refine(
    S: Covariance, loadings: Array, constraints: Sequence[Constraint], rule: Orthogonality
) -> Array:
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
    """
    r = loadings.shape[1]
    if r < 2 or rule.equations(constraints[0]):
        return loadings
    state = _State.of(S, loadings)
    refused = 0
    for step in range(MAX_ROUNDS * r):
        j = step % r
        better = _climbed(state, j, constraints[j], rule)
        refused += 1
        if better is not None:
            state, refused = state.replaced(j, better), 0
        if refused == r:
            break
    return state.ordered(constraints)


@dataclass(frozen=True)
class _State:
    """Components with their products, so that one more component costs one more product."""

    S: Covariance
    W: Array
    SW: Array
    G: Array

    @classmethod
    def of(cls, S: Covariance, W: Array) -> _State:
        return cls._with(S, W, S @ W)

    @classmethod
    def _with(cls, S: Covariance, W: Array, SW: Array) -> _State:
        G = W.T.astype(np.float64) @ SW.astype(np.float64)
        return cls(S, W, SW, (G + G.T) / 2)

    @property
    def total(self) -> float:
        """What all components explain together."""
        return float(adjusted_from_scores(self.G).sum())

    def others(self, j: int) -> Array:
        """The components beside j."""
        return np.delete(self.W, j, axis=1)

    def left_for(self, j: int) -> Covariance:
        """``S_j``: what the others leave for component j."""
        kept = np.delete(np.arange(self.W.shape[1]), j)
        inner = self.G[np.ix_(kept, kept)]
        inverse = np.linalg.pinv(inner, rcond=1e-10, hermitian=True)
        return DeflatedCovariance(self.S, self.SW[:, kept], inverse.astype(self.S.dtype))

    def replaced(self, j: int, w: Array) -> _State:
        """The same with ``w`` in the place of component j."""
        W, SW = self.W.copy(), self.SW.copy()
        W[:, j], SW[:, j] = w, self.S @ w
        return self._with(self.S, W, SW)

    def ordered(self, constraints: Sequence[Constraint]) -> Array:
        """Those that explain most first, where the constraints do not care."""
        chosen: list[int] = []
        for _ in range(self.W.shape[1]):
            rest = [j for j in range(self.W.shape[1]) if j not in chosen]
            gains = [_last_gain(self.G, [*chosen, j]) for j in rest]
            chosen.append(rest[int(np.argmax(gains))])
        W = self.W[:, chosen]
        allowed = all(c.allows(w) for c, w in zip(constraints, W.T, strict=True))
        return W if allowed else self.W


def _last_gain(G: Array, chosen: list[int]) -> float:
    """What the last of the chosen components adds to those before it."""
    return float(adjusted_from_scores(G[np.ix_(chosen, chosen)])[-1])


def _climbed(state: _State, j: int, constraint: Constraint, rule: Orthogonality) -> Array | None:
    """A better component j beside the others; ``None`` where the climb gains nothing."""
    others, left, w = state.others(j), state.left_for(j), state.W[:, j]
    before = float(w @ (left @ w))
    found = _local(left, w, others, constraint, rule)
    if found is None or not found.value > before + GAIN * state.total:
        return None
    # The variance of the climb has lost digits to the deflation; the total has not.
    return found.w if state.replaced(j, found.w).total > state.total else None


def _local(
    S: Covariance, w: Array, others: Array, constraint: Constraint, rule: Orthogonality
) -> Candidate | None:
    """Where a climb from ``w`` ends under the constraint and beside the others."""
    if rule.kind == "quasi":
        if not constraint.refits:
            return None
        return climb_within_angle(S, others, rule.largest_cosine, constraint, w)
    if rule.means_disjoint(constraint):
        constraint = constraint.without(np.flatnonzero(others.any(axis=1)))
    w, value = polish(S, w, constraint)
    if isinstance(constraint, LoadingConstraint):
        w, value = improve_by_exchange(S, w, value, constraint, N_EXCHANGES)
    return Candidate(w, value)
