"""The gamma function, its slope and probabilities of whole arrays: against arithmetic of 40 digits."""

import mpmath
import numpy as np
import pytest

from loadstone.solvers.factor_models.chances import chances
from loadstone.solvers.factor_models.gamma_series import digamma, log_gamma, log_rising
from loadstone.solvers.factor_models.noise_prior import log_growth

SMALL = np.array([0.05, 0.5, 1.0, 1.5, 2.0, 7.3, 19.99])
LARGE = np.array([20.0, 20.5, 36.0, 100.5, 1e4, 1e5, 1e9])


def in_digits(function, *arrays):
    """``function`` of the entries in arithmetic of forty digits, rounded at the end."""
    with mpmath.workdps(40):
        return np.array(
            [float(function(*map(mpmath.mpf, each))) for each in zip(*arrays, strict=True)]
        )


@pytest.mark.parametrize("x", [SMALL, LARGE, np.concatenate([SMALL, LARGE])])
@pytest.mark.parametrize(
    ("function", "exact"), [(log_gamma, mpmath.loggamma), (digamma, mpmath.digamma)]
)
def test_gamma_function_has_all_digits_whether_the_series_serves_or_not(x, function, exact):
    np.testing.assert_allclose(function(x, np.log(x)), in_digits(exact, x), rtol=4e-15, atol=4e-15)


@pytest.mark.parametrize("n", [0.5, 3.0, 25.0, 1e4])
@pytest.mark.parametrize("a", [SMALL, LARGE, np.concatenate([SMALL, LARGE])])
def test_rising_is_the_difference_of_two_logarithms_without_what_cancels(a, n):
    def exact(x, y):
        return mpmath.loggamma(x + y) - mpmath.loggamma(x)

    counts = np.full_like(a, n)
    wanted = in_digits(exact, a, counts)
    np.testing.assert_allclose(log_rising(a, counts, np.log(a + counts)), wanted, rtol=3e-14)


@pytest.mark.parametrize("a0", [0.5, 19.0, 20.0, 1e5])
def test_growth_of_a_rate_is_told_to_what_a_large_shape_makes_of_it(a0):
    b0, errors = np.full(4, 0.7 * a0), np.array([1e-3, 1.0, 50.0, 1e4])
    found = a0 * log_growth(np.array([a0]), b0, errors, np.log(b0 + errors))
    wanted = a0 * in_digits(lambda b, e: mpmath.log1p(e / b), b0, errors)
    np.testing.assert_allclose(found, wanted, rtol=1e-14, atol=1e-14 * a0 if a0 < 20 else 0.0)


def test_no_entry_at_all_has_no_gamma_function():
    empty = np.empty((1, 0))
    assert log_gamma(empty, empty).shape == digamma(empty, empty).shape == (1, 0)


def test_probabilities_and_their_entropies_hold_at_every_odds():
    odds = np.array([-1000.0, -40.0, -3.0, -1e-9, 0.0, 0.2, 3.0, 40.0, 1000.0])

    def chance(x):
        return 1 / (1 + mpmath.exp(-x))

    def entropy(x):
        return mpmath.log1p(mpmath.exp(-abs(x))) + abs(x) * chance(-abs(x))

    found, uncertainty = chances(odds)
    np.testing.assert_allclose(found, in_digits(chance, odds), rtol=4e-16)
    # The definition itself, where its logarithms do not cancel.
    near = np.abs(odds) <= 3
    p = in_digits(chance, odds[near])
    np.testing.assert_allclose(
        uncertainty[near], -p * np.log(p) - (1 - p) * np.log1p(-p), rtol=1e-14
    )
    np.testing.assert_allclose(uncertainty, in_digits(entropy, odds), rtol=4e-15)
    assert (found <= 1.0).all()
    assert (found >= 0.0).all()
