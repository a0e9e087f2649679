"""Power steps from the features of largest variance.

Notation: ``w <- best_loading(S w)`` never lowers ``w'Sw``, because S is positive semi-definite.
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
        W, stop = constraint.best_loading(starts), Stop.MAX_ITER
        values = [variances_of(S, W)]
        for _ in range(self.max_iter):
            W = constraint.best_loading(S @ W)
            values.append(variances_of(S, W))
            if np.allclose(values[-1], values[-2], rtol=1e-12, atol=0):
                stop = Stop.CONVERGED
                break
        order = np.argsort(-values[-1], kind="stable")
        along = np.array([value[order[0]] for value in values])
        return Loadings(W[:, order], along, len(values) - 1, stop)
