"""A proof as data: duals to evaluate, features to branch on, nothing to trust.

A proof is a tree, written down as a list: each case before its children, the case with
the feature before the one without it. In every case the duals are evaluated one after the
other, each on the features its predecessors left; a case that is still open names a
feature, and its two children prove the cases with and without it. :func:`replay` needs no
optimiser and no recursion.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import starmap
from typing import TYPE_CHECKING, Any

import numpy as np

from loadstone.certificates.bound_dual import Dual, Evaluation, block_rounding, evaluate
from loadstone.certificates.bound_eigenvalue import eigenvalue_bound
from loadstone.certificates.bound_instant import instant_bound
from loadstone.certificates.bound_single_support import support_optimum
from loadstone.certificates.certificate_error import CertificateError
from loadstone.certificates.problem import Array, Indices, SupportProblem
from loadstone.certificates.proof_enumeration import enumerated, open_supports
from loadstone.certificates.proof_rounds import Each, in_rounds, size_of_round
from loadstone.certificates.proof_screening import screen

if TYPE_CHECKING:
    from loadstone.covariance.protocol import Covariance

#: Largest single support of which every feature is asked whether it could be spared.
MAX_NEEDED = 60


@dataclass(frozen=True, eq=False)
class ProofCase:
    """One case of a proof, as it is stored.

    Attributes
    ----------
    duals : tuple of Dual
        Evaluated in order; each one may screen features for the next.
    feature : int or None
        The feature the next two cases branch on; ``None`` where there are none.
    listed : bool
        Whether the supports that the last dual leaves open are looked at one by one.
    """

    duals: tuple[Dual, ...] = ()
    feature: int | None = None
    listed: bool = False


@dataclass(eq=False)
class ProofNode:
    """One case of a proof that is being found.

    Attributes
    ----------
    duals : list of Dual
        Evaluated in order; each one may screen features for the next.
    feature : int or None
        The feature the children branch on.
    with_feature, without_feature : ProofNode or None
        The two cases.
    listed : bool
        Whether the supports that the last dual leaves open are looked at one by one.
    """

    duals: list[Dual] = field(default_factory=list)
    feature: int | None = None
    with_feature: ProofNode | None = None
    without_feature: ProofNode | None = None
    listed: bool = False

    def branch(self, feature: int) -> tuple[ProofNode, ProofNode]:
        """Add the two cases for ``feature``."""
        self.feature = feature
        self.with_feature, self.without_feature = ProofNode(), ProofNode()
        return self.with_feature, self.without_feature


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


def cases(
    problem: SupportProblem, feature: int
) -> tuple[SupportProblem | None, SupportProblem | None]:
    """The problem with and without ``feature``; ``None`` where a case is excluded already.

    A tree is data, so any feature may be asked for, also one the forced ones leave no room for.
    """
    at = problem.features == feature
    if not at.any():
        return None, problem
    if problem.n_free == 0 and not problem.forced[at].any():
        return None, problem.keep(~at)
    if problem.nonzero[at].all():
        return problem, None
    without = problem.keep(~at)
    if problem.forced[at].all():
        # A feature the user forced keeps its place even where its loading is zero.
        without = replace(without, n_nonzero=min(problem.n_nonzero - 1, without.features.size))
    return problem.force(at), without if without.features.size and without.n_nonzero else None


def as_list(root: ProofNode) -> tuple[ProofCase, ...]:
    """All cases, each before its children; a node that lacks a child has none."""
    found, stack = [], [root]
    while stack:
        node = stack.pop()
        with_it, without_it = node.with_feature, node.without_feature
        if node.feature is None or with_it is None or without_it is None:
            found.append(ProofCase(tuple(node.duals), listed=node.listed))
            continue
        found.append(ProofCase(tuple(node.duals), node.feature))
        stack += [without_it, with_it]
    return tuple(found)


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
    parents = _parents(proof)
    bounds = [value] * len(proof)
    open_ones: dict[int, list[SupportProblem]] = {}
    waiting: list[tuple[int, SupportProblem | None]] = [(0, problem)]
    # The case with a feature follows at once, the one without it after all cases of that.
    without = {parent: index for index, parent in enumerate(parents)}

    def take() -> list[tuple[int, tuple[Any, ...]]]:
        taken = [waiting.pop() for _ in range(size_of_round(len(waiting)))]
        return [(index, (S, part, value, proof[index], claimed)) for index, part in taken]

    def done(indices: list[int], answers: Iterator[tuple[float, list[SupportProblem]]]) -> None:
        for index, (bound, left) in zip(indices, answers, strict=True):
            bounds[index], feature = bound, proof[index].feature
            if feature is None:
                open_ones[index] = left
                continue
            both = cases(left[0], feature) if left else (None, None)
            waiting.extend([(without[index], both[1]), (index + 1, both[0])])

    in_rounds(_replayed_case, take, done, each)
    left_open = (part for index in sorted(open_ones) for part in open_ones[index])
    return Replayed(_folded(bounds, parents, value), tuple(left_open))


def _parents(proof: Sequence[ProofCase]) -> list[int]:
    """The place of each case's parent; -1 for the first one."""
    waiting, parents = [-1], []
    for index, case in enumerate(proof):
        if not waiting:
            msg = f"the proof has {len(proof)} cases, its tree only {index}"
            raise CertificateError(msg)
        parents.append(waiting.pop())
        if case.feature is not None:
            waiting += [index, index]
    if waiting:
        msg = f"the proof lacks {len(waiting)} of its cases"
        raise CertificateError(msg)
    return parents


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
    if case.feature is not None and np.isfinite(standing.bound):
        return standing.bound, [left]
    if case.listed and case.duals and not left.is_leaf:
        bound, ends = listed_supports(S, left, case.duals[-1], value)
    elif value < standing.bound <= claimed and not left.is_leaf:
        return standing.bound, [left]
    else:
        last = standing_without_dual(S, left, value)
        bound = min(standing.bound, last.bound)
        ends = [] if last.problem is None else [last.problem]
    if case.feature is None:
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


def _folded(bounds: list[float], parents: list[int], value: float) -> float:
    """The bound of the root: a case is bounded by itself and by the larger of its children."""
    below = [-np.inf] * len(bounds)
    for index in range(len(bounds) - 1, -1, -1):
        if below[index] > -np.inf:
            bounds[index] = min(bounds[index], max(below[index], value))
        if parents[index] >= 0:
            below[parents[index]] = max(below[parents[index]], bounds[index])
    return max(bounds[0], value)
