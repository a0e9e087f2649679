"""Compiled chains of components of a small stored matrix, and their refinement.

Notation as in ``state.py``: component j, a row of ``W``, competes for ``S_j``, what the others
leave of ``S``. Components of one size, of any sign or in a ``cone``, free to share features.
"""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import numpy as np
from numba import njit

from loadstone.solvers.search.support_kernels import (
    climb,
    image_of,
    largest_places,
    search_from,
)

__all__ = ["chain", "refine"]

#: Share of the largest variance below which a score adds nothing.
NOTHING = 1e-12


@njit(cache=True)
def _take_out(S, u, variance):
    """``S -= u u' / variance``, diagonal at least zero."""
    for i in range(u.size):
        weight, row = u[i] / variance, S[i]
        for j in range(u.size):
            row[j] -= weight * u[j]
        row[i] = max(row[i], 0.0)


@njit(cache=True)
def chain(S, starts, columns, known, k, r, negligible, n_steps, n_climbed, n_exchanges, cone):
    """One component after another by Schur deflation, as rows; zeros where nothing is left.

    ``starts`` are directions for all of them, ``columns`` features whose covariances are
    directions too, and row j of ``known`` is one for component j.
    """
    n, n_starts = S.shape[0], starts.shape[0]
    left, W, u = S.copy(), np.zeros((r, n)), np.empty(n)
    tried = np.empty((n_starts + columns.size + 1, n))
    support, w = np.empty(k, np.int64), np.empty(k)
    for j in range(r):
        if _trace(left) <= negligible:
            break
        n_tried = 0
        for start in range(n_starts):
            n_tried = _added(tried, n_tried, starts[start])
        for place in range(columns.size):
            n_tried = _added(tried, n_tried, left[columns[place]])
        if j < known.shape[0]:
            n_tried = _added(tried, n_tried, known[j])
        value = search_from(left, tried, n_tried, n_steps, n_climbed, n_exchanges, support, w, cone)
        if value <= negligible:
            break
        for place in range(k):
            W[j, support[place]] = w[place]
        image_of(left, support, w, u)
        _take_out(left, u, value)
    return W


@njit(cache=True)
def _trace(S):
    total = 0.0
    for i in range(S.shape[0]):
        total += S[i, i]
    return total


@njit(cache=True)
def _added(rows, n_rows, row):
    for i in range(row.size):
        rows[n_rows, i] = row[i]
    return n_rows + 1


@njit(cache=True)
def _orthogonalised(G, U, order):
    """Scores in the order in which each adds most to those before it; what they add together.

    ``G`` is their covariance and row j of ``U`` their covariance with features; both are left as
    what the scores before each leave.
    """
    r = G.shape[0]
    done, total, least = np.zeros(r, np.bool_), 0.0, 0.0
    for place in range(r):
        best = -1
        for j in range(r):
            if not done[j] and (best < 0 or G[j, j] > G[best, best]):
                best = j
        gain = G[best, best]
        if place == 0:
            least = NOTHING * max(gain, 1e-300)
        done[best], order[place] = True, best
        if not gain > least:
            G[best, best] = 0.0
            continue
        total += gain
        for j in range(r):
            if done[j]:
                continue
            share = G[j, best] / gain
            for other in range(r):
                if not done[other]:
                    G[j, other] -= share * G[best, other]
            for i in range(U.shape[1]):
                U[j, i] -= share * U[best, i]
    return total


@njit(cache=True)
def _explained(G):
    """What scores with covariance ``G`` explain together, each counted once."""
    return _orthogonalised(G.copy(), np.empty((G.shape[0], 0)), np.empty(G.shape[0], np.int64))


@njit(cache=True)
def _left_for(S, SW, G, j):
    """``S_j``: what the others leave for component j."""
    r, n = SW.shape
    among, images = np.empty((r - 1, r - 1)), np.empty((r - 1, n))
    for place in range(r - 1):
        a = place + (place >= j)
        for i in range(n):
            images[place, i] = SW[a, i]
        for other in range(r - 1):
            among[place, other] = G[a, other + (other >= j)]
    _orthogonalised(among, images, np.empty(r - 1, np.int64))
    left = S.copy()
    for place in range(r - 1):
        if among[place, place] > 0.0:
            _take_out(left, images[place], among[place, place])
    return left


@njit(cache=True)
def _dense(support, w, row):
    for i in range(row.size):
        row[i] = 0.0
    for place in range(support.size):
        row[support[place]] = w[place]


@njit(cache=True)
def _inner(a, b):
    total = 0.0
    for i in range(a.size):
        total += a[i] * b[i]
    return total


@njit(cache=True)
def refine(S, W, SW, k, rival, n_exchanges, gain, within_reach, max_rounds, cone):
    """Each component, a row of ``W``, climbs in turn on what the others leave; what all explain.

    ``W`` and its product ``SW`` are changed in place. Ends after the first round where less than
    ``within_reach * rival`` is explained.
    """
    r, n = W.shape
    every = np.arange(n)
    support, w, image, row = np.empty(k, np.int64), np.empty(k), np.empty(n), np.empty(n)
    G, among = np.empty((r, r)), np.empty((r, r))
    for j in range(r):
        for other in range(r):
            G[j, other] = (_inner(W[j], SW[other]) + _inner(W[other], SW[j])) / 2
    total, refused = _explained(G), 0
    for step in range(max_rounds * r):
        j = step % r
        left = _left_for(S, SW, G, j)
        image_of(left, every, W[j], image)
        own = _inner(W[j], image)
        n_used = 0
        for i in range(n):
            row[i] = image[i] if W[j, i] != 0.0 else 0.0
            n_used += W[j, i] != 0.0
        # Loadings that fill their places stay there at first.
        largest_places(row if n_used == k else image, support, w, cone)
        value = climb(left, support, w, n_exchanges, cone)
        refused += 1
        if value > own + gain * total:
            _dense(support, w, row)
            image_of(S, support, w, image)
            for a in range(r):
                for b in range(r):
                    among[a, b] = G[a, b]
            for other in range(r):
                among[j, other] = among[other, j] = _inner(W[other], image)
            among[j, j] = _inner(row, image)
            reached = _explained(among)
            if reached > total:
                total, refused = reached, 0
                G, among = among, G
                for i in range(n):
                    W[j, i], SW[j, i] = row[i], image[i]
        if refused == r or (step == r - 1 and total < within_reach * rival):
            break
    return total
