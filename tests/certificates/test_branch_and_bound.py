"""Branch and bound equals brute force, and its proofs can be replayed."""

from itertools import pairwise

import numpy as np
import pytest

from loadstone.certificates import problem as problem_module
from loadstone.certificates import prove, search_case
from loadstone.certificates.bound_single_support import support_optimum
from loadstone.constraints import LoadingConstraint
from loadstone.covariance import ExplicitCovariance

from .small_problems import KINDS, best_nonnegative, brute_force, random_matrix, random_problem


def proven(matrix, problem, first, **options):
    """Prove from a poor first component, so that the search has to find the optimum."""
    n = matrix.shape[0]
    constraint = LoadingConstraint(
        n,
        problem.n_nonzero,
        problem.nonnegative,
        forced=problem.features[problem.forced],
        forbidden=np.setdiff1d(np.arange(n), problem.features),
    )
    loading = np.zeros(n)
    loading[first] = 1.0
    return prove(ExplicitCovariance(matrix), constraint, loading, effort="full", **options)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("nonnegative", [False, True])
@pytest.mark.parametrize("most_listed", [0, 100])
def test_the_answer_is_the_optimum(kind, nonnegative, most_listed, monkeypatch):
    monkeypatch.setattr(search_case, "MOST_SUPPORTS", most_listed)
    rng = np.random.default_rng([KINDS.index(kind), nonnegative])
    for _ in range(6):
        n = int(rng.integers(2, 9))
        matrix = random_matrix(rng, n, kind)
        problem = random_problem(rng, n, nonnegative=nonnegative)
        first = problem.features[problem.forced][0] if problem.forced.any() else problem.features[0]
        optimum = brute_force(matrix, problem)
        certificate = proven(matrix, problem, first)
        rounding = 1e-12 * np.abs(matrix).max() * n
        assert certificate.best_value == pytest.approx(optimum, rel=2e-6, abs=rounding)
        assert certificate.upper_bound >= optimum - rounding
        gap = certificate.upper_bound - certificate.best_value
        assert gap <= 2e-6 * abs(optimum) + rounding
        assert certificate.verify(matrix) >= optimum - rounding


def test_a_hard_problem_needs_several_cases(monkeypatch):
    # Few features: their supports could be looked at one by one instead.
    monkeypatch.setattr(search_case, "MOST_SUPPORTS", 0)
    rng = np.random.default_rng(0)
    matrix = np.cov(rng.standard_normal((30, 16)).T)
    problem = problem_module.SupportProblem.of(16, 5)
    certificate = proven(matrix, problem, 0)
    assert certificate.n_nodes > 1
    assert certificate.proof == "branch and bound"
    assert certificate.best_value == pytest.approx(brute_force(matrix, problem), rel=1e-6)
    assert certificate.verify(matrix) <= certificate.upper_bound * (1 + 1e-9)


def test_limits_end_the_search_with_a_valid_bound():
    rng = np.random.default_rng(0)
    matrix = np.cov(rng.standard_normal((30, 16)).T)
    problem = problem_module.SupportProblem.of(16, 5)
    optimum = brute_force(matrix, problem)
    few = proven(matrix, problem, 0, max_nodes=2)
    assert few.upper_bound >= optimum
    assert few.verify(matrix) == pytest.approx(few.upper_bound)
    short = proven(matrix, problem, 0, time_limit=1e-6)
    assert short.upper_bound >= optimum
    assert short.verify(matrix) == pytest.approx(short.upper_bound)


def test_progress_is_told_and_the_gap_never_widens(monkeypatch):
    monkeypatch.setattr(search_case, "MOST_SUPPORTS", 0)
    rng = np.random.default_rng(0)
    matrix = np.cov(rng.standard_normal((30, 16)).T)
    told = []
    proven(matrix, problem_module.SupportProblem.of(16, 5), 0, progress=told.append)
    assert {"bound", "incumbent", "gap", "open"} <= set(told[0])
    gaps = [status["gap"] for status in told]
    assert all(later <= earlier + 1e-12 for earlier, later in pairwise(gaps))


@pytest.mark.parametrize(("gap_tol", "max_nodes"), [(1e-6, 6), (1e-6, 20), (0.02, 100)])
def test_the_bound_that_is_told_is_that_of_all_cases(gap_tol, max_nodes, monkeypatch):
    monkeypatch.setattr(search_case, "MOST_SUPPORTS", 0)
    matrix = np.cov(np.random.default_rng(0).standard_normal((70, 60)).T)
    problem, told = problem_module.SupportProblem.of(60, 12), []
    options = {"gap_tol": gap_tol, "max_nodes": max_nodes, "progress": told.append}
    certificate = proven(matrix, problem, 0, **options)
    assert certificate.n_nodes > 1
    # The certificate has replayed the proof; what was told on the way never lies below that.
    assert min(status["bound"] for status in told) >= certificate.upper_bound * (1 - 1e-9)


def test_signs_are_branched_on_where_faces_cannot_be_enumerated(monkeypatch):
    monkeypatch.setattr(problem_module, "FACE_WORK", 100.0)
    rng = np.random.default_rng(4)
    for _ in range(5):
        matrix = np.cov(rng.standard_normal((12, 7)).T)
        problem = problem_module.SupportProblem.of(7, 7, nonnegative=True)
        certificate = proven(matrix, problem, 0)
        assert certificate.is_optimal or certificate.best_value > certificate.value
        assert certificate.best_value == pytest.approx(brute_force(matrix, problem), rel=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_a_single_support_is_solved_exactly(kind):
    rng = np.random.default_rng(KINDS.index(kind))
    for _ in range(10):
        n = int(rng.integers(1, 8))
        matrix = random_matrix(rng, n, kind)
        optimum = best_nonnegative(matrix)
        bound, loading = support_optimum(matrix, nonnegative=True)
        rounding = 1e-11 * np.abs(matrix).max() * n
        assert bound == pytest.approx(optimum, rel=1e-8, abs=rounding)
        assert loading is not None
        assert loading.min() >= 0
        assert loading @ matrix @ loading == pytest.approx(optimum, rel=1e-6, abs=rounding)
        assert support_optimum(matrix, nonnegative=True, value=bound) == (bound, None)


def test_the_answer_is_the_same_for_every_number_of_processes():
    # Nothing is patched: other processes would not know of it.
    matrix = np.cov(np.random.default_rng(0).standard_normal((70, 60)).T)
    problem = problem_module.SupportProblem.of(60, 12)
    one, two = (proven(matrix, problem, 0, n_jobs=n, max_nodes=8) for n in (1, 2))
    assert one.n_nodes > 1
    assert (one.upper_bound, one.best_value, one.n_nodes) == (
        two.upper_bound,
        two.best_value,
        two.n_nodes,
    )
    assert [case.feature for case in one.cases] == [case.feature for case in two.cases]
