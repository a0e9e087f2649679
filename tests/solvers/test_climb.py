"""One search for every constraint: optimal on small problems, and bounded there."""

import numpy as np
import pytest

from brute_force import optimum, random_covariance
from loadstone.certificates import prove
from loadstone.constraints import Groups, L1Budget, LoadingConstraint, Signs
from loadstone.covariance import ExplicitCovariance, covariance_of
from loadstone.loadings import Stop
from loadstone.solvers.climb import Climb
from loadstone.solvers.em import EM
from loadstone.solvers.portfolio import Portfolio
from registry import constraints

RNG = np.random.default_rng


def random_groups(rng, p):
    labels = rng.integers(0, rng.integers(2, 7), p)
    per_group = [None, 1, 2, 3][rng.integers(4)]
    return Groups(labels, int(rng.integers(1, 4)), per_group, bool(rng.integers(2)))


def random_signs(rng, p):
    some = rng.permutation(p)[: p if rng.random() < 0.25 else rng.integers(1, p)]
    sides = np.ones(p, int) if rng.random() < 0.25 else rng.choice([-1, 1], p)
    pattern = {int(i): int(sides[i]) for i in some}
    return Signs(pattern, [None, 2, 3, 5][rng.integers(4)], p)


@pytest.mark.parametrize(("make", "p"), [(random_groups, 12), (random_signs, 9)])
@pytest.mark.parametrize("chunk", range(6))
def test_the_optimum_is_found_and_no_bound_lies_below_it(make, p, chunk):
    for seed in range(10 * chunk, 10 * chunk + 10):
        rng = RNG(seed)
        A, constraint = random_covariance(rng, p), make(rng, p)
        best = optimum(A, constraint)
        S = ExplicitCovariance(A)
        w = Portfolio()(S, constraint, RNG(0)).matrix[:, 0]
        assert constraint.broken_rule(w) is None
        assert w @ A @ w == pytest.approx(best, rel=1e-9), (seed, constraint)
        certificate = prove(S, constraint, w)
        assert certificate.upper_bound >= best * (1 - 1e-12), (seed, constraint)


@pytest.mark.parametrize("nonnegative", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_an_l1_budget_reaches_a_fine_grid(seed, nonnegative):
    A = np.cov(RNG(seed).standard_normal((9, 3)).T)
    W = RNG(1).standard_normal((3, 300_000))
    W = np.abs(W) if nonnegative else W
    W /= np.linalg.norm(W, axis=0)
    constraint = L1Budget(3, 1.3, nonnegative)
    W = W[:, np.abs(W).sum(axis=0) <= 1.3]
    grid = np.einsum("ij,ij->j", W, A @ W).max()
    w = Climb()(ExplicitCovariance(A), constraint, RNG(0)).matrix[:, 0]
    assert constraint.allows(w)
    assert w @ A @ w >= grid * (1 - 1e-9)
    assert prove(ExplicitCovariance(A), constraint, w).upper_bound >= max(grid, w @ A @ w)


def test_a_cardinality_is_climbed_as_well_as_searched():
    A = np.cov(RNG(3).standard_normal((30, 12)).T)
    S = ExplicitCovariance(A)
    for constraint in LoadingConstraint.examples(12):
        climbed = Climb()(S, constraint, RNG(0)).matrix[:, 0]
        searched = Portfolio()(S, constraint, RNG(0)).matrix[:, 0]
        assert climbed @ A @ climbed == pytest.approx(searched @ A @ searched, rel=1e-9)


@pytest.mark.parametrize("constraint", constraints(40), ids=repr)
def test_wide_data_is_searched_without_its_matrix(constraint):
    X = RNG(5).standard_normal((12, 40)) + RNG(6).standard_normal((12, 1))
    values = []
    for route in ("data", "gram"):
        S, _ = covariance_of(X, route=route)
        found = Climb(n_columns=10)(S, constraint, RNG(0))
        w = found.matrix[:, 0]
        assert constraint.allows(w)
        assert found.stop is Stop.CONVERGED
        assert found.objective[-1] == pytest.approx(w @ (S @ w))
        values.append(w @ (S @ w))
    assert values[0] == pytest.approx(values[1], rel=1e-6)


@pytest.mark.parametrize("constraint", constraints(8), ids=repr)
def test_single_precision_stays_single(constraint):
    X = RNG(7).standard_normal((30, 8)).astype(np.float32)
    S, _ = covariance_of(X)
    w = Climb()(S, constraint, RNG(0)).matrix[:, 0]
    assert w.dtype == np.float32
    assert constraint.broken_rule(w) is None


def test_starts_join_the_others():
    A = np.eye(6)
    A[4, 4] = 5.0
    nothing = Climb(n_eigenvectors=1, n_columns=0, n_combinations=0, n_exchanges=0)
    start = np.eye(6)[:, [4]]
    w = nothing(ExplicitCovariance(A), L1Budget(6, 1.0), RNG(0), start).matrix[:, 0]
    assert np.flatnonzero(w).tolist() == [4]


def test_em_refuses_what_has_no_size_to_shrink_to():
    for constraint in constraints(8):
        reason = EM().refuses(constraint)
        assert (reason is None) == isinstance(constraint, LoadingConstraint)
        assert reason is None or "SparsePCA" in reason
