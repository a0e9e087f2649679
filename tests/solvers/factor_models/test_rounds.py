"""Rounds of the point-normal model: equal to the dense oracle, monotone, and exact in an entry."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from loadstone.covariance import ExplicitCovariance, covariance_of
from loadstone.solvers.factor_models.growth import Growth
from loadstone.solvers.factor_models.noise import NOISES, Noise
from loadstone.solvers.factor_models.point_normal import PointNormal
from loadstone.solvers.factor_models.rounds import originals, picked, stacked
from loadstone.solvers.factor_models.samples import samples_of
from loadstone.solvers.variational_bayes.missing import incomplete_observations
from point_normal_oracle import DensePointNormal
from small_factors import bounds_along, known_scores, samples_from, small_data


def bounds_of(samples, noise, W, n_rounds, *, learn=True):
    state = Growth(noise).started(samples, W, np.tile(samples.variance / 2, (len(W), 1)))
    return bounds_along(samples, state, n_rounds, learn=learn)


@pytest.mark.parametrize("holes", [0.0, 0.25])
@pytest.mark.parametrize("noise", NOISES)
def test_rounds_equal_the_dense_oracle(noise, holes):
    X = small_data(holes=holes)
    samples = samples_from(X)
    W = np.random.default_rng(1).normal(size=(7, 3))
    oracle = DensePointNormal(X - np.nanmean(X, axis=0), W, samples.variance / 2, noise)
    bounds, state = bounds_of(samples, noise, W.T[None], 8, learn=False)
    np.testing.assert_allclose(bounds[:, 0], [oracle.round() for _ in range(8)], rtol=1e-11)
    np.testing.assert_allclose(state.law.mean[0].T, oracle.mean(), atol=1e-9)
    np.testing.assert_allclose(state.law.inclusion[0].T, oracle.P, atol=1e-9)
    np.testing.assert_allclose(state.noise.precision[0], oracle.tau, rtol=1e-9)
    np.testing.assert_allclose(state.location[0], oracle.m, atol=1e-9)


@pytest.mark.parametrize("holes", [0.0, 0.2])
@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("seed", range(3))
def test_the_bound_never_falls(noise, holes, seed):
    X = small_data(seed, n=40, d=12, holes=holes)
    W = np.random.default_rng(seed).normal(size=(2, 4, 12))
    bounds, _ = bounds_of(samples_from(X), noise, W, 80)
    assert (np.diff(bounds, axis=0) >= -1e-9 * np.abs(bounds[1:])).all()


@pytest.mark.parametrize("noise", NOISES)
def test_a_mask_of_ones_is_the_complete_path(noise):
    X = small_data(2, n=40)
    W = np.random.default_rng(0).normal(size=(1, 3, 7))
    rows = samples_of(incomplete_observations(X, np.ones(len(X)))[0])
    one, first = bounds_of(samples_from(X), noise, W, 40)
    two, second = bounds_of(rows, noise, W, 40)
    np.testing.assert_allclose(one, two, rtol=1e-10)
    np.testing.assert_allclose(first.law.mean, second.law.mean, atol=1e-10)


@pytest.mark.parametrize("route", ["gram", "data"])
def test_wide_data_gives_the_same_whichever_way_its_products_are_made(route):
    X = small_data(3, n=12, d=20)
    W = np.random.default_rng(0).normal(size=(2, 2, 20))
    S, _ = covariance_of(X, route=route)
    bounds, _ = bounds_of(samples_of(S), "pooled", W, 10)
    rows = samples_of(incomplete_observations(X, np.ones(len(X)))[0])
    np.testing.assert_allclose(bounds, bounds_of(rows, "pooled", W, 10)[0], rtol=1e-10)


def test_weights_count_like_repetitions():
    X = small_data(4, n=15, holes=0.15)
    weights = np.random.default_rng(0).integers(1, 4, size=15)
    W = np.random.default_rng(1).normal(size=(1, 2, 7))
    weighted = samples_of(incomplete_observations(X, weights.astype(float))[0])
    repeated = samples_from(np.repeat(X, weights, axis=0))
    one, two = (bounds_of(s, "pooled", W, 10)[0] for s in (weighted, repeated))
    np.testing.assert_allclose(one, two, rtol=1e-10)


def test_models_side_by_side_do_not_touch_each_other():
    samples = samples_from(small_data(5))
    W = np.random.default_rng(2).normal(size=(3, 2, 7))
    together, state = bounds_of(samples, "pooled", W, 12)
    for m in range(3):
        alone, single = bounds_of(samples, "pooled", W[[m]], 12)
        np.testing.assert_allclose(alone[:, 0], together[:, m], rtol=1e-12)
        np.testing.assert_allclose(picked(state, [m]).law.mean, single.law.mean, atol=1e-12)
    again = stacked([picked(state, [m]) for m in range(3)])
    np.testing.assert_array_equal(again.law.mean, state.law.mean)


@pytest.mark.parametrize("share", [0.1, 0.6])
def test_one_loading_has_its_exact_posterior(share):
    # With scores and noise known, the posterior of a loading is that of a regression slope.
    rng = np.random.default_rng(3)
    x, tau, scale = rng.normal(size=9), 1.7, 2.5
    t = 0.4 * x + rng.normal(size=9) / np.sqrt(tau)
    scores = known_scores(x, t)
    noise = Noise.start("free", np.full((1, 1), 1 / tau))
    law = PointNormal.start(np.zeros((1, 1, 1)), noise.precision)
    law = replace(law, share=np.full((1, 1), share), scale=np.full((1, 1), scale))
    found = law.update(scores, noise)

    def density(w, power=0):
        prior = norm.pdf(w, scale=np.sqrt(scale / tau))
        return w**power * prior * np.exp(norm.logpdf(t, w * x, 1 / np.sqrt(tau)).sum())

    slab = quad(density, -8, 8, epsabs=0, epsrel=1e-12)[0]
    spike = np.exp(norm.logpdf(t, 0, 1 / np.sqrt(tau)).sum())
    mean = quad(density, -8, 8, args=(1,), epsabs=0, epsrel=1e-12)[0] / slab
    square = quad(density, -8, 8, args=(2,), epsabs=0, epsrel=1e-12)[0] / slab
    assert found.inclusion.item() == pytest.approx(
        share * slab / (share * slab + (1 - share) * spike), rel=1e-8
    )
    assert found.slab_mean.item() == pytest.approx(mean, rel=1e-8)
    assert found.slab_variance.item() == pytest.approx(square - mean**2, rel=1e-6)


def test_pooled_noise_finds_shared_and_free_noise():
    rng = np.random.default_rng(0)
    for spread, check in ((0.0, lambda a: a > 50), (1.5, lambda a: a < 2)):
        X = rng.normal(size=(200, 30)) * np.exp(spread * rng.normal(size=30))
        state = Growth("pooled").empty(samples_from(X))
        assert check(float(state.noise.shape[0]))


def test_a_singular_matrix_of_single_precision_has_no_negative_variance():
    w = np.array([0.3, -1.2, 0.7, 2.1, 1e-4, 5.0], dtype=np.float32)
    S = ExplicitCovariance(np.outer(w, w), 15.0)
    assert np.linalg.eigvalsh(S.matrix.astype(float))[0] < 0
    samples = samples_of(S)
    assert np.linalg.eigvalsh(samples.matrix)[0] >= 0
    np.testing.assert_allclose(samples.matrix.diagonal(), samples.square)
    np.testing.assert_allclose(samples.matrix, 14 * S.matrix.astype(float), atol=1e-4)


def test_models_are_told_apart_whatever_the_units():
    X = small_data(5, n=60)
    W = np.zeros((3, 1, 7))
    W[0, 0, [0, 1, 2]] = W[1, 0, [0, 3, 4]] = 1.0
    W[2] = -W[0]
    for scale in (np.ones(7), np.array([1e6, 1, 1, 1, 1, 1, 1])):
        samples = samples_from(X * scale)
        state = Growth("free").started(samples, W * np.sqrt(samples.variance), np.ones((3, 7)))
        np.testing.assert_array_equal(originals(samples, state), [True, True, False])
