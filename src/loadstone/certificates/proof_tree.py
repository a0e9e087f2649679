"""A proof as data: duals to evaluate, features or lines to branch on, nothing to trust.

A proof is a tree, written down as a list: each case before its children, the case with
the feature before the one without it. In every case the duals are evaluated one after the
other, each on the features its predecessors left; a case that is still open names a
feature, or lines, and its children prove the cases it is split into. :func:`replay` needs no
optimiser and no recursion.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import starmap
from typing import TYPE_CHECKING, Any

import numpy as np

from loadstone.certificates.bound_dual import Dual, Evaluation, block_rounding, evaluate
from loadstone.certificates.bound_eigenvalue import eigenvalue_bound
from loadstone.certificates.bound_instant import instant_bound
from loadstone.certificates.bound_single_support import support_optimum
from loadstone.certificates.certificate_error import CertificateError
from loadstone.certificates.problem import Array, Indices, SupportProblem
from loadstone.certificates.proof_cases import ProofCase, folded, parents_of, parts, sizes_of
from loadstone.certificates.proof_enumeration import enumerated, open_supports
from loadstone.certificates.proof_rounds import Each, in_rounds, size_of_round
from loadstone.certificates.proof_screening import screen

if TYPE_CHECKING:
    from loadstone.covariance.protocol import Covariance

#: Largest single support of which every feature is asked whether it could be spared.
MAX_NEEDED = 60
#: Parts of a proof, or more, that are replayed each on its own.
PARTS = 32


@dataclass(frozen=True, eq=False)
class Standing:
    """What is proven at a node: the bound, its name, and the problem that is left.

    ``problem`` is ``None`` where no admissible loading vector beats the known value.
    """

    bound: float
    name: str
    problem: SupportProblem | None


def leaf_optimum(
    S: Covariance, problem: SupportProblem, value: float
) -> tuple[float, Array | None]:
    """Bound and loadings (on all features) of a leaf: a single largest support."""
    kept = problem.keep(problem.forced) if problem.n_free == 0 else problem
    support = kept.features
    block = np.asarray(S.block(support, support), dtype=np.float64)
    room = block_rounding(S, problem)
    bound, found = support_optimum(
        (block + block.T) / 2.0,
        nonnegative=problem.nonnegative,
        value=value - room,
        positive=kept.nonzero,
    )
    bound = max(bound + room, value)
    if found is None:
        return bound, None
    loading = np.zeros(S.n_features)
    loading[support] = found
    return bound, loading


def standing_without_dual(S: Covariance, problem: SupportProblem, value: float) -> Standing:
    """What is proven without any dual: instant bounds, or the exact answer of a single support."""
    if problem.is_leaf:
        bound, _ = leaf_optimum(S, problem, value)
        left = None if bound <= value else problem
        return Standing(bound, "single support", left)
    instant = instant_bound(S, problem)
    left = None if instant.value <= value else problem
    return Standing(max(instant.value, value), instant.name, left)


def apply_dual(S: Covariance, standing: Standing, dual: Dual, value: float) -> Standing:
    """What is proven after one more dual; features are screened by it."""
    if standing.problem is None:
        return standing
    if not np.isin(dual.features, standing.problem.features).any():
        return standing
    return apply_evaluation(S, standing, evaluate(S, standing.problem, dual), value)


def apply_evaluation(
    S: Covariance, standing: Standing, evaluation: Evaluation, value: float
) -> Standing:
    """What is proven after an evaluated dual."""
    assert standing.problem is not None
    bound, name = standing.bound, standing.name
    if evaluation.bound < bound:
        bound, name = max(evaluation.bound, value), "dual bound"
    left = screen(standing.problem, evaluation, value)
    if left is None:
        return Standing(value, "dual bound", None)
    if left.is_leaf and not standing.problem.is_leaf:
        decided = standing_without_dual(S, left, value)
        if decided.bound < bound:
            return Standing(decided.bound, "dual bound and screening", decided.problem)
    return Standing(bound, name, left)


@dataclass(frozen=True, eq=False)
class Replayed:
    """What a proof proves.

    Attributes
    ----------
    bound : float
        No admissible loading vector has a larger variance.
    left : tuple of SupportProblem
        Every vector of variance above the known value belongs to one of these.
    """

    bound: float
    left: tuple[SupportProblem, ...]

    def fixed(self, n_features: int) -> tuple[Indices, Indices]:
        """Features that every, and no, vector above the known value uses.

        Where there is none left nothing is claimed of it.
        """
        used = np.zeros(n_features, dtype=bool)
        certain = np.full(n_features, bool(self.left))
        for problem in self.left:
            used[problem.features] = True
            sure = np.zeros(n_features, dtype=bool)
            sure[problem.features[problem.nonzero]] = True
            certain &= sure
        return np.flatnonzero(certain), np.flatnonzero(~used & bool(self.left))


def replay(
    S: Covariance,
    problem: SupportProblem,
    value: float,
    proof: Sequence[ProofCase],
    each: Each = starmap,
    claimed: float = -np.inf,
) -> Replayed:
    """Recompute what a proof proves, from the covariance and the stored numbers alone.

    Cases of which none is part of another may be done side by side by ``each``. Where the duals
    of a case prove what is ``claimed``, nothing better is looked for.

    Raises
    ------
    CertificateError
        Where the cases form no tree.
    """
    parents = parents_of(proof)
    sizes, at_most = sizes_of(parents), max(1, len(proof) // PARTS)
    bounds: dict[int, float] = {}
    open_ones: dict[int, list[SupportProblem]] = {}
    waiting: list[tuple[int, SupportProblem | None]] = [(0, problem)]
    children: dict[int, list[int]] = {}
    for index, parent in enumerate(parents):
        children.setdefault(parent, []).append(index)

    def take() -> list[tuple[int, tuple[Any, ...]]]:
        taken = [waiting.pop() for _ in range(size_of_round(len(waiting)))]
        ends = [index + (sizes[index] if sizes[index] <= at_most else 1) for index, _ in taken]
        return [
            (index, (S, part, value, proof[index:end], claimed))
            for (index, part), end in zip(taken, ends, strict=True)
        ]

    def done(indices: list[int], answers: Iterator[tuple[float, list[SupportProblem]]]) -> None:
        for index, (bound, left) in zip(indices, answers, strict=True):
            bounds[index] = bound
            if sizes[index] <= at_most:
                open_ones[index] = left
                continue
            places = children[index]
            split = parts(left[0], proof[index]) if left else [None] * len(places)
            waiting.extend(list(zip(places, split, strict=True))[::-1])

    in_rounds(_replayed_part, take, done, each)
    left_open = (part for index in sorted(open_ones) for part in open_ones[index])
    return Replayed(folded(bounds, parents, value), tuple(left_open))


def _replayed_part(
    S: Covariance,
    problem: SupportProblem | None,
    value: float,
    proof: Sequence[ProofCase],
    claimed: float,
) -> tuple[float, list[SupportProblem]]:
    """The bound of a case, and what is still open; with its children where they are given."""
    if len(proof) == 1:
        return _replayed_case(S, problem, value, proof[0], claimed)
    parents = parents_of(proof)
    bounds: dict[int, float] = {}
    open_ones: list[SupportProblem] = []
    waiting = [problem]
    for index, case in enumerate(proof):
        bounds[index], left = _replayed_case(S, waiting.pop(), value, case, claimed)
        if case.n_children:
            waiting += (parts(left[0], case) if left else [None] * case.n_children)[::-1]
        else:
            open_ones += left
    return folded(bounds, parents, value), open_ones


def _replayed_case(
    S: Covariance,
    problem: SupportProblem | None,
    value: float,
    case: ProofCase,
    claimed: float = -np.inf,
) -> tuple[float, list[SupportProblem]]:
    """The bound of one case, its children left aside, and what is still open."""
    if problem is None:
        return value, []
    standing = Standing(np.inf, "", problem)
    for dual in case.duals:
        standing = apply_dual(S, standing, dual, value)
    left = standing.problem
    if left is None:
        return value, []
    if case.n_children and np.isfinite(standing.bound):
        return standing.bound, [left]
    if case.listed and case.duals and not left.is_leaf:
        bound, ends = listed_supports(S, left, case.duals[-1], value)
    elif value < standing.bound <= claimed and not left.is_leaf:
        return standing.bound, [left]
    else:
        last = standing_without_dual(S, left, value)
        bound = min(standing.bound, last.bound)
        ends = [] if last.problem is None else [last.problem]
    if not case.n_children:
        ends = [_with_needed(S, end, value) for end in ends]
    return bound, ends


def listed_supports(
    S: Covariance, problem: SupportProblem, dual: Dual, value: float
) -> tuple[float, list[SupportProblem]]:
    """The bound over all supports that ``dual`` leaves open, and those not below ``value``.

    Raises
    ------
    CertificateError
        Where they are too many.
    """
    evaluation = evaluate(S, problem, dual.restrict_to(problem.features))
    supports = open_supports(problem, evaluation, value)
    if supports is None:
        msg = "the proof leaves too many supports to be listed"
        raise CertificateError(msg)
    return enumerated(S, problem, supports, value)


def _with_needed(S: Covariance, problem: SupportProblem, value: float) -> SupportProblem:
    """A leaf with the features forced without which no vector exceeds ``value``."""
    if not problem.is_leaf or problem.n_nonzero > MAX_NEEDED:
        return problem
    kept = problem.keep(problem.forced) if problem.n_free == 0 else problem
    block = np.asarray(S.block(kept.features, kept.features), dtype=np.float64)
    block = (block + block.T) / 2.0
    rest = [np.delete(np.delete(block, i, axis=0), i, axis=1) for i in range(len(block))]
    needed = [not part.size or eigenvalue_bound(part) <= value for part in rest]
    return problem.force(np.isin(problem.features, kept.features[needed], assume_unique=True))
