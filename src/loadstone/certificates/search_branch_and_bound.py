"""Best-first branch and bound over supports, to a proven optimum or an honest gap.

A node is a :class:`SupportProblem`; its bound comes from the evaluator, through the
proof that is written down on the way. Children start from their parent's dual.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import count, starmap
from typing import TYPE_CHECKING, Any

import numpy as np

from loadstone.blas_threads import one_blas_thread
from loadstone.certificates.bound_dual import Dual
from loadstone.certificates.problem import Array, SupportProblem
from loadstone.certificates.proof_cases import ProofNode, cases
from loadstone.certificates.proof_rounds import Each, in_rounds, size_of_round
from loadstone.certificates.proof_tree import Standing, apply_dual
from loadstone.certificates.search_case import (
    Bounded,
    Incumbent,
    Limits,
    first_standing,
    symmetric_block,
    tighten,
)
from loadstone.certificates.search_working_set import LARGEST_SIZE, tighten_child

if TYPE_CHECKING:
    from loadstone.covariance.protocol import Covariance

Progress = Callable[[dict[str, float]], Any]


@dataclass(order=True)
class OpenNode:
    """A case that is still open; the largest bound comes first."""

    priority: float
    order: int
    standing: Standing = field(compare=False)
    proof: ProofNode = field(compare=False)
    dual: Dual | None = field(compare=False)
    fractional: Array = field(compare=False)


def branch_and_bound(
    S: Covariance,
    open_cases: Sequence[tuple[Bounded, ProofNode]],
    incumbent: Incumbent,
    limits: Limits,
    progress: Progress | None = None,
    each: Each = starmap,
) -> float:
    """Split open cases until the gap closes; returns the proven bound.

    The worst cases are split in rounds that do not depend on ``each``, so that the answer is the
    same for every number of processes. A progress callback that returns True ends the search
    where it stands.
    """
    search = _Search(S, incumbent, limits, progress, closed=incumbent.value)
    for bounded, proof in open_cases:
        search.sort(bounded, proof)
    in_rounds(bound_case, search.take, search.done, each)
    return search.bound


@dataclass
class _Search:
    """Cases that are open, those that are being bounded, and what is proven of the others."""

    S: Covariance
    incumbent: Incumbent
    limits: Limits
    progress: Progress | None
    closed: float
    heap: list[OpenNode] = field(default_factory=list)
    asked: list[Job] = field(default_factory=list)
    n_nodes: int = 1
    order: Iterator[int] = field(default_factory=count)

    @property
    def bound(self) -> float:
        """What is proven of all cases."""
        waiting = [job.parent.standing.bound for job in self.asked]
        worst = [] if not self.heap else [-self.heap[0].priority]
        return max([self.closed, self.incumbent.value, *waiting, *worst])

    def sort(self, bounded: Bounded, proof: ProofNode) -> None:
        """Another case: open, or done with."""
        standing = bounded.standing
        is_done = standing.problem is None or standing.problem.is_leaf
        if is_done or self.limits.closes(standing.bound, self.incumbent.value):
            self.closed = max(self.closed, standing.bound)
            return
        node = OpenNode(
            -standing.bound, next(self.order), standing, proof, bounded.dual, bounded.fractional
        )
        heapq.heappush(self.heap, node)

    def take(self) -> list[tuple[Job, tuple[Any, ...]]]:
        """The worst cases, split; none where the search is to end."""
        limits, heap = self.limits, self.heap
        if not heap or limits.closes(-heap[0].priority, self.incumbent.value):
            return []
        if limits.out_of_time or self.n_nodes >= limits.max_nodes:
            return []
        if limits.proof_bytes > limits.max_proof_bytes:
            return []
        taken = [heapq.heappop(heap) for _ in range(size_of_round(len(heap)))]
        jobs = [job for node in taken for job in _split(self.S, node)]
        self.n_nodes += len(jobs)
        self.asked += jobs
        # Answers to the round before come later, and must not count in this one.
        known = replace(self.incumbent)
        return [(job, job.call(self.S, known, limits)) for job in jobs]

    def done(self, jobs: list[Job], answers: Iterator[Answer]) -> None:
        """What was found of a round; the cases that stay open."""
        found = []
        for answer in answers:
            found.append(answer)
            if len(found) < len(jobs):
                self.tell(len(jobs) - len(found))
        for job, answer in zip(jobs, found, strict=True):
            self.asked.remove(job)
            job.child.duals, job.child.listed = answer.proof.duals, answer.proof.listed
            self.limits.proof_bytes += sum(dual.pairing.nbytes for dual in job.child.duals)
            if answer.incumbent.value > self.incumbent.value:
                self.incumbent.value = answer.incumbent.value
                self.incumbent.loading = answer.incumbent.loading
        for job, answer in zip(jobs, found, strict=True):
            self.sort(answer.bounded, job.child)
        self.tell(0)

    def tell(self, n_unanswered: int) -> None:
        """Report how far it is, and hear whether that is enough."""
        if self.progress is not None:
            n_open = len(self.heap) + n_unanswered
            self.limits.hear(self.progress(status(self.bound, self.incumbent, n_open)))


@dataclass(eq=False)
class Job:
    """A case to bound, where it comes from, and where its proof goes."""

    case: SupportProblem
    parent: OpenNode
    child: ProofNode

    def call(self, S: Covariance, incumbent: Incumbent, limits: Limits) -> tuple[Any, ...]:
        """What :func:`bound_case` is called with."""
        return S, self.case, self.parent.standing, self.parent.dual, incumbent, limits


@dataclass
class Answer:
    """A bounded case, its proof, and the best component known after it."""

    bounded: Bounded
    proof: ProofNode
    incumbent: Incumbent


def _split(S: Covariance, node: OpenNode) -> list[Job]:
    """The two cases of an open node, those that are excluded left aside."""
    assert node.standing.problem is not None
    feature = _most_undecided(S, node.standing.problem, node.fractional)
    children = node.proof.branch(feature)
    both = zip(cases(node.standing.problem, feature), children, strict=True)
    return [Job(case, node, child) for case, child in both if case is not None]


def bound_case(
    S: Covariance,
    case: SupportProblem,
    standing: Standing,
    dual: Dual | None,
    incumbent: Incumbent,
    limits: Limits,
) -> Answer:
    """Bound one case; nothing that is handed over is changed, so that a process can do it."""
    with one_blas_thread():
        known, proof = replace(incumbent), ProofNode()
        bounded = _bound_child(S, case, proof, standing, dual, known, limits)
    return Answer(bounded, proof, known)


def status(bound: float, incumbent: Incumbent, n_open: int) -> dict[str, float]:
    """What a progress callback is told."""
    value = incumbent.value
    return {"bound": bound, "incumbent": value, "gap": max(0.0, bound - value), "open": n_open}


def _bound_child(
    S: Covariance,
    case: SupportProblem,
    proof: ProofNode,
    above: Standing,
    dual: Dual | None,
    incumbent: Incumbent,
    limits: Limits,
) -> Bounded:
    """Instant bounds first, the parent's dual next, a few warm-started steps last."""
    fractional = np.full(case.features.size, 0.5)
    if limits.out_of_time:
        return Bounded(Standing(above.bound, "branch and bound", case), dual, fractional)
    if dual is not None and case.features.size > LARGEST_SIZE and not case.is_leaf:
        known = Standing(above.bound, "branch and bound", case)
        start = dual.restrict_to(case.features)
        return tighten_child(S, known, proof, incumbent, limits, start=start)
    standing = _capped(first_standing(S, case, incumbent), above.bound)
    if standing.problem is None or case.is_leaf or dual is None:
        return Bounded(standing, dual, fractional)
    before = above.problem
    if case.is_decided and before is not None and case.features.size == before.features.size:
        # Knowing a sign changes no bound, only what the leaves below have to enumerate.
        return Bounded(standing, dual, fractional)
    inherited = dual.restrict_to(case.features)
    tried = _capped(apply_dual(S, standing, inherited, incumbent.value), standing.bound)
    if tried.problem is None or limits.closes(tried.bound, incumbent.value):
        proof.duals.append(inherited)
        return Bounded(tried, inherited, fractional)
    proof.duals.append(inherited)
    bounded = tighten(
        S,
        tried,
        proof,
        incumbent,
        limits,
        start=inherited,
        levels=(),
        n_steps=25,
        max_rounds=3,
    )
    if bounded.standing.bound < tried.bound and not screened(case, tried.problem):
        # The duals found since prove more, and nothing rests on the inherited one.
        proof.duals.remove(inherited)
    return bounded


def screened(before: SupportProblem, after: SupportProblem) -> bool:
    """Whether any feature was decided between two standings."""
    fewer = after.features.size < before.features.size
    return fewer or int(after.nonzero.sum()) > int(before.nonzero.sum())


def _capped(standing: Standing, bound: float) -> Standing:
    """A case is part of its parent, so the parent's bound holds as well."""
    if standing.bound <= bound:
        return standing
    return Standing(bound, "branch and bound", standing.problem)


def _most_undecided(S: Covariance, problem: SupportProblem, fractional: Array) -> int:
    """The free feature whose share of the support is closest to one half.

    Where all features fit into the support, only signs are undecided: the feature
    that the leading eigenvector would make most negative.
    """
    if problem.is_decided:
        kept = problem.keep(problem.forced) if problem.n_free == 0 else problem
        vector = np.linalg.eigh(symmetric_block(S, kept))[1][:, -1]
        wish = np.where(kept.nonzero, np.inf, vector * np.sign(vector.sum() or 1.0))
        return int(kept.features[np.argmin(wish)])
    distance = np.abs(fractional - 0.5)
    distance[problem.forced] = np.inf
    return int(problem.features[np.argmin(distance)])
