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

from loadstone.covariance import (
    Array,
    Covariance,
    DataCovariance,
    DeflatedCovariance,
    ExplicitCovariance,
    LowRankCovariance,
    Support,
)
from loadstone.covariance.containers import InMemoryRows
from loadstone.solvers.search.factor_space import CHUNK_BYTES, FactorSpace
from loadstone.solvers.search.running_top import FEATURES_PER_BLOCK
from loadstone.solvers.search.sparse_block import SparseBlock

#: Largest dense data of which a centred copy is made, one contiguous row per feature.
CENTRED_BYTES = 64 << 20
#: The same out of core, where a second pass costs more than memory.
PASS_BYTES = 256 << 20


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

    def images_at(self, Y: Array, indices: Support) -> Array:
        """Entries of ``Sw`` at the indices of each row."""
        ...

    def entries(self, left: Support, right: Support) -> Array:
        """``S[left][:, right]`` of each row of indices."""
        ...


@dataclass(frozen=True)
class ImageSpace:
    """A stored matrix, or a covariance that only multiplies: scores are the images ``Sw``."""

    product: Callable[[SparseBlock], Array]
    block: Callable[[Support, Support], Array]
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

    def images_at(self, Y: Array, indices: Support) -> Array:
        """Part of what is known already."""
        return np.take_along_axis(Y, indices, axis=1)

    def entries(self, left: Support, right: Support) -> Array:
        """Entries of the matrix."""
        return np.stack([self.block(A, B) for A, B in zip(left, right, strict=True)])


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

    def images_at(self, Y: Array, indices: Support) -> Array:
        """Images of the base less ``U C U'w`` at some features of each row."""
        n = self.base.n_scores
        removed = np.einsum("rkc,rc->rk", self.U[indices], Y[:, n:] @ self.C.T)
        return np.asarray(self.base.images_at(Y[:, :n], indices) - removed)

    def entries(self, left: Support, right: Support) -> Array:
        """Entries of the base less those of ``U C U'``."""
        removed = np.matmul(self.U[left] @ self.C, np.swapaxes(self.U[right], 1, 2))
        return np.asarray(self.base.entries(left, right) - removed)


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
        return ImageSpace(lambda block: block.csr(S.n_features) @ S.matrix, S.block, S.n_features)
    if isinstance(S, DataCovariance) and isinstance(S.rows, InMemoryRows):
        return _data_space(S, S.rows.X)
    return ImageSpace(RememberedProduct(S), S.block, S.n_features, PASS_BYTES)


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
