"""From several components to their joint certificate: the smallest bounds that apply."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import linprog

from loadstone.blas_threads import one_blas_thread
from loadstone.certificates.bound_dual import Dual
from loadstone.certificates.certificate import OPTIMAL_GAP, Certificate
from loadstone.certificates.certificate_about import About, refuse_out_of_range
from loadstone.certificates.certificate_error import CertificateError
from loadstone.certificates.joint_alone import contains, is_of_samples, widest
from loadstone.certificates.joint_assignment import can_try_disjoint
from loadstone.certificates.joint_bound import (
    JointProof,
    applicable,
    dual_matrix,
    terms_of,
)
from loadstone.certificates.joint_certificate import JointCertificate, JointClaim
from loadstone.certificates.joint_problem import ADJUSTED, RECOVERED, RELATIONS, SUM, local
from loadstone.certificates.joint_search import LEVELS, JointDual, propose_joint_dual
from loadstone.certificates.joint_search_recovery import propose_theta
from loadstone.certificates.joint_search_supports import propose_matrix
from loadstone.certificates.joint_statement import LARGEST, Statement
from loadstone.certificates.joint_supports import can_try_all, n_supports
from loadstone.certificates.problem import Array
from loadstone.certificates.prove import prove
from loadstone.constraints import Constraint
from loadstone.covariance.explicit import ExplicitCovariance
from loadstone.covariance.given import refuse_indefinite
from loadstone.covariance.protocol import Covariance

#: Features up to which duals are searched.
LARGEST_DUAL = 700
#: Supports up to which the search tries all of them.
SEARCHED_SUPPORTS = 20_000
FINE_LEVELS = (*LEVELS, 1e-4)


def prove_together(
    S: Covariance,
    constraints: Sequence[Constraint],
    loadings: Array,
    relation: str = "none",
    *,
    effort: str = "standard",
    quantity: str | None = None,
    time_limit: float | None = None,
    alone: Certificate | None = None,
) -> JointCertificate:
    """Bound what components under ``constraints`` reach together, and compare ``loadings`` with it.

    Parameters
    ----------
    S : Covariance
        Of the data.
    constraints : sequence of Constraint
        One for each component.
    loadings : ndarray of shape (n_features, n_components)
        The components, in their order; they must keep the constraints and the relation.
    relation : {"none", "quasi", "disjoint", "strict", "uncorrelated"}
        How the components, and their rivals, relate.
    effort : {"instant", "standard", "full"}
        Principal components and what can be tried exactly; the theorems; the same for longer.
    quantity : str, optional
        What is quoted: ``"adjusted variance"``, ``"sum of variances"`` or ``"recovered
        variance"``. By default the sum where the relation is an equation, else the
        adjusted variance. The recovered variance is only looked at where it is asked for.
    time_limit : float, optional
        Seconds after which the best bounds so far are returned.
    alone : Certificate, optional
        Of the first component, where there is one: with very many features statements rest on
        it, and it is made anew where it is not given.

    Returns
    -------
    JointCertificate
        Without a claim where nothing can be said; it tells why.

    Raises
    ------
    ValueError
        Where components do not keep what they are said to, or a matrix is no covariance.
    """
    begun = time.monotonic()
    deadline = begun + (np.inf if time_limit is None else time_limit)
    loadings = _checked(constraints, loadings, relation)
    refuse_out_of_range(S)
    if quantity is None:
        quantity = SUM if relation in ("strict", "uncorrelated") else ADJUSTED
    claims: list[JointClaim] = []
    dense = S.n_features <= LARGEST
    several = len(constraints) > 1 and (dense or is_of_samples(S))
    if several or (dense and quantity == RECOVERED):
        statement = Statement.of(S, constraints, relation)
        if isinstance(S, ExplicitCovariance):
            refuse_indefinite(S.matrix)
        statement.refuse_broken(loadings, np.inf)
        with one_blas_thread():
            if dense and quantity == RECOVERED:
                claims += _recovered_claims(statement, loadings, deadline)
            if several:
                if S.n_features > LARGEST_DUAL:
                    alone = _alone(statement, loadings, effort, deadline, alone)
                claims += _claims(statement, loadings, effort, deadline, alone)
    claims.sort(key=lambda claim: claim.quantity != quantity)
    return JointCertificate(
        loadings=loadings,
        constraints=tuple(constraints),
        relation=relation,
        claims=tuple(claims),
        about=About.of(S),
        seconds=time.monotonic() - begun,
    )


def _checked(constraints: Sequence[Constraint], loadings: Array, relation: str) -> Array:
    """The loadings in double precision with unit norm."""
    W = np.asarray(loadings, dtype=np.float64)
    if relation not in RELATIONS:
        msg = f"relation={relation!r} is unknown; choose one of {', '.join(map(repr, RELATIONS))}"
        raise ValueError(msg)
    if W.ndim != 2 or W.shape[1] != len(constraints) or W.shape[1] == 0:
        msg = f"loadings of shape {W.shape} do not fit {len(constraints)} constraints"
        raise ValueError(msg)
    norms = np.linalg.norm(W, axis=0)
    if not (np.isfinite(norms) & (norms > 0)).all():
        msg = "a component has no loadings, or some that are not finite"
        raise ValueError(msg)
    return np.asarray(W / norms)


def _alone(
    statement: Statement,
    loadings: Array,
    effort: str,
    deadline: float,
    given: Certificate | None,
) -> Certificate | None:
    """The certificate of one component whose rule contains those of all; ``None`` without one."""
    rule = widest(statement.constraints)
    if rule is None:
        return None
    if given is not None and not given.earlier.count and contains(given.constraint, rule):
        return given
    limit = max(deadline - time.monotonic(), 0.0)
    return prove(
        statement.S,
        rule,
        loadings[:, 0],
        effort=effort,
        time_limit=limit if np.isfinite(limit) else None,
    )


def _claims(
    statement: Statement,
    loadings: Array,
    effort: str,
    deadline: float,
    alone: Certificate | None,
) -> Iterator[JointClaim]:
    """The smallest bound of each quantity that there is something to say about."""
    values = {}
    for quantity in (ADJUSTED, SUM):
        if applicable(quantity, statement.problem.relation):
            values[quantity] = statement.value(loadings, quantity)
    found: dict[str, tuple[float, JointProof]] = {}
    for proof in _Search(statement, values, effort, deadline, alone).proofs():
        for quantity in values:
            bound = _bound_or_none(statement, quantity, proof)
            if bound is not None and bound < found.get(quantity, (np.inf, proof))[0]:
                found[quantity] = (bound, proof)
        if all(q in found and _closes(found[q][0], v) for q, v in values.items()):
            break
    for quantity, (bound, proof) in found.items():
        value = values[quantity]
        yield JointClaim(
            quantity=quantity, value=value, upper_bound=_at_least(bound, value), proof=proof
        )


def _at_least(bound: float, value: float) -> float:
    """The bound, not below the value by the last digits of either."""
    return max(bound, value) if bound > value - 1e-9 * abs(value) else bound


def _closes(bound: float, value: float) -> bool:
    return bound - value <= OPTIMAL_GAP * abs(value)


def _bound_or_none(statement: Statement, quantity: str, proof: JointProof) -> float | None:
    """What a proof gives, ``None`` where its theorem says nothing or the matrix is indefinite."""
    if proof.theorem not in applicable(quantity, statement.problem.relation):
        return None
    try:
        # Nothing here is about one of several components, so that none need be given.
        return statement.bound(np.empty((0, 0)), quantity, proof)
    except CertificateError:
        return None


@dataclass(frozen=True, eq=False)
class _Search:
    """Who looks for proofs, the cheapest first."""

    statement: Statement
    values: dict[str, float]
    effort: str
    deadline: float
    alone: Certificate | None

    def proofs(self) -> Iterator[JointProof]:
        """One proof after another; nothing is computed that nobody asks for."""
        problem = self.statement.problem
        if problem.features.size > LARGEST_DUAL and self.alone is not None:
            yield JointProof(theorem="C", alone=self.alone)
        if self.statement.stored is None:
            return
        yield JointProof(theorem="KF")
        disjoint = problem.relation == "disjoint"
        exact = disjoint and can_try_disjoint(problem)
        if exact:
            yield JointProof(theorem="DP")
        if self.effort == "instant" or not self._worth_duals():
            return
        sums = SUM in self.values and problem.relation != "uncorrelated"
        first = self._dual("B", levels=None if sums else self._levels()[: self._n_first()])
        if sums:
            yield JointProof(theorem="B", dual=first.dual)
        if disjoint and not exact:
            yield self._priced(self._dual("A").dual)
        skipped = 0 if sums else self._n_first() - 1
        second = self._dual("D", start=first.point, levels=self._levels()[skipped:])
        yield JointProof(theorem="D", dual=second.dual, level=second.level)
        if not self._can_try_all():
            return
        start = dual_matrix(second.dual, second.level)[0]
        yield JointProof(theorem="D", matrix=self._matrix("D", start))
        if sums and not exact:
            start = dual_matrix(first.dual)[0]
            yield JointProof(theorem="B", matrix=self._matrix("B", start))

    def _worth_duals(self) -> bool:
        problem = self.statement.problem
        limited = problem.largest.nonnegative or min(problem.sizes) < problem.features.size
        positive = bool((self.statement.inner.diagonal() > 0).any())
        return limited and positive and problem.features.size <= LARGEST_DUAL

    def _can_try_all(self) -> bool:
        kinds, _ = self.statement.problem.distinct()
        few = n_supports(self.statement.problem.largest) <= SEARCHED_SUPPORTS
        return few and all(can_try_all(kind) for kind in kinds)

    def _levels(self) -> tuple[float, ...]:
        if self.effort == "full":
            return FINE_LEVELS
        return LEVELS if self.statement.problem.features.size <= 150 else LEVELS[:-1]

    def _n_first(self) -> int:
        """Levels of theorem B that only prepare theorem D."""
        return 2 if self.statement.problem.features.size <= 150 else 1

    def _dual(
        self, theorem: str, start: Array | None = None, levels: tuple[float, ...] | None = None
    ) -> JointDual:
        problem = self.statement.problem
        return propose_joint_dual(
            self.statement.inner,
            local(problem.largest, problem.features),
            problem.features,
            problem.count,
            theorem,
            start=start,
            levels=self._levels() if levels is None else levels,
            n_steps=150 if self.effort == "full" else 60,
            target=self.values[ADJUSTED if theorem == "D" or SUM not in self.values else SUM],
            deadline=self.deadline,
        )

    def _matrix(self, theorem: str, start: Array) -> Array:
        problem = self.statement.problem
        return propose_matrix(
            self.statement.inner,
            local(problem.largest, problem.features),
            problem.count,
            theorem,
            start,
            n_rounds=6 if self.effort == "full" else 2,
            deadline=self.deadline,
        )

    def _priced(self, dual: Dual) -> JointProof:
        """Theorem A with the best prices for its dual: the dual of a transportation problem."""
        problem = self.statement.problem
        terms = np.array([terms_of(dual, local(p, problem.features)) for p in problem.problems])
        r, n = terms.shape
        cost = np.concatenate([np.asarray(problem.sizes, dtype=np.float64), np.ones(n)])
        # For each component t and feature i: p_t + u_i >= w_i(k_t).
        rows = np.hstack([np.repeat(np.eye(r), n, axis=0), np.tile(np.eye(n), (r, 1))])
        solved = linprog(cost, A_ub=-rows, b_ub=-terms.ravel(), bounds=(0, None))
        prices = np.zeros(r) if solved.x is None else np.asarray(solved.x[:r], dtype=np.float64)
        return JointProof(theorem="A", dual=dual, prices=np.maximum(prices, 0.0))


def _recovered_claims(
    statement: Statement, loadings: Array, deadline: float
) -> Iterator[JointClaim]:
    """What each component adds to those before it, against what any could add."""
    W = loadings * statement.flips[:, None]
    for j, problem in enumerate(statement.problem.problems):
        if problem.features.size > LARGEST_DUAL:
            return
        try:
            value = statement.value(loadings, RECOVERED, j)
            theta, dual = propose_theta(
                statement.matrix, W[:, :j], problem, value, deadline=deadline
            )
            proof = JointProof(theorem="E", level=theta, dual=dual)
            bound = statement.bound(loadings, RECOVERED, proof, j)
        except CertificateError:
            # Earlier components that repeat each other leave nothing to speak of.
            return
        if np.isfinite(bound):
            yield JointClaim(
                quantity=RECOVERED,
                value=value,
                upper_bound=_at_least(bound, value),
                proof=proof,
                component=j,
            )
