"""The ways coordinate ascent keeps its products up to date.

Notation: ``A`` is the covariance divided by its largest eigenvalue, ``X`` a factor
with ``A = X X'`` and one row per feature, ``U`` the components (columns). With at
least as many samples as features ``A`` is stored and ``G = A U`` carried along;
with fewer, ``A`` is never formed and ``Z = X'U`` is carried along instead. ``order`` is that in
which a sweep comes to the features: where it ends depends on it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from scipy import sparse

from loadstone.covariance import (
    Array,
    Covariance,
    DataCovariance,
    LowRankCovariance,
    materialise,
)
from loadstone.covariance.containers import InMemoryRows

__all__ = [
    "Carried",
    "FactorProducts",
    "GramProducts",
    "Penalties",
    "Products",
    "SparseProducts",
    "carried_with",
    "products_of",
]

#: Largest dense factor that is formed for wide data.
MAX_FACTOR_BYTES = 2 << 30


class Carried(NamedTuple):
    """What a sweep changes: ``U``, the product of ``A`` with it, ``M = U'U``, ``R = rowsums(U^2)``."""

    U: Array
    cache: Array
    M: Array
    R: Array


class Penalties(NamedTuple):
    """Of overlap, of the sum of all entries, and of every entry that is not zero."""

    alpha: float
    beta: float
    price: float = 0.0


class Products(Protocol):
    """A sweep over all entries, and the product it carries along."""

    def times(self, W: Array) -> Array:
        """``A W``."""
        ...

    def cache(self, U: Array) -> Array:
        """The product carried along by :meth:`sweep`, computed afresh; a row per component."""
        ...

    def captured(self, U: Array, cache: Array) -> float:
        """``tr(U'AU)``."""
        ...

    def sweep(self, carried: Carried, penalties: Penalties) -> None:
        """Maximise over every entry of ``U`` once; what is carried along changes in place."""
        ...


@dataclass(frozen=True)
class GramProducts:
    """``A`` in memory; an entry that does not change costs O(n_components)."""

    A: Array
    order: Array

    def times(self, W: Array) -> Array:
        """``A W``."""
        return self.A @ W

    def cache(self, U: Array) -> Array:
        """``G' = U'A``."""
        return np.ascontiguousarray(U.T @ self.A)

    def captured(self, U: Array, cache: Array) -> float:
        """``tr(U'AU)``."""
        return float(np.sum(cache * U.T, dtype=np.float64))

    def sweep(self, carried: Carried, penalties: Penalties) -> None:
        """Maximise over every entry of ``U`` once, in place."""
        from loadstone.solvers.coordinate_ascent_kernels import sweep_gram

        sweep_gram(self.A, self.order, *carried, *penalties)


@dataclass(frozen=True)
class FactorProducts:
    """A dense factor of ``A``; every entry costs its number of columns."""

    X: Array
    diagonal: Array
    order: Array

    def times(self, W: Array) -> Array:
        """``A W``."""
        result: Array = self.X @ (self.X.T @ W)
        return result

    def cache(self, U: Array) -> Array:
        """``Z' = U'X``."""
        return np.ascontiguousarray(U.T @ self.X)

    def captured(self, U: Array, cache: Array) -> float:
        """``tr(U'AU) = ||Z||^2``."""
        return float(np.sum(cache**2, dtype=np.float64))

    def sweep(self, carried: Carried, penalties: Penalties) -> None:
        """Maximise over every entry of ``U`` once, in place."""
        from loadstone.solvers.coordinate_ascent_kernels import sweep_factor

        sweep_factor(self.X, self.diagonal, self.order, *carried, *penalties)


@dataclass(frozen=True)
class SparseProducts:
    """A sparse factor whose centring stays implicit: ``X = Y - means q'``, ``q'q = n``."""

    Y: Any
    means: Array
    n: float
    diagonal: Array
    order: Array

    def times(self, W: Array) -> Array:
        """``A W = Y Y'W - n means (means'W)``."""
        result: Array = self.Y @ (self.Y.T @ W) - self.n * np.outer(self.means, self.means @ W)
        return result

    def cache(self, U: Array) -> Array:
        """``[Y'U; means'U]'``."""
        return np.ascontiguousarray(np.vstack([self.Y.T @ U, self.means @ U]).T)

    def captured(self, U: Array, cache: Array) -> float:
        """``tr(U'AU) = ||Y'U||^2 - n ||means'U||^2``."""
        squares = np.asarray(np.sum(cache**2, axis=0, dtype=np.float64))
        return float(squares[:-1].sum() - self.n * squares[-1])

    def sweep(self, carried: Carried, penalties: Penalties) -> None:
        """Maximise over every entry of ``U`` once, in place."""
        from loadstone.solvers.coordinate_ascent_kernels import sweep_sparse

        Y = (self.Y.indptr, self.Y.indices, self.Y.data)
        sweep_sparse(*Y, self.means, self.n, self.diagonal, self.order, *carried, *penalties)


def carried_with(products: Products, U: Array) -> Carried:
    """Everything that belongs to ``U``, computed afresh."""
    return Carried(U, products.cache(U), U.T @ U, np.sum(U * U, axis=1))


def products_of(S: Covariance, eigenvalue: float, order: Array | None = None) -> Products:
    """``S / eigenvalue``: stored, or as a factor where there are fewer samples than features."""
    dtype = S.dtype.type
    order = np.arange(S.n_features) if order is None else order
    if isinstance(S, LowRankCovariance):
        roots = np.sqrt(np.maximum(S.eigenvalues, 0) / eigenvalue)
        return _factor(np.ascontiguousarray(S.V * roots.astype(S.dtype)), order)
    if not isinstance(S, DataCovariance) or (_is_tall(S) and not _is_sparse_and_large(S)):
        A = np.ascontiguousarray(materialise(S).matrix / dtype(eigenvalue))
        return GramProducts(A, order)
    unit = dtype(np.sqrt((S.n_samples - 1.0) * eigenvalue))
    if isinstance(S.rows, InMemoryRows) and S.rows.is_sparse:
        return _sparse(S, unit, order)
    size = S.rows.shape[0] * S.n_features * S.dtype.itemsize
    if size > MAX_FACTOR_BYTES:
        msg = (
            f"coordinate ascent keeps the {S.rows.shape[0]} x {S.n_features} data in memory, "
            f"which takes {size / 2**30:.1f} GiB, more than the {MAX_FACTOR_BYTES / 2**30:.1f} GiB "
            "allowed; select features first, or use SparsePCA(nonnegative=True), which reads the "
            "data in blocks"
        )
        raise MemoryError(msg)
    X = np.ascontiguousarray(S.centred_columns(np.arange(S.n_features)).T)
    X /= unit
    X[S.moments.constant] = 0
    return _factor(X, order)


def _is_tall(S: DataCovariance) -> bool:
    return S.rows.shape[0] >= S.n_features


def _is_sparse_and_large(S: DataCovariance) -> bool:
    """Whether the data is far smaller than its covariance, which memory has no room for."""
    large = S.n_features**2 * S.dtype.itemsize > MAX_FACTOR_BYTES
    return large and isinstance(S.rows, InMemoryRows) and S.rows.is_sparse


def _factor(X: Array, order: Array) -> FactorProducts:
    return FactorProducts(X, np.einsum("sn,sn->s", X, X), order)


def _sparse(S: DataCovariance, unit: Any, order: Array) -> SparseProducts:
    scale = np.full(S.n_features, unit, dtype=S.dtype)
    if S.moments.scale is not None:
        scale *= S.moments.scale.astype(S.dtype)
    weight = np.zeros(S.n_features, dtype=S.dtype)
    varying = ~S.moments.constant
    weight[varying] = 1 / scale[varying]
    rows = S.rows.X  # type: ignore[attr-defined]
    if S.weights is not None:
        rows = sparse.diags_array(np.sqrt(S.weights)) @ rows
    # Rows of the transpose are the features; the copy has the size of the data.
    Y = sparse.csr_array((sparse.diags_array(weight) @ sparse.csr_array(rows.T)).astype(S.dtype))
    diagonal = S.diagonal() * (S.n_samples - 1.0) / unit**2
    means = (S.mean * weight).astype(S.dtype, copy=False)
    diagonal = diagonal.astype(S.dtype, copy=False)
    return SparseProducts(Y, means, float(S.n_samples), diagonal, order)
