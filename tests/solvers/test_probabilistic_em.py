"""Probabilistic PCA: EM against the closed form, and the factor model against dense algebra."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal
from sklearn.decomposition import PCA

from loadstone.covariance.route import covariance_of
from loadstone.loadings import Stop
from loadstone.solvers.factor_model import FactorModel
from loadstone.solvers.probabilistic_em import ProbabilisticEM, principal_axes
from loadstone.solvers.variational_bayes.missing import incomplete_observations


@pytest.fixture
def X():
    rng = np.random.default_rng(0)
    factors = rng.normal(size=(60, 3)) * [4.0, 2.5, 1.5]
    return factors @ np.linalg.qr(rng.normal(size=(8, 3)))[0].T + 0.5 * rng.normal(size=(60, 8)) + 5


def random_model(seed=0, d=8, q=3):
    return FactorModel(np.random.default_rng(seed).normal(size=(d, q)), 1.0)


def test_em_reaches_the_closed_form(X):
    fit = ProbabilisticEM(tol=1e-15)(covariance_of(X)[0], random_model())
    reference = PCA(3).fit(X)
    assert fit.stop is Stop.CONVERGED
    assert np.diff(fit.log_likelihoods).min() > -1e-9
    np.testing.assert_allclose(fit.model.covariance(), reference.get_covariance(), atol=1e-4)
    assert fit.model.noise_variance == pytest.approx(reference.noise_variance_, rel=1e-6)
    axes = principal_axes(fit.model.loadings)
    axes /= np.linalg.norm(axes, axis=0)
    overlap = np.abs(np.sum(axes * reference.components_.T, axis=0))
    np.testing.assert_allclose(overlap, 1.0, atol=1e-6)


def test_em_on_rows_without_holes_equals_em_on_the_covariance(X):
    observations, _ = incomplete_observations(X, np.ones(60))
    fit = ProbabilisticEM(tol=1e-15).fit_incomplete(observations, random_model())
    covariance = fit.model.covariance() * observations.unit**2
    np.testing.assert_allclose(covariance, PCA(3).fit(X).get_covariance(), atol=1e-4)


def test_em_is_monotone_with_holes_and_the_gradient_vanishes(X):
    X[np.random.default_rng(1).random(X.shape) < 0.2] = np.nan
    observations, _ = incomplete_observations(X, np.ones(60))
    fit = ProbabilisticEM(tol=1e-14, max_iter=3000).fit_incomplete(observations, random_model())
    assert np.diff(fit.log_likelihoods).min() > -1e-9
    ml = 59.0 / 60.0
    best = FactorModel(fit.model.loadings * np.sqrt(ml), fit.model.noise_variance * ml)
    residual = observations.values - observations.observed * fit.location
    top = best.observed_log_likelihood(residual, observations.observed).sum()
    rng = np.random.default_rng(2)
    for _ in range(20):
        other = FactorModel(
            best.loadings + 1e-3 * rng.normal(size=(8, 3)),
            best.noise_variance * np.exp(1e-3 * rng.normal()),
        )
        assert other.observed_log_likelihood(residual, observations.observed).sum() < top + 1e-4


def test_iteration_limit_is_reported(X):
    assert ProbabilisticEM(max_iter=2, tol=0.0)(covariance_of(X)[0], random_model()).stop is (
        Stop.MAX_ITER
    )


def test_factor_model_equals_dense_algebra(X):
    model = FactorModel(np.random.default_rng(3).normal(size=(8, 3)), 0.7)
    C = model.covariance()
    np.testing.assert_allclose(model.precision(), np.linalg.inv(C), atol=1e-12)
    T = X - X.mean(axis=0)
    scores = T @ model.scores_matrix()
    density = multivariate_normal(np.zeros(8), C)
    expected = density.logpdf(T)
    np.testing.assert_allclose(
        model.log_density((T**2).sum(axis=1) / 0.7, scores), expected, rtol=1e-12
    )
    np.testing.assert_allclose(
        model.observed_log_likelihood(T, np.ones_like(T)), expected, rtol=1e-12
    )
    observed = model.observed_scores(T, np.ones_like(T))
    np.testing.assert_allclose(observed.mean, scores, atol=1e-12)
    np.testing.assert_allclose(
        np.sqrt(observed.variance), np.broadcast_to(model.scores_std(), observed.variance.shape)
    )


def test_likelihood_of_holes_is_the_marginal_one():
    model = FactorModel(np.random.default_rng(3).normal(size=(5, 2)), 0.7)
    t = np.random.default_rng(4).normal(size=5)
    observed = np.array([True, False, True, True, False])
    values = np.where(observed, t, 0.0)[None]
    got = model.observed_log_likelihood(values, observed[None].astype(float))[0]
    C = model.covariance()[np.ix_(observed, observed)]
    assert got == pytest.approx(multivariate_normal(np.zeros(3), C).logpdf(t[observed]))
    W = model.loadings[observed]
    inner = np.linalg.inv(W.T @ W + 0.7 * np.eye(2))
    scores = model.observed_scores(values, observed[None].astype(float))
    np.testing.assert_allclose(scores.mean[0], inner @ W.T @ t[observed])
    np.testing.assert_allclose(scores.variance[0], 0.7 * np.diag(inner))


def test_directions_of_little_variance_do_not_drown_in_those_of_much():
    # From a random start all columns are nearly the same direction: their products lost the
    # digits of the others, the likelihood fell, and a run ended there.
    rng = np.random.default_rng(1)
    X = rng.normal(size=(20, 7)) * np.array([1e6, 1e3, 1e3, 1e2, 1e2, 1e1, 1.0])
    fit = ProbabilisticEM(max_iter=60, tol=0.0)(
        covariance_of(X)[0], FactorModel(rng.normal(size=(7, 4)) * 3e5, 1e4)
    )
    assert fit.n_iter == 60
    assert np.diff(fit.log_likelihoods).min() > 0
