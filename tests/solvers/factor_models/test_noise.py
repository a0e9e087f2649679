"""Share of the noise in the bound: against arithmetic of fifty digits, and what rounding did."""

from decimal import Decimal, getcontext

import numpy as np
import pytest
from scipy.special import digamma

from loadstone import SparseProbabilisticPCA
from loadstone.solvers.factor_models.noise import ETA, ErrorTerms, Noise


def in_digits(a0, b0, n, error):
    """Expected log prior less expected log posterior of one precision, in fifty digits."""
    getcontext().prec = 50
    counts = int(n)
    a0, b0, error = Decimal(a0), Decimal(b0), Decimal(error)
    c, e = a0 + counts, b0 + error
    log_precision = Decimal(float(digamma(float(c)))) - e.ln()
    rising = sum(((a0 + k).ln() for k in range(counts)), Decimal(0))
    return a0 * b0.ln() + rising + (a0 - c) * log_precision - b0 * c / e - c * e.ln() + c


@pytest.mark.parametrize("shape", [0.05, 1.0, 19.5, 20.5, 1e3, 1e5])
def test_share_of_the_bound_has_all_digits_at_every_shape(shape):
    counts, errors = np.array([[4.0, 6.0, 50.0]]), np.array([[2.5, 1.0, 70.0]])
    variance = np.array([1.0, 0.5, 2.0])
    start = Noise.start("pooled", np.ones((1, 3)))
    prior = Noise(
        "pooled", start.precision, start.log_precision, start.variance,
        np.array([shape]), np.array([0.7]), start.bound,
    )  # fmt: skip
    terms = ErrorTerms(counts, errors, errors, np.zeros(1))
    found = prior.update(terms, variance, learn=False)
    # The floor acts on the precision without being part of the prior.
    wanted = Decimal(0)
    for n, error, v in zip(counts[0], errors[0], variance, strict=True):
        floored, b0 = float(error + ETA * v), shape * 0.7
        wanted += in_digits(shape, b0, n, floored)
        wanted -= Decimal(ETA * v) * (Decimal(shape) + int(n)) / (Decimal(b0) + Decimal(floored))
    assert abs(float(Decimal(float(found.bound[0])) - wanted)) < 1e-12 * (1.0 + abs(float(wanted)))


def test_another_unit_ends_a_run_that_creeps_at_the_same_round():
    # Noise that is the same for all features has a law of shape 1e5: the rounding it left in the
    # bound was larger than the rise at which a run ends.
    for seed in range(6):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(8, 2)) @ rng.normal(size=(2, 6)) * 3 + 0.2 * rng.normal(size=(8, 6))
        one, two = (
            SparseProbabilisticPCA(2, inclusion_threshold=0.5).fit(X * u) for u in (1.0, 2.0**-10)
        )
        np.testing.assert_allclose(
            two.explained_variance_ * 2.0**20, one.explained_variance_, rtol=1e-7
        )
        assert len(two.refit_lower_bounds_) == len(one.refit_lower_bounds_)
