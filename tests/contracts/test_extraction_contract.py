"""Every constraint with every way components can relate: a promise kept, or a sentence."""

import numpy as np
import pytest

from loadstone.constraints import L1Budget, LoadingConstraint, Signs
from loadstone.covariance import ExplicitCovariance, covariance_of, deflate
from loadstone.extraction import (
    ORTHOGONALITIES,
    Orthogonality,
    Plan,
    competitions,
    one_by_one,
    signed,
)
from loadstone.solvers.greedy import Greedy
from loadstone.solvers.truncated_power import TruncatedPower
from registry import constraints

P = 9
CONSTRAINTS = constraints(P)
PAIRS = [(kind, constraint) for kind in ORTHOGONALITIES for constraint in CONSTRAINTS]


def covariance(seed=0, n=30):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, P)) * np.linspace(2, 0.7, P) + rng.standard_normal((n, 1))
    return covariance_of(X)[0]


def plan(kind="none", **options):
    return Plan(TruncatedPower(), orthogonality=Orthogonality(kind, 70.0), **options)


def broken_relation(kind, S, W):
    """By how much a pair of components misses the relation, from its definition."""
    pairs = [(W[:, i], W[:, j]) for i in range(W.shape[1]) for j in range(i)]
    S = S @ np.eye(P)
    if kind == "disjoint":
        return max((np.abs(v * w).max() for v, w in pairs), default=0.0)
    if kind == "quasi":
        return max((abs(v @ w) - np.cos(np.deg2rad(70.0)) for v, w in pairs), default=0.0)
    if kind == "strict":
        return max((abs(v @ w) for v, w in pairs), default=0.0)
    if kind == "uncorrelated":
        return max(
            (abs(v @ S @ w) / np.sqrt((v @ S @ v) * (w @ S @ w)) for v, w in pairs), default=0
        )
    return 0.0


@pytest.mark.parametrize("refine", [False, True])
@pytest.mark.parametrize(("kind", "constraint"), PAIRS, ids=str)
def test_components_keep_their_constraint_and_their_relation(kind, constraint, refine):
    S = covariance()
    asked = plan(kind, refine=refine)
    if asked.orthogonality.refuses(constraint):
        with pytest.raises(ValueError, match="use"):
            one_by_one(S, [constraint] * 3, asked, np.random.default_rng(0))
        return
    found = one_by_one(S, [constraint] * 3, asked, np.random.default_rng(0)).matrix
    assert found.shape[1] >= 2 or kind != "none"
    for j, w in enumerate(found.T):
        # A forced feature that serves another component already is used up.
        used = np.flatnonzero(np.delete(found, j, axis=1).any(axis=1))
        rule = constraint.without(used) if kind == "disjoint" else constraint
        assert rule.broken_rule(w) is None
    assert broken_relation(kind, S, found) <= 1e-7


@pytest.mark.parametrize(("kind", "constraint"), PAIRS, ids=str)
def test_only_what_cannot_work_is_refused(kind, constraint):
    reason = Orthogonality(kind).refuses(constraint)
    free = constraint.signs is None
    equations = kind in {"strict", "uncorrelated"} and free and not constraint.refits
    assert (reason is not None) == (equations or (kind == "uncorrelated" and not free))


def test_a_solver_is_asked_before_the_first_step():
    def never(*_):
        raise AssertionError

    with pytest.raises(ValueError, match="greedy path"):
        one_by_one(
            covariance(), [L1Budget(P, 2.0)], Plan(Greedy()), np.random.default_rng(0), report=never
        )
    # Without a constraint nobody is asked.
    free = one_by_one(covariance(), [L1Budget(P, 9.0)], Plan(Greedy()), np.random.default_rng(0))
    assert free.matrix.shape == (P, 1)


def test_a_constraint_for_other_features_is_refused_with_a_way_out():
    with pytest.raises(ValueError, match=r"bound_to\(9\)"):
        one_by_one(covariance(), [L1Budget(budget=2.0)], plan(), np.random.default_rng(0))


def test_options_have_names():
    with pytest.raises(TypeError):
        Plan(TruncatedPower(), "hotelling")
    with pytest.raises(TypeError):
        one_by_one(covariance(), CONSTRAINTS[:1], plan(), np.random.default_rng(0), np.eye(P))


@pytest.mark.parametrize(("kind", "constraint"), PAIRS, ids=str)
def test_components_compete_for_what_the_earlier_ones_left(kind, constraint):
    S = covariance(1)
    if Orthogonality(kind).refuses(constraint):
        return
    asked = plan(kind, deflation="schur")
    W = one_by_one(S, [constraint] * 3, asked, np.random.default_rng(0)).matrix
    fields = list(competitions(W, [constraint] * 3, asked))
    assert len(fields) == W.shape[1]
    assert fields[0][0] is constraint
    assert fields[0][1].describe() == "in the covariance of the data"
    remaining, before = S, W[:, :0]
    for j, (rule, earlier) in enumerate(fields):
        R, words = earlier.measured_in(S), earlier.describe()
        assert rule.broken_rule(W[:, j]) is None
        np.testing.assert_array_equal(earlier.loadings, W[:, :j] if j else np.zeros((0, 0)))
        disjoint = kind == "disjoint" or (kind == "strict" and constraint.signs is not None)
        if j and kind in {"strict", "uncorrelated"} and not disjoint:
            assert R is S
            assert "earlier component" in words
        elif j:
            np.testing.assert_allclose(R @ np.eye(P), remaining @ np.eye(P), atol=1e-10)
            assert "schur" in words
        if j and disjoint:
            assert set(np.flatnonzero(W[:, :j].any(axis=1))) <= set(rule.forbidden)
            assert "free after" in words
        elif j:
            assert (kind == "quasi") == ("rivals" in words)
        remaining = deflate(remaining, W[:, j], "schur", before)
        before = W[:, : j + 1]


def test_other_deflations_leave_unused_features_as_they_are():
    S, constraint = covariance(1), LoadingConstraint(P, 3)
    asked = plan("disjoint", deflation="projection")
    W = one_by_one(S, [constraint] * 3, asked, np.random.default_rng(0)).matrix
    for rule, earlier in list(competitions(W, [constraint] * 3, asked))[1:]:
        assert earlier.measured_in(S) is S
        assert rule.forbidden.size
        assert earlier.describe().startswith("among the features free after")


def test_signs_are_turned_only_where_they_are_free():
    W = np.array([[-0.8, 0.6, 0.0], [0.0, -0.8, -1.0], [0.6, 0.0, 0.0]])
    free, given = LoadingConstraint(3, 2), LoadingConstraint(3, 2, nonnegative=True)
    turned = signed(W, [free, given, free, free])
    np.testing.assert_array_equal(turned, [[0.8, 0.6, 0.0], [0.0, -0.8, 1.0], [-0.6, 0.0, 0.0]])
    assert not np.signbit(turned[turned == 0]).any()
    assert W[0, 0] == -0.8
    some = Signs({0: -1}, n_features=3)
    np.testing.assert_array_equal(signed(W, [some] * 3)[:, [0, 2]], [[-0.8, 0], [0, 1], [0.6, 0]])


def test_an_empty_direction_ends_the_search_for_every_constraint():
    S = ExplicitCovariance(np.diag([2.0] + [0.0] * (P - 1)))
    for constraint in CONSTRAINTS:
        if 0 in constraint.forbidden:
            continue
        found = one_by_one(S, [constraint] * 2, plan(), np.random.default_rng(0))
        assert found.matrix.shape[1] == 1
        assert "variance" in found.exhausted
