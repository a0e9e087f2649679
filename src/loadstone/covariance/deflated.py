"""Deflation: a covariance with components removed, for any base.

Notation: every rule of Mackey (2009) has the form ``S - U C U'`` with a thin
``U`` and a small symmetric ``C``; see :data:`DEFLATIONS`. The data below is never
rewritten, so sparse stays sparse and Dask stays lazy.

References
----------
Mackey, L. (2009). Deflation methods for sparse PCA. Advances in Neural
Information Processing Systems 21.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from loadstone.covariance.protocol import Array, Covariance, Support


@dataclass(frozen=True)
class DeflatedCovariance:
    """``base - U C U'``."""

    base: Covariance
    U: Array
    C: Array

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
        result: Array = self.base @ W - self.U @ (self.C @ (self.U.T @ W))
        return result

    def diagonal(self) -> Array:
        """Variances that are left; rounding below zero is cut off."""
        removed = np.einsum("ij,jk,ik->i", self.U, self.C, self.U)
        result: Array = np.maximum(self.base.diagonal() - removed, 0)
        return result

    def block(self, rows: Support, cols: Support) -> Array:
        """``S[rows][:, cols]``."""
        result: Array = self.base.block(rows, cols) - self.U[rows] @ self.C @ self.U[cols].T
        return result

    def restrict(self, support: Support) -> DeflatedCovariance:
        """The covariance of the features in ``support`` alone."""
        return DeflatedCovariance(self.base.restrict(support), self.U[support], self.C)


def _projection(S: Covariance, w: Array) -> tuple[Array, Array]:
    """(I - ww') S (I - ww'): what is left is orthogonal to ``w``."""
    Sw = S @ w
    return np.column_stack([w, Sw]), np.array([[-(w @ Sw), 1.0], [1.0, 0.0]])


def _hotelling(S: Covariance, w: Array) -> tuple[Array, Array]:
    """S - (w'Sw) ww': the classic rule, indefinite unless ``w`` is an eigenvector."""
    return w[:, None], np.array([[w @ (S @ w)]])


def _schur(S: Covariance, w: Array) -> tuple[Array, Array]:
    """S - Sww'S / w'Sw: what is left is uncorrelated with the scores of ``w``."""
    Sw = S @ w
    return Sw[:, None], np.array([[1.0 / (w @ Sw)]])


#: Rules that take the component as found.
DEFLATIONS: dict[str, Callable[[Covariance, Array], tuple[Array, Array]]] = {
    "projection": _projection,
    "hotelling": _hotelling,
    "schur": _schur,
}
#: Rules that take the part of the component orthogonal to those before it.
ORTHOGONALISED = {
    "orthogonalized_projection": "projection",
    "orthogonalized_hotelling": "hotelling",
}
DEFLATION_NAMES = (*DEFLATIONS, *ORTHOGONALISED)


def deflate(
    S: Covariance, w: Array, rule: str = "projection", earlier: Array | None = None
) -> DeflatedCovariance:
    """Remove the component ``w`` from ``S``.

    Parameters
    ----------
    S : Covariance
        Covariance in which ``w`` was found, already deflated by ``earlier`` ones.
    w : ndarray of shape (n_features,)
        Unit-norm loadings.
    rule : str
        One of :data:`DEFLATION_NAMES`.
    earlier : ndarray of shape (n_features, m), optional
        Loadings removed before, for the orthogonalised rules.

    Returns
    -------
    DeflatedCovariance
        With one flat ``U`` and ``C`` however many components are gone.
    """
    if rule in ORTHOGONALISED:
        w, rule = orthogonal_part(w, earlier), ORTHOGONALISED[rule]
    U, C = DEFLATIONS[rule](S, w)
    U, C = U.astype(S.dtype, copy=False), C.astype(S.dtype, copy=False)
    if isinstance(S, DeflatedCovariance):
        return DeflatedCovariance(S.base, np.hstack([S.U, U]), _side_by_side(S.C, C))
    return DeflatedCovariance(S, U, C)


def _side_by_side(left: Array, right: Array) -> Array:
    """A block-diagonal matrix; SciPy's takes longer than the rest of a small deflation."""
    m = len(left)
    joint = np.zeros((m + len(right),) * 2, dtype=left.dtype)
    joint[:m, :m], joint[m:, m:] = left, right
    return joint


def orthogonal_part(w: Array, earlier: Array | None) -> Array:
    """Unit vector along the part of ``w`` orthogonal to ``earlier``; ``w`` where none is left."""
    if earlier is None or earlier.shape[1] == 0:
        return w
    basis = np.linalg.qr(earlier)[0]
    q = w - basis @ (basis.T @ w)
    q -= basis @ (basis.T @ q)
    length = np.linalg.norm(q)
    return q / length if length > np.sqrt(np.finfo(w.dtype).eps) else w
