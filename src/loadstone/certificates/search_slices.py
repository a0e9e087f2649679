"""Split what a dual leaves open by direction: lines that turn by a half circle, a dual per slice.

Where a bound is not tight, the density behind it mixes quite different components, in a few
directions: the leading eigenvectors of the matrix inside the bound. No single component is such a
mixture. Two of these directions span a plane; between two lines in it only components of similar
direction are left, and their bound is much closer.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from loadstone.blas_threads import one_blas_thread
from loadstone.certificates.bound_dual import Dual
from loadstone.certificates.problem import Array, SupportProblem
from loadstone.certificates.proof_cases import ProofNode, slices
from loadstone.certificates.proof_rounds import Each
from loadstone.certificates.proof_tree import Standing
from loadstone.certificates.search_case import (
    Bounded,
    Incumbent,
    Limits,
    symmetric_block,
    tighten,
)
from loadstone.certificates.search_working_set import LARGEST_SIZE, restricted, tighten_child
from loadstone.covariance.symmetric import largest_eigenpairs

if TYPE_CHECKING:
    from loadstone.covariance.protocol import Covariance

#: Lines of a half circle.
N_LINES = 8
#: A gap below this share of the value is left to other means, or as it is.
SMALL_GAP = 3e-3
#: Slices are kept where they take at least this share of the gap away.
WORTH = 0.1
#: Smoothing levels of a slice, and steps of each.
SLICE_LEVELS = (3e-3, 1e-3)
SLICE_STEPS = 40


@dataclass
class Slice:
    """A bounded slice, its proof, and the best component known after it."""

    bounded: Bounded
    proof: ProofNode
    incumbent: Incumbent


def cut_open(
    S: Covariance,
    found: Bounded,
    proof: ProofNode,
    incumbent: Incumbent,
    limits: Limits,
    each: Each,
) -> list[tuple[Bounded, ProofNode]]:
    """The cases that are open after ``found``: its slices where they help, else itself."""
    whole = [(found, proof)]
    problem, gap = found.standing.problem, found.standing.bound - incumbent.value
    if problem is None or problem.is_decided or gap <= SMALL_GAP * abs(incumbent.value):
        return whole
    if found.dual is None or limits.max_nodes <= N_LINES or limits.out_of_time:
        return whole
    lines = turning_lines(S, problem, found.dual)
    if lines is None:
        return whole
    known = replace(incumbent)
    calls = [(S, part, found, known, limits) for part in slices(problem, lines)]
    answers = list(each(bound_slice, calls))
    for answer in answers:
        if answer.incumbent.value > incumbent.value:
            incumbent.value, incumbent.loading = answer.incumbent.value, answer.incumbent.loading
    worst = max(answer.bounded.standing.bound for answer in answers)
    if worst > found.standing.bound - WORTH * gap:
        return whole
    children = proof.cut(lines)
    for child, answer in zip(children, answers, strict=True):
        child.duals, child.listed = answer.proof.duals, answer.proof.listed
        limits.proof_bytes += sum(dual.pairing.nbytes for dual in child.duals)
    return [(answer.bounded, child) for answer, child in zip(answers, children, strict=True)]


def turning_lines(S: Covariance, problem: SupportProblem, dual: Dual) -> Array | None:
    """Lines in the plane of the two leading eigenvectors of the matrix inside the bound."""
    dual = dual.restrict_to(problem.features)
    if dual.features.size < 3:
        return None
    matrix = symmetric_block(S, restricted(problem, dual.features))
    pairing = dual.pairing.copy()
    np.fill_diagonal(pairing, 0.0)
    inner = matrix - dual.factor @ dual.factor.T - (pairing + pairing.T) / 2.0
    inner[np.diag_indices(len(inner))] += dual.shift
    plane = largest_eigenpairs(inner, 2)[1]
    angles = np.pi * np.arange(N_LINES) / N_LINES
    lines = np.zeros((S.n_features, N_LINES))
    lines[dual.features] = plane @ np.stack([np.cos(angles), -np.sin(angles)])
    return lines


def bound_slice(
    S: Covariance, case: SupportProblem, above: Bounded, incumbent: Incumbent, limits: Limits
) -> Slice:
    """Bound one slice; nothing that is handed over is changed, so that a process can do it."""
    known, proof = replace(incumbent), ProofNode()
    assert above.dual is not None
    start = above.dual.restrict_to(case.features)
    standing = Standing(above.standing.bound, "slices", case)
    # What lies beyond a working set is left to the evaluator.
    step = tighten_child if case.features.size > LARGEST_SIZE else partial(tighten, max_rounds=1)
    with one_blas_thread():
        bounded = step(
            S,
            standing,
            proof,
            known,
            limits,
            start=start,
            levels=SLICE_LEVELS,
            n_steps=SLICE_STEPS,
        )
    return Slice(bounded, proof, known)
