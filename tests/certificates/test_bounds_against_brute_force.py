"""No bound may ever fall below the true optimum."""

import numpy as np
import pytest

from loadstone.certificates.bound_dual import Dual, evaluate
from loadstone.certificates.bound_instant import instant_bound, instant_bounds, row_bounds
from loadstone.certificates.problem import SupportProblem
from loadstone.certificates.proof_screening import screen
from loadstone.certificates.search_dual import propose_dual
from loadstone.covariance import ExplicitCovariance

from .small_problems import KINDS, brute_force, random_matrix, random_problem


def cases(seed, count, largest):
    rng = np.random.default_rng(seed)
    for _ in range(count):
        kind = KINDS[rng.integers(len(KINDS))]
        n = int(rng.integers(2, largest + 1))
        matrix = random_matrix(rng, n, kind)
        problem = random_problem(rng, n, nonnegative=bool(rng.integers(2)))
        yield rng, kind, matrix, problem, brute_force(matrix, problem)


def rounding(matrix):
    return 1e-13 * np.abs(matrix).max() * matrix.shape[0]


@pytest.mark.parametrize("seed", range(6))
def test_instant_bounds_hold(seed):
    for _, kind, matrix, problem, optimum in cases(seed, 60, 8):
        S = ExplicitCovariance(matrix)
        block = matrix[np.ix_(problem.features, problem.features)]
        named = instant_bounds(block, problem) + row_bounds(S, problem)
        for bound in named:
            assert bound.value >= optimum - rounding(matrix), (kind, bound, problem)
        assert instant_bound(S, problem) == min(instant_bounds(block, problem))


@pytest.mark.parametrize("nonnegative", [False, True])
def test_instant_bounds_hold_where_variances_are_nothing(nonnegative):
    rng = np.random.default_rng(18)
    for _ in range(30):
        n = int(rng.integers(2, 7))
        matrix = rng.standard_normal((n, n))
        matrix = matrix + matrix.T
        np.fill_diagonal(matrix, 0.0)
        problem = random_problem(rng, n, nonnegative=nonnegative)
        optimum = brute_force(matrix, problem)
        block = matrix[np.ix_(problem.features, problem.features)]
        for bound in instant_bounds(block, problem):
            assert bound.value >= optimum - rounding(matrix), (bound, problem)


@pytest.mark.parametrize("seed", range(6, 12))
def test_random_duals_hold_also_when_they_know_only_some_features(seed):
    for rng, kind, matrix, problem, optimum in cases(seed, 100, 8):
        scale = np.abs(matrix).max() * 10.0 ** rng.uniform(-2, 1)
        known = np.sort(
            rng.choice(
                problem.features, int(rng.integers(1, problem.features.size + 1)), replace=False
            )
        )
        m = known.size
        pairing = matrix[np.ix_(known, known)] * rng.choice([0.0, 0.5, 1.0])
        pairing = pairing + scale * rng.standard_normal((m, m)) * rng.choice([0.0, 0.3, 1.0])
        dual = Dual(
            known,
            pairing,
            scale * rng.standard_normal(m),
            np.sqrt(scale) * rng.standard_normal((m, 2)) * rng.integers(2),
            scale * rng.random(m) * rng.integers(2),
        )
        found = evaluate(ExplicitCovariance(matrix), problem, dual)
        assert found.bound >= optimum - rounding(matrix), (kind, problem)


@pytest.mark.parametrize("seed", range(12, 18))
def test_optimised_duals_and_screening_hold(seed):
    gaps = []
    for _, kind, matrix, problem, optimum in cases(seed, 12, 7):
        S = ExplicitCovariance(matrix)
        block = matrix[np.ix_(problem.features, problem.features)]
        proposal = propose_dual(block, problem, n_steps=25)
        found = evaluate(S, problem, proposal.dual)
        assert found.bound >= optimum - rounding(matrix), (kind, problem)
        if optimum > 1e-9:
            gaps.append(found.bound / optimum - 1)
        below = optimum - 1e-6 * abs(optimum) - rounding(matrix)
        left = screen(problem, found, below)
        assert left is not None
        assert brute_force(matrix, left) >= optimum - rounding(matrix)
        assert problem.forced.sum() <= left.forced.sum() <= problem.n_nonzero
    assert np.median(gaps) < 1e-3


def test_an_optimised_dual_beats_the_instant_bounds():
    rng = np.random.default_rng(5)
    factors = rng.standard_normal((40, 30)) + rng.standard_normal((40, 1))
    matrix = np.cov(factors.T)
    problem = SupportProblem.of(30, 6)
    S = ExplicitCovariance(matrix)
    dual = propose_dual(matrix, problem).dual
    assert evaluate(S, problem, dual).bound < 0.99 * instant_bound(S, problem).value


@pytest.mark.parametrize("broken", ["nan", "shape", "order"])
def test_the_evaluator_refuses_an_invalid_dual(broken):
    pairing = np.zeros((3, 3))
    features = np.arange(3)
    shift = np.zeros(3)
    if broken == "nan":
        pairing[0, 1] = np.nan
    if broken == "shape":
        shift = np.zeros(2)
    if broken == "order":
        features = np.array([0, 2, 1])
    dual = Dual(features, pairing, shift, np.zeros((3, 1)))
    with pytest.raises(ValueError, match="invalid dual"):
        evaluate(ExplicitCovariance(np.eye(3)), SupportProblem.of(3, 2), dual)
