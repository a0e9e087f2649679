"""Compiled search of one component of a small stored matrix: climbs, and where they begin.

Among a few hundred features a step costs less than the call that asks for it, and where many
sizes are searched on many folds there are thousands of steps. Loadings have any sign
where ``cone`` is None and are at least zero where it is True, so that a place of a support may
stay empty. None has a type of its own: only what is asked for is compiled.
"""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import math

import numpy as np
from numba import njit

from loadstone.solvers.search.cone_kernels import leading_in_cone
from loadstone.solvers.search.krylov_kernels import FAST, leading_on, normalise

__all__ = ["climb", "image_of", "largest_places", "search_from"]

#: Residuals, as a share of the eigenvalue: while supports still change, and at the end.
ROUGH, FINE = 1e-6, 1e-12
#: Share by which a support must be better than the one before it.
GAIN = 1e-12
#: Rounds of {best loadings on a support} and {best support for them}.
MAX_ROUNDS = 10


@njit(cache=True, fastmath=FAST)
def image_of(A, support, w, image):
    """``image = A w`` of loadings ``w`` on a support."""
    for j in range(image.size):
        image[j] = 0.0
    for place in range(support.size):
        weight, row = w[place], A[support[place]]
        for j in range(image.size):
            image[j] += weight * row[j]


@njit(cache=True)
def _threshold(values, k):
    """The ``k``-th largest of the values, which are moved about."""
    low, high, place = 0, values.size - 1, k - 1
    while low < high:
        pivot, i, j = values[(low + high) // 2], low, high
        while i <= j:
            while values[i] > pivot:
                i += 1
            while values[j] < pivot:
                j -= 1
            if i <= j:
                values[i], values[j] = values[j], values[i]
                i += 1
                j -= 1
        if place <= j:
            high = j
        elif place >= i:
            low = i
        else:
            break
    return values[place]


@njit(cache=True)
def _best_on(A, support, w, tol, cone):
    """Largest variance on a support; ``w`` is a start and becomes the loadings."""
    if cone is None:
        return leading_on(A, support, w, tol)
    return leading_in_cone(A, support, w, tol)


@njit(cache=True)
def largest_places(image, support, w, cone):
    """The features with the most to give, in order, and their entries; ties go to the first.

    Of any sign it is ``|image|``, of loadings that are at least zero the positive part.
    """
    n, k = image.size, support.size
    worth, moved = np.empty(n), np.empty(n)
    for j in range(n):
        worth[j] = moved[j] = abs(image[j]) if cone is None else max(image[j], 0.0)
    least = _threshold(moved, k)
    n_ties = k
    for j in range(n):
        n_ties -= worth[j] > least
    at = 0
    for j in range(n):
        tie = worth[j] == least and n_ties > 0
        if tie:
            n_ties -= 1
        if tie or worth[j] > least:
            support[at], w[at] = j, image[j] if cone is None else worth[j]
            at += 1


@njit(cache=True)
def _best_exchange(A, w, image, value, support, cone):
    """What goes (a place) and joins (a feature) for the largest eigenvalue on span{w - w_i e_i, e_j}.

    -1 where none is larger than ``value``. Loadings that are at least zero are only joined by
    features that go along with the rest.
    """
    n = A.shape[0]
    inside = np.zeros(n, np.bool_)
    for place in range(support.size):
        inside[support[place]] = True
    best, goes, joins = value * (1 + GAIN), -1, -1
    for place in range(support.size):
        i = support[place]
        rest = max(1.0 - w[place] * w[place], 1e-14)
        kept = (value - 2.0 * w[place] * image[i] + w[place] * w[place] * A[i, i]) / rest
        for j in range(n):
            if inside[j]:
                continue
            cross = image[j] - A[i, j] * w[place]
            if cone is not None and cross < 0.0:
                continue
            below = cross * cross > (best - kept) * (best - A[j, j]) * rest
            if below or best < kept or best < A[j, j]:
                half = (kept - A[j, j]) / 2
                bound = kept - half + math.sqrt(half * half + cross * cross / rest)
                if bound > best:
                    best, goes, joins = bound, place, j
    return goes, joins


@njit(cache=True)
def _polish(A, support, w, value, image, cone):
    """Best support for the loadings, best loadings on it, while the variance grows."""
    moved, there = np.empty_like(support), np.empty_like(w)
    for _ in range(MAX_ROUNDS):
        image_of(A, support, w, image)
        largest_places(image, moved, there, cone)
        n_kept = 0
        for place in range(support.size):
            n_kept += moved[place] == support[place]
        if n_kept == support.size:
            break
        reached = _best_on(A, moved, there, ROUGH, cone)
        if reached <= value * (1 + GAIN):
            break
        value = reached
        _copy(moved, there, support, w)
    return value


@njit(cache=True)
def _copy(support, w, to_support, to_w):
    for place in range(support.size):
        to_support[place], to_w[place] = support[place], w[place]


@njit(cache=True)
def _exchanged(support, w, goes, joins, loading, to_support, to_w):
    """One feature for another, features in order."""
    at = 0
    for place in range(support.size + 1):
        # The new one stands before the first that is larger.
        if loading != 0.0 and (place == support.size or support[place] > joins):
            to_support[at], to_w[at] = joins, loading
            loading = 0.0
            at += 1
        if place < support.size and place != goes:
            to_support[at], to_w[at] = support[place], w[place]
            at += 1


@njit(cache=True)
def climb(A, support, w, n_exchanges, cone):
    """The variance where polishing and exchanges end; ``support`` and ``w`` become what is there."""
    image, moved, there = np.empty(A.shape[0]), np.empty_like(support), np.empty_like(w)
    value = _best_on(A, support, w, ROUGH, cone)
    value = _polish(A, support, w, value, image, cone)
    for _ in range(n_exchanges):
        image_of(A, support, w, image)
        goes, joins = _best_exchange(A, w, image, value, support, cone)
        if goes < 0:
            break
        loading = math.copysign(0.1, image[joins]) if cone is None else 0.1
        _exchanged(support, w, goes, joins, loading, moved, there)
        reached = _best_on(A, moved, there, ROUGH, cone)
        reached = _polish(A, moved, there, reached, image, cone)
        if reached <= value * (1 + GAIN):
            break
        value = reached
        _copy(moved, there, support, w)
    return _best_on(A, support, w, FINE, cone)


@njit(cache=True)
def search_from(A, starts, n_starts, n_steps, n_climbed, n_exchanges, support, w, cone):
    """The largest variance that climbs from the most promising of many directions end at.

    Directions are the first rows of ``starts``; ``support`` and ``w`` become what is there.
    """
    n, k = A.shape[0], support.size
    values, image = np.empty(n_starts), np.empty(n)
    supports, loadings = np.empty((n_starts, k), np.int64), np.empty((n_starts, k))
    for start in range(n_starts):
        top, v = supports[start], loadings[start]
        for j in range(n):
            image[j] = starts[start, j]
        values[start] = 0.0
        for _ in range(n_steps):
            largest_places(image, top, v, cone)
            normalise(v)
            image_of(A, top, v, image)
        for place in range(k):
            values[start] += v[place] * image[top[place]]
    best, last = -1.0, np.inf
    for _ in range(n_climbed):
        start = -1
        for other in range(n_starts):
            # Of equal values supports are equal.
            new = values[other] < last * (1 - 1e-9)
            if new and (start < 0 or values[other] > values[start]):
                start = other
        if start < 0:
            break
        last = values[start]
        value = climb(A, supports[start], loadings[start], n_exchanges, cone)
        if value > best:
            best = value
            _copy(supports[start], loadings[start], support, w)
    return best
