"""Tighten one case: search a dual, evaluate it, screen, and repeat while that helps."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from loadstone.certificates.dual_bound import LEVELS, propose_dual
from loadstone.certificates.evaluator import Dual
from loadstone.certificates.local_search import improve
from loadstone.certificates.problem import Array, SupportProblem
from loadstone.certificates.proof import (
    ProofNode,
    Standing,
    apply_dual,
    leaf_optimum,
    settle,
)

if TYPE_CHECKING:
    from loadstone.covariance.protocol import Covariance


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
    if problem.is_leaf:
        _, loading = leaf_optimum(S, problem, incumbent.value)
        if loading is not None:
            support = np.flatnonzero(loading)
            block = np.asarray(S.block(support, support), dtype=np.float64)
            value = float(loading[support] @ block @ loading[support])
            incumbent.offer(support, value, loading[support])
    return settle(S, problem, incumbent.value)


@dataclass
class Limits:
    """When to stop; proofs are kept in memory, so their size is limited too."""

    gap_tol: float = 1e-6
    deadline: float = np.inf
    max_nodes: int = 100_000
    max_proof_bytes: int = 1 << 30
    proof_bytes: int = 0

    def closes(self, bound: float, value: float) -> bool:
        """Whether the gap is small enough to call the value optimal."""
        return bound <= value + self.gap_tol * abs(value)

    @property
    def out_of_time(self) -> bool:
        """Whether the deadline has passed."""
        return time.monotonic() > self.deadline


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
        if problem.is_leaf or limits.out_of_time:
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
        if left.is_leaf:
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
