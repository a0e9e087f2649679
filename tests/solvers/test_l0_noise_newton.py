"""Newton's method: quadratic in its steps, indifferent to scales, and careful on the way."""

import numpy as np
import pytest

from loadstone.covariance import covariance_of
from loadstone.solvers.factor_models.samples import samples_of
from loadstone.solvers.l0_noise_descent import L0Descent, evaluated
from loadstone.solvers.l0_noise_newton import newton


def test_a_narrow_curved_valley_is_followed_to_its_bottom():
    """Rosenbrock's function, its second parameter in another unit."""

    def function(x):
        a, b = x[0], x[1] / 1e6
        value = (1 - a) ** 2 + 100 * (b - a**2) ** 2
        slope = [-2 * (1 - a) - 400 * a * (b - a**2), 200 * (b - a**2) / 1e6]
        return value, np.array(slope)

    x, reached = newton(function, np.array([0.5, 3e5]), np.array([1.0, 1e6]))
    assert reached
    np.testing.assert_allclose(x, [1.0, 1e6], rtol=1e-9)


def test_where_rounding_hides_the_value_the_gradient_leads():
    H = np.array([[2.0, 0.5], [0.5, 1.0]])
    # Steps change the value by less than its last digit.
    x, reached = newton(lambda x: (1e9 + x @ H @ x / 2, H @ x), np.full(2, 1e-4), np.ones(2))
    assert reached
    np.testing.assert_allclose(x, 0.0, atol=1e-12)


def test_what_has_no_bottom_is_not_reached():
    x, reached = newton(lambda x: (float(x.sum()), np.ones(2)), np.zeros(2), np.ones(2))
    assert not reached
    assert np.isfinite(x).all()


@pytest.mark.parametrize("kind", ["free", "shared"])
def test_at_the_bottom_the_deviance_is_level(kind):
    """Slopes by differences of the deviance itself, of all loadings and noise variances."""
    rng = np.random.default_rng(3)
    W = np.where(rng.random((2, 8)) < 0.6, rng.normal(size=(2, 8)), 0.0)
    X = rng.normal(size=(60, 2)) @ W + 0.3 * rng.normal(size=(60, 8))
    samples = samples_of(covariance_of(X)[0])
    start = evaluated(samples, W, np.full(8, 0.1))
    found = L0Descent(kind, 60, 1e-7).settled(samples, 0.1, start, 1e-7)
    G, noise = found.point.G, found.point.noise
    assert (np.diff(found.objective) <= 0).all()

    def slope(G_step, noise_step):
        up = evaluated(samples, G + G_step, noise * np.exp(noise_step)).deviance
        down = evaluated(samples, G - G_step, noise * np.exp(-noise_step)).deviance
        return (up - down) / 2e-5

    nothing = np.zeros(8)
    slopes = [
        slope(1e-5 * (np.arange(G.size).reshape(G.shape) == i), nothing) for i in np.flatnonzero(G)
    ]
    moves = 1e-5 * (np.eye(8) if kind == "free" else np.ones((1, 8)))
    slopes += [slope(np.zeros_like(G), move) for move in moves]
    np.testing.assert_allclose(slopes, 0.0, atol=1e-6)


def test_a_step_that_leaves_the_range_of_numbers_is_not_taken():
    def function(x):
        # sqrt(1 + x^2), from which Newton's steps leap away beyond 1, and overflow there.
        root = np.sqrt(1.0 + np.square(1e154 * x) / 1e308)
        return float(root.sum()), x / root

    with np.errstate(over="raise"):
        x, _ = newton(function, np.array([1.2]), np.ones(1))
    assert abs(x[0]) < 1e-3
