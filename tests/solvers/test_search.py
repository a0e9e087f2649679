"""Optimality: against brute force, under exchanges, and at KKT points."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loadstone.constraints import LoadingConstraint
from loadstone.covariance import ExplicitCovariance, covariance_of
from loadstone.loadings import Stop
from loadstone.solvers.em import EM
from loadstone.solvers.greedy import Greedy
from loadstone.solvers.portfolio import Portfolio
from loadstone.solvers.power_iteration import iterate
from loadstone.solvers.renormalise import is_kkt, nonnegative_leading, renormalise

RNG = np.random.default_rng


def covariance(seed, p=8, n=20):
    return ExplicitCovariance(np.cov(RNG(seed).standard_normal((n, p)).T), float(n))


def nonnegative_optimum(A):
    """max w'Aw over w >= 0: the best eigenvector of a principal submatrix that is positive."""
    best = 0.0
    for r in range(1, len(A) + 1):
        for T in combinations(range(len(A)), r):
            values, vectors = np.linalg.eigh(A[np.ix_(T, T)])
            for value, v in zip(values, vectors.T, strict=True):
                if (v >= -1e-12).all() or (v <= 1e-12).all():
                    best = max(best, value)
    return best


def optimum(A, k, nonnegative):
    if nonnegative:
        return max(nonnegative_optimum(A[np.ix_(T, T)]) for T in combinations(range(len(A)), k))
    return max(np.linalg.eigvalsh(A[np.ix_(T, T)])[-1] for T in combinations(range(len(A)), k))


@pytest.mark.parametrize("nonnegative", [False, True])
@pytest.mark.parametrize("k", [1, 2, 4])
@pytest.mark.parametrize("seed", range(6))
def test_portfolio_finds_the_optimum_of_small_problems(seed, k, nonnegative):
    S = covariance(seed)
    constraint = LoadingConstraint(8, k, nonnegative)
    w = Portfolio()(S, constraint, RNG(0)).matrix[:, 0]
    assert constraint.allows(w)
    assert w @ S.matrix @ w == pytest.approx(optimum(S.matrix, k, nonnegative), rel=1e-10)


@pytest.mark.parametrize("nonnegative", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_portfolio_with_forced_and_forbidden_features(seed, nonnegative):
    S = covariance(seed)
    forced, forbidden = np.array([2]), np.array([0, 7])
    constraint = LoadingConstraint(8, 3, nonnegative, forced, forbidden)
    w = Portfolio()(S, constraint, RNG(0)).matrix[:, 0]
    assert constraint.allows(w)
    free = [1, 3, 4, 5, 6]
    value = nonnegative_optimum if nonnegative else (lambda A: np.linalg.eigvalsh(A)[-1])
    best = max(value(S.block(np.array([2, *T]), np.array([2, *T]))) for T in combinations(free, 2))
    assert w @ S.matrix @ w == pytest.approx(best, rel=1e-10)


@given(seed=st.integers(0, 10_000), p=st.integers(1, 9), n=st.integers(2, 12))
@settings(max_examples=60, deadline=None)
def test_nonnegative_renormalisation_ends_at_a_kkt_point(seed, p, n):
    X = RNG(seed).standard_normal((n, p))
    S = ExplicitCovariance(np.atleast_2d(np.cov(X.T)))
    w, value = nonnegative_leading(S, np.abs(RNG(seed + 1).standard_normal(p)))
    assert w.min() >= 0
    assert np.linalg.norm(w) == pytest.approx(1)
    assert value == pytest.approx(w @ S.matrix @ w)
    assert is_kkt(w, S.matrix @ w, value)


def test_signed_renormalisation_is_the_leading_eigenpair():
    S = covariance(0)
    w = np.array([0, 1.0, 0, 1, 1, 0, 0, 0]) / np.sqrt(3)
    v, value = renormalise(S, w, LoadingConstraint(8, 3))
    assert value == pytest.approx(np.linalg.eigvalsh(S.matrix[np.ix_([1, 3, 4], [1, 3, 4])])[-1])
    assert set(np.flatnonzero(v)) == {1, 3, 4}


@pytest.mark.parametrize("nonnegative", [False, True])
def test_truncated_power_never_loses_variance(nonnegative):
    X = RNG(0).standard_normal((30, 50))
    S, _ = covariance_of(X)
    constraint = LoadingConstraint(50, 7, nonnegative)
    for seed in range(5):
        found = iterate(S, constraint.best_loading, RNG(seed).standard_normal((50, 1)), 100, 0.0)
        assert (np.diff(found.objective) >= -1e-12 * found.objective[-1]).all()


def test_running_out_of_iterations_is_told():
    X = RNG(0).standard_normal((30, 50))
    S, _ = covariance_of(X)
    constraint = LoadingConstraint(50, 7)
    assert EM(max_iter=1, tol=0.0)(S, constraint, RNG(0)).stop is Stop.MAX_ITER
    assert EM(max_iter=500)(S, constraint, RNG(0)).stop is Stop.CONVERGED


def test_duplicated_features_keep_the_cardinality():
    X = RNG(0).standard_normal((30, 4))
    S, _ = covariance_of(np.hstack([X, X, X]))
    for solver in (EM(), Portfolio()):
        for k in (1, 2, 5):
            w = solver(S, LoadingConstraint(12, k), RNG(0)).matrix[:, 0]
            w, _ = renormalise(S, w, LoadingConstraint(12, k))
            assert 1 <= np.count_nonzero(w) <= k
            assert np.isfinite(w).all()


def test_fewer_features_where_nothing_more_helps():
    S = ExplicitCovariance(np.array([[2.0, 1.0, -1.0], [1.0, 2.0, -1.0], [-1.0, -1.0, 1.5]]))
    w = Portfolio()(S, LoadingConstraint(3, 3, nonnegative=True), RNG(0)).matrix[:, 0]
    np.testing.assert_allclose(w, [np.sqrt(0.5), np.sqrt(0.5), 0], atol=1e-12)


@pytest.mark.parametrize("nonnegative", [False, True])
def test_greedy_support_grows_to_its_size(nonnegative):
    S = covariance(3, p=12)
    constraint = LoadingConstraint(12, 5, nonnegative, forced=np.array([1]))
    w = Greedy()(S, constraint, RNG(0)).matrix[:, 0]
    assert constraint.allows(w)
    assert np.count_nonzero(w) <= 5
    assert w[1] != 0 or nonnegative
