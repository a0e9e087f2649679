"""What a joint certificate is measured against: a matrix, who competes, and values in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from loadstone.certificates.bound_any_constraint import as_cardinality
from loadstone.certificates.certificate_error import CertificateError
from loadstone.certificates.certificate_value import problem_of
from loadstone.certificates.joint_alone import alone_bound, is_of_samples
from loadstone.certificates.joint_bound import JointProof, applicable, joint_bound
from loadstone.certificates.joint_eigenvalues import below_zero, up
from loadstone.certificates.joint_problem import RECOVERED, SUM, JointProblem, broken_relation
from loadstone.certificates.joint_recovery import recovered_beyond, recovery_bound
from loadstone.certificates.problem import Array, SupportProblem
from loadstone.metrics.explained_variance import adjusted_from_scores

if TYPE_CHECKING:
    from loadstone.constraints import Constraint
    from loadstone.covariance.protocol import Covariance

#: Features beyond which the matrix is not formed: theorem C alone can be used.
LARGEST = 1500


@dataclass(frozen=True, eq=False, kw_only=True)
class Statement:
    """A covariance, signs turned where that makes loadings non-negative; as a matrix if it can be."""

    S: Covariance
    stored: Array | None
    problem: JointProblem
    constraints: tuple[Constraint, ...]
    flips: Array

    @classmethod
    def of(cls, S: Covariance, constraints: Sequence[Constraint], relation: str) -> Statement:
        """What competes under these constraints; those of other kinds are relaxed to a size."""
        views = [as_cardinality(constraint) for constraint in constraints]
        flips = np.ones(S.n_features) if views[0] is None else views[0][1].astype(np.float64)
        known = [view is not None and np.array_equal(view[1], flips) for view in views]
        problems = tuple(
            problem_of(view[0]) if same and view is not None else relaxed(constraint)
            for view, same, constraint in zip(views, known, constraints, strict=True)
        )
        stored = None if S.n_features > LARGEST else _matrix_of(S) * np.outer(flips, flips)
        problem, rules = JointProblem(problems, relation), tuple(constraints)
        return cls(S=S, stored=stored, problem=problem, constraints=rules, flips=flips)

    @property
    def matrix(self) -> Array:
        """The covariance of all features."""
        if self.stored is None:
            msg = f"{self.S.n_features} features are more than the {LARGEST} of such a statement"
            raise CertificateError(msg)
        return self.stored

    @property
    def inner(self) -> Array:
        """The matrix on the features that any component may use."""
        at = self.problem.features
        return np.asarray(self.matrix[np.ix_(at, at)])

    def refuse_broken(self, loadings: Array, tolerance: float) -> None:
        """Raise unless every component keeps its constraint, and all of them their relation."""
        for constraint, w in zip(self.constraints, loadings.T, strict=True):
            broken = constraint.broken_rule(w)
            if broken is not None:
                msg = f"a component of the certificate breaks its constraint: {broken}"
                raise CertificateError(msg)
        relation = self.problem.relation
        broken = broken_relation(self.scores(loadings), loadings, relation, tolerance)
        if broken is not None:
            msg = f"the components do not relate as the certificate says: {broken}"
            raise CertificateError(msg)

    def scores(self, loadings: Array) -> Array:
        """``W'SW``."""
        W = loadings * self.flips[:, None]
        if self.stored is None:
            # Signs are turned in the stored matrix only.
            G = loadings.T @ np.asarray(self.S @ loadings.astype(self.S.dtype), dtype=np.float64)
        else:
            G = W.T @ self.stored @ W
        return np.asarray((G + G.T) / 2.0)

    def value(self, loadings: Array, quantity: str, component: int | None = None) -> float:
        """What the components reach."""
        if quantity == RECOVERED:
            j = component or 0
            W = loadings * self.flips[:, None]
            return recovered_beyond(self.matrix, W[:, :j], W[:, j])
        G = self.scores(loadings)
        reached = G.diagonal() if quantity == SUM else adjusted_from_scores(G)
        return float(np.sum(reached))

    def bound(
        self, loadings: Array, quantity: str, proof: JointProof, component: int | None = None
    ) -> float:
        """What nobody exceeds, by the numbers of a proof."""
        if quantity == RECOVERED:
            j = component or 0
            if proof.theorem != "E":
                msg = f"theorem {proof.theorem!r} says nothing about the {quantity}"
                raise CertificateError(msg)
            W = (loadings * self.flips[:, None])[:, :j]
            problem = self.problem.problems[j]
            return recovery_bound(self.matrix, W, problem, proof.level, proof.dual)
        if proof.theorem == "C" and "C" in applicable(quantity, self.problem.relation):
            return up(alone_bound(self.S, self.constraints, proof.alone) + self._below(quantity))
        return joint_bound(self.inner, self.problem, quantity, proof)

    def _below(self, quantity: str) -> float:
        """What negative eigenvalues, which are rounding, may add to adjusted variances."""
        if quantity == SUM:
            return 0.0
        if self.stored is not None:
            return self.problem.count * below_zero(self.stored)
        if not is_of_samples(self.S):
            msg = f"of more than {LARGEST} features only samples are known to be a covariance"
            raise CertificateError(msg)
        return 0.0


def _matrix_of(S: Covariance) -> Array:
    every = np.arange(S.n_features)
    block = np.asarray(S.block(every, every), dtype=np.float64)
    if not np.isfinite(block).all():
        msg = "the covariance holds values that are not finite"
        raise CertificateError(msg)
    symmetric: Array = (block + block.T) / 2.0
    return symmetric


def relaxed(constraint: Constraint) -> SupportProblem:
    """All vectors with as many features as the largest support that a constraint allows."""
    n = constraint.n_features
    most = int(np.ceil(float(constraint.largest_sum(np.ones(n))) - 1e-9))
    return SupportProblem.of(n, max(1, min(most, n)), forbidden=constraint.forbidden)
