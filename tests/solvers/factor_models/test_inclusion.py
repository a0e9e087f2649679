"""Inclusion probabilities: shares integrated out, units of the loadings, units of the features."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import expit, softmax
from scipy.stats import beta, gmean, norm

from loadstone.covariance import covariance_of
from loadstone.solvers.factor_models import inclusion
from loadstone.solvers.factor_models.inclusion import (
    Evidence,
    Integrated,
    inclusion_probabilities,
)
from loadstone.solvers.factor_models.samples import samples_of
from loadstone.solvers.factor_models.size_search import Counter, search_any
from loadstone.solvers.factor_models.sparse_factors import SparseFactors
from loadstone.solvers.variational_bayes.missing import incomplete_observations


def two_factors(seed, spread=0.5):
    """Ten standard normal loadings of each factor, whatever the noise of their features is."""
    rng = np.random.default_rng(seed)
    W = np.zeros((30, 2))
    for j in range(2):
        W[rng.choice(30, 10, replace=False), j] = rng.normal(size=10)
    sd = np.exp(spread * rng.normal(size=30))
    return rng.normal(size=(100, 2)) @ W.T + sd * rng.normal(size=(100, 30)), W


def found(data, noise="pooled"):
    samples = samples_of(data)
    return samples, search_any(SparseFactors(noise=noise).growth(), samples, Counter()).state


def known_noise(estimate, variance):
    """Evidence of loadings whose features have a noise that is known."""
    return Evidence(estimate, variance, np.ones_like(estimate), np.full(estimate.shape[1], 1e12))


def test_a_loading_is_there_by_the_ratio_of_two_densities():
    estimate, variance, slab = np.array([[0.3, -1.2]]), np.array([[0.1, 0.2]]), np.array([0.5, 2.0])
    there = norm.logpdf(estimate, scale=np.sqrt(variance + slab))
    expected = there - norm.logpdf(estimate, scale=np.sqrt(variance))
    np.testing.assert_allclose(
        known_noise(estimate, variance).log_factor(slab), expected, rtol=1e-9
    )


@pytest.mark.parametrize("chance", [0.0, 0.4, 1.0])
def test_noise_of_few_values_is_integrated_out(chance):
    """Against quadrature over the precision, wherever the noise was learned."""
    rng = np.random.default_rng(5)
    x = rng.normal(size=20)
    y, a0, b0, slab = 0.8 * x + rng.normal(size=20), 0.7, 0.3, 3.0

    def density(tau, covariance):
        quadratic = y @ np.linalg.solve(covariance, y)
        value = tau ** (a0 - 1 + y.size / 2) * np.exp(-tau * (b0 + quadratic / 2))
        return value / np.sqrt(np.linalg.det(covariance))

    with_it, without = (
        quad(density, 0, np.inf, args=(C,))[0]
        for C in (np.eye(20) + slab * np.outer(x, x), np.eye(20))
    )
    # What a posterior of the precision says whose errors are those of a mixture of both.
    weight, length = a0 + y.size / 2, x @ x
    errors = b0 + y @ y / 2 - chance * (x @ y) ** 2 / (2 * (length + 1 / slab))
    estimate = (x @ y) / length * np.sqrt(weight / errors)
    at = [np.array([[value]]) for value in (estimate, 1 / length, chance)]
    found = Evidence(*at, np.array([weight])).log_factor(np.array([slab]))
    np.testing.assert_allclose(found[0, 0], np.log(with_it / without), rtol=1e-7)


def test_shares_are_integrated_out():
    """Two components against quadrature over both shares, and over the law that they come from."""
    rng = np.random.default_rng(3)
    true = np.where(rng.random((2, 25)) < [[0.2], [0.5]], rng.normal(size=(2, 25)), 0.0)
    evidence = known_noise(true + 0.3 * rng.normal(size=(2, 25)), np.full((2, 25), 0.09))
    share, scale = np.full(2, 0.5), np.ones(2)
    result = Integrated.over(evidence, np.ones(25), share, scale)
    for _ in range(inclusion.N_UPDATES):
        share, scale = evidence.updated(np.ones(25), share, scale)
    factors = np.exp(evidence.log_factor(scale[:, None] * np.ones(25)))

    def integral(j, a, b, weight=lambda p: 1.0):
        def integrand(p):
            return weight(p) * beta.pdf(p, a, b) * np.prod(1 - p + p * factors[j])

        return quad(integrand, 0, 1, limit=200)[0]

    # Two loadings and the sum over laws of the shares, each by what both components say of it.
    total, first, second = 0.0, 0.0, 0.0
    for k in expit(inclusion.MEANS):
        for m in inclusion.STRENGTHS:
            a, b = m * k, m * (1 - k)
            one, two = integral(0, a, b), integral(1, a, b)
            total += k * (1 - k) * one * two
            chance = integral(0, a, b, lambda p: p * factors[0, 4] / (1 - p + p * factors[0, 4]))
            first += k * (1 - k) * chance * two
            chance = integral(1, a, b, lambda p: p * factors[1, 7] / (1 - p + p * factors[1, 7]))
            second += k * (1 - k) * one * chance
    np.testing.assert_allclose(
        [result.chances[0, 4], result.chances[1, 7]], [first / total, second / total], atol=4e-3
    )


def test_probabilities_are_those_of_the_truth_where_loadings_do_not_grow_with_noise():
    """Over 40 data sets; with loadings in units of the noise the error is .031."""
    chances, truths = [], []
    for seed in range(41001, 41041):
        X, W = two_factors(seed)
        samples, state = found(covariance_of(X)[0])
        matched = np.argmax(np.abs(state.law.mean[0] @ W), axis=1)
        chances.append(inclusion_probabilities(samples, state).ravel())
        truths.append((W[:, matched] != 0).T.ravel())
    P, truth = np.concatenate(chances), np.concatenate(truths)
    bins = np.minimum((P * 10).astype(int), 9)
    gaps = [abs((P - truth)[bins == b].sum()) for b in range(10)]
    assert sum(gaps) / P.size < 0.022


def test_units_of_features_and_a_mask_of_ones_change_nothing_with_free_noise():
    X = two_factors(2)[0]
    samples, state = found(covariance_of(X)[0], "free")
    expected = inclusion_probabilities(samples, state)
    scaled = found(covariance_of(X * np.logspace(-3, 3, 30))[0], "free")
    np.testing.assert_allclose(inclusion_probabilities(*scaled), expected, atol=1e-8)
    rows = samples_of(incomplete_observations(X, np.ones(len(X)))[0])
    np.testing.assert_allclose(inclusion_probabilities(rows, state), expected, atol=1e-12)


@pytest.mark.parametrize("noise", ["pooled", "shared"])
def test_one_unit_for_all_and_the_order_of_features_change_nothing(noise):
    X = two_factors(2)[0]
    expected = inclusion_probabilities(*found(covariance_of(X)[0], noise))
    scaled = inclusion_probabilities(*found(covariance_of(1e3 * X)[0], noise))
    np.testing.assert_allclose(scaled, expected, atol=1e-8)
    order = np.random.default_rng(0).permutation(30)
    turned = inclusion_probabilities(*found(covariance_of(X[:, order])[0], noise))
    np.testing.assert_allclose(turned, expected[:, order], atol=1e-8)


def test_only_features_with_a_unit_in_common_have_loadings_in_it():
    X = two_factors(2)[0]
    assert found(covariance_of(X)[0])[1].noise.has_a_unit
    assert not found(covariance_of(X)[0], "free")[1].noise.has_a_unit
    assert not found(covariance_of(X, standardize=True)[0])[1].noise.has_a_unit


def test_of_many_loadings_the_law_is_known(monkeypatch):
    rng = np.random.default_rng(5)
    W = np.where(rng.random((400, 2)) < 0.2, rng.normal(size=(400, 2)), 0.0)
    X = rng.normal(size=(60, 2)) @ W.T + rng.normal(size=(60, 400))
    samples, state = found(covariance_of(X)[0])
    integrated = inclusion_probabilities(samples, state)
    monkeypatch.setattr(inclusion, "MANY_LOADINGS", 100)
    np.testing.assert_allclose(inclusion_probabilities(samples, state), integrated, atol=0.01)


def test_no_component_has_no_probabilities():
    samples = samples_of(covariance_of(np.random.default_rng(0).normal(size=(50, 6)))[0])
    empty = SparseFactors().growth().empty(samples)
    assert inclusion_probabilities(samples, empty).shape == (0, 6)


def test_a_loading_of_which_samples_say_nothing_has_the_share_of_its_component():
    samples, state = found(covariance_of(two_factors(2)[0])[0], "free")
    law, tau = state.law, state.noise.precision
    # All that is known of the last feature is the law: its slab mean is zero, its variance the slab's.
    mean, variance = law.slab_mean.copy(), law.slab_variance.copy()
    chance = law.inclusion.copy()
    mean[..., -1], chance[..., -1] = 0.0, 0.3
    variance[..., -1] = law.scale / tau[:, -1:]
    blank = replace(law, slab_mean=mean, slab_variance=variance, inclusion=chance)
    P = inclusion_probabilities(samples, replace(state, law=blank))
    assert np.isfinite(P).all()
    assert (np.abs(P[:, -1] - P.mean(axis=1)) < 0.1).all()


def test_a_slab_is_its_scale_times_the_unit_of_the_feature(monkeypatch):
    """Chances and evidence against quadrature over the share, whose law is Beta(1, 1)."""
    monkeypatch.setattr(inclusion, "MEANS", np.zeros(1))
    monkeypatch.setattr(inclusion, "STRENGTHS", np.full(1, 2.0))
    rng = np.random.default_rng(3)
    units = np.exp(rng.normal(size=25))
    true = np.where(rng.random(25) < 0.4, np.sqrt(units) * rng.normal(size=25), 0.0)
    b, v = true + 0.3 * rng.normal(size=25), np.full(25, 0.09)
    evidence = known_noise(b[None], v[None])
    found = Integrated.over(evidence, units, np.full(1, 0.5), np.ones(1))
    share, scale = np.full(1, 0.5), np.ones(1)
    for _ in range(inclusion.N_UPDATES):
        share, scale = evidence.updated(units, share, scale)
    ratios = norm.pdf(b, scale=np.sqrt(v + scale * units)) / norm.pdf(b, scale=np.sqrt(v))

    def integral(weight):
        return quad(lambda p: weight(p) * np.prod(1 - p + p * ratios), 0, 1, limit=200)[0]

    total = integral(lambda p: 1.0)
    for i in (0, 7, 24):
        chance = integral(lambda p, i=i: p * ratios[i] / (1 - p + p * ratios[i])) / total
        assert found.chances[0, i] == pytest.approx(chance, abs=4e-3)
    # The likeliest scale is where it is likeliest by brute force, too.
    grid = scale * np.exp(np.linspace(-0.5, 0.5, 101))
    slabs = norm.pdf(b, scale=np.sqrt(v + grid[:, None] * units)) / norm.pdf(b, scale=np.sqrt(v))
    likelihood = np.log(1 - share + share * slabs).sum(axis=1)
    assert abs(np.argmax(likelihood) - 50) <= 2


@pytest.mark.parametrize("noise", ["pooled", "free"])
def test_the_units_of_loadings_are_those_of_the_formula(noise, monkeypatch):
    """``(g/psi)^(1 - a)``: loadings that do not grow with the noise, with its root, as it does."""
    samples, state = found(covariance_of(two_factors(2)[0])[0], noise)
    tried, over = [], Integrated.over

    def listen(evidence, units, share, scale):
        tried.append((units, over(evidence, units, share, scale)))
        return tried[-1][1]

    monkeypatch.setattr(Integrated, "over", listen)
    P = inclusion_probabilities(samples, state)
    psi = 1 / state.noise.precision[0]
    growth = [0.0, 0.5, 1.0] if noise == "pooled" else [1.0]
    for a, (units, _) in zip(growth, tried, strict=True):
        # In the units of the data a slab has the variance u psi.
        np.testing.assert_allclose(units * psi, gmean(psi) ** (1 - a) * psi**a, rtol=1e-10)
    weights = softmax([each.log_evidence for _, each in tried])
    expected = sum(w * each.chances for w, (_, each) in zip(weights, tried, strict=True))
    np.testing.assert_allclose(P, expected, rtol=1e-10)
