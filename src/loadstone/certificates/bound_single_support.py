"""Bounds for a single support, where no choice of features is left.

Signed loadings: the largest eigenvalue, exactly. Non-negative ones: multipliers of the signs
prove a stationary point the best, or they do not; then faces are gone through. A stationary
point whose positive entries are exactly those of a face T is an eigenvector of A_TT
with positive entries, so faces are enumerated, and pruned by their eigenvalues.
"""

from __future__ import annotations

import heapq
from itertools import count

import numpy as np
from scipy.optimize import nnls

from loadstone.certificates.bound_eigenvalue import eigenvalue_bound, gamma
from loadstone.certificates.problem import Array, Mask


def support_optimum(
    matrix: Array,
    *,
    nonnegative: bool,
    value: float = -np.inf,
    positive: Mask | None = None,
) -> tuple[float, Array | None]:
    """Upper bound of x'Ax over unit x (non-negative where asked), and the x that reaches it.

    Entries in ``positive`` are known to be positive. Only what exceeds ``value`` is
    looked for: without such an x the bound is ``value`` and the vector ``None``. Exact
    up to rounding; the work doubles with each entry whose sign is not known.
    """
    size = matrix.shape[0]
    margin = 8.0 * size * np.finfo(np.float64).eps * float(np.linalg.norm(matrix))
    if not nonnegative:
        bound = eigenvalue_bound(matrix)
        return (bound, np.linalg.eigh(matrix)[1][:, -1]) if bound > value else (value, None)
    bound, stationary = multiplier_bound(matrix)
    if bound <= value:
        return value, None
    if stationary is not None and bound - stationary @ matrix @ stationary <= 4.0 * margin:
        return bound, stationary
    order = count()
    best, winner = value, None
    certain = np.zeros(size, dtype=bool) if positive is None else positive
    heap = [(-np.inf, next(order), np.ones(size, dtype=bool), certain)]
    while heap:
        _, _, allowed, certain = heapq.heappop(heap)
        limit, loading, branch = _inspect_face(matrix, allowed, certain)
        limit += margin
        if limit <= best:
            continue
        if loading is not None:
            best, winner = limit, loading
        for case in _face_cases(allowed, certain, branch):
            heapq.heappush(heap, (-limit, next(order), *case))
    return best, winner


def multiplier_bound(matrix: Array) -> tuple[float, Array | None]:
    """Upper bound of x'Ax over unit x >= 0 by ``x'Ax <= x'(A + Z)x``, Z >= 0; and a stationary x.

    At a stationary x the gradient of its zeros is not positive. Z takes it away: it has x as an
    eigenvector of A + Z, and where that is the leading one x is the best of all. Any Z will do.
    """
    x = _stationary(matrix)
    gradient, zero = matrix @ x, x == 0.0
    if (gradient[zero] > 0.0).any():
        return np.inf, None
    multipliers = np.zeros_like(matrix)
    multipliers[zero] = np.maximum(-gradient[zero, None] * x, 0.0)
    multipliers = multipliers + multipliers.T
    error = gamma(2) * (np.abs(matrix) + multipliers)
    return eigenvalue_bound(matrix + multipliers, error), x


def _stationary(matrix: Array) -> Array:
    """The leading eigenvector on the features on which it is positive, found by dropping others."""
    x = np.zeros(matrix.shape[0])
    inside = np.arange(matrix.shape[0])
    while True:
        vector = np.linalg.eigh(matrix[np.ix_(inside, inside)])[1][:, -1]
        vector = vector * np.sign(vector.sum() or 1.0)
        if (vector > 0.0).all() or inside.size == 1:
            x[inside] = np.abs(vector)
            return x
        inside = inside[vector > 0.0] if (vector > 0.0).any() else inside[:1]


def _face_cases(allowed: Mask, positive: Mask, branch: int | None) -> list[tuple[Mask, Mask]]:
    """The face with feature ``branch`` positive, and the face without it."""
    if branch is None:
        return []
    certain, smaller = positive.copy(), allowed.copy()
    certain[branch] = True
    smaller[branch] = False
    return [(allowed, certain), (smaller, positive)] if smaller.any() else [(allowed, certain)]


def _inspect_face(
    matrix: Array, allowed: Mask, positive: Mask
) -> tuple[float, Array | None, int | None]:
    """A limit for a face; the vector that reaches it; the feature to branch on.

    Where all features are known to be positive, only an eigenvector with positive
    entries can be stationary; what has none holds nothing its own faces do not hold.
    """
    face = np.flatnonzero(allowed)
    block = matrix[np.ix_(face, face)]
    values, vectors = np.linalg.eigh(block)
    decided = bool(positive[face].all())
    spread = 1e-9 * max(abs(values[0]), abs(values[-1]))
    last = face.size - 1
    while last >= 0:
        first = last
        while first > 0 and values[first] - values[first - 1] <= spread:
            first -= 1
        found = _nonnegative_in_span(vectors[:, first : last + 1])
        if found is not None:
            loading = np.zeros(matrix.shape[0])
            loading[face] = found
            return float(values[last]), loading, None
        if not decided:
            break
        last = first - 1
    if decided:
        return -np.inf, None, None
    clipped = float(np.linalg.eigvalsh(np.maximum(block, 0.0))[-1])
    top = vectors[:, -1] * np.sign(vectors[:, -1].sum() or 1.0)
    undecided = np.flatnonzero(~positive[face])
    branch = int(face[undecided[np.argmin(top[undecided])]])
    return min(float(values[-1]), clipped), None, branch


def _nonnegative_in_span(basis: Array) -> Array | None:
    """A non-negative unit vector in the span of orthonormal columns, up to rounding."""
    if basis.shape[1] == 1:
        single = basis[:, 0] * np.sign(basis[:, 0].sum() or 1.0)
        # Rounding may turn a zero entry negative: such a vector counts.
        if single.min() < -1e-9:
            return None
        found = np.maximum(single, 0.0)
        return np.asarray(found / np.linalg.norm(found))
    size = basis.shape[0]
    away = np.eye(size) - basis @ basis.T
    system = np.vstack([away, np.ones((1, size))])
    found, residual = nnls(system, np.append(np.zeros(size), 1.0))
    if residual > 1e-7:
        return None
    return np.asarray(found / np.linalg.norm(found))
