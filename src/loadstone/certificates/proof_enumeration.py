"""The end of a case: every support that a dual leaves open, one by one.

With w_i the terms of an evaluated dual and ``top`` its eigenvalue part, a support T holds a
vector of variance above v only if ``sum of w_i over T > v - top``. With the terms in
descending order these supports are found by extending partial ones: what a partial support
can reach at best falls with the feature that comes next, so all continuations form a run,
and every partial support leads to at least one result.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from loadstone.certificates.bound_dual import Evaluation, block_rounding
from loadstone.certificates.bound_eigenvalue import eigenvalue_bound
from loadstone.certificates.bound_single_support import multiplier_bound, support_optimum
from loadstone.certificates.problem import Array, Indices, SupportProblem

if TYPE_CHECKING:
    from loadstone.covariance.protocol import Covariance

#: Supports that a proof may leave to be listed.
MOST_SUPPORTS = 2_000_000
#: Entries of covariances that are looked at together.
_BATCH = 1 << 22


def open_supports(
    problem: SupportProblem, evaluation: Evaluation, value: float, most: int = MOST_SUPPORTS
) -> Indices | None:
    """Supports that may hold a vector of variance above ``value``.

    ``None`` where they are more than ``most``, or where the dual says nothing.

    Returns
    -------
    ndarray of shape (n_supports, n_places)
        Places in ``problem.features``; smaller supports are part of these.
    """
    if not np.isfinite(evaluation.bound):
        return None
    forced = np.flatnonzero(problem.forced)
    free = np.flatnonzero(~problem.forced)
    room = min(problem.n_free, free.size)
    order = free[np.argsort(-evaluation.terms[free], kind="stable")]
    sums = np.concatenate([[0.0], np.cumsum(evaluation.terms[order])])
    # Differences of sums over all terms, each of them rounded.
    slack = 1e-12 * (abs(evaluation.bound) + abs(value))
    slack += 4.0 * sums.size * float(np.finfo(np.float64).eps) * float(sums[-1])
    need = value - evaluation.top - float(evaluation.terms[forced].sum()) - slack
    chosen: Array = np.empty((1, 0), dtype=np.int32)
    reached, last = np.zeros(1), np.full(1, -1)
    for missing in range(room, 0, -1):
        # Best sum of the places still missing when the next feature is number i.
        best = sums[missing:] - sums[: sums.size - missing]
        n_good = np.searchsorted(-best, -(need - reached), side="left")
        counts = np.maximum(n_good - last - 1, 0)
        total = int(counts.sum())
        if total > most:
            return None
        parent = np.repeat(np.arange(counts.size), counts)
        first = np.cumsum(counts) - counts
        following = (np.arange(total) - first[parent] + last[parent] + 1).astype(np.int32)
        chosen = np.column_stack([chosen[parent], following])
        reached = reached[parent] + evaluation.terms[order[following]]
        last = following
    kept = np.repeat(forced[None, :], len(chosen), axis=0)
    return np.sort(np.column_stack([kept, order[chosen]]), axis=1)


def enumerated(
    S: Covariance, problem: SupportProblem, supports: Indices, value: float
) -> tuple[float, list[SupportProblem]]:
    """The bound over all ``supports``, and those of them that are not below ``value``."""
    matrix = _matrix_on(S, problem)
    bound, left = value, []
    room = block_rounding(S, problem)
    for support in exceeding(S, problem, supports, value - room)[0]:
        case = case_of(problem, support)
        limit = _support_bound(matrix[np.ix_(support, support)], case, value - room) + room
        if limit > value:
            bound = max(bound, limit)
            left.append(case)
    return bound, left


def _matrix_on(S: Covariance, problem: SupportProblem) -> Array:
    block = np.asarray(S.block(problem.features, problem.features), dtype=np.float64)
    symmetric: Array = (block + block.T) / 2.0
    return symmetric


def case_of(problem: SupportProblem, support: Indices) -> SupportProblem:
    """The problem with this support alone, given by places."""
    mask = np.zeros(problem.features.size, dtype=bool)
    mask[support] = True
    return problem.keep(mask)


def exceeding(
    S: Covariance, problem: SupportProblem, supports: Indices, value: float
) -> tuple[Indices, Array]:
    """Supports whose largest eigenvalue may lie above ``value``, and that eigenvalue."""
    matrix = _matrix_on(S, problem)
    counted = np.maximum(matrix, 0.0) if problem.nonnegative else matrix
    at_once = max(1, _BATCH // max(supports.shape[1], 1) ** 2)
    found = [
        _exceeding(counted, supports[start : start + at_once], value)
        for start in range(0, max(len(supports), 1), at_once)
    ]
    return np.concatenate([part for part, _ in found]), np.concatenate([top for _, top in found])


def _support_bound(matrix: Array, case: SupportProblem, value: float) -> float:
    """What a single support can reach; by eigenvalues where its faces are too many."""
    if case.is_leaf:
        return support_optimum(
            matrix, nonnegative=case.nonnegative, value=value, positive=case.nonzero
        )[0]
    found = eigenvalue_bound(matrix), eigenvalue_bound(np.maximum(matrix, 0.0))
    return min(*found, multiplier_bound(matrix)[0])


def _exceeding(matrix: Array, supports: Indices, value: float) -> tuple[Indices, Array]:
    blocks = matrix[supports[:, :, None], supports[:, None, :]]
    norms = np.sqrt(np.einsum("bij,bij->b", blocks, blocks))
    margin = 8.0 * supports.shape[1] * np.finfo(np.float64).eps * norms
    at = np.flatnonzero(norms + margin > value)
    largest = np.linalg.eigvalsh(blocks[at])[:, -1] + margin[at] if at.size else np.empty(0)
    above = largest > value
    return supports[at[above]], largest[above]
