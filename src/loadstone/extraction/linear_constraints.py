"""Sparse components under linear equations ``C'w = 0``.

Strict orthogonality is ``C = W`` and uncorrelated scores are ``C = S W``, with ``W``
the other components. On a fixed support the problem is an eigenproblem inside the
null space of the equations; the support is enumerated where that is cheap and
searched by constrained power steps and swaps elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.linalg.lapack import dgesdd

from loadstone.constraints import Constraint, LoadingConstraint, filled_support
from loadstone.constraints.columns import SMALLEST
from loadstone.covariance import (
    Array,
    Covariance,
    ExplicitCovariance,
    Support,
    leading_eigenpairs,
)
from loadstone.covariance.symmetric import leading_pair, leading_pairs

__all__ = [
    "LARGE",
    "NEGLIGIBLE",
    "Candidate",
    "blocks_of",
    "climb",
    "climb_from",
    "n_places",
    "scattered",
    "solve_on_supports",
]

#: Singular values of the equations below this share of their size count as satisfied.
NEGLIGIBLE = 1e-11
# Loadings below this are zeros with rounding.
_ROUNDING = 1e-13
# Features tried as newcomers in a swap, and features tried for leaving; fewer for large
# supports, whose eigenproblems cost more.
_SWAP_WIDTH = 10
_SWAP_WORK = 2000
# A feature that stays outranks a newcomer, which outranks all others (of at most one).
_STAYS, _JOINS = 100.0, 10.0
# Features whose covariance is read at once to serve several supports.
_MAX_POOL = 1024
#: Steps of a climb, and swaps after it.
MAX_STEPS, MAX_SWAPS = 30, 20
#: Size from which on a support has its leading eigenvector alone computed, and few starts.
LARGE = 128


class Candidate(NamedTuple):
    """Unit-norm loadings and their variance."""

    w: Array
    value: float


def n_places(constraint: Constraint) -> int:
    """How many features one allowed vector can use."""
    if isinstance(constraint, LoadingConstraint):
        return constraint.size
    return int(constraint.largest_sum(np.ones(constraint.n_features)))


def solve_on_supports(S: Covariance, C: Array, supports: Array) -> tuple[Array, Array]:
    """Best loadings with ``C'w = 0`` on each row of ``supports``.

    Returns
    -------
    values : ndarray of shape (n_supports,)
        Variances; ``-inf`` where only zero satisfies the equations.
    loadings : ndarray of shape (n_supports, size)
    """
    blocks = blocks_of(S, supports).astype(np.float64)
    if C.shape[1] == 0:
        return _leading(blocks)
    left, singular, _ = np.linalg.svd(C[supports], full_matrices=False)
    size = np.linalg.norm(C, axis=0).max()
    bound = (singular > NEGLIGIBLE * size).astype(np.float64)
    left = left * bound[:, None, :]
    free = np.eye(supports.shape[1]) - left @ left.transpose(0, 2, 1)
    values, vectors = _leading(free @ blocks @ free)
    # Projecting twice leaves the equations satisfied to the last digit.
    w = (free @ (free @ vectors[:, :, None]))[:, :, 0]
    length = np.linalg.norm(w, axis=1)
    feasible = (bound.sum(axis=1) < supports.shape[1]) & (length > 0.5)
    w = w / np.where(feasible, length, 1.0)[:, None]
    return np.where(feasible, values, -np.inf), w


def _solve_each(S: Covariance, C: Array, supports: Sequence[Support]) -> tuple[Array, list[Array]]:
    """Values and loadings of :func:`solve_on_supports` on supports of several sizes."""
    values = np.full(len(supports), -np.inf)
    loadings: list[Array] = [np.empty(0)] * len(supports)
    sizes = np.array([support.size for support in supports])
    for size in np.unique(sizes):
        at = np.flatnonzero(sizes == size)
        values[at], found = solve_on_supports(S, C, np.array([supports[int(i)] for i in at]))
        for i, w in zip(at, found, strict=True):
            loadings[int(i)] = w
    return values, loadings


def _leading(matrices: Array) -> tuple[Array, Array]:
    """Leading eigenvalue and eigenvector of each matrix of a stack."""
    if matrices.shape[1] <= LARGE:
        return leading_pairs(matrices)
    pairs = [leading_eigenpairs(ExplicitCovariance((A + A.T) / 2), 1) for A in matrices]
    return np.array([v[0] for v, _ in pairs]), np.stack([V[:, 0] for _, V in pairs])


def blocks_of(S: Covariance, supports: Array) -> Array:
    """The covariance of the features of each support."""
    if isinstance(S, ExplicitCovariance):
        return S.matrix[supports[:, :, None], supports[:, None, :]]
    pool, place = np.unique(supports, return_inverse=True)
    if pool.size > _MAX_POOL:
        return np.stack([S.block(support, support) for support in supports])
    # Supports overlap: reading the features of all of them once is one pass over the data.
    place = place.reshape(supports.shape)
    return S.block(pool, pool)[place[:, :, None], place[:, None, :]]


def scattered(S: Covariance, support: Support, loadings: Array) -> Array:
    """``loadings`` on ``support``, zero elsewhere."""
    w = np.zeros(S.n_features, dtype=S.dtype)
    # What rounding left of a zero is not a loading.
    w[support] = np.where(np.abs(loadings) > _ROUNDING, loadings, 0.0)
    return w


def climb(
    S: Covariance, C: Array, constraint: Constraint, starts: Array, n_polished: int = 4
) -> Candidate | None:
    """A locally best component with ``C'w = 0`` from a block of starting directions.

    Constrained power steps take the whole block along; the best ``n_polished`` columns are
    then improved by swapping single features.
    """
    if n_places(constraint) > LARGE:
        starts, n_polished = starts[:, : LARGE // 32], 1
    found = _power(S, C, constraint, starts)
    best = found[0] if found and not n_polished else None
    for candidate in found[:n_polished]:
        polished = _swap(S, C, constraint, candidate)
        if best is None or polished.value > best.value:
            best = polished
    return best


def climb_from(
    S: ExplicitCovariance, C: Array, constraint: LoadingConstraint, start: Array
) -> Candidate | None:
    """:func:`climb` from one start without swaps, of free signs and with equations.

    One decomposition of the equations on a support serves its loadings and its gradient.
    """
    A, k = S.matrix.astype(np.float64, copy=False), constraint.size
    size = float(np.sqrt(np.einsum("ij,ij->j", C, C)).max())
    direction, best = start.astype(np.float64), None
    seen: set[bytes] = set()
    for _ in range(MAX_STEPS):
        support = _filled(constraint, direction)
        if support.tobytes() in seen:
            break
        seen.add(support.tobytes())
        left, singular, right = _decomposed(C[support])
        bound = singular > NEGLIGIBLE * size
        if np.count_nonzero(bound) == k:
            break
        left, right = left[:, bound], right[bound] / singular[bound, None]
        free = np.eye(k) - left @ left.T
        projected = free @ A[support[:, None], support] @ free
        value, v = leading_pair(projected)
        # Projecting twice leaves the equations satisfied to the last digit.
        v = free @ (free @ v)
        length = float(np.sqrt(v @ v))
        if not (length > 0.5 and value > 0):
            break
        w = scattered(S, support, v / length)
        if best is None or value > best.value:
            best = Candidate(w, value)
        image, v = A @ w, w[support]
        if v.all():
            residual = image[support] - (v @ image[support]) * v
            direction = image - C @ (right.T @ (left.T @ residual))
        else:
            # Equations that leave a feature nothing are no part of what fits the others.
            direction = _gradient(image[:, None], C, w[:, None])[:, 0]
    return best


def _filled(constraint: LoadingConstraint, direction: Array) -> Support:
    """:func:`filled_support` of free signs, without a call more than it takes."""
    worth = np.abs(direction)
    np.maximum(worth, SMALLEST * worth.max(), out=worth)
    if constraint.forbidden.size:
        worth[constraint.forbidden] = -1
    if constraint.forced.size:
        worth[constraint.forced] = np.inf
    return np.sort(np.argsort(-worth, kind="stable")[: constraint.size])


def _decomposed(C: Array) -> tuple[Array, Array, Array]:
    """The singular values of a small matrix, and their vectors."""
    left, singular, right, info = dgesdd(C, full_matrices=0)
    return np.linalg.svd(C, full_matrices=False) if info else (left, singular, right)


def _power(S: Covariance, C: Array, constraint: Constraint, W: Array) -> list[Candidate]:
    """Support of the constrained gradient, exact loadings on it, repeat; best first."""
    best: dict[bytes, Candidate] = {}
    seen: set[bytes] = set()
    for _ in range(MAX_STEPS):
        proposed = {s.tobytes(): s for s in (filled_support(constraint, w) for w in W.T)}
        supports = [support for key, support in sorted(proposed.items()) if key not in seen]
        if not supports:
            break
        seen.update(support.tobytes() for support in supports)
        values, loadings = _solve_each(S, C, supports)
        kept = np.flatnonzero(values > 0)
        if kept.size == 0:
            break
        block = np.zeros((S.n_features, kept.size), dtype=S.dtype)
        for column, i in enumerate(kept):
            block[:, column] = scattered(S, supports[i], loadings[i])
            best[supports[i].tobytes()] = Candidate(block[:, column], float(values[i]))
        W = _gradient(S @ block, C, block)
    return sorted(best.values(), key=lambda candidate: -candidate.value)


def _gradient(SW: Array, C: Array, W: Array) -> Array:
    """``S w - C mu`` with the multipliers ``mu`` that fit best on the support of each w."""
    if C.shape[1] == 0:
        return SW
    result = np.empty_like(SW)
    for j, w in enumerate(W.T):
        support = np.flatnonzero(w)
        residual = SW[support, j] - (w[support] @ SW[support, j]) * w[support]
        mu = np.linalg.lstsq(C[support], residual, rcond=NEGLIGIBLE)[0]
        result[:, j] = SW[:, j] - C @ mu
    return result


def _swap(S: Covariance, C: Array, constraint: Constraint, candidate: Candidate) -> Candidate:
    """Take out one unit and let one feature in, as long as the variance rises."""
    width = min(_SWAP_WIDTH, _SWAP_WORK // n_places(constraint))
    for _ in range(MAX_SWAPS if width else 0):
        w = candidate.w
        gradient = _gradient((S @ w)[:, None], C, w[:, None])[:, 0]
        supports = _neighbours(constraint, w, gradient, width)
        if not supports:
            break
        values, loadings = _solve_each(S, C, supports)
        i = int(np.argmax(values))
        if not values[i] > candidate.value * (1 + 1e-12):
            break
        candidate = Candidate(scattered(S, supports[i], loadings[i]), float(values[i]))
    return candidate


def _neighbours(constraint: Constraint, w: Array, gradient: Array, width: int) -> list[Support]:
    """Supports that one feature joins, with and, where there is room, without one unit leaving."""
    outside = np.abs(gradient).astype(np.float64)
    outside /= max(float(outside.max()), np.finfo(np.float64).tiny)
    worth = outside.copy()
    worth[w != 0] = worth[constraint.forbidden] = -1.0
    n_new = min(width, int((worth >= 0).sum()))
    newcomers = np.argpartition(-worth, n_new - 1)[:n_new] if n_new else np.empty(0, np.intp)
    outside[w != 0] = _STAYS
    units = sorted(constraint.units(w), key=lambda unit: float(np.linalg.norm(w[unit])))
    rivals = [_left(constraint, outside, unit) for unit in units[:width]]
    if constraint.support(w).size < n_places(constraint):
        rivals.append((constraint, outside))
    found: dict[bytes, Support] = {}
    for rule, direction in rivals:
        for newcomer in newcomers:
            joined = direction.copy()
            joined[newcomer] = _JOINS
            support = filled_support(rule, joined)
            found.setdefault(support.tobytes(), support)
    return list(found.values())


def _left(constraint: Constraint, direction: Array, unit: Support) -> tuple[Constraint, Array]:
    """The constraint and the direction once ``unit`` has left."""
    rest = direction.copy()
    rest[unit] = 0.0
    if np.union1d(constraint.forbidden, unit).size < constraint.n_features:
        return constraint.without(unit), rest
    return constraint, rest
