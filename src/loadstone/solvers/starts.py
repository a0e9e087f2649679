"""Where searches begin: blocks of columns."""

from __future__ import annotations

import numpy as np

from loadstone.covariance import Array, Covariance, Support, leading_eigenpairs
from loadstone.files.foreign import memory_limit

#: Residual at which an eigenvector is good enough to start from.
START_TOL = 1e-3


def eigenvector_starts(S: Covariance, n: int, tol: float = START_TOL) -> Array:
    """The ``n`` leading eigenvectors as columns."""
    return leading_eigenpairs(S, n, tol)[1]


def both_signs(V: Array) -> Array:
    """Each column and its negative: under non-negativity the sign is not free."""
    return np.hstack([V, -V])


def column_starts(S: Covariance, features: Support) -> Array:
    """Columns ``S e_j``: what correlates with feature j."""
    units = np.zeros((S.n_features, features.size), dtype=S.dtype)
    units[features, np.arange(features.size)] = 1
    return S @ units


def combination_starts(V: Array, n: int, rng: np.random.Generator) -> Array:
    """Random combinations of the columns of ``V``."""
    mix = rng.standard_normal((V.shape[1], n)).astype(V.dtype)
    result: Array = V @ mix
    return result


def random_nonnegative_starts(n_features: int, n: int, rng: np.random.Generator) -> Array:
    """Random unit vectors of the non-negative orthant (Sigg & Buhmann 2008, Sec. 3.2)."""
    W = np.abs(rng.standard_normal((n_features, n)))
    result: Array = W / np.linalg.norm(W, axis=0)
    return result


def random_starts(n_features: int, n: int, rng: np.random.Generator) -> Array:
    """Random unit vectors."""
    W = rng.standard_normal((n_features, n))
    result: Array = W / np.linalg.norm(W, axis=0)
    return result


def refuse_beyond_memory(S: Covariance, n_columns: int, asked: str) -> None:
    """Refuse a block of columns that nobody can hold, before anything is drawn."""
    # Numbers of NumPy may be too small for their product.
    held, limit = S.dtype.itemsize * S.n_features * int(n_columns), memory_limit()
    if held > limit / 2:
        msg = (
            f"{asked} with {S.n_features} features takes blocks of {held / 2**30:.3g} GiB, and this "
            f"machine has {limit / 2**30:.3g} GiB of memory; ask for fewer"
        )
        raise MemoryError(msg)
