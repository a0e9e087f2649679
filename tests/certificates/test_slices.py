"""Cases by direction: whatever the lines are, their slices hold every vector."""

from dataclasses import replace

import numpy as np
import pytest

from loadstone.certificates import Certificate, CertificateError, prove
from loadstone.certificates.bound_dual import Dual, evaluate
from loadstone.certificates.problem import SupportProblem
from loadstone.certificates.proof_cases import ProofCase, parents_of, slices
from loadstone.certificates.search_dual import SmoothedBound, dual_of, point_of, start_point
from loadstone.constraints import LoadingConstraint
from loadstone.covariance import ExplicitCovariance

from .certificate_kinds import FIRST_SLICED, made
from .forgeries import stand_alone
from .random_proofs import slice_fault


def nothing(n):
    """A dual that leaves the matrix as it is."""
    return Dual(np.arange(n), np.zeros((n, n)), np.zeros(n), np.zeros((n, 1)))


def test_every_vector_lies_in_a_slice():
    rng = np.random.default_rng(0)
    for _ in range(50):
        n, m = int(rng.integers(2, 6)), int(rng.integers(2, 6))
        lines = rng.standard_normal((n, m)) * (rng.random((n, m)) < 0.7)
        parts = slices(SupportProblem.of(n, n), lines)
        assert len(parts) == m
        for x in rng.standard_normal((20, n)):
            assert any((g @ x) * (h @ x) <= 0 for part in parts for g, h in part.slices)


def test_the_bound_of_a_slice_is_the_one_of_the_tilted_matrix():
    rng = np.random.default_rng(1)
    for _ in range(20):
        n, rho = 6, rng.random(2)
        A = np.cov(rng.standard_normal((9, n)).T)
        problem, tilted = SupportProblem.of(n, 3), A.copy()
        for multiplier in rho:
            g, h = rng.standard_normal((2, n))
            problem = problem.slice(g, h)
            tilted -= multiplier * (np.outer(g, h) + np.outer(h, g)) / 2
        found = evaluate(ExplicitCovariance(A), problem, replace(nothing(n), multipliers=rho))
        assert found.bound == pytest.approx(np.linalg.eigvalsh(tilted)[-1], rel=1e-10)
        assert found.bound >= np.linalg.eigvalsh(tilted)[-1]


def test_a_dual_has_no_more_multipliers_than_there_are_slices():
    S, problem = ExplicitCovariance(np.eye(2)), SupportProblem.of(2, 2)
    dual = replace(nothing(2), multipliers=np.array([0.5]))
    assert evaluate(S, problem.slice(np.ones(2), np.ones(2)), dual).bound >= 0.5
    with pytest.raises(ValueError, match="1 multipliers for 0 slices"):
        evaluate(S, problem, dual)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"limits": np.array([1.0, -1e-9])}, "none of them negative"),
        ({"limits": np.array([1.0, np.nan])}, "not finite"),
        ({"multipliers": np.array([-1e-9])}, "multiplier of a slice is negative"),
        ({"shift": np.zeros(2, dtype=np.float32)}, "double precision"),
        ({"shift": np.zeros(3)}, "its parts have shapes"),
        ({"features": np.array([1, 1])}, "ascending and distinct"),
    ],
)
def test_numbers_that_would_prove_too_much_are_refused(changes, words):
    problem = SupportProblem.of(2, 2).slice(np.ones(2), np.ones(2))
    with pytest.raises(ValueError, match=words):
        evaluate(ExplicitCovariance(np.eye(2)), problem, replace(nothing(2), **changes))


def test_lines_about_features_that_a_dual_does_not_know_do_not_count():
    # x = (10, 1)/sqrt(101) lies in the slice and has a variance of almost 1.
    S = ExplicitCovariance(np.diag([1.0, 1e-3]))
    problem = SupportProblem.of(2, 2).slice(np.array([1.0, -10.0]), np.array([1.0, 10.0]))
    dual = replace(nothing(1), multipliers=np.array([0.5]))
    assert evaluate(S, problem, dual).bound >= 100 / 101
    without = problem.keep(np.array([True, False]))
    assert evaluate(S, without, dual).bound == pytest.approx(0.5)


@pytest.mark.parametrize("first", range(0, 60, 20))
def test_no_proof_by_slices_is_below_the_optimum(first):
    assert [slice_fault(seed) for seed in range(first, first + 20)] == [None] * 20


def test_a_search_where_nothing_is_left_to_explain_stays_in_range():
    # A block of zeros: its dual ran to 1e165.
    assert slice_fault(150390) is None


def test_the_gradient_in_the_multipliers_is_the_slope():
    rng = np.random.default_rng(2)
    matrix = np.cov(rng.standard_normal((20, 6)).T)
    matrix /= np.linalg.eigvalsh(matrix)[-1]
    problem = SupportProblem.of(6, 3, nonnegative=True)
    for _ in range(2):
        problem = problem.slice(*rng.standard_normal((2, 6)))
    bound = SmoothedBound(matrix, problem, 2, sigma=0.3)
    point = start_point(matrix, problem, 2) + 0.1 * rng.standard_normal(6 * 6 + 6 + 12 + 2)
    gradient = bound(point)[1]
    for at in (-1, -2, 0, 40, 45):
        step = np.zeros_like(point)
        step[at] = 1e-5
        slope = (bound(point + step)[0] - bound(point - step)[0]) / 2e-5
        assert slope == pytest.approx(gradient[at], rel=2e-3, abs=2e-6)
    dual = dual_of(point, bound, 3.0, np.arange(6))
    again = dual_of(point_of(dual, problem, 3.0, 2), bound, 3.0, np.arange(6))
    np.testing.assert_allclose(again.multipliers, dual.multipliers)


@pytest.mark.parametrize("nonnegative", [False, True])
def test_slices_prove_more_where_a_gap_is_left(nonnegative, tmp_path, monkeypatch):
    X = np.random.default_rng(1).standard_normal((40, 60))
    S, rule = ExplicitCovariance(np.cov(X.T)), LoadingConstraint(60, 15, nonnegative)
    found = prove(S, rule, np.eye(60)[0])
    assert found.cases[0].lines is not None
    assert found.proof == "dual bound by slices"
    monkeypatch.setattr("loadstone.certificates.search_slices.SMALL_GAP", np.inf)
    plain = prove(S, rule, np.eye(60)[0])
    assert plain.n_nodes == 1
    assert found.best_value <= found.upper_bound < plain.upper_bound
    found.save(tmp_path / "c.npz")
    read = Certificate.load(tmp_path / "c.npz")
    assert read.verify(X) == pytest.approx(found.upper_bound, rel=1e-9)
    assert stand_alone().check(tmp_path / "c.npz", X)[0]


def test_every_number_of_slices_survives_the_disk(tmp_path):
    certificate, X = made(FIRST_SLICED)
    certificate.save(tmp_path / "c.npz")
    read = Certificate.load(tmp_path / "c.npz")
    for one, other in zip(read.cases, certificate.cases, strict=True):
        assert (one.lines is None) == (other.lines is None)
        if one.lines is not None:
            np.testing.assert_array_equal(one.lines, other.lines)
        for a, b in zip(one.duals, other.duals, strict=True):
            np.testing.assert_array_equal(a.multipliers, b.multipliers)
    with np.load(tmp_path / "c.npz") as stored:
        assert int(stored["format"]) == 4
    plain, _ = made(0)
    plain.save(tmp_path / "plain.npz")
    with np.load(tmp_path / "plain.npz") as stored:
        assert int(stored["format"]) == 3
    assert read.verify(X) == certificate.verify(X)


def test_a_list_with_too_few_slices_is_no_tree():
    lines = np.ones((3, 4))
    with pytest.raises(CertificateError, match="lacks 1"):
        parents_of((ProofCase(lines=lines), *[ProofCase()] * 3))
