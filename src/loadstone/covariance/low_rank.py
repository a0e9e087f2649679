"""A covariance known through its leading eigenpairs: S = V diag(eigenvalues) V'."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from loadstone.covariance.protocol import Array, Support


@dataclass(frozen=True)
class LowRankCovariance:
    """``V diag(eigenvalues) V'`` with orthonormal columns ``V``, never multiplied out."""

    V: Array
    eigenvalues: Array
    n_samples: float = float("nan")

    @property
    def n_features(self) -> int:
        """Number of rows and columns."""
        return int(self.V.shape[0])

    @property
    def dtype(self) -> np.dtype[Any]:
        """Precision of all products."""
        return self.V.dtype

    def __matmul__(self, W: Array) -> Array:
        inner = self.V.T @ W
        result: Array = self.V @ (inner.T * self.eigenvalues).T
        return result

    def diagonal(self) -> Array:
        """Variances of the features."""
        result: Array = np.einsum("ij,ij,j->i", self.V, self.V, self.eigenvalues)
        return result

    def block(self, rows: Support, cols: Support) -> Array:
        """``S[rows][:, cols]``."""
        return (self.V[rows] * self.eigenvalues) @ self.V[cols].T

    def restrict(self, support: Support) -> LowRankCovariance:
        """The covariance of the features in ``support`` alone."""
        return LowRankCovariance(self.V[support], self.eigenvalues, self.n_samples)
