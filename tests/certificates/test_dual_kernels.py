"""The kernels against plain NumPy and against finite differences."""

import numpy as np
import pytest

from loadstone.certificates.problem import SupportProblem, sum_of_best
from loadstone.certificates.search_dual import (
    OutsideFeatures,
    SmoothedBound,
    dual_of,
    pack,
    point_of,
    smooth_best_sum,
    start_point,
)
from loadstone.certificates.search_dual_kernels import find_threshold, smooth_rows


def threshold_twin(values, room, rho):
    """Bisection on the same equation."""
    if np.clip(values / rho, 0, 1).sum() <= room:
        return 0.0
    low, high = 0.0, values.max()
    for _ in range(200):
        middle = (low + high) / 2
        if np.clip((values - middle) / rho, 0, 1).sum() > room:
            low = middle
        else:
            high = middle
    return high


@pytest.mark.parametrize("seed", range(5))
def test_threshold_fills_the_room(seed):
    rng = np.random.default_rng(seed)
    for _ in range(50):
        size = int(rng.integers(1, 30))
        values = rng.random(size) ** 3
        values[rng.random(size) < 0.2] = 0.0
        counted = rng.random(size) < 0.8
        room = int(rng.integers(1, size + 1))
        rho = 10.0 ** rng.uniform(-6, 0)
        mu = find_threshold(values, counted, room, rho, rng.random())
        shares = np.clip((values[counted] - mu) / rho, 0, 1).sum()
        assert shares <= room * (1 + 1e-6)
        if counted.any() and threshold_twin(values[counted], room, rho) > 0:
            assert shares == pytest.approx(room, rel=1e-6)


def rows_twin(rows, nonnegative, forced, room, rho):
    size = rows.shape[0]
    smooth, exact, pull = np.empty(size), np.empty(size), np.empty_like(rows)
    for i in range(size):
        entries = rows[i].copy()
        if nonnegative:
            entries = np.where(np.arange(size) == i, entries, np.maximum(entries, 0))
        certain = forced | (np.arange(size) == i)
        values = entries**2
        free = values[~certain]
        count = max(room[i], 0)
        mu = threshold_twin(free, count, rho) if count and free.size else 0.0
        shares = np.where(certain, 1.0, np.clip((values - mu) / rho, 0, 1) if count else 0.0)
        smooth[i] = (
            (shares * values).sum() - rho / 2 * (shares[~certain] ** 2).sum() + rho * count / 2
        )
        exact[i] = values[certain].sum() + np.sort(free)[::-1][:count].sum()
        pull[i] = shares * entries
    return smooth, exact, pull


@pytest.mark.parametrize("nonnegative", [False, True])
def test_rows_agree_with_plain_numpy(nonnegative):
    rng = np.random.default_rng(3)
    for _ in range(20):
        size = int(rng.integers(2, 9))
        problem = SupportProblem.of(
            size, int(rng.integers(2, size + 1)), nonnegative=nonnegative, forced=[0]
        )
        rows = rng.standard_normal((size, size))
        rho = 10.0 ** rng.uniform(-4, 0)
        pull = np.empty_like(rows)
        smooth, exact = smooth_rows(
            rows, nonnegative, problem.forced, problem.free_room(), rho, np.zeros(size), pull
        )
        expected = rows_twin(rows, nonnegative, problem.forced, problem.free_room(), rho)
        np.testing.assert_allclose(smooth, expected[0], rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(pull, expected[2], rtol=1e-4, atol=1e-6)
        assert (exact >= expected[1] - 1e-9).all()
        assert (exact <= expected[1] + rho * problem.n_nonzero + 1e-9).all()


def test_the_smoothed_best_sum_lies_above_the_sharp_one():
    rng = np.random.default_rng(0)
    problem = SupportProblem.of(12, 5, forced=[2, 3])
    terms = rng.random(12)
    shares, value = smooth_best_sum(terms, problem, 1e-3)
    sharp = sum_of_best(terms, problem)
    assert sharp - 1e-12 <= value <= sharp + 5e-3
    assert shares[[2, 3]].tolist() == [1.0, 1.0]
    assert shares.sum() == pytest.approx(5)


@pytest.mark.parametrize("nonnegative", [False, True])
@pytest.mark.parametrize("outside", [False, True])
def test_the_gradient_is_the_gradient(nonnegative, outside):
    rng = np.random.default_rng(7)
    factors = rng.standard_normal((20, 6))
    matrix = np.cov(factors.T)
    matrix /= np.linalg.eigvalsh(matrix)[-1]
    problem = SupportProblem.of(6, 3, nonnegative=nonnegative, forced=[1])
    beyond = OutsideFeatures(rng.random(4), rng.random(4) / 2, np.zeros(4, dtype=bool))
    bound = SmoothedBound(matrix, problem, 2, beyond if outside else None, sigma=0.3)
    point = start_point(matrix, problem, 2) + 0.1 * rng.standard_normal(6 * 6 + 6 + 12)
    value, gradient = bound(point)
    assert value >= bound.best
    for at in rng.choice(point.size, 15, replace=False):
        step = np.zeros_like(point)
        step[at] = 1e-5
        slope = (bound(point + step)[0] - bound(point - step)[0]) / 2e-5
        assert slope == pytest.approx(gradient[at], rel=2e-3, abs=2e-6)


def test_a_dual_survives_the_way_to_a_point_and_back():
    rng = np.random.default_rng(1)
    problem = SupportProblem.of(5, 2)
    bound = SmoothedBound(np.eye(5), problem, 2)
    point = pack(
        rng.standard_normal((5, 5)), 0.5 + rng.random(5), 0.1 * rng.standard_normal((5, 2))
    )
    dual = dual_of(point, bound, 3.0, np.arange(5))
    again = dual_of(point_of(dual, problem, 3.0, 2), bound, 3.0, np.arange(5))
    np.testing.assert_allclose(again.pairing, dual.pairing, atol=1e-12)
    np.testing.assert_allclose(again.shift, dual.shift, atol=1e-12)
    np.testing.assert_allclose(again.factor, dual.factor, atol=1e-12)
