"""Components of one feature or two, exactly; of several matrices at once."""

from __future__ import annotations

from functools import lru_cache
from math import atan2, cos, sin

import numpy as np

from loadstone.constraints import LoadingConstraint
from loadstone.covariance import Array, Covariance, ExplicitCovariance, Support
from loadstone.solvers.search.equals import first_that_says_most, said_by_features
from loadstone.solvers.search.finish import EQUAL, Found


def best_feature(S: Covariance, constraint: LoadingConstraint) -> Found:
    """The feature with the most variance; among equals that which says most of the others."""
    variance = S.diagonal()
    return best_features(variance[None], constraint, S)[0]


def best_features(variances: Array, constraint: LoadingConstraint, S: Covariance) -> list[Found]:
    """The same for each row of variances."""
    if constraint.forced.size or constraint.forbidden.size:
        open_ = np.full(variances.shape[1], not constraint.forced.size)
        open_[constraint.forced] = True
        open_[constraint.forbidden] = False
        variances = np.where(open_, variances, -np.inf)
    first = _places(variances, EQUAL[variances.dtype], S)
    W = np.zeros(variances.shape, dtype=variances.dtype)
    at = np.arange(len(W))
    W[at, first] = 1
    return [Found(w, value) for w, value in zip(W, variances[at, first].tolist(), strict=True)]


def best_pair(S: ExplicitCovariance, constraint: LoadingConstraint) -> Found:
    """The pair with the largest eigenvalue of its 2 x 2 matrix; among equals as single features."""
    first, second = pairs_of(S.n_features)
    return best_pairs(S.matrix.diagonal()[None], S.matrix[first, second][None], constraint, S)[0]


def best_pairs(
    variances: Array, crosses: Array, constraint: LoadingConstraint, S: ExplicitCovariance
) -> list[Found]:
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
    places = _places(value, EQUAL[dtype], S, first, second)
    found = []
    for row, place in enumerate(places.tolist()):
        largest = float(value[row, place])
        if largest == -np.inf:
            found += best_features(variances[row, None], constraint, S)
            continue
        w = np.zeros(d, dtype=dtype)
        w[first[place]], w[second[place]] = _loadings(
            one[row, place], other[row, place], cross[row, place]
        )
        found.append(Found(w, largest))
    return found


def _places(values: Array, equal: float, S: Covariance, *features: Support) -> Array:
    """The place in each row that is largest; ``features`` of each place decide among equals."""
    largest = values.max(axis=1)
    enough = largest - equal * np.abs(largest)
    tied = values >= enough[:, None]
    chosen: Array = tied.argmax(axis=1)
    if np.count_nonzero(tied) == len(tied) or (said := said_by_features(S)) is None:
        return chosen
    of_places = np.sum([said[each] for each in features], axis=0) if features else said
    for row in np.flatnonzero(np.count_nonzero(tied, axis=1) > 1):
        chosen[row] = first_that_says_most(tied[row], of_places)
    return chosen


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
