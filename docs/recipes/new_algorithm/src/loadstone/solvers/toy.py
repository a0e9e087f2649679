"""Power steps from the features of largest variance.

Notation: a step is ``w <- best_loading(S w)``, for all starts at once. It never lowers ``w'Sw``
where S is positive semi-definite; after some deflations it is not, and a step may be refused.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from loadstone.constraints import Constraint
from loadstone.covariance import Array, Covariance, variances_of
from loadstone.loadings import Loadings, Stop
from loadstone.solvers.starts import both_signs, column_starts


@dataclass(frozen=True, kw_only=True)
class Toy:
    """Climb from each of a few features; the best is first."""

    n_starts: int = 4
    max_iter: int = 100

    def refuses(self, constraint: Constraint) -> str | None:
        """Serves every constraint with a linear maximiser."""
        return None

    def __call__(
        self,
        S: Covariance,
        constraint: Constraint,
        rng: np.random.Generator,
        starts: Array | None = None,
    ) -> Loadings:
        """See :class:`loadstone.solvers.protocol.Solver`."""
        if starts is None:
            strongest = np.argsort(-S.diagonal(), kind="stable")[: self.n_starts]
            starts = both_signs(column_starts(S, strongest))
        W, tol = constraint.best_loading(starts), 10 * np.finfo(S.dtype).eps
        values = variances_of(S, W)
        objective, stop = [values.max()], Stop.MAX_ITER
        for _ in range(self.max_iter):
            V = constraint.best_loading(S @ W)
            climbed = variances_of(S, V)
            rises = climbed > (1 + tol) * values
            if not rises.any():
                stop = Stop.CONVERGED
                break
            W, values = np.where(rises, V, W), np.where(rises, climbed, values)
            objective.append(values.max())
        order = np.argsort(-values, kind="stable")
        return Loadings(W[:, order], np.array(objective), len(objective), stop)
