"""A covariance of features of which some are counted the other way round."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from loadstone.covariance.explicit import ExplicitCovariance
from loadstone.covariance.protocol import Array, Covariance, Support


@dataclass(frozen=True)
class FlippedCovariance:
    """``D S D`` with D a diagonal matrix of +1 and -1: the covariance of ``D x``."""

    base: Covariance
    flips: Array

    @classmethod
    def of(cls, base: Covariance, flips: Array) -> Covariance:
        """``base`` itself where nothing is flipped; a matrix stays a matrix."""
        if (flips == 1).all():
            return base
        if isinstance(base, ExplicitCovariance):
            return ExplicitCovariance(flips[:, None] * base.matrix * flips, base.n_samples)
        return cls(base, flips)

    @property
    def n_samples(self) -> float:
        """Number of samples behind the matrix."""
        return self.base.n_samples

    @property
    def n_features(self) -> int:
        """Number of rows and columns."""
        return self.base.n_features

    @property
    def dtype(self) -> np.dtype[Any]:
        """Precision of all products."""
        return self.base.dtype

    def __matmul__(self, W: Array) -> Array:
        flips = self.flips if W.ndim == 1 else self.flips[:, None]
        product: Array = flips * (self.base @ (flips * W))
        return product

    def diagonal(self) -> Array:
        """Variances of the features."""
        return self.base.diagonal()

    def block(self, rows: Support, cols: Support) -> Array:
        """``S[rows][:, cols]``."""
        part: Array = self.flips[rows, None] * self.base.block(rows, cols) * self.flips[cols]
        return part

    def restrict(self, support: Support) -> Covariance:
        """The covariance of the features in ``support`` alone."""
        return FlippedCovariance.of(self.base.restrict(support), self.flips[support])
