"""Bounds hold to the last digit: compared with forty digits, not with floating point."""

from fractions import Fraction

import mpmath
import numpy as np
import pytest

from loadstone.certificates.bound_dual import Dual, evaluate, top_eigenvalue
from loadstone.certificates.bound_instant import instant_bounds
from loadstone.certificates.bound_sample_space import sample_space_bounds
from loadstone.certificates.bound_single_support import support_optimum
from loadstone.certificates.certificate_value import lower_value, variance_on_support
from loadstone.certificates.problem import SupportProblem
from loadstone.covariance import ExplicitCovariance, covariance_of

SIZES = (2, 3, 5, 8)


def largest_eigenvalue(matrix):
    """With forty digits; the entries are taken as the numbers they are."""
    with mpmath.workdps(40):
        return mpmath.eigsy(mpmath.matrix(matrix.tolist()), eigvals_only=True)[len(matrix) - 1]


def matrices(count=12):
    rng = np.random.default_rng(0)
    for trial in range(count):
        size = SIZES[trial % len(SIZES)]
        factors = rng.standard_normal((size, size)) * 10.0 ** rng.integers(-3, 4)
        yield factors @ factors.T


def symmetric(matrix):
    return (matrix + matrix.T) / 2


def test_a_single_support_is_never_bounded_below_its_eigenvalue():
    for matrix in map(symmetric, matrices()):
        bound, _ = support_optimum(matrix, nonnegative=False)
        assert mpmath.mpf(bound) >= largest_eigenvalue(matrix)
        positive = np.abs(matrix)
        bound, _ = support_optimum(positive, nonnegative=True)
        # All entries positive: so is the leading eigenvector.
        assert mpmath.mpf(bound) >= largest_eigenvalue(positive)


def test_the_largest_eigenvalue_as_an_instant_bound_is_rounded_upwards():
    for matrix in map(symmetric, matrices()):
        problem = SupportProblem.of(len(matrix), len(matrix))
        truth = largest_eigenvalue(matrix)
        for bound in instant_bounds(matrix, problem):
            assert mpmath.mpf(bound.value) >= truth, bound.name


def test_the_eigenvalue_part_of_a_dual_is_rounded_upwards():
    rng = np.random.default_rng(1)
    for matrix in map(symmetric, matrices()):
        size = len(matrix)
        scale = float(np.abs(matrix).max())
        pairing = scale * rng.standard_normal((size, size))
        dual = Dual(
            np.arange(size),
            pairing,
            scale * rng.standard_normal(size),
            np.sqrt(scale) * rng.standard_normal((size, 2)),
        )
        with mpmath.workdps(40):
            P = mpmath.matrix(pairing.tolist())
            for i in range(size):
                P[i, i] = 0
            L = mpmath.matrix(dual.factor.tolist())
            inner = mpmath.matrix(matrix.tolist()) - L * L.T - (P + P.T) / 2
            for i in range(size):
                inner[i, i] += mpmath.mpf(float(dual.shift[i]))
            truth = mpmath.eigsy(inner, eigvals_only=True)[size - 1]
        found = evaluate(ExplicitCovariance(matrix), SupportProblem.of(size, size), dual)
        assert mpmath.mpf(found.top) >= truth


def test_what_a_dual_takes_away_and_gives_back_is_rounded_upwards():
    rng = np.random.default_rng(2)
    for _ in range(40):
        factor = 1e6 * rng.standard_normal((1, 3))
        shift = np.square(factor).sum(axis=1)
        dual = Dual(np.arange(1), np.zeros((1, 1)), shift, factor)
        with mpmath.workdps(60):
            taken = sum(mpmath.mpf(float(f)) ** 2 for f in factor[0])
            truth = 1 - taken + mpmath.mpf(float(shift[0]))
        assert mpmath.mpf(top_eigenvalue(np.ones((1, 1)), dual)) >= truth


def test_slices_of_a_dual_are_rounded_upwards():
    rng = np.random.default_rng(3)
    for count in (1, 3, 6):
        for _ in range(40):
            pairs = 1e6 * rng.standard_normal((count, 2, 1))
            tilt = [(g, h) for g, h in pairs]
            shift = np.array([sum(g[0] * h[0] for g, h in tilt)])
            dual = Dual(np.arange(1), np.zeros((1, 1)), shift, np.zeros((1, 1)))
            taken = sum(Fraction(g[0]) * Fraction(h[0]) for g, h in tilt)
            truth = 1 - taken + Fraction(shift[0])
            assert Fraction(top_eigenvalue(np.ones((1, 1)), dual, tilt)) >= truth


@pytest.mark.parametrize("seed", range(10))
def test_the_bounds_in_the_space_of_samples_are_rounded_upwards(seed):
    # A cross of four points: the eigenvalues are known, and two bounds of all features are exact.
    step = np.random.default_rng(seed).standard_normal(12)
    u, v = np.where(np.arange(12) < 6, 3 * step, 0), np.where(np.arange(12) < 6, 0, step)
    S, _ = covariance_of(np.array([u, -u, v, -v]), route="wide")
    top, other = (sum(2 * Fraction(x) ** 2 for x in w) / 3 for w in (u, v))
    (bounds,) = sample_space_bounds(S, [SupportProblem.of(12, 12)])
    top, other = max(top, other), min(top, other)
    room = Fraction(1, 10**12)
    assert top <= Fraction(bounds.eigenvalue) <= top * (1 + room)
    assert top <= Fraction(bounds.above_an_eigenvalue) <= top * (1 + room)
    assert top + other <= Fraction(bounds.trace) <= (top + other) * (1 + room)


def test_a_known_value_of_entries_of_both_signs_is_rounded_downwards():
    rng = np.random.default_rng(5)
    for _ in range(200):
        # Absolute loadings would have nearly no variance, and signed ones have all of it.
        v = rng.uniform(0.5, 2.0, 2) * [1, -1]
        matrix = symmetric(np.outer(v, v) * (1 + 1e-9 * rng.random()))
        w = np.array([1 / v[0], 1 / v[1]])
        exact = [[Fraction(x) for x in row] for row in matrix]
        x, y = Fraction(w[0]), Fraction(w[1])
        value = x * x * exact[0][0] + 2 * x * y * exact[0][1] + y * y * exact[1][1]
        assert Fraction(lower_value(ExplicitCovariance(matrix), w)) <= value / (x * x + y * y)


@pytest.mark.parametrize("seed", range(10))
def test_a_known_value_is_rounded_downwards(seed):
    rng = np.random.default_rng(seed)
    matrix = symmetric(next(matrices()) if seed == 0 else np.cov(rng.standard_normal((20, 9)).T))
    w = rng.standard_normal(len(matrix))
    with mpmath.workdps(40):
        v, A = mpmath.matrix(w.tolist()), mpmath.matrix(matrix.tolist())
        truth = (v.T * A * v)[0] / (v.T * v)[0]
    S = ExplicitCovariance(matrix)
    assert mpmath.mpf(lower_value(S, w)) <= truth
    assert variance_on_support(S, w) == pytest.approx(float(truth), rel=1e-12)
    assert lower_value(S, w) == pytest.approx(float(truth), rel=1e-11)
