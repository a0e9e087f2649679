"""Share of the noise in the bound: against arithmetic of fifty digits, and what rounding did."""

from dataclasses import replace
from decimal import Decimal, getcontext

import numpy as np
import pytest
from scipy.special import digamma

from loadstone import SparseProbabilisticPCA
from loadstone.solvers.factor_models.noise import (
    ETA,
    LARGEST_SHAPE,
    SCALED_SHAPE,
    SHAPE,
    ErrorTerms,
    Noise,
    largest_shape,
)


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
    prior = replace(start, shape=np.array([shape]), scale=np.array([0.7]))
    terms = ErrorTerms(counts, errors, errors, np.zeros(1))
    found = prior.update(terms, variance, learn=False)
    # The floor acts on the precision without being part of the prior.
    wanted, chance = Decimal(0), Decimal(float(prior.chance_apart[0, 0]))
    for n, error, v, r in zip(counts[0], errors[0], variance, found.apart[0], strict=True):
        floored, r = float(error + ETA * v), Decimal(float(r))
        laws = [(shape, shape * 0.7, 1 - r, 1 - chance), (SHAPE, SHAPE * ETA * v, r, chance)]
        for a0, b0, share, prior_share in laws:
            precision = (Decimal(a0) + int(n)) / (Decimal(b0) + Decimal(floored))
            value = in_digits(a0, b0, n, floored) - Decimal(ETA * v) * precision
            wanted += share * (value + (prior_share / share).ln())
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


def test_few_features_that_are_explained_well_stand_apart_from_many_that_are_noise():
    # One law for all of them held the eight at four per cent of their variance.
    rng = np.random.default_rng(7)
    W = np.zeros((300, 2))
    W[:4, 0], W[4:8, 1] = 100.0, 98.0
    X = rng.normal(size=(50, 2)) @ W.T + rng.normal(size=(50, 300))
    model = SparseProbabilisticPCA(standardize=True).fit(X)
    noise = np.asarray(model.noise_variance_) * X.var(axis=0, ddof=1)
    np.testing.assert_array_equal(np.flatnonzero(model.components_.any(axis=0)), np.arange(8))
    assert (noise[:8] < 3.0).all()
    assert (noise[:8] > 0.3).all()
    assert model.hyperparameters_["noise_apart"] == pytest.approx(8 / 300, rel=0.05)


def test_a_feature_that_stands_apart_does_not_shape_the_pool():
    rng = np.random.default_rng(9)
    n = 40.0
    errors = rng.gamma(n / 2, 2.0, 60) / 2

    def learned(errors):
        start = replace(Noise.start("pooled", np.ones((1, errors.size))), shape=np.array([20.0]))
        counts = np.full((1, errors.size), n / 2)
        terms = ErrorTerms(counts, errors[None], errors[None], np.zeros(1))
        for _ in range(3):
            start = start.update(terms, np.ones(errors.size), learn=True)
        return start

    alone, beside = learned(errors), learned(np.append(errors, 1e-6))
    assert beside.apart[0, -1] > 0.99
    np.testing.assert_allclose(beside.scale, alone.scale, rtol=0.02)
    np.testing.assert_allclose(beside.shape, alone.shape, rtol=0.3)


@pytest.mark.parametrize(("share", "scaled"), [(0.95, True), (1.05, False)])
def test_variances_as_close_as_those_of_samples_hardly_are_were_scaled(share, scaled):
    """Logarithms of two variances that vary by a third of ``2/N``, or a little less or more."""
    half = np.sqrt(share * (2 / 100) / 3 / 2)
    found = largest_shape(np.exp(np.array([-half, half])), 100.0)
    assert found == (SCALED_SHAPE if scaled else LARGEST_SHAPE)
