"""Simple thresholding: keep the largest loadings of the first principal component.

References
----------
Cadima, J., & Jolliffe, I. T. (1995). Loadings and correlations in the interpretation
of principal components. Journal of Applied Statistics, 22(2), 203-214.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from loadstone.constraints import Constraint
from loadstone.covariance import Array, Covariance
from loadstone.loadings import Loadings, Stop
from loadstone.solvers.starts import both_signs, eigenvector_starts


@dataclass(frozen=True)
class Thresholding:
    """The allowed loadings closest in direction to the first principal component."""

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
        v = eigenvector_starts(S, 1, tol=0.0) if starts is None else starts
        W = constraint.best_loading(both_signs(v))
        value = np.einsum("ij,ij->j", W, S @ W)
        order = np.argsort(-value, kind="stable")
        return Loadings(W[:, order], value[order[:1]], 1, Stop.EXACT)
