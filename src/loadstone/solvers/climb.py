"""The search that serves every constraint: power steps, polishing, one unit out and others in.

Notation: ``w <- best_loading(Sw)`` is the power step of a constraint; for a positive
semi-definite S the variance ``w'Sw`` never falls. Many starts take it as one block. The
best of them are renormalised on their supports, and then each unit (a feature, a group)
is taken out in turn to see whether what comes in instead explains more.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from loadstone.constraints import Constraint
from loadstone.covariance import Array, Covariance, Support
from loadstone.loadings import Loadings, Stop, distinct_supports
from loadstone.solvers.polish import polish
from loadstone.solvers.power_iteration import iterate
from loadstone.solvers.starts import (
    both_signs,
    column_starts,
    combination_starts,
    eigenvector_starts,
)


@dataclass(frozen=True, kw_only=True)
class Climb:
    """Many starts as one block, polished, and improved by exchanging units.

    Attributes
    ----------
    n_eigenvectors : int
        Leading eigenvectors to start from.
    n_columns : int
        Columns of S to start from, half of them those of largest variance.
    n_combinations : int
        Random combinations of the leading eigenvectors.
    n_survivors : int
        Starts that go on after their first step.
    n_polished : int
        Settled columns that are polished.
    n_exchanged : int
        Polished ones that go on to exchanges.
    n_exchanges : int
        Largest number of exchanges for each of them.
    n_leaving : int
        Units tried in an exchange, those with the smallest loadings.
    max_iter : int
        Largest number of power steps.
    tol : float
        Change of direction at which a column has settled.
    """

    n_eigenvectors: int = 16
    n_columns: int = 128
    n_combinations: int = 64
    n_survivors: int = 64
    n_polished: int = 16
    n_exchanged: int = 4
    n_exchanges: int = 20
    n_leaving: int = 32
    max_iter: int = 100
    tol: float = 1e-6

    def refuses(self, constraint: Constraint) -> str | None:
        """Serves every constraint."""
        return None

    def __call__(
        self,
        S: Covariance,
        constraint: Constraint,
        rng: np.random.Generator,
        starts: Array | None = None,
    ) -> Loadings:
        """See :class:`loadstone.solvers.protocol.Solver`; ``starts`` join the others."""
        directions = self._directions(S, constraint, rng)
        if starts is not None:
            directions = np.hstack([starts.astype(S.dtype, copy=False), directions])
        survivors = self._first_step(S, constraint, directions)
        settled = iterate(S, constraint.best_loading, survivors, self.max_iter, self.tol)
        candidates = _distinct(settled.matrix, constraint)[:, : self.n_polished]
        polished = [polish(S, w, constraint) for w in candidates.T]
        polished.sort(key=lambda found: -found[1])
        best, value = max(
            (self._exchange(S, constraint, w, v) for w, v in polished[: self.n_exchanged]),
            key=lambda found: found[1],
        )
        objective = np.append(settled.objective, value)
        return Loadings(best[:, None], objective, settled.n_iter, Stop.CONVERGED)

    def _directions(self, S: Covariance, constraint: Constraint, rng: np.random.Generator) -> Array:
        """Eigenvectors, their mixtures and columns of S; both ways round where signs are given."""
        V = eigenvector_starts(S, min(self.n_eigenvectors, S.n_features))
        mixed = combination_starts(V, self.n_combinations, rng)
        columns = column_starts(S, self._columns(S, constraint, rng))
        block = np.hstack([V, columns, mixed])
        return block if constraint.signs is None else both_signs(block)

    def _columns(self, S: Covariance, constraint: Constraint, rng: np.random.Generator) -> Support:
        variance = S.diagonal()
        allowed = np.setdiff1d(np.flatnonzero(variance > 0), constraint.forbidden)
        if allowed.size <= self.n_columns:
            return allowed
        by_variance = allowed[np.argsort(-variance[allowed], kind="stable")]
        largest, rest = np.split(by_variance, [self.n_columns // 2])
        drawn = rng.choice(rest, size=self.n_columns - largest.size, replace=False)
        return np.concatenate([largest, drawn])

    def _first_step(self, S: Covariance, constraint: Constraint, directions: Array) -> Array:
        W = constraint.best_loading(directions)
        value = np.einsum("ij,ij->j", W, S @ W)
        order = np.argsort(-value, kind="stable")
        return _distinct(W[:, order], constraint)[:, : self.n_survivors]

    def _exchange(
        self, S: Covariance, constraint: Constraint, w: Array, value: float
    ) -> tuple[Array, float]:
        """Take out the unit whose successors explain most, as long as that gains."""
        gain = 1e-7 if S.dtype == np.float32 else 1e-11
        for _ in range(self.n_exchanges):
            rivals = self._successors(S, constraint, w)
            better = next((found for found in rivals if found[1] > value + gain * abs(value)), None)
            if better is None:
                break
            w, value = better
        return w, value

    def _successors(
        self, S: Covariance, constraint: Constraint, w: Array
    ) -> list[tuple[Array, float]]:
        """The best loadings without each unit, polished with all features; best first."""
        units = sorted(constraint.units(w), key=lambda unit: float(np.linalg.norm(w[unit])))
        units = [
            unit
            for unit in units[: self.n_leaving]
            if np.union1d(unit, constraint.forbidden).size < constraint.n_features
        ]
        if not units:
            return []
        rest = np.repeat(w[:, None], len(units), axis=1)
        for column, unit in enumerate(units):
            rest[unit, column] = 0
        # What is left points to its successors; where nothing is, the whole vector does.
        rest = np.where(rest.any(axis=0), rest, w[:, None])
        image = S @ rest
        found = []
        for column, unit in enumerate(units):
            rule = constraint.without(unit)
            inside = polish(S, rule.best_loading(image[:, column]), rule)[0]
            found.append(polish(S, inside, constraint))
        return sorted(found, key=lambda rival: -rival[1])


def _distinct(W: Array, constraint: Constraint) -> Array:
    """The first column of every support, or of every pattern of signs where these matter."""
    if constraint.signs is None and constraint.refits:
        return distinct_supports(W)
    patterns = np.unique(np.sign(W).astype(np.int8), axis=1, return_index=True)[1]
    return W[:, np.sort(patterns)]
