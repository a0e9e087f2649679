"""The Gaussian of a new sample against draws from the posterior."""

import numpy as np
import pytest
from scipy.special import digamma

from loadstone.solvers.factor_models.growth import Growth
from loadstone.solvers.factor_models.predictive import averaged, predictive_model
from loadstone.solvers.factor_models.rounds import update, with_law
from loadstone.solvers.factor_models.scale_mixture import ScaleMixture
from small_factors import samples_from, small_data

N_DRAWS = 40_000


def settled(samples, noise):
    growth = Growth(noise)
    state = growth.empty(samples)
    for _ in range(2):
        state = growth.grown(samples, state)
    return state


def draws_of_precisions(state, rng):
    """Gamma draws; the shape from ``digamma(c) - ln c = <ln tau> - ln <tau>``, by bisection."""
    gap = state.noise.log_precision[0] - np.log(state.noise.precision[0])
    low, high = np.full(gap.shape, 1e-3), np.full(gap.shape, 1e7)
    for _ in range(200):
        middle = np.sqrt(low * high)
        too_small = digamma(middle) - np.log(middle) < gap
        low, high = np.where(too_small, middle, low), np.where(too_small, high, middle)
    return rng.gamma(low, state.noise.precision[0] / low, size=(N_DRAWS, gap.size))


def mean_of_covariances(loadings, precisions):
    """Mean of ``W W' + Psi`` over draws (draws, q, d) and (draws, d)."""
    total = np.einsum("njd,nje->de", loadings, loadings) + np.diag((1 / precisions).sum(axis=0))
    return total / N_DRAWS


@pytest.mark.parametrize("noise", ["free", "pooled"])
def test_it_has_the_covariance_of_draws_from_the_posterior(noise):
    samples, rng = samples_from(small_data(n=25)), np.random.default_rng(0)
    state = settled(samples, noise)
    law = state.law
    there = rng.random((N_DRAWS, *law.slab_mean.shape[1:])) < law.inclusion[0]
    slabs = law.slab_mean[0] + np.sqrt(law.slab_variance[0]) * rng.normal(size=there.shape)
    expected = mean_of_covariances(there * slabs, draws_of_precisions(state, rng))
    found = predictive_model(samples, state).covariance()
    # The mean is one of 25 samples.
    np.testing.assert_allclose(found, 26 / 25 * expected, atol=0.02 * expected.max())
    plug_in = law.mean[0].T @ law.mean[0] + np.diag(1 / state.noise.precision[0])
    assert np.diag(found).sum() > 1.05 * np.trace(plug_in)


def test_loadings_in_units_of_the_noise_are_drawn_with_it():
    samples, rng = samples_from(small_data(n=25)), np.random.default_rng(0)
    start = settled(samples, "free")
    law = ScaleMixture.start("laplace", start.law.mean, start.noise.precision)
    state = with_law(start, law)
    for _ in range(30):
        state = update(samples, state, learn=False)
    precisions = draws_of_precisions(state, rng)
    roots = np.linalg.cholesky(state.law.covariance[0])
    normal = rng.normal(size=(N_DRAWS, *state.law.mean.shape[1:]))
    errors = np.einsum("djk,nkd->njd", roots, normal) / np.sqrt(precisions)[:, None]
    expected = mean_of_covariances(state.law.mean[0] + errors, precisions)
    found = predictive_model(samples, state).covariance()
    np.testing.assert_allclose(found, 26 / 25 * expected, atol=0.02 * expected.max())


def test_a_feature_with_a_hole_knows_its_mean_less_well():
    X = small_data()
    complete = samples_from(X)
    X[0, 0] = np.nan
    holes = samples_from(X)
    state = settled(complete, "free")
    one, other = (predictive_model(s, state) for s in (complete, holes))
    np.testing.assert_allclose(one.loadings, other.loadings)
    np.testing.assert_allclose(one.noise[1:], other.noise[1:])
    assert other.noise[0] == pytest.approx(one.noise[0] * (1 + 1 / 24) / (1 + 1 / 25))


def test_the_mean_of_models_has_the_mean_of_their_covariances():
    samples = samples_from(small_data(n=25))
    models = [predictive_model(samples, settled(samples, noise)) for noise in ("free", "shared")]
    wanted = sum(one.loadings @ one.loadings.T + np.diag(one.noise) for one in models) / 2
    np.testing.assert_allclose(averaged(models).covariance(), wanted, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(averaged(models[:1]).loadings, models[0].loadings)


@pytest.mark.parametrize("in_units_of_the_noise", [False, True])
def test_it_is_the_formula_to_the_last_digits(in_units_of_the_noise):
    samples = samples_from(small_data(n=25))
    state = settled(samples, "free")
    law, noise = state.law, state.noise.variance[0]
    variances = law.inclusion[0] * (law.slab_mean[0] ** 2 + law.slab_variance[0])
    variances = variances - law.mean[0] ** 2
    if in_units_of_the_noise:
        law = ScaleMixture.start("laplace", law.mean, state.noise.precision)
        state = update(samples, with_law(state, law), learn=False)
        law, noise = state.law, state.noise.variance[0]
        variances = law.covariance[0].diagonal(axis1=-2, axis2=-1).T * noise
    assert not np.allclose(noise, 1 / state.noise.precision[0], rtol=1e-3)
    expected = law.mean[0].T @ law.mean[0] + np.diag(noise + variances.sum(axis=0))
    found = predictive_model(samples, state).covariance()
    np.testing.assert_allclose(found, 26 / 25 * expected, rtol=1e-10)
