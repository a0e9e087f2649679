"""The Gram route: the covariance as a matrix in memory."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from loadstone.covariance.protocol import Array, Covariance, Support

#: Below this share of non-zero rows a gathered product is cheaper than a full one.
GATHER_BELOW = 0.25
#: Features up to which looking for these rows takes longer than the product.
SMALL = 64


def nonzero_rows(W: Array) -> Support:
    """Rows of ``W`` that are not zero throughout."""
    return np.flatnonzero(W.any(axis=1) if W.ndim == 2 else W)


@dataclass(frozen=True)
class ExplicitCovariance:
    """A symmetric matrix, stored, with what was derived from it and will be asked for again."""

    matrix: Array
    n_samples: float = float("nan")
    derived: dict[Any, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    @cached_property
    def n_features(self) -> int:
        """Number of rows and columns."""
        return int(self.matrix.shape[0])

    @cached_property
    def dtype(self) -> np.dtype[Any]:
        """Precision of all products."""
        return self.matrix.dtype

    def __matmul__(self, W: Array) -> Array:
        if self.n_features <= SMALL:
            return self.matrix @ W
        active = nonzero_rows(W)
        if active.size < GATHER_BELOW * self.n_features:
            # Rows are contiguous and the matrix is symmetric: gather rows, not columns.
            return self.matrix[active].T @ W[active]
        return self.matrix @ W

    def diagonal(self) -> Array:
        """Variances of the features."""
        return self.matrix.diagonal().copy()

    def block(self, rows: Support, cols: Support) -> Array:
        """``S[rows][:, cols]``."""
        return self.matrix[np.ix_(rows, cols)]

    def restrict(self, support: Support) -> ExplicitCovariance:
        """The covariance of the features in ``support`` alone."""
        return ExplicitCovariance(self.block(support, support), self.n_samples)


def materialise(S: Covariance, max_bytes: int = 2 << 30) -> ExplicitCovariance:
    """``S`` as a stored matrix, for algorithms that read single entries.

    Raises
    ------
    MemoryError
        When the matrix would take more than ``max_bytes``.
    """
    if isinstance(S, ExplicitCovariance):
        return S
    size = S.n_features**2 * S.dtype.itemsize
    if size > max_bytes:
        msg = (
            f"the covariance of {S.n_features} features takes {size / 2**30:.1f} GiB, more than the "
            f"{max_bytes / 2**30:.1f} GiB allowed here; select features first, or use a method "
            "that works on the data (SparsePCA, EMPCA)"
        )
        raise MemoryError(msg)
    everything = np.arange(S.n_features)
    return ExplicitCovariance(S.block(everything, everything), S.n_samples)
