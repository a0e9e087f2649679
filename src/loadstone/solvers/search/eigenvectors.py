"""Leading eigenvectors to start from, with little memory and with a sign of their own.

Notation: for wide data ``S - U C U' = B' M B`` with ``B = [Z; U']`` and ``M = diag(I, -C)``.
With ``B B' = Q L Q'`` its eigenvalues are those of the small ``L^(1/2) Q'MQ L^(1/2)``.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import block_diag
from scipy.sparse.linalg import ArpackError, LinearOperator, eigsh

from loadstone.covariance import (
    Array,
    Covariance,
    DataCovariance,
    DeflatedCovariance,
    LowRankCovariance,
    leading_eigenpairs,
)
from loadstone.covariance.spectrum import SMALL_MATRIX, sample_gram, upright
from loadstone.solvers.search.restricted import in_memory
from loadstone.solvers.starts import START_TOL

#: Samples up to which the small problem of wide data is solved in full.
MAX_SMALL = 384


def search_eigenvectors(S: Covariance, n: int) -> Array:
    """The ``n`` leading eigenvectors as columns; the first to all digits, the others nearly.

    Each is upright, so that what is mixed from them does not depend on how the data lies in memory.
    """
    n = min(n, S.n_features)
    return upright(_vectors(S, n))


def _vectors(S: Covariance, n: int) -> Array:
    if not in_memory(S):
        return leading_eigenpairs(S, n, START_TOL)[1]
    base = S.base if isinstance(S, DeflatedCovariance) else S
    if isinstance(base, DataCovariance) and _is_small_and_wide(base):
        return _wide_vectors(S, base, n)
    plain = not isinstance(S, DeflatedCovariance)
    if S.n_features <= SMALL_MATRIX or isinstance(S, LowRankCovariance) or (plain and _wide(S)):
        return leading_eigenpairs(S, n)[1]
    try:
        return _lanczos(S, n)
    except ArpackError:
        return leading_eigenpairs(S, n)[1]


def _wide(S: Covariance) -> bool:
    return (
        isinstance(S, DataCovariance) and not S.rows.is_sparse and S.rows.shape[0] <= S.n_features
    )


def _is_small_and_wide(base: DataCovariance) -> bool:
    n_rows, n_features = base.rows.shape
    return n_rows <= min(MAX_SMALL, n_features) and not base.rows.is_sparse


def _lanczos(S: Covariance, n: int) -> Array:
    """A few vectors of memory beyond those asked for; the first is then finished alone."""
    shape = (S.n_features, S.n_features)
    operator = LinearOperator(shape, matvec=lambda v: S @ v.ravel(), dtype=S.dtype)
    start = np.random.default_rng(0).standard_normal(S.n_features).astype(S.dtype)
    values, V = eigsh(operator, k=n, which="LA", tol=START_TOL, v0=start, ncv=2 * n + 1)
    V = V[:, np.argsort(-values, kind="stable")]
    exact = 1e3 * float(np.finfo(S.dtype).eps)
    V[:, 0] = eigsh(operator, k=1, which="LA", tol=exact, v0=V[:, 0].copy())[1][:, 0]
    result: Array = V
    return result


def _wide_vectors(S: Covariance, base: DataCovariance, n: int) -> Array:
    """The small eigenproblem, and one product back."""
    gram = sample_gram(base).astype(np.float64, copy=False)
    if not isinstance(S, DeflatedCovariance):
        values, Y = np.linalg.eigh(gram)
        solid = values > values[-1] * values.size * np.finfo(S.dtype).eps
        return _normalised(_back(base, Y[:, solid][:, ::-1][:, :n]))
    root = np.sqrt(base.n_samples - 1.0)
    cross = base.scores(S.U).astype(np.float64) / root
    if base.weights is not None:
        cross *= np.sqrt(base.weights)[:, None]
    U = S.U.astype(np.float64, copy=False)
    small = np.block([[gram, cross], [cross.T, U.T @ U]])
    lengths, Q = np.linalg.eigh(small)
    solid = lengths > lengths[-1] * small.shape[0] * np.finfo(S.dtype).eps
    Q = Q[:, solid] * np.sqrt(lengths[solid])
    middle = block_diag(np.eye(gram.shape[0]), -S.C.astype(np.float64))
    values, H = np.linalg.eigh(Q.T @ middle @ Q)
    positive = values > values[-1] * values.size * np.finfo(S.dtype).eps
    mix = (Q / lengths[solid]) @ H[:, positive][:, ::-1][:, :n]
    top, bottom = np.split(mix, [gram.shape[0]])
    return _normalised(_back(base, top) + S.U @ bottom.astype(S.dtype))


def _back(base: DataCovariance, Y: Array) -> Array:
    """``Z'Y`` where ``Y`` is in the units of the sample Gram matrix."""
    if base.weights is not None:
        Y = Y / np.sqrt(np.where(base.weights > 0, base.weights, 1.0))[:, None]
    result: Array = base.back_project(Y.astype(base.dtype)) * base.dtype.type(
        np.sqrt(base.n_samples - 1.0)
    )
    return result


def _normalised(V: Array) -> Array:
    result: Array = V / np.linalg.norm(V, axis=0)
    return result
