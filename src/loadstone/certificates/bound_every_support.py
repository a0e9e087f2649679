"""Groups and some given signs, exactly: every largest support is solved, where there are few.

On one support the best vector that keeps the signs is a leading eigenvector, or some loading
with a sign is zero. (Where no such loading is zero the vector is a local maximum of ``x'Ax`` on
the sphere, and all local maxima belong to the largest eigenvalue.) So supports are split into
their faces until an eigenvector has the signs, or the eigenvalue says that nothing is left.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, product
from math import comb
from typing import TYPE_CHECKING

import numpy as np

from loadstone.certificates.bound_any_constraint import last_bits, open_features
from loadstone.certificates.bound_eigenvalue import UNIT, eigenvalue_bound
from loadstone.certificates.problem import Array, Indices, Mask
from loadstone.constraints import Groups, Signs

if TYPE_CHECKING:
    from loadstone.constraints import Constraint
    from loadstone.covariance.protocol import Covariance

#: Supports that may be tried, and faces that one of them may be split into.
MOST_SUPPORTS = 5_000
MOST_FACES = 2_000


def n_largest_supports(constraint: Constraint) -> int | None:
    """How many largest supports there are; ``None`` where they are not listed."""
    if isinstance(constraint, Signs):
        n_open = open_features(constraint).size
        return comb(n_open, min(constraint.size, n_open))
    if not isinstance(constraint, Groups):
        return None
    # The number of ways to choose the groups, each with the ways to choose within it.
    ways = np.zeros(constraint.n_groups + 1, dtype=object)
    ways[0] = 1
    for group in _groups(constraint):
        within = comb(group.size, _kept(constraint, group))
        ways[1:] += ways[:-1] * within
    return int(ways[min(constraint.n_groups, len(_groups(constraint)))])


def _groups(constraint: Groups) -> list[Indices]:
    features = open_features(constraint)
    labels = np.asarray(constraint.labels)[features]
    return [features[labels == label] for label in np.unique(labels)]


def _kept(constraint: Groups, group: Indices) -> int:
    return group.size if constraint.per_group is None else min(constraint.per_group, group.size)


def largest_supports(constraint: Groups | Signs) -> Iterator[Indices]:
    """Every largest support, features ascending."""
    if isinstance(constraint, Signs):
        features = open_features(constraint)
        for chosen in combinations(features, min(constraint.size, features.size)):
            yield np.array(chosen, dtype=np.intp)
        return
    groups = _groups(constraint)
    for used in combinations(groups, min(constraint.n_groups, len(groups))):
        choices = (combinations(group, _kept(constraint, group)) for group in used)
        for parts in product(*choices):
            yield np.sort(np.concatenate([np.array(part, dtype=np.intp) for part in parts]))


def every_support_bound(
    S: Covariance, constraint: Constraint, value: float
) -> tuple[float, Array | None] | None:
    """Upper bound over all supports, at least ``value``, and a vector that exceeds ``value``.

    ``None`` where there are too many supports, or too many faces of one of them.
    """
    count = n_largest_supports(constraint)
    if count is None or count > MOST_SUPPORTS:
        return None
    assert isinstance(constraint, (Groups, Signs))
    features = open_features(constraint)
    block = np.asarray(S.block(features, features), dtype=np.float64)
    matrix = (block + block.T) / 2.0
    room = last_bits(S, features, constraint.on(features))
    best, winner = value - room, None
    for support in largest_supports(constraint):
        at = np.searchsorted(features, support)
        signs = None if constraint.signs is None else constraint.signs[support]
        found = signed_optimum(matrix[np.ix_(at, at)], signs, best)
        if found is None:
            return None
        if found[0] > best:
            best, vector = found
            if vector is not None:
                winner = np.zeros(S.n_features)
                winner[support] = vector
    return best + room, winner


def signed_optimum(
    matrix: Array, signs: Array | None, value: float
) -> tuple[float, Array | None] | None:
    """Upper bound of x'Ax over unit x of the given signs, at least ``value``, and the x found.

    ``None`` where more than ``MOST_FACES`` faces would have to be looked at.
    """
    size = matrix.shape[0]
    given = np.zeros(size) if signs is None else np.asarray(signs, dtype=np.float64)
    turn = np.where(given < 0, -1.0, 1.0)
    turned, limited = turn[:, None] * matrix * turn, given != 0
    best, winner = value, None
    work = [(np.ones(size, dtype=bool), np.zeros(size, dtype=bool))]
    n_faces = 0
    while work:
        inside, nonzero = work.pop()
        n_faces += 1
        if n_faces > MOST_FACES:
            return None
        face = np.flatnonzero(inside)
        limit, vector, branch = _face(turned, face, limited[face], nonzero[face], best)
        if limit > best:
            best = limit
            if vector is not None:
                winner = np.zeros(size)
                winner[face] = turn[face] * vector
        if branch is not None:
            work += _split(inside, nonzero, int(face[branch]))
    return best, winner


def _split(inside: Mask, nonzero: Mask, feature: int) -> list[tuple[Mask, Mask]]:
    """The face without a feature, and the one where its loading is not zero."""
    smaller, certain = inside.copy(), nonzero.copy()
    smaller[feature], certain[feature] = False, True
    return [(inside, certain), (smaller, nonzero)] if smaller.any() else [(inside, certain)]


def _face(
    matrix: Array, face: Indices, limited: Mask, nonzero: Mask, best: float
) -> tuple[float, Array | None, int | None]:
    """What a face adds: a limit above ``best`` with its vector, or a feature to split by."""
    block = matrix[np.ix_(face, face)]
    clipped = np.where(np.outer(limited, limited), np.maximum(block, 0.0), np.abs(block))
    if _is_certainly_below(clipped if limited.any() else block, best):
        return -np.inf, None, None
    limit = eigenvalue_bound(block)
    if limit <= best:
        return -np.inf, None, None
    values, vectors = np.linalg.eigh(block)
    vector = vectors[:, -1] * (np.sign(vectors[limited, -1].sum()) or 1.0)
    wrong = np.where(limited, vector, np.inf)
    if wrong.min() >= -1e-9:
        allowed = np.where(limited, np.maximum(vector, 0.0), vector)
        return limit, allowed / np.linalg.norm(allowed), None
    undecided = limited & ~nonzero
    if undecided.any():
        return -np.inf, None, int(np.argmin(np.where(undecided, vector, np.inf)))
    # No loading with a sign is zero, so that the leading eigenvector must have the signs.
    gap = float(values[-1] - values[-2]) if face.size > 1 else np.inf
    size = float(np.abs(block).sum(axis=1).max())
    error = 1e-9 + 64.0 * face.size * UNIT * size / max(gap, 1e-300)
    mixed = wrong.min() < -error and np.where(limited, vector, -np.inf).max() > error
    return (-np.inf if mixed else limit), None, None


def _is_certainly_below(matrix: Array, value: float) -> bool:
    """Whether a rough largest eigenvalue leaves no doubt; most supports end here."""
    largest = float(np.linalg.eigvalsh(matrix)[-1])
    return largest + 1e-9 * float(np.linalg.norm(matrix)) <= value
