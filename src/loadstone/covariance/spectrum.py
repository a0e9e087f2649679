"""Leading eigenpairs of any covariance, by the cheapest way its shape allows."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse.linalg import ArpackError, eigsh

from loadstone.covariance.containers import PIECE_BYTES, InMemoryRows
from loadstone.covariance.deflated import DeflatedCovariance
from loadstone.covariance.explicit import ExplicitCovariance
from loadstone.covariance.from_data import DataCovariance
from loadstone.covariance.low_rank import LowRankCovariance
from loadstone.covariance.protocol import Array, Covariance
from loadstone.covariance.sample_space import lies_in_samples, sample_space
from loadstone.covariance.symmetric import SMALL, largest_eigenpairs

#: Side of the largest sample Gram matrix that is formed for wide data.
MAX_SAMPLE_GRAM = 4096
#: Below this side a full eigensolve is as fast as an iteration.
SMALL_MATRIX = 96
#: Blocks of a Krylov basis after which it is begun anew with the best of its vectors.
N_BLOCKS = 13


def leading_eigenpairs(S: Covariance, rank: int, tol: float = 0.0) -> tuple[Array, Array]:
    """The ``rank`` largest eigenvalues and their eigenvectors as columns, largest first.

    Parameters
    ----------
    S : Covariance
        Positive semi-definite, or nearly so after a deflation.
    rank : int
        Number of pairs.
    tol : float
        Residual allowed relative to the largest eigenvalue; 0 asks for all digits.

    Returns
    -------
    eigenvalues : ndarray of shape (rank,)
    vectors : ndarray of shape (n_features, rank)
    """
    rank = min(rank, S.n_features)
    if isinstance(S, ExplicitCovariance):
        return _remembered_eigenpairs(S, rank, tol)
    if isinstance(S, LowRankCovariance):
        root = S.V * np.sqrt(np.maximum(S.eigenvalues, 0))
        U, singular, _ = np.linalg.svd(root, full_matrices=False)
        return _padded(singular[:rank] ** 2, U[:, :rank], rank)
    if isinstance(S, DataCovariance) and _has_small_sample_gram(S):
        return _sample_gram_eigenpairs(S, rank, tol)
    if lies_in_samples(S):
        found = sample_space(S).leading(rank)
        return _padded(found.values.astype(S.dtype), found.vectors(), rank)
    if S.n_features <= SMALL_MATRIX or _has_explicit_base(S):
        everything = np.arange(S.n_features)
        return _explicit_eigenpairs(S.block(everything, everything), rank, tol)
    return block_krylov(S, rank, tol)


def upright(V: Array) -> Array:
    """Columns with the sign that makes the sum of their cubes positive.

    An eigenvector has no sign of its own, and the one it comes with hangs on the order of
    features and on how the data lies in memory; what is mixed from several would as well.
    """
    signs = np.where(np.einsum("ij,ij,ij->j", V, V, V) < 0, -1, 1).astype(V.dtype)
    result: Array = V * signs
    return result


def leading_eigenvalues(S: Covariance, rank: int, tol: float = 0.0) -> Array:
    """The ``rank`` largest eigenvalues alone, largest first; on the wide route without a pass."""
    if lies_in_samples(S):
        found = np.maximum(sample_space(S).values[:rank], 0)
        return np.concatenate([found, np.zeros(min(rank, S.n_features) - found.size)])
    return leading_eigenpairs(S, rank, tol)[0]


def _has_explicit_base(S: Covariance) -> bool:
    explicit = isinstance(S, DeflatedCovariance) and isinstance(S.base, ExplicitCovariance)
    return explicit and S.n_features <= MAX_SAMPLE_GRAM


def _has_small_sample_gram(S: DataCovariance) -> bool:
    n_rows, n_features = S.rows.shape
    return (
        isinstance(S.rows, InMemoryRows)
        and not S.rows.is_sparse
        and n_rows <= n_features
        and n_rows <= MAX_SAMPLE_GRAM
    )


def _remembered_eigenpairs(S: ExplicitCovariance, rank: int, tol: float) -> tuple[Array, Array]:
    """The same; of a small matrix all are found at once, and only once."""
    n = S.n_features
    if n > SMALL:
        return _explicit_eigenpairs(S.matrix, rank, tol)
    if "eigenpairs" not in S.derived:
        S.derived["eigenpairs"] = _explicit_eigenpairs(S.matrix, n, tol)
    values, vectors = S.derived["eigenpairs"]
    return values[:rank].copy(), vectors[:, :rank].copy()


def _explicit_eigenpairs(matrix: Array, rank: int, tol: float) -> tuple[Array, Array]:
    n = matrix.shape[0]
    if n > SMALL_MATRIX and rank <= n // 8:
        try:
            values, vectors = eigsh(matrix, k=rank, which="LA", tol=tol, v0=_start_vector(matrix))
            order = np.argsort(values)[::-1]
            return values[order], vectors[:, order]
        except ArpackError:
            pass  # clustered eigenvalues: the full eigensolve below always answers
    values, vectors = largest_eigenpairs(matrix, rank)
    return values[::-1], vectors[:, ::-1]


def _start_vector(matrix: Array) -> Array:
    # Deterministic, and far from orthogonal to anything that correlates with the features.
    start: Array = np.random.default_rng(0).standard_normal((matrix.shape[0],))
    return start.astype(matrix.dtype)


def sample_gram(S: DataCovariance) -> Array:
    """``Xc Xc' / (n_samples - 1)`` of dense rows, over pieces of the columns."""
    n_rows, n_features = S.rows.shape
    gram = np.zeros((n_rows, n_rows), dtype=S.dtype)
    step = max(1, PIECE_BYTES // (n_rows * S.dtype.itemsize))
    for start in range(0, n_features, step):
        Z = S.centred_columns(np.arange(start, min(start + step, n_features)))
        gram += Z @ Z.T
    result: Array = gram / S.dtype.type(S.n_samples - 1.0)
    return result


def _sample_gram_eigenpairs(S: DataCovariance, rank: int, tol: float) -> tuple[Array, Array]:
    kept = min(rank, S.rows.shape[0])
    values, Y = _explicit_eigenpairs(sample_gram(S), kept, tol)
    values = np.maximum(values, 0)
    # Directions of zero variance cannot be mapped back; they are padded instead.
    solid = values > values[0] * S.rows.shape[0] * np.finfo(S.dtype).eps
    values, Y = values[solid], Y[:, solid]
    if S.weights is not None:
        positive = np.sqrt(np.where(S.weights > 0, S.weights, 1.0))
        Y = Y / positive[:, None]
    vectors = S.back_project(Y)
    vectors /= np.linalg.norm(vectors, axis=0)
    return _padded(values, vectors, rank)


def _padded(values: Array, vectors: Array, rank: int) -> tuple[Array, Array]:
    """Fill up with zero eigenvalues and any orthonormal directions."""
    missing = rank - values.size
    if missing <= 0:
        return values, vectors
    n = vectors.shape[0]
    extra = np.random.default_rng(0).standard_normal((n, missing)).astype(vectors.dtype)
    for _ in range(2):
        extra -= vectors @ (vectors.T @ extra)
        extra = np.linalg.qr(extra)[0]
    return np.concatenate([values, np.zeros(missing, values.dtype)]), np.hstack([vectors, extra])


def block_krylov(S: Any, rank: int, tol: float = 0.0, max_passes: int = 60) -> tuple[Array, Array]:
    """Block Lanczos with full reorthogonalisation: one product ``S @ W`` a step.

    A whole block travels in each pass, so that out-of-core data is read a handful
    of times instead of once per eigenvector and iteration.
    """
    n, dtype = S.n_features, S.dtype
    width = min(n, rank + 8)
    tol = max(tol, 50 * float(np.finfo(dtype).eps))
    fresh = np.random.default_rng(0).standard_normal((n, width)).astype(dtype)
    # Column by column, so that memory is taken as the basis grows, and nothing is held twice.
    most = min(n, N_BLOCKS * width)
    bases, all_images = (np.empty((n, most), dtype=dtype, order="F") for _ in range(2))
    size = 0
    for _ in range(max_passes):
        for _ in range(2):
            fresh = fresh - bases[:, :size] @ (bases[:, :size].T @ fresh)
            fresh = np.linalg.qr(fresh)[0]
        new = slice(size, size + width)
        size += width
        bases[:, new], all_images[:, new] = fresh, S @ fresh
        basis, images = bases[:, :size], all_images[:, :size]
        projected = basis.T @ images
        values, Q = np.linalg.eigh((projected + projected.T) / 2)
        values, Q = values[::-1][:width], Q[:, ::-1][:, :width]
        vectors, S_vectors = basis @ Q, images @ Q
        residual = S_vectors - vectors * values
        worst = np.linalg.norm(residual[:, :rank], axis=0).max()
        if worst <= tol * max(abs(values[0]), np.finfo(dtype).tiny) or size + width > n:
            break
        if size > (N_BLOCKS - 1) * width:
            # Restart: the Ritz vectors carry what was learned.
            bases[:, :width], all_images[:, :width] = vectors, S_vectors
            size = width
        fresh = residual
    return values[:rank], vectors[:, :rank]
