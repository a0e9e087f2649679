"""Components of one feature or two, exactly."""

from __future__ import annotations

import numpy as np

from loadstone.constraints import LoadingConstraint
from loadstone.covariance import Array, Covariance, ExplicitCovariance
from loadstone.solvers.search.finish import EQUAL, Found


def best_feature(S: Covariance, constraint: LoadingConstraint) -> Found:
    """The feature with the most variance, the first among equals."""
    variance = S.diagonal()
    open_ = np.ones(variance.size, dtype=bool)
    open_[constraint.forbidden] = False
    if constraint.forced.size:
        open_[:] = False
        open_[constraint.forced] = True
    largest = variance[open_].max()
    enough = largest - EQUAL[S.dtype.name] * abs(largest)
    first = int(np.argmax(open_ & (variance >= enough)))
    w = np.zeros(variance.size, dtype=S.dtype)
    w[first] = 1
    return Found(w, float(variance[first]))


def best_pair(S: ExplicitCovariance, constraint: LoadingConstraint) -> Found:
    """The pair with the largest eigenvalue of its 2 x 2 matrix, the first among equals."""
    A = S.matrix.astype(np.float64, copy=False)
    variance = A.diagonal()
    # Under non-negativity features that do not grow together do not help each other.
    cross = np.maximum(A, 0) if constraint.nonnegative else A
    half = (variance[:, None] - variance) / 2
    value = (variance[:, None] + variance) / 2 + np.sqrt(half * half + cross * cross)
    value[np.tril_indices(len(A))] = -np.inf
    value[constraint.forbidden] = value[:, constraint.forbidden] = -np.inf
    for feature in constraint.forced:
        others = np.delete(np.arange(len(A)), feature)
        value[np.ix_(others, others)] = -np.inf
    largest = value.max()
    if not np.isfinite(largest):
        return best_feature(S, constraint)
    enough = largest - EQUAL[S.dtype.name] * abs(largest)
    i, j = np.divmod(int(np.argmax(value.ravel() >= enough)), len(A))
    return Found(
        _loadings(A, int(i), int(j), float(cross[i, j])).astype(S.dtype), float(value[i, j])
    )


def _loadings(A: Array, i: int, j: int, cross: float) -> Array:
    """The leading eigenvector of ``[[a, cross], [cross, b]]`` on features i and j."""
    w = np.zeros(len(A))
    if cross == 0:
        w[i if A[i, i] >= A[j, j] else j] = 1
        return w
    v = np.linalg.eigh(np.array([[A[i, i], cross], [cross, A[j, j]]]))[1][:, -1]
    w[[i, j]] = v if v[np.argmax(np.abs(v))] > 0 else -v
    return w
