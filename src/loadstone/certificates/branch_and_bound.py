"""Best-first branch and bound over supports, to a proven optimum or an honest gap.

A node is a :class:`SupportProblem`; its bound comes from the evaluator, through the
proof that is written down on the way. Children start from their parent's dual.
"""

from __future__ import annotations

import heapq
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np

from loadstone.certificates.dual_bound import LEVELS, propose_dual
from loadstone.certificates.evaluator import Dual
from loadstone.certificates.local_search import improve
from loadstone.certificates.problem import Array, SupportProblem
from loadstone.certificates.proof import (
    ProofNode,
    Standing,
    apply_dual,
    cases,
    decided_optimum,
    settle,
)

if TYPE_CHECKING:
    from loadstone.covariance.protocol import Covariance

#: Features above which a node's dual lives on a working set only.
DENSE_LIMIT = 700
FINE_LEVELS = (3e-4, 1e-4, 3e-5)

Progress = Callable[[dict[str, float]], Any]


@dataclass
class Incumbent:
    """The best loading vector known, and the variance it provably has."""

    value: float
    loading: Array

    def offer(self, features: Array, value: float, loading: Array) -> None:
        """Take a better vector, given on ``features``."""
        if value > self.value:
            # A hair below the computed value, so that it is a true lower bound.
            self.value = value - 1e-14 * abs(value)
            self.loading = np.zeros_like(self.loading)
            self.loading[features] = loading


def settle_and_solve(S: Covariance, problem: SupportProblem, incumbent: Incumbent) -> Standing:
    """What is proven without a dual; a single support is solved on the way."""
    if problem.is_decided:
        _, loading = decided_optimum(S, problem, incumbent.value)
        if loading is not None:
            support = np.flatnonzero(loading)
            block = np.asarray(S.block(support, support), dtype=np.float64)
            value = float(loading[support] @ block @ loading[support])
            incumbent.offer(support, value, loading[support])
    return settle(S, problem, incumbent.value)


@dataclass
class Limits:
    """When to stop."""

    gap_tol: float = 1e-6
    deadline: float = np.inf
    max_nodes: int = 100_000

    def closes(self, bound: float, value: float) -> bool:
        """Whether the gap is small enough to call the value optimal."""
        return bound <= value + self.gap_tol * abs(value)

    @property
    def out_of_time(self) -> bool:
        """Whether the deadline has passed."""
        return time.monotonic() > self.deadline


@dataclass(order=True)
class OpenNode:
    """A case that is still open; the largest bound comes first."""

    priority: float
    order: int
    standing: Standing = field(compare=False)
    proof: ProofNode = field(compare=False)
    dual: Dual | None = field(compare=False)
    fractional: Array = field(compare=False)


@dataclass
class Bounded:
    """A node after its duals: what is proven, the last dual, the fractional support."""

    standing: Standing
    dual: Dual | None
    fractional: Array


def tighten(
    S: Covariance,
    standing: Standing,
    proof: ProofNode,
    incumbent: Incumbent,
    limits: Limits,
    *,
    start: Dual | None = None,
    levels: tuple[float, ...] | None = LEVELS,
    n_steps: int = 60,
    max_rounds: int = 4,
) -> Bounded:
    """Search duals for a node, screen, and repeat while screening still helps.

    ``levels=None`` chooses smoothing levels from the gap, for warm starts.
    """
    dual = start
    fractional = np.full(standing.problem.features.size if standing.problem else 0, 0.5)
    for _ in range(max_rounds):
        problem = standing.problem
        if problem is None or limits.closes(standing.bound, incumbent.value):
            break
        if problem.is_decided or limits.out_of_time:
            break
        matrix = symmetric_block(S, problem)
        chosen = levels or _levels_for(standing.bound, incumbent.value, matrix)
        proposal = propose_dual(
            matrix,
            problem,
            start=None if dual is None else dual.restrict(problem.features),
            levels=chosen,
            n_steps=n_steps,
            # Half the tolerance leaves room for the evaluator's margin.
            target=incumbent.value + 0.5 * limits.gap_tol * abs(incumbent.value),
            deadline=limits.deadline,
        )
        dual, fractional = proposal.dual, proposal.fractional
        _try_primal(matrix, problem, fractional, incumbent)
        proof.duals.append(dual)
        before = standing
        standing = apply_dual(S, standing, dual, incumbent.value)
        levels = None
        left = standing.problem
        if left is None:
            break
        if left.is_decided:
            solved = settle_and_solve(S, left, incumbent)
            standing = Standing(min(standing.bound, solved.bound), standing.name, solved.problem)
            break
        fractional = fractional[np.isin(problem.features, left.features)]
        if not _shrunk(problem, left) and standing.bound > 0.9 * before.bound:
            break
    return Bounded(standing, dual, fractional)


def _shrunk(before: SupportProblem, after: SupportProblem) -> bool:
    """Whether screening removed enough for another round to pay."""
    fewer = before.features.size - after.features.size
    return fewer >= max(1, before.features.size // 20) or after.n_free < before.n_free


def symmetric_block(S: Covariance, problem: SupportProblem) -> Array:
    """The covariance on the features of a problem, in double precision."""
    block = np.asarray(S.block(problem.features, problem.features), dtype=np.float64)
    return (block + block.T) / 2.0


def _levels_for(bound: float, value: float, matrix: Array) -> tuple[float, ...]:
    """Smoothing levels that match the gap that is left, relative to the largest eigenvalue."""
    scale = max(float(np.linalg.norm(matrix, 2)), 1e-300)
    gap = float(np.clip((bound - value) / scale, 1e-6, 3e-2))
    return (gap, 0.2 * gap)


def _try_primal(
    matrix: Array, problem: SupportProblem, fractional: Array, incumbent: Incumbent
) -> None:
    """Round the fractional support and climb from it."""
    direction = np.sqrt(np.maximum(fractional, 0.0))
    signs = matrix @ direction if problem.nonnegative else np.linalg.eigh(matrix)[1][:, -1]
    directions = np.column_stack([direction, direction * np.sign(signs), direction * signs])
    value, loading = improve(matrix, problem, directions)
    incumbent.offer(problem.features, value, loading)


def branch_and_bound(
    S: Covariance,
    root: Bounded,
    proof: ProofNode,
    incumbent: Incumbent,
    limits: Limits,
    progress: Progress | None = None,
) -> tuple[float, int]:
    """Split the root until the gap closes; returns the proven bound and the node count."""
    order = count()
    closed = incumbent.value
    heap = [_open(root, proof, order)]
    n_nodes = 1
    while heap:
        worst = -heap[0].priority
        if limits.closes(worst, incumbent.value) or limits.out_of_time:
            break
        if n_nodes >= limits.max_nodes:
            break
        node = heapq.heappop(heap)
        assert node.standing.problem is not None
        feature = _most_undecided(node.standing.problem, node.fractional)
        children = node.proof.branch(feature)
        for case, child in zip(cases(node.standing.problem, feature), children, strict=True):
            if case is None:
                continue
            n_nodes += 1
            bounded = _bound_child(S, case, child, node, incumbent, limits)
            left = bounded.standing
            if left.problem is None or left.problem.is_decided:
                closed = max(closed, left.bound)
            elif limits.closes(left.bound, incumbent.value):
                closed = max(closed, left.bound)
            else:
                heapq.heappush(heap, _open(bounded, child, order))
        if progress is not None:
            bound = max(closed, -heap[0].priority) if heap else closed
            progress({"bound": bound, "incumbent": incumbent.value, "open": len(heap)})
    bounds = [closed, incumbent.value, *(-node.priority for node in heap)]
    return max(bounds), n_nodes


def _open(bounded: Bounded, proof: ProofNode, order: Any) -> OpenNode:
    return OpenNode(
        -bounded.standing.bound,
        next(order),
        bounded.standing,
        proof,
        bounded.dual,
        bounded.fractional,
    )


def _bound_child(
    S: Covariance,
    case: SupportProblem,
    proof: ProofNode,
    parent: OpenNode,
    incumbent: Incumbent,
    limits: Limits,
) -> Bounded:
    """Instant bounds first, the parent's dual next, a few warm-started steps last."""
    standing = settle_and_solve(S, case, incumbent)
    fractional = np.full(case.features.size, 0.5)
    standing = _capped(standing, parent.standing.bound)
    if standing.problem is None or case.is_decided or parent.dual is None:
        return Bounded(standing, parent.dual, fractional)
    inherited = parent.dual.restrict(case.features)
    tried = _capped(apply_dual(S, standing, inherited, incumbent.value), standing.bound)
    if tried.problem is None or limits.closes(tried.bound, incumbent.value):
        proof.duals.append(inherited)
        return Bounded(tried, inherited, fractional)
    if tried.problem.features.size < case.features.size:
        proof.duals.append(inherited)
    return tighten(
        S,
        tried,
        proof,
        incumbent,
        limits,
        start=inherited,
        levels=None,
        n_steps=25,
        max_rounds=3,
    )


def _capped(standing: Standing, bound: float) -> Standing:
    """A case is part of its parent, so the parent's bound holds as well."""
    if standing.bound <= bound:
        return standing
    return Standing(bound, "branch and bound", standing.problem)


def _most_undecided(problem: SupportProblem, fractional: Array) -> int:
    """The free feature whose share of the support is closest to one half."""
    distance = np.abs(fractional - 0.5)
    distance[problem.forced] = np.inf
    return int(problem.features[np.argmin(distance)])
