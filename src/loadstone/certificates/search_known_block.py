"""A covariance whose block on a few features is already computed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from loadstone.covariance.explicit import ExplicitCovariance
from loadstone.covariance.protocol import Array, Covariance, Support


@dataclass(frozen=True, eq=False)
class KnownBlock:
    """``base`` under its own indices, fast for the features that are left after screening."""

    base: Covariance
    features: Support
    matrix: Array
    variances: Array

    @classmethod
    def of(cls, base: Covariance, features: Support) -> Covariance:
        """Compute the block once; an explicit matrix needs no such help."""
        if isinstance(base, ExplicitCovariance):
            return base
        block = np.asarray(base.block(features, features), dtype=np.float64)
        return cls(base, features, (block + block.T) / 2.0, base.diagonal())

    @property
    def n_samples(self) -> float:
        """Number of samples behind the matrix."""
        return self.base.n_samples

    @property
    def n_features(self) -> int:
        """Number of features of the whole covariance."""
        return self.base.n_features

    @property
    def dtype(self) -> np.dtype[Any]:
        """Precision of the products."""
        return self.base.dtype

    def __matmul__(self, W: Array) -> Array:
        return self.base @ W

    def diagonal(self) -> Array:
        """Variances of all features."""
        return self.variances

    def block(self, rows: Support, cols: Support) -> Array:
        """``S[rows][:, cols]``; both must be among the known features."""
        at = np.searchsorted(self.features, rows)
        to = np.searchsorted(self.features, cols)
        return self.matrix[np.ix_(at, to)]

    def restrict(self, support: Support) -> Covariance:
        """The covariance of the features in ``support`` alone."""
        return self.base.restrict(support)
