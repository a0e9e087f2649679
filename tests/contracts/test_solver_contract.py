"""Every solver x every constraint it does not refuse."""

import numpy as np
import pytest

from loadstone.constraints import LoadingConstraint
from loadstone.covariance import ExplicitCovariance, covariance_of
from loadstone.loadings import Loadings, Stop
from loadstone.solvers.renormalise import renormalise
from loadstone.solvers.thresholding import Thresholding
from registry import constraints, solvers

P = 9
SOLVERS = solvers()
CONSTRAINTS = constraints(P)
PAIRS = [(solver, c) for solver in SOLVERS for c in CONSTRAINTS if solver().refuses(c) is None]


def matrix(seed=0, n=30):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, P)) @ np.diag(np.linspace(2, 0.5, P)) + rng.standard_normal((n, 1))
    return ExplicitCovariance(np.cov(X.T), float(n))


def solve(solver, S, constraint, seed=0):
    found = solver()(S, constraint, np.random.default_rng(seed))
    assert isinstance(found, Loadings)
    w, value = renormalise(S, found.matrix[:, 0], constraint)
    return found, w, value


def pair_id(value):
    return value.__name__ if isinstance(value, type) else repr(value)


def test_refusals_are_sentences():
    for solver in SOLVERS:
        for constraint in CONSTRAINTS:
            reason = solver().refuses(constraint)
            assert reason is None or len(reason.split()) > 5


@pytest.mark.parametrize(("solver", "constraint"), PAIRS, ids=pair_id)
@pytest.mark.parametrize("seed", range(3))
def test_answers_are_allowed_and_below_the_largest_eigenvalue(solver, constraint, seed):
    S = matrix(seed)
    found, w, value = solve(solver, S, constraint)
    for column in found.matrix.T:
        assert constraint.allows(column)
    assert constraint.allows(w)
    assert value == pytest.approx(w @ S.matrix @ w, rel=1e-10)
    assert value <= np.linalg.eigvalsh(S.matrix)[-1] * (1 + 1e-12)
    assert isinstance(found.stop, Stop)


@pytest.mark.parametrize(("solver", "constraint"), PAIRS, ids=pair_id)
def test_never_below_thresholding_from_the_same_start(solver, constraint):
    S = matrix(1)
    floor = solve(Thresholding, S, constraint)[2]
    rng = np.random.default_rng(0)
    start = np.linalg.eigh(S.matrix)[1][:, [-1]]
    found = solver()(S, constraint, rng, np.hstack([start, -start]))
    value = max(renormalise(S, w, constraint)[1] for w in found.matrix.T)
    assert value >= floor * (1 - 1e-9)


@pytest.mark.parametrize(("solver", "constraint"), PAIRS, ids=pair_id)
def test_same_seed_same_answer(solver, constraint):
    S = matrix(2)
    first = solver()(S, constraint, np.random.default_rng(7)).matrix
    again = solver()(S, constraint, np.random.default_rng(7)).matrix
    np.testing.assert_array_equal(first, again)


@pytest.mark.parametrize(("solver", "constraint"), PAIRS, ids=pair_id)
def test_scaling_the_data_changes_nothing(solver, constraint):
    S = matrix(3)
    bigger = ExplicitCovariance(S.matrix * 1e6, S.n_samples)
    w, v = solve(solver, S, constraint)[1], solve(solver, bigger, constraint)[1]
    assert abs(w @ v) == pytest.approx(1, abs=1e-8)


@pytest.mark.parametrize(("solver", "constraint"), PAIRS, ids=pair_id)
def test_permuting_the_features_permutes_the_answer(solver, constraint):
    S = matrix(4)
    order = np.random.default_rng(0).permutation(P)
    moved = constraint.on(order)
    permuted = ExplicitCovariance(S.matrix[np.ix_(order, order)], S.n_samples)
    start = np.linalg.eigh(S.matrix)[1][:, -3:]
    starts = np.hstack([start, -start])
    rng = np.random.default_rng
    a = solver()(S, constraint, rng(0), starts).matrix
    b = solver()(permuted, moved, rng(0), starts[order]).matrix
    best = max(renormalise(S, w, constraint)[1] for w in a.T)
    best_permuted = max(renormalise(permuted, w, moved)[1] for w in b.T)
    assert best == pytest.approx(best_permuted, rel=1e-6)


# Thresholding keeps the largest loading, which need not have the largest variance.
@pytest.mark.parametrize("solver", [s for s in SOLVERS if s is not Thresholding], ids=pair_id)
def test_one_feature_is_the_one_with_the_largest_variance(solver):
    S = matrix(5)
    constraint = LoadingConstraint(P, 1)
    assert solver().refuses(constraint) is None
    starts = np.eye(P)
    w = solver()(S, constraint, np.random.default_rng(0), starts).matrix[:, 0]
    assert np.flatnonzero(w).tolist() == [int(np.argmax(S.diagonal()))]


@pytest.mark.parametrize(("solver", "constraint"), PAIRS, ids=pair_id)
def test_data_route_gives_the_same(solver, constraint):
    X = np.random.default_rng(6).standard_normal((25, P)) + np.arange(P)
    values = []
    for route in ("gram", "data"):
        S, _ = covariance_of(X, route=route)
        values.append(solve(solver, S, constraint)[2])
    assert values[0] == pytest.approx(values[1], rel=1e-8)
