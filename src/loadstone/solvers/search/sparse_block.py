"""Loadings as a few indices and values each: hundreds of starts in a few kilobytes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from loadstone.covariance import Array, Support


@dataclass(frozen=True)
class SparseBlock:
    """Unit-norm loadings, one per row.

    Attributes
    ----------
    indices : ndarray of shape (n_rows, k)
        Features in ascending order.
    values : ndarray of shape (n_rows, k)
        Their loadings; zeros where fewer than k features help.
    """

    indices: Support
    values: Array

    def __len__(self) -> int:
        return int(self.indices.shape[0])

    @property
    def size(self) -> int:
        """Places of each row."""
        return int(self.indices.shape[1])

    def take(self, rows: Any) -> SparseBlock:
        """Some of the rows."""
        return SparseBlock(self.indices[rows], self.values[rows])

    def csr(self, n_features: int, values: Array | None = None) -> Any:
        """A sparse matrix with the loadings as rows; ``values`` in place of its own."""
        data = self.values if values is None else values
        ends = np.arange(0, self.indices.size + 1, self.size)
        shape = (len(self), n_features)
        return sparse.csr_array((data.ravel(), self.indices.ravel(), ends), shape=shape)

    def support(self, row: int) -> Support:
        """Features with a loading, in order."""
        result: Array = self.indices[row][self.values[row] != 0]
        return result

    def dense(self, row: int, n_features: int) -> Array:
        """One row as a vector with all its zeros."""
        w = np.zeros(n_features, dtype=self.values.dtype)
        w[self.indices[row]] = self.values[row]
        return w

    def distinct(self) -> list[int]:
        """Where each support appears first."""
        seen: dict[bytes, int] = {}
        for row in range(len(self)):
            seen.setdefault(self.support(row).tobytes(), row)
        return list(seen.values())


def joined(blocks: list[SparseBlock]) -> SparseBlock:
    """All rows of several blocks of the same size."""
    return SparseBlock(
        np.concatenate([block.indices for block in blocks]),
        np.concatenate([block.values for block in blocks]),
    )


def unit_block(features: Support, dtype: Any) -> SparseBlock:
    """One row per feature, with nothing but that feature."""
    return SparseBlock(features[:, None], np.ones((features.size, 1), dtype=dtype))


def block_of(w: Array, size: int) -> SparseBlock:
    """A vector with at most ``size`` non-zeros as a block of one row."""
    support = np.flatnonzero(w)
    if support.size < size:
        # Places without a loading are held by the first features that have none.
        spare = np.setdiff1d(np.arange(min(w.size, size + support.size)), support)
        support = np.sort(np.concatenate([support, spare[: size - support.size]]))
    return SparseBlock(support[None, :], w[support][None, :])
