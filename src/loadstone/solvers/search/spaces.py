"""Sample space: products with a covariance for loadings of a few features each.

Notation: ``S = Z'Z`` with the centred, scaled data ``Z`` over ``sqrt(n_samples - 1)``.
Scores ``Zw`` gather k columns, images ``Z'(Zw)`` come in blocks of features, and nothing
of the size n_features x starts is ever held. A deflated ``S - U C U'`` adds ``U'w`` to the
scores and ``-U C (U'w)`` to the images.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from scipy import sparse

from loadstone.covariance import (
    Array,
    Covariance,
    DataCovariance,
    DeflatedCovariance,
    ExplicitCovariance,
    LowRankCovariance,
)
from loadstone.covariance.containers import InMemoryRows
from loadstone.solvers.search.running_top import FEATURES_PER_BLOCK
from loadstone.solvers.search.sparse_block import SparseBlock

#: Bytes of scores and images held at once.
CHUNK_BYTES = 32 << 20
#: Largest dense data of which a centred copy is made, one contiguous row per feature.
CENTRED_BYTES = 64 << 20
#: The same out of core, where a second pass costs more than memory.
PASS_BYTES = 256 << 20
#: Entries gathered at once from rows that are stored one sample after the other.
GATHERED = 1 << 15


class Space(Protocol):
    """What a search needs of a covariance; rows are loadings."""

    @property
    def n_features(self) -> int:
        """Number of features."""
        ...

    @property
    def n_scores(self) -> int:
        """Length of what :meth:`scores` returns for each row."""
        ...

    @property
    def chunk_bytes(self) -> int:
        """Scores and images to hold at once."""
        ...

    def scores(self, block: SparseBlock) -> Array:
        """What the images are made from, one row each."""
        ...

    def values(self, block: SparseBlock, Y: Array) -> Array:
        """``w'Sw`` of each row with scores ``Y``, in double precision."""
        ...

    def images(self, Y: Array, lo: int, hi: int) -> Array:
        """Entries lo..hi of ``Sw`` for the scores ``Y``, one row each."""
        ...


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


@dataclass(frozen=True)
class ImageSpace:
    """A stored matrix, or a covariance that only multiplies: scores are the images ``Sw``."""

    product: Callable[[SparseBlock], Array]
    n_features: int
    chunk_bytes: int = CHUNK_BYTES

    @property
    def n_scores(self) -> int:
        """Length of an image."""
        return self.n_features

    def scores(self, block: SparseBlock) -> Array:
        """``Sw``."""
        return self.product(block)

    def values(self, block: SparseBlock, Y: Array) -> Array:
        """``w'Sw`` from the image on the support."""
        inside = np.take_along_axis(Y, block.indices, axis=1)
        return np.asarray(np.einsum("ij,ij->i", inside, block.values, dtype=np.float64))

    def images(self, Y: Array, lo: int, hi: int) -> Array:
        """Part of what is known already."""
        return Y[:, lo:hi]


@dataclass(frozen=True)
class DeflatedSpace:
    """``base - U C U'``."""

    base: Space
    U: Array
    C: Array

    @property
    def n_features(self) -> int:
        """Number of features."""
        return self.base.n_features

    @property
    def n_scores(self) -> int:
        """Scores of the base, and one more for each column of U."""
        return int(self.base.n_scores + self.U.shape[1])

    @property
    def chunk_bytes(self) -> int:
        """As for the base."""
        return self.base.chunk_bytes

    def scores(self, block: SparseBlock) -> Array:
        """Scores of the base and ``U'w``."""
        inner = np.einsum("rkc,rk->rc", self.U[block.indices], block.values)
        return np.hstack([self.base.scores(block), inner])

    def values(self, block: SparseBlock, Y: Array) -> Array:
        """``w'Sw`` less what was removed."""
        n = self.base.n_scores
        inner = Y[:, n:].astype(np.float64, copy=False)
        removed = np.einsum("ri,ij,rj->r", inner, self.C.astype(np.float64, copy=False), inner)
        return np.asarray(self.base.values(block, Y[:, :n]) - removed)

    def images(self, Y: Array, lo: int, hi: int) -> Array:
        """Images of the base less ``U C U'w``."""
        n = self.base.n_scores
        return np.asarray(
            self.base.images(Y[:, :n], lo, hi) - (Y[:, n:] @ self.C.T) @ self.U[lo:hi].T
        )


def chunks(space: Space, block: SparseBlock) -> Iterator[SparseBlock]:
    """Rows whose scores and images may be held at once."""
    held = space.n_scores + 3 * min(space.n_features, FEATURES_PER_BLOCK)
    width = max(8, space.chunk_bytes // (held * block.values.dtype.itemsize))
    for start in range(0, len(block), width):
        yield block.take(slice(start, start + width))


def by_columns(S: Covariance) -> Covariance:
    """``S`` with sparse data stored by columns: a search gathers columns all the time."""
    if isinstance(S, DeflatedCovariance):
        return replace(S, base=by_columns(S.base))
    if isinstance(S, DataCovariance) and isinstance(S.rows, InMemoryRows) and S.rows.is_sparse:
        X = S.rows.X.astype(S.dtype, copy=False).tocsc()
        return replace(S, rows=InMemoryRows(X))
    return S


def space_of(S: Covariance) -> Space:
    """The cheapest way to score few features at a time."""
    if isinstance(S, DeflatedCovariance):
        return DeflatedSpace(space_of(S.base), np.ascontiguousarray(S.U), S.C)
    if isinstance(S, LowRankCovariance):
        root = S.V * np.sqrt(np.maximum(S.eigenvalues, 0))
        return FactorSpace(np.ascontiguousarray(root, dtype=S.dtype).T)
    if isinstance(S, ExplicitCovariance):
        return ImageSpace(lambda block: block.csr(S.n_features) @ S.matrix, S.n_features)
    if isinstance(S, DataCovariance) and isinstance(S.rows, InMemoryRows):
        return _data_space(S, S.rows.X)
    return ImageSpace(RememberedProduct(S), S.n_features, PASS_BYTES)


def _data_space(S: DataCovariance, X: Any) -> FactorSpace:
    n_rows, n_features = X.shape
    if not S.rows.is_sparse and n_rows * n_features * S.dtype.itemsize <= CENTRED_BYTES:
        Z = S.centred_columns(np.arange(n_features))
        Z /= S.dtype.type(np.sqrt(S.n_samples - 1.0))
        return FactorSpace(np.ascontiguousarray(Z.T).T)
    scale = None if S.moments.scale is None else S.moments.scale.astype(S.dtype, copy=False)
    X = X.astype(S.dtype, copy=False)
    return FactorSpace(X, S.mean, scale, S.weights, S.n_samples - 1.0)


class RememberedProduct:
    """``Sw`` where a product is a pass over data out of core: the last ones are remembered."""

    def __init__(self, S: Covariance) -> None:
        self.S = S
        self.known: dict[bytes, Array] = {}

    def __call__(self, block: SparseBlock) -> Array:
        """Images of all rows, in one pass for those that are new."""
        keys = [i.tobytes() + v.tobytes() for i, v in zip(block.indices, block.values, strict=True)]
        new = [row for row, key in enumerate(keys) if key not in self.known]
        if new:
            fresh = self._in_one_pass(block.take(new))
            self.known = {key: self.known[key] for key in keys if key in self.known}
            self.known |= {keys[row]: image for row, image in zip(new, fresh, strict=True)}
        return np.stack([self.known[key] for key in keys])

    def _in_one_pass(self, block: SparseBlock) -> Array:
        W = np.zeros((self.S.n_features, len(block)), dtype=self.S.dtype, order="F")
        np.put_along_axis(W, block.indices.T, block.values.T, axis=0)
        return np.ascontiguousarray((self.S @ W).T)
