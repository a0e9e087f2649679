"""Sample space of data in memory: ``S = Z'Z`` that is never formed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from loadstone.covariance import Array, Support
from loadstone.solvers.search.sparse_block import SparseBlock

#: Bytes of scores and images held at once.
CHUNK_BYTES = 32 << 20
#: Entries gathered at once from rows that are stored one sample after the other.
GATHERED = 1 << 15


@dataclass(frozen=True)
class FactorSpace:
    """Data in memory: dense in any order, or compressed sparse columns.

    Attributes
    ----------
    X : ndarray or CSC of shape (n_rows, n_features)
        Raw or centred data.
    mean, scale : ndarray of shape (n_features,) or None
        What to subtract and to divide by; ``None`` where that is done.
    weights : ndarray of shape (n_rows,) or None
        How many samples each row stands for.
    divisor : float
        ``n_samples - 1``, or 1 where that is done.
    """

    X: Any
    mean: Array | None = None
    scale: Array | None = None
    weights: Array | None = None
    divisor: float = 1.0
    chunk_bytes: int = CHUNK_BYTES

    @property
    def n_features(self) -> int:
        """Number of features."""
        return int(self.X.shape[1])

    @property
    def n_scores(self) -> int:
        """Number of rows of the data."""
        return int(self.X.shape[0])

    def scores(self, block: SparseBlock) -> Array:
        """``Zw`` up to the root of the divisor, centred to the last digit."""
        values = block.values
        if self.scale is not None:
            values = values / self.scale[block.indices]
        Y = self._gathered(block, values)
        if self.mean is None:
            return Y
        Y -= np.einsum("ij,ij->i", self.mean[block.indices], values)[:, None]
        if self.weights is None:
            Y -= Y.mean(axis=1, keepdims=True)
        else:
            Y -= (Y @ self.weights / self.weights.sum())[:, None]
        return Y

    def _gathered(self, block: SparseBlock, values: Array) -> Array:
        """Sums of k columns of the data each, times ``values``."""
        if sparse.issparse(self.X):
            return np.asarray((block.csr(self.n_features, values) @ self.X.T).toarray())
        if self.X.T.flags.c_contiguous:
            return np.asarray(block.csr(self.n_features, values) @ self.X.T)
        n_rows, k = block.indices.shape
        step = max(1, GATHERED // k)
        Y = np.empty((n_rows, self.n_scores), dtype=self.X.dtype)
        for at in range(0, n_rows, step):
            rows = slice(at, at + step)
            columns = np.take(self.X, block.indices[rows].ravel(), axis=1)
            columns = columns.reshape(self.n_scores, -1, k)
            np.einsum("nrk,rk->rn", columns, values[rows], out=Y[rows])
        return Y

    def values(self, block: SparseBlock, Y: Array) -> Array:
        """``w'Sw`` from the scores."""
        Y = Y.astype(np.float64, copy=False)
        if self.weights is None:
            return np.asarray(np.einsum("ij,ij->i", Y, Y) / self.divisor)
        return np.asarray(np.einsum("ij,ij,j->i", Y, Y, self.weights) / self.divisor)

    def images(self, Y: Array, lo: int, hi: int) -> Array:
        """``Z'Y`` for some of the features."""
        if self.weights is not None:
            Y = Y * self.weights
        if sparse.issparse(self.X):
            back = np.ascontiguousarray((self.X.T[lo:hi] @ Y.T).T)
        else:
            back = Y @ self.X[:, lo:hi]
        if self.scale is not None:
            back /= self.scale[lo:hi] * self.scale.dtype.type(self.divisor)
        elif self.divisor != 1.0:
            back /= back.dtype.type(self.divisor)
        return back

    def images_at(self, Y: Array, indices: Support) -> Array:
        """``Z_T'Y`` for the features T of each row."""
        if self.weights is not None:
            Y = Y * self.weights
        if sparse.issparse(self.X):
            back = self._sparse_images_at(Y, indices)
        else:
            back = np.matmul(self._columns(indices), Y[:, :, None])[:, :, 0]
        if self.scale is not None:
            back = back / (self.scale[indices] * self.scale.dtype.type(self.divisor))
        elif self.divisor != 1.0:
            back = back / back.dtype.type(self.divisor)
        return back

    def _sparse_images_at(self, Y: Array, indices: Support) -> Array:
        """The same for all rows in one pass over the entries of their columns."""
        columns = self.X[:, indices.ravel()]
        place = np.repeat(np.arange(indices.size), np.diff(columns.indptr))
        terms = columns.data * Y[place // indices.shape[1], columns.indices]
        sums = np.bincount(place, weights=terms, minlength=indices.size)
        return sums.reshape(indices.shape).astype(Y.dtype, copy=False)

    def _columns(self, indices: Support) -> Array:
        """Columns of dense data, of shape (n_rows, k, n_samples)."""
        if self.X.T.flags.c_contiguous:
            return np.asarray(self.X.T[indices])
        columns = np.take(self.X, indices.ravel(), axis=1)
        return columns.T.reshape(*indices.shape, self.n_scores)

    def entries(self, left: Support, right: Support) -> Array:
        """``Z_A'Z_B`` for the features A and B of each row."""
        if sparse.issparse(self.X):
            pairs = zip(left, right, strict=True)
            found = np.stack([(self._weighed(A).T @ self.X[:, B]).toarray() for A, B in pairs])
            assert self.mean is not None
            total = self.n_scores if self.weights is None else self.weights.sum()
            found = found - total * self.mean[left][:, :, None] * self.mean[right][:, None, :]
        else:
            A, B = self._columns(left), self._columns(right)
            if self.mean is not None:
                A = A - self.mean[left][:, :, None]
                B = B - self.mean[right][:, :, None]
            if self.weights is not None:
                A = A * self.weights
            found = np.matmul(A, np.swapaxes(B, 1, 2))
        if self.scale is not None:
            found = found / (self.scale[left][:, :, None] * self.scale[right][:, None, :])
        result: Array = found / found.dtype.type(self.divisor)
        return result

    def _weighed(self, features: Support) -> Any:
        columns = self.X[:, features]
        return columns if self.weights is None else columns.multiply(self.weights[:, None]).tocsc()
