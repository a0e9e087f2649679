"""Bounds for a single support, where no choice of features is left.

Signed loadings: the largest eigenvalue, exactly. Non-negative ones: a stationary
point whose positive entries are exactly those of a face T is an eigenvector of A_TT
with positive entries, so faces are enumerated, and pruned by their eigenvalues.
"""

from __future__ import annotations

import heapq
from itertools import count

import numpy as np

from loadstone.certificates.problem import Array, Mask

MAX_FACES = 20_000


def support_bound(
    matrix: Array, *, nonnegative: bool, value: float = -np.inf, max_faces: int = MAX_FACES
) -> float:
    """Upper bound of x'Ax over unit x (non-negative where asked), or ``value`` if larger.

    Exact up to rounding unless ``max_faces`` is reached; valid in any case.
    """
    margin = 8.0 * matrix.shape[0] * np.finfo(np.float64).eps * float(np.linalg.norm(matrix))
    if not nonnegative:
        return max(value, float(np.linalg.eigvalsh(matrix)[-1]) + margin)
    order = count()
    best = value
    heap = [(-np.inf, next(order), np.ones(matrix.shape[0], bool), np.zeros(matrix.shape[0], bool))]
    for _ in range(max_faces):
        if not heap:
            return best
        _, _, allowed, positive = heapq.heappop(heap)
        limit, wrong = _face_limit(matrix, allowed, positive)
        limit += margin
        if limit <= best:
            continue
        if wrong is None:
            best = limit
            continue
        if wrong < 0:
            continue
        for in_face in (True, False):
            child, certain = allowed.copy(), positive.copy()
            if in_face:
                certain[wrong] = True
            else:
                child[wrong] = False
            if child.any():
                heapq.heappush(heap, (-limit, next(order), child, certain))
    return max([best, *(-entry[0] for entry in heap)])


def _face_limit(matrix: Array, allowed: Mask, positive: Mask) -> tuple[float, int | None]:
    """A limit for a face, and the feature to branch on.

    ``None`` instead of a feature says that the limit is reached, or may be; -1 that
    this face holds nothing its own faces do not hold.
    """
    face = np.flatnonzero(allowed)
    block = matrix[np.ix_(face, face)]
    values, vectors = np.linalg.eigh(block)
    signs = np.sign(vectors.sum(axis=0))
    oriented = vectors * np.where(signs == 0, 1.0, signs)
    # Rounding may turn a zero entry negative: such vectors count as non-negative.
    fits = oriented.min(axis=0) >= -1e-9
    if fits[-1]:
        return float(values[-1]), None
    if positive[face].all():
        spread = 1e-9 * max(abs(values[0]), abs(values[-1]))
        close = np.zeros(face.size, dtype=bool)
        close[1:] = np.diff(values) <= spread
        close[:-1] |= close[1:]
        stationary = values[fits | close]
        return (float(stationary[-1]), None) if stationary.size else (float(values[-1]), -1)
    clipped = float(np.linalg.eigvalsh(np.maximum(block, 0.0))[-1])
    undecided = np.flatnonzero(~positive[face])
    wrong = undecided[np.argmin(oriented[undecided, -1])]
    return min(float(values[-1]), clipped), int(face[wrong])
