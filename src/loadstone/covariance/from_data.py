"""The data route: products with the covariance without ever forming it.

Notation: ``Xc = (X - mean) / scale`` is never formed either. With ``V = W / scale``,
``Xc W = X V - mean'V`` and ``Xc'Y = (X'Y - mean 1'Y) / scale``, so sparse data stays
sparse and one pass over the rows serves a whole block of columns.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from loadstone.covariance.containers import (
    InMemoryRows,
    PerFeature,
    PerRow,
    Rows,
    columns,
    dense,
    per_row,
)
from loadstone.covariance.dask_rows import DaskRows
from loadstone.covariance.explicit import GATHER_BELOW, ExplicitCovariance, nonzero_rows
from loadstone.covariance.moments import Moments
from loadstone.covariance.protocol import Array, Covariance, Support

#: Columns of sparse data that are made dense at once.
DENSE_COLUMNS = 32


@dataclass(frozen=True)
class DataCovariance:
    """``Xc' diag(weights) Xc / (n_samples - 1)`` on dense, mapped, sparse or Dask rows.

    ``moments`` are those of ``rows``; where these are a copy of the data that was moved towards
    zero, ``origin`` is what was subtracted.
    """

    rows: Rows
    moments: Moments
    weights: Array | None = None
    origin: Array | None = None

    @property
    def n_samples(self) -> float:
        """Sum of the sample weights."""
        return self.moments.n_samples

    @property
    def n_features(self) -> int:
        """Number of features."""
        return self.rows.shape[1]

    @property
    def dtype(self) -> np.dtype[Any]:
        """Precision of all products."""
        return self.rows.dtype

    @property
    def mean(self) -> Array:
        """Mean of the features in the precision of the products."""
        return self.moments.mean.astype(self.dtype, copy=False)

    @property
    def data_mean(self) -> Array:
        """Mean of the features as the data has it, wherever the rows were moved."""
        return self.moments.mean if self.origin is None else self.moments.mean + self.origin

    def __matmul__(self, W: Array) -> Array:
        if len(self.rows.strips) > 1:
            return self._product_of_strips(W)
        V, offset, active = self._gathered(W)
        sums = _centred_product_sums if self.rows.in_memory else _product_sums
        args = (V, offset, active, per_row(self.weights))
        back, total = self.rows.sum_over_blocks(sums, *args)
        return self._finish(back, total)

    def _product_of_strips(self, W: Array) -> Array:
        """Scores first, which stay on the workers, then the way back: two passes."""
        rows, args = self._of_strips(W if W.ndim == 2 else W[:, None])
        assert isinstance(rows, DaskRows)
        product = self._back_from(rows.scores_on_workers(_partial_scores, *args))
        return product if W.ndim == 2 else product[:, 0]

    def _of_strips(self, W: Array, roots: Array | None = None) -> tuple[Rows, tuple[Any, ...]]:
        """The columns that some loading uses, and what projects them."""
        active = nonzero_rows(W)
        V = self._unscaled(W.astype(self.dtype, copy=False), active)
        args = (PerFeature(V), PerFeature(self.mean[active]), None, per_row(roots))
        return self.rows.narrow(active), args

    def _back_from(self, Y: PerRow) -> Array:
        """``Xc' diag(weights) Y / (n_samples - 1)`` where columns are stored apart."""
        args = (Y, PerFeature(self.mean), per_row(self.weights))
        (back,) = self.rows.sum_over_blocks(_strip_sums, *args)
        return self._finish(back.T, np.zeros(0))

    # Kernels of OpenBLAS for a few columns in single precision compute with what is left in a
    # register beside them: the product is right, and a flag is raised that numpy would warn of.
    @np.errstate(invalid="ignore")
    def _gathered(self, W: Array) -> tuple[Array, Array, Support | None]:
        """``W / scale`` without its zero rows where that pays, mean'V, and the rows kept."""
        active: Support | None = nonzero_rows(W)
        assert active is not None
        if self.rows.is_sparse or active.size >= GATHER_BELOW * self.n_features:
            active = None
        V = self._unscaled(W.astype(self.dtype, copy=False), active)
        mean = self.mean if active is None else self.mean[active]
        return V, mean @ V, active

    def _unscaled(self, W: Array, active: Support | None = None) -> Array:
        """Rows ``active`` of ``W / scale``."""
        scale = self.moments.scale
        if active is not None:
            W, scale = W[active], None if scale is None else scale[active]
        return W if scale is None else _scale_rows(W, 1 / scale)

    def _finish(self, back: Array, total: Array) -> Array:
        """``(back - mean total') / scale / (n_samples - 1)``, in place where it can be."""
        if total.any():
            back -= np.multiply.outer(self.mean, total)
        divisor = self.n_samples - 1.0
        if self.moments.scale is None:
            back /= self.dtype.type(divisor)
            return back
        return _scale_rows(back, 1 / (divisor * self.moments.scale), out=back)

    def diagonal(self) -> Array:
        """Variances of the (scaled) features."""
        variance = np.where(self.moments.constant, 0.0, self.moments.variance)
        if self.moments.scale is not None:
            variance = variance / self.moments.scale**2
        return variance.astype(self.dtype, copy=False)

    def scores(self, W: Array) -> Array:
        """``Xc W``: the rows projected on a block of loadings."""
        if len(self.rows.strips) > 1:
            rows, args = self._of_strips(W)
            return rows.stack_over_blocks(_partial_scores, *args)
        V, offset, active = self._gathered(W)
        return self.rows.stack_over_blocks(_project, V, offset, active)

    def score_squares(self, W: Array) -> Array:
        """Weighted sums of the squared scores, added up where the rows are."""
        if self.rows.in_memory:
            Y = self.scores(W)
            squares = Y * Y
            return np.asarray(
                squares.sum(axis=0) if self.weights is None else self.weights @ squares
            )
        roots = None if self.weights is None else np.sqrt(self.weights)
        if len(self.rows.strips) > 1:
            rows, args = self._of_strips(W, roots)
        else:
            V, _, active = self._gathered(W)
            mean = self.mean if active is None else self.mean[active]
            rows, args = self.rows, (V, mean, active, per_row(roots))
        return np.asarray(rows.sum_over_rows(_partial_scores, args, _squares)[0])

    def back_project(self, Y: Array) -> Array:
        """``Xc' diag(weights) Y / (n_samples - 1)`` for scores ``Y``."""
        if len(self.rows.strips) > 1:
            return self._back_from(PerRow(Y))
        back, total = self.rows.sum_over_blocks(
            _back_project_sums, PerRow(Y), per_row(self.weights)
        )
        return self._finish(back, total)

    def centred_columns(self, support: Support) -> Array:
        """Centred, scaled columns, times the root of the weights; dense."""
        Z = columns(self.rows, support).astype(self.dtype, copy=True)
        Z -= self.mean[support]
        if self.moments.scale is not None:
            Z /= self.moments.scale[support].astype(self.dtype, copy=False)
        if self.weights is not None:
            Z *= np.sqrt(self.weights)[:, None]
        return Z

    def block(self, rows: Support, cols: Support) -> Array:
        """``S[rows][:, cols]``, from the gathered columns; one pass, nothing of length n kept."""
        if self.rows.is_sparse and self.rows.in_memory and cols.size > DENSE_COLUMNS:
            return self._block_by_products(rows, cols)
        if len(self.rows.strips) > 1:
            return self._block_of_strips(rows, cols)
        shared = rows is cols or np.array_equal(rows, cols)
        (total,) = self.rows.sum_over_blocks(
            _block_sums, rows, None if shared else cols, self.mean, per_row(self.weights)
        )
        total = total / self.dtype.type(self.n_samples - 1.0)
        if self.moments.scale is not None:
            scale = self.moments.scale.astype(self.dtype, copy=False)
            total /= np.multiply.outer(scale[rows], scale[cols])
        result: Array = total
        return result

    def _block_of_strips(self, rows: Support, cols: Support) -> Array:
        """The same among the columns that are asked for, and by products where they are many."""
        chosen = np.union1d(rows, cols)
        narrow = self.rows.narrow(chosen)
        if len(narrow.strips) > 1:
            return self._block_by_products(rows, cols)
        part = DataCovariance(narrow, self.moments.of(chosen), self.weights)
        return part.block(np.searchsorted(chosen, rows), np.searchsorted(chosen, cols))

    def _block_by_products(self, rows: Support, cols: Support) -> Array:
        """The same in slices of columns, so that sparse data is never made dense."""
        found = np.empty((rows.size, cols.size), dtype=self.dtype)
        for start in range(0, cols.size, DENSE_COLUMNS):
            part = cols[start : start + DENSE_COLUMNS]
            units = np.zeros((self.n_features, part.size), dtype=self.dtype)
            units[part, np.arange(part.size)] = 1
            found[:, start : start + part.size] = (self @ units)[rows]
        # Products round each half on its own; a covariance is symmetric.
        return (found + found.T) / 2 if np.array_equal(rows, cols) else found

    def restrict(self, support: Support) -> Covariance:
        """The covariance of the features in ``support``: explicit where that is small."""
        if support.size <= self.rows.shape[0]:
            return ExplicitCovariance(self.block(support, support), self.n_samples)
        kept = columns(self.rows, support) if not self.rows.is_sparse else None
        X = kept if kept is not None else sparse.csr_array(self._sparse_columns(support))
        origin = None if self.origin is None else self.origin[support]
        return DataCovariance(InMemoryRows(X), self.moments.of(support), self.weights, origin)

    def _sparse_columns(self, support: Support) -> Any:
        if isinstance(self.rows, InMemoryRows):
            return self.rows.X[:, support]
        return sparse.csr_array(columns(self.rows, support))


def _scale_rows(W: Array, factor: Array, out: Array | None = None) -> Array:
    factor = factor.astype(W.dtype, copy=False)
    return np.multiply(W, factor if W.ndim == 1 else factor[:, None], out=out)


def _product_sums(
    block: Any,
    rows: slice,
    V: Array,
    offset: Array,
    active: Support | None,
    weights: Array | None,
) -> tuple[Array, Array]:
    return _transposed_sums(block, _project(block, rows, V, offset, active), weights)


def _centred_product_sums(
    block: Any,
    rows: slice,
    V: Array,
    offset: Array,
    active: Support | None,
    weights: Array | None,
) -> tuple[Array, Array]:
    """The same where the block is all there is: centring the scores replaces a correction.

    Centred scores sum to zero but for rounding; removing the rest from the few scores is
    cheaper than removing ``mean * rest`` from every feature.
    """
    Y = _project(block, rows, V, offset, active)
    Y -= Y.mean(axis=0) if weights is None else weights @ Y / weights.sum()
    back, total = _transposed_sums(block, Y, weights)
    return back, np.zeros_like(total)


def _back_project_sums(
    block: Any, rows: slice, Y: Array, weights: Array | None
) -> tuple[Array, Array]:
    return _transposed_sums(block, Y, weights)


def _transposed_sums(block: Any, Y: Array, weights: Array | None) -> tuple[Array, Array]:
    if weights is not None:
        Y = (Y.T * weights).T
    # Columns of the result are contiguous: constraints work column by column.
    back = block.T @ Y if sparse.issparse(block) else (Y.T @ block).T
    return back, Y.sum(axis=0)


def _block_sums(
    block: Any,
    rows: slice,
    left: Support,
    right: Support | None,
    mean: Array,
    weights: Array | None,
) -> tuple[Array]:
    if right is not None and right.size > left.size:
        return (_block_sums(block, rows, right, left, mean, weights)[0].T,)
    L = block[:, left]
    R = dense(L if right is None else block[:, right]) - mean[left if right is None else right]
    if weights is not None:
        R = R * weights[:, None]
    if sparse.issparse(L):
        # Only the side with fewer columns is made dense.
        return (L.T @ R - np.multiply.outer(mean[left], R.sum(axis=0)),)
    return ((L - mean[left]).T @ R,)


def _project(
    block: Any, rows: slice, V: Array, offset: Array, active: Support | None = None
) -> Array:
    result: Array = (block if active is None else block[:, active]) @ V - offset
    return result


def _partial_scores(
    block: Any, rows: slice, V: Array, mean: Array, active: Support | None, roots: Array | None
) -> Array:
    """What some columns add to the centred scores, times the roots of the weights."""
    Y = _project(block, rows, V, mean @ V, active)
    return Y if roots is None else Y * roots[:, None]


def _strip_sums(
    block: Any, rows: slice, Y: Array, mean: Array, weights: Array | None
) -> tuple[Array]:
    """``Y' diag(weights) (X - mean)`` of some columns, which are last."""
    back, total = _transposed_sums(block, Y, weights)
    return (back.T - np.multiply.outer(total, mean),)


def _squares(Y: Array) -> tuple[Array]:
    return ((Y * Y).sum(axis=0),)
