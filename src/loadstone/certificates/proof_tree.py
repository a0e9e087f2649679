"""A proof as data: duals to evaluate, features to branch on, nothing to trust.

A proof is a tree. At every node the instant bounds and the node's duals are
evaluated one after the other, each on the features its predecessors left; a node
that is still open names a feature, and its two children prove the cases with and
without it. :func:`replay` needs no optimiser.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from loadstone.certificates.bound_dual import Dual, Evaluation, evaluate
from loadstone.certificates.bound_instant import instant_bound
from loadstone.certificates.bound_single_support import support_optimum
from loadstone.certificates.problem import Array, SupportProblem
from loadstone.certificates.proof_screening import screen

if TYPE_CHECKING:
    from loadstone.covariance.protocol import Covariance


@dataclass(eq=False)
class ProofNode:
    """One case of a proof.

    Attributes
    ----------
    duals : list of Dual
        Evaluated in order; each one may screen features for the next.
    feature : int or None
        The feature the children branch on.
    with_feature, without_feature : ProofNode or None
        The two cases.
    """

    duals: list[Dual] = field(default_factory=list)
    feature: int | None = None
    with_feature: ProofNode | None = None
    without_feature: ProofNode | None = None

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
    bound, found = support_optimum(
        (block + block.T) / 2.0,
        nonnegative=problem.nonnegative,
        value=value,
        positive=kept.nonzero,
    )
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


def replay(S: Covariance, problem: SupportProblem, value: float, node: ProofNode) -> Standing:
    """Recompute what a proof proves, from the covariance and the stored numbers alone."""
    standing = standing_without_dual(S, problem, value)
    for dual in node.duals:
        standing = apply_dual(S, standing, dual, value)
    if standing.problem is None or node.feature is None:
        return standing
    both = zip(
        cases(standing.problem, node.feature),
        (node.with_feature, node.without_feature),
        strict=True,
    )
    bounds = [
        replay(S, case, value, child).bound
        for case, child in both
        if case is not None and child is not None
    ]
    bound = max([value, *bounds])
    if bound < standing.bound:
        return Standing(bound, "branch and bound", None if bound <= value else standing.problem)
    return standing
