"""Certificates from a working set agree with those from all features."""

import sys

import numpy as np
import pytest

from loadstone.certificates import problem as problem_module
from loadstone.certificates import prove
from loadstone.certificates import search_branch_and_bound as branching
from loadstone.certificates import search_working_set as working_set
from loadstone.certificates.bound_dual import evaluate
from loadstone.certificates.bound_instant import gram_eigenvalue, row_bounds
from loadstone.certificates.problem import SupportProblem
from loadstone.certificates.search_case import symmetric_block
from loadstone.certificates.search_dual import propose_dual
from loadstone.certificates.search_working_set import extended, with_limits
from loadstone.constraints import LoadingConstraint
from loadstone.covariance import ExplicitCovariance, covariance_of
from loadstone.solvers.portfolio import Portfolio


@pytest.fixture
def small_limits(monkeypatch):
    """Treat a problem of sixty features as a large one."""
    prove_module = sys.modules["loadstone.certificates.prove"]
    monkeypatch.setattr(working_set, "FIRST_SIZE", 15)
    monkeypatch.setattr(working_set, "GROWTH", 8)
    for module in (working_set, branching, prove_module):
        monkeypatch.setattr(module, "LARGEST_SIZE", 25)


def planted(seed, *, standardize):
    """Data with one group of related features among many unrelated ones."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((40, 60))
    X[:, :6] += 2.0 * rng.standard_normal((40, 1))
    X *= np.linspace(2, 0.5, 60)
    return covariance_of(X, route="data", standardize=standardize)[0]


def best_component(S, n_nonzero, *, nonnegative):
    constraint = LoadingConstraint(S.n_features, n_nonzero, nonnegative)
    found = Portfolio()(S, constraint, np.random.default_rng(0)).matrix[:, 0]
    return constraint, found / np.linalg.norm(found)


@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("nonnegative", [False, True])
def test_both_ways_prove_the_same_optimum(small_limits, standardize, nonnegative):
    S = planted(1, standardize=standardize)
    constraint, loading = best_component(S, 4, nonnegative=nonnegative)
    large = prove(S, constraint, loading, effort="full", max_nodes=40)
    assert large.ratio > 0.97
    assert large.verify(S) == pytest.approx(large.upper_bound)
    everything = np.arange(60)
    dense = S.block(everything, everything)
    assert large.verify(dense) <= large.upper_bound * (1 + 1e-9)


@pytest.mark.parametrize("nonnegative", [False, True])
def test_the_extension_proves_what_the_working_set_does(nonnegative):
    rng = np.random.default_rng(3)
    matrix = np.cov(rng.standard_normal((30, 20)).T)
    S = ExplicitCovariance(matrix)
    problem = SupportProblem.of(20, 4, nonnegative=nonnegative, forced=[2])
    inner = SupportProblem.of(10, 4, nonnegative=nonnegative, forced=[2])
    dual = propose_dual(symmetric_block(S, inner), inner, n_steps=20).dual
    limited = with_limits(dual, problem)
    plain, better = evaluate(S, problem, dual), evaluate(S, problem, limited)
    assert better.bound <= plain.bound * (1 + 1e-12)
    grown = extended(S, problem, limited, np.arange(15))
    assert evaluate(S, problem, with_limits(grown, problem)).bound <= better.bound * (1 + 1e-6)
    whole = extended(S, problem, limited, np.arange(20))
    assert evaluate(S, problem, whole).bound <= better.bound * (1 + 1e-9)


def test_limits_never_let_a_row_count_that_did_not():
    rng = np.random.default_rng(5)
    matrix = np.cov(rng.standard_normal((30, 20)).T)
    S = ExplicitCovariance(matrix)
    inner = SupportProblem.of(12, 3)
    dual = propose_dual(symmetric_block(S, inner), inner, n_steps=20).dual
    problem = SupportProblem.of(20, 3)
    plain = np.sort(evaluate(S, problem, dual).terms[:12])[::-1]
    limited = np.sort(evaluate(S, problem, with_limits(dual, problem)).terms[:12])[::-1]
    np.testing.assert_allclose(limited[:3], plain[:3])
    assert (limited[3:] <= plain[2] * (1 + 1e-9)).all()


@pytest.mark.parametrize("nonnegative", [False, True])
def test_limits_from_variances_change_no_bound(nonnegative):
    S = planted(2, standardize=False)
    dense = ExplicitCovariance(S.block(np.arange(60), np.arange(60)))
    problem = SupportProblem.of(60, 4, nonnegative=nonnegative, forced=[3])
    inner = SupportProblem.of(12, 4, nonnegative=nonnegative, forced=[3])
    dual = propose_dual(symmetric_block(S, inner), inner, n_steps=20).dual
    cheap, exact = evaluate(S, problem, dual), evaluate(dense, problem, dual)
    assert cheap.bound == pytest.approx(exact.bound, rel=1e-9)
    assert (cheap.terms >= exact.terms * (1 - 1e-9)).all()
    assert (cheap.terms > exact.terms * (1 + 1e-3)).any()
    by_rows = {bound.name: bound.value for bound in row_bounds(S, problem)}
    for bound in row_bounds(dense, problem):
        assert by_rows[bound.name] == pytest.approx(bound.value, rel=1e-9)


def test_the_largest_eigenvalue_of_a_wide_covariance_comes_from_the_samples():
    S = planted(3, standardize=True)
    problem = SupportProblem.of(60, 55, forbidden=[0, 1])
    dense = S.block(problem.features, problem.features)
    bound = gram_eigenvalue(S, problem)
    assert bound == pytest.approx(np.linalg.eigvalsh(dense)[-1], rel=1e-9)
    assert bound >= np.linalg.eigvalsh(dense)[-1]


def test_very_large_supports_get_instant_bounds(small_limits, monkeypatch):
    monkeypatch.setattr(sys.modules["loadstone.certificates.prove"], "LARGEST_SUPPORT", 20)
    monkeypatch.setattr(problem_module, "MAX_LEAF", 10)
    S = planted(3, standardize=True)
    constraint, loading = best_component(S, 30, nonnegative=True)
    found = prove(S, constraint, loading, effort="full")
    assert found.n_nodes == 1
    assert [case.duals for case in found.cases] == [()]
    assert found.verify(S) == found.upper_bound > found.value
