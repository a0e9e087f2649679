"""Scale mixtures in noise units: monotone, free of units, and one class each."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from loadstone.covariance import covariance_of
from loadstone.datasets.make_sparse_factors import make_sparse_factors
from loadstone.solvers.factor_models import scale_mixture
from loadstone.solvers.factor_models.growth import Growth
from loadstone.solvers.factor_models.noise import NOISES, Noise
from loadstone.solvers.factor_models.samples import samples_of
from loadstone.solvers.factor_models.scale_mixture import ScaleMixture
from loadstone.solvers.factor_models.sparse_factors import SparseFactors
from loadstone.solvers.variational_bayes.missing import incomplete_observations
from loadstone.solvers.variational_bayes.priors import PRIORS
from small_factors import bounds_along, known_scores, samples_from, small_data


def bounds_of(samples, prior, noise, W, n_rounds, law_of=lambda law: law):
    state = Growth(noise).started(samples, W, samples.variance[None] / 2)
    law = law_of(ScaleMixture.start(prior, W, state.noise.precision))
    bounds, state = bounds_along(samples, replace(state, law=law), n_rounds)
    return bounds[:, 0], state


@pytest.mark.parametrize("holes", [0.0, 0.2])
@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("prior", PRIORS)
def test_the_bound_never_falls(prior, noise, holes):
    samples = samples_from(small_data(n=40, d=9, holes=holes))
    W = np.random.default_rng(1).normal(size=(1, 3, 9))
    bounds, _ = bounds_of(samples, prior, noise, W, 60)
    assert (np.diff(bounds) >= -1e-9 * np.abs(bounds[1:])).all()
    support = np.random.default_rng(2).random((1, 3, 9)) < 0.6
    pinned, state = bounds_of(samples, prior, noise, W, 40, lambda law: law.on_support(support))
    assert (np.diff(pinned) >= -1e-9 * np.abs(pinned[1:])).all()
    assert (state.law.mean[~support] == 0).all()


@pytest.mark.parametrize("prior", PRIORS)
def test_a_mask_of_ones_is_the_complete_path(prior):
    X = small_data(2, n=40, d=9)
    W = np.random.default_rng(0).normal(size=(1, 3, 9))
    rows = samples_of(incomplete_observations(X, np.ones(len(X)))[0])
    one, _ = bounds_of(samples_from(X), prior, "pooled", W, 30)
    two, _ = bounds_of(rows, prior, "pooled", W, 30)
    np.testing.assert_allclose(one, two, rtol=1e-10)


@pytest.mark.parametrize("prior", PRIORS)
def test_free_noise_does_not_see_units(prior):
    X = small_data(3, n=40, d=9)
    scale = np.exp(np.random.default_rng(1).normal(scale=2, size=9))
    W = np.random.default_rng(0).normal(size=(1, 2, 9))
    one, first = bounds_of(samples_from(X), prior, "free", W, 30)
    two, second = bounds_of(samples_from(X * scale), prior, "free", W * scale, 30)
    np.testing.assert_allclose(second.law.mean / scale, first.law.mean, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(two + len(X) * np.log(scale).sum(), one, rtol=1e-9)


def test_one_loading_and_its_noise_have_their_exact_posterior():
    # With scores and prior variance known, loading and noise are normal-gamma.
    rng = np.random.default_rng(3)
    x, z = rng.normal(size=9), 2.5
    t = 0.8 * x + 0.6 * rng.normal(size=9)
    scores = known_scores(x, t)
    law = ScaleMixture.start("jeffreys", np.full((1, 1, 1), np.sqrt(z)), np.ones((1, 1)))
    law = law.update(scores, Noise.start("free", np.ones((1, 1))))
    assert law.felt.item() == pytest.approx(z)
    terms = law.error_terms(scores, np.array([9.0]))
    noise = Noise.start("free", np.ones((1, 1))).update(terms, np.ones(1), learn=False)
    a0, b0 = 0.5, 0.5e-6

    def density(tau, power=0):
        """Marginal of the precision: the loading integrated out of a regression."""
        covariance = (z * np.outer(x, x) + np.eye(9)) / tau
        log_det = np.linalg.slogdet(covariance)[1]
        fit = -0.5 * (log_det + t @ np.linalg.solve(covariance, t))
        return tau**power * np.exp(fit + (a0 - 1) * np.log(tau) - b0 * tau)

    total = quad(density, 0, 60, epsrel=1e-10)[0]
    mean = quad(density, 0, 60, args=(1,), epsrel=1e-10)[0] / total
    assert noise.precision.item() == pytest.approx(mean, rel=1e-6)
    tau = 2.0
    slab = norm.pdf(np.linspace(-2, 3, 4001), scale=np.sqrt(z / tau))
    w = np.linspace(-2, 3, 4001)
    slab *= np.exp(norm.logpdf(t[:, None], w * x[:, None], 1 / np.sqrt(tau)).sum(axis=0))
    slab /= slab.sum()
    assert law.mean.item() == pytest.approx(w @ slab, rel=1e-6)
    assert law.covariance.item() / tau == pytest.approx((w - w @ slab) ** 2 @ slab, rel=1e-6)


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("standardize", [False, True])
def test_two_factors_are_found(prior, standardize):
    X, truth = make_sparse_factors(random_state=0)
    fit = SparseFactors(prior=prior)(covariance_of(X, standardize=standardize)[0])
    found = fit.model.loadings.T != 0
    assert found.shape == truth.shape
    order = np.argmax(np.abs(fit.model.loadings.T @ truth.T), axis=1)
    # The tails of Laplace are light, and its rule lets a weak loading in now and then.
    extra = int((found & ~(truth[order] != 0)).sum())
    assert extra <= (prior == "laplace")
    assert (found >= (truth[order] != 0)).all()
    assert fit.inclusion is None


def test_hyperparameters_can_be_held():
    X, _ = make_sparse_factors(random_state=2)
    solver = SparseFactors(prior="laplace", hyperparameters={"lam": 2.0})
    assert solver(covariance_of(X)[0]).hyperparameters["lam"] == 2.0


def test_a_fifth_prior_is_one_class(monkeypatch):
    @dataclass(frozen=True)
    class Ridge:
        """All loadings with one variance."""

        variance: float
        exact_zeros = False
        zero_term = 0.0
        warm_up = None

        @classmethod
        def start(cls, second):
            return cls(float(np.mean(second)))

        def expectations(self, second):
            variance = np.full_like(second, self.variance)
            return np.maximum(second, 0.0), 1.0 / variance

        def update_hyperparameters(self, variance, precision, fixed):
            return Ridge(float(np.mean(variance)))

        def bound_term(self, second):
            return -0.5 * (np.log(2 * np.pi * self.variance) + second / self.variance)

    monkeypatch.setitem(scale_mixture.PRIORS, "ridge", Ridge)
    X, _ = make_sparse_factors(random_state=2)
    fit = SparseFactors(prior="ridge", refit=False)(covariance_of(X)[0])
    assert fit.model.n_components == 2
    assert (np.diff(fit.bounds) >= -1e-9 * np.abs(fit.bounds[1:])).all()
