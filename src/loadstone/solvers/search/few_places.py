"""Components of one feature or two, exactly; of several matrices at once."""

from __future__ import annotations

from functools import lru_cache
from math import atan2, cos, sin

import numpy as np

from loadstone.constraints import LoadingConstraint
from loadstone.covariance import Array, Covariance, ExplicitCovariance
from loadstone.solvers.search.finish import EQUAL, Found


def best_feature(S: Covariance, constraint: LoadingConstraint) -> Found:
    """The feature with the most variance, the first among equals."""
    variance = S.diagonal()
    return best_features(variance[None], constraint)[0]


def best_features(variances: Array, constraint: LoadingConstraint) -> list[Found]:
    """The same for each row of variances."""
    if constraint.forced.size or constraint.forbidden.size:
        open_ = np.full(variances.shape[1], not constraint.forced.size)
        open_[constraint.forced] = True
        open_[constraint.forbidden] = False
        variances = np.where(open_, variances, -np.inf)
    first = _first_of_largest(variances)
    W = np.zeros(variances.shape, dtype=variances.dtype)
    at = np.arange(len(W))
    W[at, first] = 1
    return [Found(w, value) for w, value in zip(W, variances[at, first].tolist(), strict=True)]


def best_pair(S: ExplicitCovariance, constraint: LoadingConstraint) -> Found:
    """The pair with the largest eigenvalue of its 2 x 2 matrix, the first among equals."""
    return best_pairs(S.matrix[None], constraint)[0]


def best_pairs(matrices: Array, constraint: LoadingConstraint) -> list[Found]:
    """The same for each matrix of a stack."""
    A = matrices.astype(np.float64, copy=False)
    n, d = A.shape[:2]
    variance = np.einsum("ijj->ij", A)
    # Under non-negativity features that do not grow together do not help each other.
    cross = np.maximum(A, 0) if constraint.nonnegative else A
    half = (variance[:, :, None] - variance[:, None, :]) / 2
    value = half + variance[:, None, :] + np.sqrt(half * half + cross * cross)
    value += _upper(d)
    if constraint.forbidden.size:
        value[:, constraint.forbidden] = -np.inf
        value[:, :, constraint.forbidden] = -np.inf
    for feature in constraint.forced:
        others = np.delete(np.arange(d), feature)
        value[:, others[:, None], others] = -np.inf
    flat = value.reshape(n, -1)
    places = _first_of_largest(flat, EQUAL[matrices.dtype.name])
    found = []
    for row, place in enumerate(places.tolist()):
        i, j = divmod(place, d)
        if flat[row, place] == -np.inf:
            found += best_features(variance[row, None].astype(matrices.dtype), constraint)
            continue
        w = np.zeros(d, dtype=matrices.dtype)
        w[i], w[j] = _loadings(variance[row, i], variance[row, j], cross[row, i, j])
        found.append(Found(w, float(flat[row, place])))
    return found


def _first_of_largest(values: Array, equal: float | None = None) -> Array:
    """The first place in each row that is as large as any, but for rounding."""
    largest = values.max(axis=1)
    equal = EQUAL[values.dtype.name] if equal is None else equal
    enough = largest - equal * np.where(np.isfinite(largest), np.abs(largest), 0)
    result: Array = (values >= enough[:, None]).argmax(axis=1)
    return result


@lru_cache(maxsize=8)
def _upper(n: int) -> Array:
    """Zero above the diagonal, minus infinity elsewhere."""
    closed = np.where(np.arange(n)[:, None] < np.arange(n), 0.0, -np.inf)
    closed.setflags(write=False)
    return closed


def _loadings(a: float, b: float, cross: float) -> tuple[float, float]:
    """The leading eigenvector of ``[[a, cross], [cross, b]]``, the larger entry positive."""
    if cross == 0:
        return (1.0, 0.0) if a >= b else (0.0, 1.0)
    angle = atan2(2 * cross, a - b) / 2
    w = cos(angle), sin(angle)
    return w if max(w, key=abs) > 0 else (-w[0], -w[1])
