"""The best sum over disjoint supports, exactly, where there are few features.

Notation: ``f_t(U)`` is the best sum of the first t components on the features of the set U, a
bit mask. ``f_t(U | T) = max f_{t-1}(U) + v_t(T)`` over supports T that share nothing with U,
where ``v_t(T)`` is the largest variance on T.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from math import comb

import numpy as np

from loadstone.certificates.joint_problem import JointProblem, local
from loadstone.certificates.joint_supports import (
    CHUNK,
    MOST_PLACES,
    blocks_of,
    nonnegative_limits,
    signed_limits,
)
from loadstone.certificates.problem import Array, Indices, SupportProblem

#: Pairs of a support and a set of features that are compared at most.
MOST_PAIRS = 2e8
#: Features whose sets fit into memory.
MOST_FEATURES = 20
#: Supports whose faces are looked at, for non-negative loadings.
MOST_FACED = 20_000


@dataclass(frozen=True, eq=False)
class DisjointOptimum:
    """The best sum, rounded upwards, and the supports that reach it.

    Attributes
    ----------
    bound : float
        No disjoint components have a larger sum of variances.
    supports : list of ndarray of int
        One per component, as positions among the features of the problem.
    """

    bound: float
    supports: list[Indices]


def can_try_disjoint(problem: JointProblem) -> bool:
    """Whether all disjoint supports can be tried."""
    n = problem.features.size
    if n > MOST_FEATURES or any(kind.forced.any() for kind in problem.problems):
        return False
    pairs, used = 0.0, 0
    for kind in problem.problems:
        count = _n_supports(kind, problem)
        if kind.nonnegative and (count > MOST_FACED or kind.n_nonzero > MOST_PLACES):
            return False
        pairs += count * (comb(n, used) if _is_roomy(problem) else 2.0**n)
        used += kind.n_nonzero
    return pairs <= MOST_PAIRS


def _is_roomy(problem: JointProblem) -> bool:
    """Whether every component finds as many features as it may use, whatever the others take."""
    return sum(problem.sizes) <= problem.features.size and problem.is_uniform


def _sizes(kind: SupportProblem, problem: JointProblem) -> range:
    """Sizes of supports worth trying: smaller ones only where not all fit side by side."""
    return range(kind.n_nonzero if _is_roomy(problem) else 1, kind.n_nonzero + 1)


def _n_supports(kind: SupportProblem, problem: JointProblem) -> int:
    return sum(comb(kind.features.size, size) for size in _sizes(kind, problem))


def best_disjoint_sum(matrix: Array, problem: JointProblem) -> DisjointOptimum:
    """The largest sum of variances of disjoint components on ``problem.features``."""
    kinds, which = problem.distinct()
    tables = [_table(matrix, kind, problem) for kind in kinds]
    n = problem.features.size
    # -inf marks sets that no choice of supports fills exactly.
    best = np.full(1 << n, -np.inf)
    best[0] = 0.0
    choices = []
    for t in range(problem.count):
        best, chosen = _joined(best, *tables[which[t]])
        choices.append(chosen)
    reached = int(np.argmax(best))
    bound = float(best[reached]) * (1.0 + 4.0 * problem.count * np.finfo(np.float64).eps)
    return DisjointOptimum(bound, _traced(choices, reached))


def _table(matrix: Array, kind: SupportProblem, problem: JointProblem) -> tuple[Array, Array]:
    """Supports of one kind of component as masks, and the limit of the variance on each."""
    place = local(kind, problem.features)
    masks, values = [], []
    for size in _sizes(kind, problem):
        supports = np.array(list(combinations(place.features.tolist(), size)), dtype=np.intp)
        for start in range(0, len(supports), CHUNK):
            part = supports[start : start + CHUNK]
            blocks = blocks_of(matrix, part)
            limits = signed_limits(blocks)
            if kind.nonnegative:
                limits = nonnegative_limits(blocks, limits)
            masks.append((1 << part.astype(np.int64)).sum(axis=1))
            values.append(limits)
    return np.concatenate(masks), np.concatenate(values)


def _joined(best: Array, masks: Array, values: Array) -> tuple[Array, Array]:
    """``f_t`` from ``f_{t-1}``, and the support that was added to reach each set."""
    result = np.full(best.size, -np.inf)
    chosen = np.zeros(best.size, dtype=np.int64)
    filled = np.flatnonzero(np.isfinite(best))
    known = best[filled]
    for mask, value in zip(masks.tolist(), values.tolist(), strict=True):
        free = (filled & mask) == 0
        reached = filled[free] | mask
        sums = known[free] + value
        better = sums > result[reached]
        result[reached[better]] = sums[better]
        chosen[reached[better]] = mask
    return result, chosen


def _traced(choices: list[Array], reached: int) -> list[Indices]:
    """The supports behind the best set, the first component first."""
    supports = []
    for chosen in reversed(choices):
        mask = int(chosen[reached])
        supports.append(np.array([i for i in range(64) if mask >> i & 1], dtype=np.intp))
        reached ^= mask
    return supports[::-1]
