"""Components of one feature or two, exactly; of several matrices at once."""

from __future__ import annotations

from functools import lru_cache
from math import atan2, cos, sin

import numpy as np

from loadstone.constraints import LoadingConstraint
from loadstone.covariance import Array, Covariance, ExplicitCovariance, Support
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
    first = _first_of_largest(variances, EQUAL[variances.dtype])
    W = np.zeros(variances.shape, dtype=variances.dtype)
    at = np.arange(len(W))
    W[at, first] = 1
    return [Found(w, value) for w, value in zip(W, variances[at, first].tolist(), strict=True)]


def best_pair(S: ExplicitCovariance, constraint: LoadingConstraint) -> Found:
    """The pair with the largest eigenvalue of its 2 x 2 matrix, the first among equals."""
    first, second = pairs_of(S.n_features)
    return best_pairs(S.matrix.diagonal()[None], S.matrix[first, second][None], constraint)[0]


def best_pairs(variances: Array, crosses: Array, constraint: LoadingConstraint) -> list[Found]:
    """The same for each row of variances, and of covariances of :func:`pairs_of` features."""
    dtype, d = variances.dtype, variances.shape[1]
    first, second = pairs_of(d)
    cross = crosses.astype(np.float64, copy=False)
    if constraint.nonnegative:
        # Features that do not grow together do not help each other.
        cross = np.maximum(cross, 0)
    variance = variances.astype(np.float64, copy=False)
    one, other = variance[:, first], variance[:, second]
    half = (one - other) / 2
    value = half + other + np.sqrt(half * half + cross * cross)
    if constraint.forced.size or constraint.forbidden.size:
        value[:, _closed(first, second, constraint)] = -np.inf
    places = _first_of_largest(value, EQUAL[dtype])
    found = []
    for row, place in enumerate(places.tolist()):
        largest = float(value[row, place])
        if largest == -np.inf:
            found += best_features(variances[row, None], constraint)
            continue
        w = np.zeros(d, dtype=dtype)
        w[first[place]], w[second[place]] = _loadings(
            one[row, place], other[row, place], cross[row, place]
        )
        found.append(Found(w, largest))
    return found


def _first_of_largest(values: Array, equal: float) -> Array:
    """The first place in each row that is as large as any, but for rounding."""
    largest = values.max(axis=1)
    enough = largest - equal * np.abs(largest)
    result: Array = (values >= enough[:, None]).argmax(axis=1)
    return result


def _closed(first: Support, second: Support, constraint: LoadingConstraint) -> Array:
    """Pairs without a feature that must be used, or with one that must not."""
    closed = np.isin(first, constraint.forbidden) | np.isin(second, constraint.forbidden)
    for feature in constraint.forced:
        closed |= (first != feature) & (second != feature)
    return closed


@lru_cache(maxsize=8)
def pairs_of(n: int) -> tuple[Support, Support]:
    """All pairs of features in lexicographic order."""
    first, second = np.triu_indices(n, 1)
    first.setflags(write=False)
    second.setflags(write=False)
    return first, second


def _loadings(a: float, b: float, cross: float) -> tuple[float, float]:
    """The leading eigenvector of ``[[a, cross], [cross, b]]``, the larger entry positive."""
    if cross == 0:
        return (1.0, 0.0) if a >= b else (0.0, 1.0)
    angle = atan2(2 * cross, a - b) / 2
    w = cos(angle), sin(angle)
    return w if max(w, key=abs) > 0 else (-w[0], -w[1])
