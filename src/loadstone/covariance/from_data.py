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

from loadstone.covariance.containers import InMemoryRows, Rows, columns
from loadstone.covariance.explicit import GATHER_BELOW, ExplicitCovariance, nonzero_rows
from loadstone.covariance.moments import Moments
from loadstone.covariance.protocol import Array, Covariance, Support


@dataclass(frozen=True)
class DataCovariance:
    """``Xc' diag(weights) Xc / (n_samples - 1)`` on dense, mapped, sparse or Dask rows."""

    rows: Rows
    moments: Moments
    weights: Array | None = None

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

    def __matmul__(self, W: Array) -> Array:
        V = self._unscaled(W.astype(self.dtype, copy=False))
        back, total = self.rows.sum_over_blocks(_product_sums, V, self.mean @ V, self.weights)
        return self._finish(back, total)

    def _unscaled(self, W: Array) -> Array:
        return W if self.moments.scale is None else _divide_rows(W, self.moments.scale)

    def _finish(self, back: Array, total: Array) -> Array:
        back -= np.multiply.outer(self.mean, total)
        if self.moments.scale is not None:
            back = _divide_rows(back, self.moments.scale)
        back /= self.dtype.type(self.n_samples - 1.0)
        return back

    def diagonal(self) -> Array:
        """Variances of the (scaled) features."""
        variance = np.where(self.moments.constant, 0.0, self.moments.variance)
        if self.moments.scale is not None:
            variance = variance / self.moments.scale**2
        return variance.astype(self.dtype, copy=False)

    def scores(self, W: Array) -> Array:
        """``Xc W``: the rows projected on a block of loadings."""
        V = self._unscaled(W.astype(self.dtype, copy=False))
        return self.rows.stack_over_blocks(_project, V, self.mean @ V)

    def back_project(self, Y: Array) -> Array:
        """``Xc' diag(weights) Y / (n_samples - 1)`` for scores ``Y``."""
        back, total = self.rows.sum_over_blocks(_back_project_sums, Y, self.weights)
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
        """``S[rows][:, cols]``, from the gathered columns."""
        left = self.centred_columns(rows)
        right = left if rows is cols or np.array_equal(rows, cols) else self.centred_columns(cols)
        return (left.T @ right) / self.dtype.type(self.n_samples - 1.0)

    def restrict(self, support: Support) -> Covariance:
        """The covariance of the features in ``support``: explicit where that is small."""
        if support.size <= self.rows.shape[0]:
            return ExplicitCovariance(self.block(support, support), self.n_samples)
        kept = columns(self.rows, support) if not self.rows.is_sparse else None
        X = kept if kept is not None else sparse.csr_array(self._sparse_columns(support))
        m = self.moments
        scale = None if m.scale is None else m.scale[support]
        moments = Moments(
            m.n_samples, m.mean[support], m.variance[support], m.constant[support], scale
        )
        return DataCovariance(InMemoryRows(X), moments, self.weights)

    def _sparse_columns(self, support: Support) -> Any:
        if isinstance(self.rows, InMemoryRows):
            return self.rows.X[:, support]
        return sparse.csr_array(columns(self.rows, support))


def _divide_rows(W: Array, scale: Array) -> Array:
    scale = scale.astype(W.dtype, copy=False)
    return W / scale if W.ndim == 1 else W / scale[:, None]


def _gathered_product(block: Any, V: Array) -> Array:
    """``block @ V``, reading only the columns that matter where few of them do."""
    if not sparse.issparse(block):
        active = nonzero_rows(V)
        if active.size < GATHER_BELOW * V.shape[0]:
            return block[:, active] @ V[active]
    return block @ V


def _product_sums(
    block: Any, rows: slice, V: Array, offset: Array, weights: Array | None
) -> tuple[Array, Array]:
    Y = _gathered_product(block, V) - offset
    return _back_project_sums(
        block, slice(0, block.shape[0]), Y, None if weights is None else weights[rows]
    )


def _back_project_sums(
    block: Any, rows: slice, Y: Array, weights: Array | None
) -> tuple[Array, Array]:
    Y = Y[rows]
    if weights is not None:
        Y = (Y.T * weights[rows]).T
    return block.T @ Y, Y.sum(axis=0)


def _project(block: Any, rows: slice, V: Array, offset: Array) -> Array:
    return _gathered_product(block, V) - offset
