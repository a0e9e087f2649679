"""Every joint bound is above what brute force finds; the parts have oracles of their own."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.linalg
from numpy.testing import assert_allclose

from loadstone.certificates import CertificateError
from loadstone.certificates.joint_assignment import best_disjoint_sum, can_try_disjoint
from loadstone.certificates.joint_bound import (
    JointProof,
    applicable,
    dual_matrix,
    joint_bound,
)
from loadstone.certificates.joint_eigenvalues import ky_fan, pencil_sums
from loadstone.certificates.joint_problem import ADJUSTED, RELATIONS, SUM, JointProblem, local
from loadstone.certificates.joint_recovery import recovered_beyond
from loadstone.certificates.joint_search import SmoothedJointBound, propose_joint_dual, soft_sum
from loadstone.certificates.joint_search_supports import SupportBound, faces_of
from loadstone.certificates.joint_supports import largest_on_supports, supports_of
from loadstone.certificates.problem import SupportProblem
from loadstone.certificates.search_dual import start_point
from loadstone.datasets import load_pitprops

from .joint_brute_force import best_disjoint, random_dual, violations
from .small_problems import brute_force, random_problem

PITPROPS = load_pitprops().correlation


def joint(n, sizes, relation="none", *, nonnegative=False):
    return JointProblem(
        tuple(SupportProblem.of(n, size, nonnegative=nonnegative) for size in sizes), relation
    )


@pytest.mark.parametrize("theorem", ["A", "B", "D", "E"])
def test_no_bound_is_below_what_components_reach(theorem):
    wrong, ratios = violations(20, theorem, 25)
    assert not wrong
    # A bound that is never close to anything would pass as well.
    searched = "dual" if theorem != "E" else "all supports"
    assert np.median(ratios[searched]) > 0.95


def test_sums_of_eigenvalues_are_above_and_close():
    rng = np.random.default_rng(0)
    for _ in range(40):
        n = int(rng.integers(2, 30))
        A = rng.standard_normal((n, n))
        matrix = (A + A.T) * 10.0 ** rng.integers(-6, 7)
        r = int(rng.integers(1, n + 1))
        exact = np.linalg.eigvalsh(matrix)[-r:].sum()
        scale = np.abs(np.linalg.eigvalsh(matrix)).sum()
        assert -1e-15 * scale <= ky_fan(matrix, 0.0, r) - exact <= 1e-11 * scale


def test_sums_of_a_pencil_are_above_and_close():
    rng = np.random.default_rng(1)
    for _ in range(40):
        n = int(rng.integers(2, 25))
        A, B = rng.standard_normal((2, n, n))
        S, K = A.T @ A, B.T @ B + 0.1 * np.eye(n)
        values = scipy.linalg.eigh(S, K, eigvals_only=True)[::-1]
        counts = sorted({1, int(rng.integers(1, n + 1)), n})
        found = pencil_sums(S, 0.0, K, 0.0, counts)
        exact = [values[:count].sum() for count in counts]
        assert (np.array(found) >= np.array(exact) * (1 - 1e-13)).all()
        assert_allclose(found, exact, rtol=1e-8)


def test_a_pencil_without_a_definite_matrix_proves_nothing():
    assert pencil_sums(np.eye(3), 0.0, np.diag([1.0, 1.0, 0.0]), 0.0, [1]) is None
    proof = JointProof(theorem="D", matrix=np.diag([1.0, 1.0, -1.0]))
    assert joint_bound(np.eye(3), joint(3, [1, 1]), ADJUSTED, proof) == np.inf


def test_errors_of_the_entries_are_paid_for():
    n = 6
    rng = np.random.default_rng(2)
    A = rng.standard_normal((n, n))
    matrix, error = A + A.T, 0.01 * np.abs(rng.standard_normal((n, n)))
    error = (error + error.T) / 2
    limit = ky_fan(matrix, error, 2)
    for _ in range(50):
        signs = np.sign(rng.standard_normal((n, n)))
        moved = matrix + error * np.triu(signs) + error * np.triu(signs, 1).T
        assert np.linalg.eigvalsh(moved)[-2:].sum() <= limit


@pytest.mark.parametrize("nonnegative", [False, True])
def test_all_supports_agree_with_brute_force(nonnegative):
    rng = np.random.default_rng(3)
    for _ in range(25):
        n = int(rng.integers(3, 8))
        A = rng.standard_normal((n, n))
        matrix = A + A.T
        problem = random_problem(rng, n, nonnegative=nonnegative)
        exact = brute_force(matrix, problem)
        inner = matrix[np.ix_(problem.features, problem.features)]
        found = largest_on_supports(inner, 0.0, local(problem, problem.features))
        assert found == pytest.approx(exact, abs=1e-9)
        assert found >= exact - 1e-12


def test_supports_are_all_there_once():
    problem = SupportProblem.of(7, 3, forced=[2], forbidden=[5])
    found = np.concatenate(list(supports_of(problem)))
    assert len({tuple(sorted(row)) for row in found.tolist()}) == len(found) == 10
    assert (found == 2).any(axis=1).all()
    assert not (found == 5).any()


@pytest.mark.parametrize("nonnegative", [False, True])
def test_the_dynamic_programme_is_exact(nonnegative):
    rng = np.random.default_rng(4)
    for _ in range(15):
        n = int(rng.integers(4, 8))
        A = rng.standard_normal((n, n))
        matrix = A.T @ A
        sizes = rng.integers(1, 4, int(rng.integers(2, 4))).tolist()
        if sum(sizes) > n + 1:
            sizes = sizes[:2]
        problem = joint(n, sizes, "disjoint", nonnegative=nonnegative)
        found = best_disjoint_sum(matrix, problem)
        exact = best_disjoint(matrix, sizes, nonnegative=nonnegative)
        assert found.bound == pytest.approx(exact, rel=1e-10)
        used = np.concatenate(found.supports)
        assert np.unique(used).size == used.size
        assert [s.size <= k for s, k in zip(found.supports, sizes, strict=True)] == [True] * len(
            sizes
        )


@pytest.mark.parametrize(
    ("r", "k", "exact"), [(2, 4, 5.25516), (3, 4, 7.25015), (4, 3, 8.33268), (6, 2, 9.74)]
)
def test_the_best_disjoint_sums_of_pit_props(r, k, exact):
    problem = joint(13, [k] * r, "disjoint")
    assert can_try_disjoint(problem)
    assert best_disjoint_sum(PITPROPS, problem).bound == pytest.approx(exact, abs=1e-5)


def test_a_theorem_is_used_only_where_it_holds():
    for relation in RELATIONS:
        assert {"KF", "D"} <= set(applicable(ADJUSTED, relation))
    assert applicable(SUM, "none") == applicable(SUM, "quasi") == ()
    assert "B" not in applicable(SUM, "uncorrelated")
    assert "D" not in applicable(SUM, "strict")
    with pytest.raises(CertificateError, match="says nothing about the sum"):
        joint_bound(np.eye(3), joint(3, [1, 1]), SUM, JointProof(theorem="KF"))


def test_an_indefinite_matrix_has_no_adjusted_variance():
    with pytest.raises(CertificateError, match="no covariance"):
        joint_bound(np.diag([1.0, 1.0, -1.0]), joint(3, [1, 1]), ADJUSTED, JointProof(theorem="KF"))


def test_disjoint_components_share_no_place():
    rng = np.random.default_rng(5)
    loose, tight = joint(13, [3, 3, 3]), joint(13, [3, 3, 3], "disjoint")
    found = propose_joint_dual(PITPROPS, loose.largest, loose.features, 3, "B")
    level = 1.1 * abs(np.linalg.eigvalsh(dual_matrix(found.dual)[0])[0])
    proof = JointProof(theorem="D", dual=found.dual, level=level)
    assert joint_bound(PITPROPS, tight, ADJUSTED, proof) < joint_bound(
        PITPROPS, loose, ADJUSTED, proof
    )
    prices = np.abs(rng.standard_normal(3))
    priced = JointProof(theorem="A", dual=random_dual(rng, PITPROPS, tight.features), prices=prices)
    assert joint_bound(PITPROPS, tight, SUM, priced) > 7.0


@pytest.mark.parametrize("theorem", ["A", "B", "D"])
@pytest.mark.parametrize("nonnegative", [False, True])
def test_the_gradient_of_a_dual_is_the_slope(theorem, nonnegative):
    rng = np.random.default_rng(6)
    n = 7
    A = rng.standard_normal((20, n))
    matrix = A.T @ A
    matrix /= np.linalg.eigvalsh(matrix)[-1]
    problem = SupportProblem.of(n, 3, nonnegative=nonnegative)
    bound = SmoothedJointBound(matrix, problem, 2, theorem, sigma=0.05)
    point = start_point(matrix, problem, n) + 0.02 * rng.standard_normal(n * (2 * n + 1))
    # A negative scale is allowed and must mean the same.
    point[n * n] *= -1.0
    if theorem == "D":
        point = np.append(point, np.log(3.0))
    _, gradient = bound(point)
    for _ in range(6):
        direction = rng.standard_normal(point.size)
        h = 1e-6
        slope = (bound(point + h * direction)[0] - bound(point - h * direction)[0]) / (2 * h)
        assert slope == pytest.approx(gradient @ direction, rel=2e-4, abs=1e-6)


@pytest.mark.parametrize("theorem", ["B", "D"])
@pytest.mark.parametrize("nonnegative", [False, True])
def test_the_gradient_over_all_supports_is_the_slope(theorem, nonnegative):
    rng = np.random.default_rng(7)
    n = 6
    A = rng.standard_normal((20, n))
    matrix = A.T @ A / np.linalg.eigvalsh(A.T @ A)[-1]
    problem = SupportProblem.of(n, 2, nonnegative=nonnegative)
    bound = SupportBound(matrix, 2, theorem, faces_of(problem), nonnegative, sigma=0.1)
    point = (np.abs(matrix) + np.eye(n)).ravel()
    bound.choose(point.reshape(n, n))
    _, gradient = bound(point)
    for _ in range(6):
        direction = rng.standard_normal(point.size)
        h = 1e-6
        slope = (bound(point + h * direction)[0] - bound(point - h * direction)[0]) / (2 * h)
        assert slope == pytest.approx(gradient @ direction, rel=1e-4, abs=1e-7)


def test_the_smoothed_sum_lies_above_the_sum():
    values = np.array([3.0, 2.0, 2.0, -1.0])
    for heat in (1e-3, 0.1, 1.0):
        shares, total = soft_sum(values, 2, heat)
        assert shares.sum() == pytest.approx(2.0)
        assert total >= 5.0 - 1e-9
    assert soft_sum(values, 2, 1e-6)[1] == pytest.approx(5.0, abs=1e-4)


def test_a_step_far_too_long_does_not_overflow():
    matrix = PITPROPS[:5, :5]
    problem = SupportProblem(np.arange(5), np.zeros(5, dtype=bool), 2)
    bound = SmoothedJointBound(matrix, problem, 2, "D", sigma=0.05)
    point = np.append(start_point(matrix, problem, 5), 1000.0)
    # Warnings are errors in these tests.
    value, gradient = bound(point)
    assert np.isfinite(value)
    assert np.isfinite(gradient).all()


@pytest.mark.parametrize(
    ("theorem", "relation", "quantity"),
    [("A", "disjoint", SUM), ("B", "strict", SUM), ("D", "none", ADJUSTED)],
)
@pytest.mark.parametrize("power", [-30, 30])
def test_bounds_grow_with_the_unit_of_the_data(theorem, relation, quantity, power):
    rng = np.random.default_rng(9)
    problem, unit = joint(13, [3, 3], relation), 2.0**power
    dual, level = random_dual(rng, PITPROPS, problem.features), 0.0
    if theorem == "D":
        level = 1.1 * abs(np.linalg.eigvalsh(dual_matrix(dual)[0])[0])
    prices = np.array([0.5, 0.7]) if theorem == "A" else None

    def bound(unit):
        scaled = replace(
            dual,
            pairing=dual.pairing * unit,
            shift=dual.shift * unit,
            factor=dual.factor * np.sqrt(unit),
        )
        asked = None if prices is None else prices * unit
        proof = JointProof(theorem=theorem, dual=scaled, level=level * unit, prices=asked)
        return joint_bound(PITPROPS * unit, problem, quantity, proof)

    assert np.isfinite(bound(1.0))
    assert bound(unit) == pytest.approx(unit * bound(1.0), rel=1e-9)


@pytest.mark.parametrize("part", ["pairing", "shift", "factor"])
@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize(("theorem", "quantity"), [("B", SUM), ("D", ADJUSTED)])
def test_numbers_that_are_not_finite_prove_nothing(theorem, quantity, number, part):
    problem = joint(4, [2, 2], "strict" if quantity == SUM else "none")
    numbers = random_dual(np.random.default_rng(0), np.eye(4), problem.features)
    vars(numbers)[part][0] = number
    proof = JointProof(theorem=theorem, dual=numbers, level=10.0)
    with pytest.raises(CertificateError, match=f"{part} of a joint proof must be"):
        joint_bound(np.eye(4), problem, quantity, proof)


@pytest.mark.parametrize("nonnegative", [False, True])
def test_supports_are_bounded_for_all_matrices_within_the_error(nonnegative):
    rng = np.random.default_rng(7)
    for _ in range(10):
        matrix = np.cov(rng.standard_normal((9, 6)).T)
        problem, error = SupportProblem.of(6, 3, nonnegative=nonnegative), 0.2
        # The worst of them has all of its eigenvalues larger.
        worst = brute_force(matrix + error * np.eye(6), problem)
        assert largest_on_supports(matrix, error, problem) == pytest.approx(worst)
        assert largest_on_supports(matrix, error, problem) >= worst - 1e-12


def test_a_copy_of_an_earlier_component_recovers_nothing_more():
    rng = np.random.default_rng(8)
    matrix = np.cov(rng.standard_normal((20, 6)).T)
    earlier, w = rng.standard_normal((6, 2)), rng.standard_normal(6)
    assert recovered_beyond(matrix, earlier, earlier @ [0.3, -2.0]) == 0.0

    def recovered(W):
        U = matrix @ W
        return np.trace(U @ np.linalg.solve(W.T @ U, U.T))

    more = recovered(np.column_stack([earlier, w])) - recovered(earlier)
    assert recovered_beyond(matrix, earlier, w) == pytest.approx(more)
