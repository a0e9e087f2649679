"""Truncated power iteration: hard top-k after every product.

Notation: ``w <- best_loading(Sw)``. For a positive semi-definite S the variance
``w'Sw`` never falls (the step maximises a linear minorant of a convex function).

References
----------
Yuan, X.-T., & Zhang, T. (2013). Truncated power method for sparse eigenvalue
problems. Journal of Machine Learning Research, 14, 899-925.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from loadstone.constraints import Constraint
from loadstone.covariance import Array, Covariance
from loadstone.loadings import Loadings
from loadstone.solvers.power_iteration import iterate
from loadstone.solvers.starts import both_signs, eigenvector_starts


@dataclass(frozen=True)
class TruncatedPower:
    """Power iteration with the constraint's linear maximiser as its step."""

    max_iter: int = 200
    tol: float = 1e-9
    n_starts: int = 4

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
            starts = both_signs(eigenvector_starts(S, self.n_starts))
        return iterate(S, constraint.best_loading, starts, self.max_iter, self.tol)
