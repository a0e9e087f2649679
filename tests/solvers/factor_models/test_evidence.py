"""Evidence: against brute-force integration, and what it does for the law of new samples."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import gamma, multivariate_normal

from loadstone import SparseProbabilisticPCA
from loadstone.covariance import covariance_of
from loadstone.solvers.factor_models.evidence import _noise_prior, log_evidence
from loadstone.solvers.factor_models.information import information
from loadstone.solvers.factor_models.noise import ETA, Noise
from loadstone.solvers.factor_models.samples import samples_of
from loadstone.solvers.factor_models.size_search import Counter, search_any, search_sizes
from loadstone.solvers.factor_models.sparse_factors import SparseFactors
from loadstone.solvers.variational_bayes.missing import incomplete_observations


def one_factor(n=150):
    """A factor that all features have, so that one support has all of the weight."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(n, 1)) @ np.array([[2.0, 1.5, -1.8, 1.6]]) + rng.normal(size=(n, 4))
    return X - X.mean(axis=0)


def integrated(X, state, n_draws=20_000):
    """The evidence by importance sampling: every term of the model as it is written down."""
    law, noise = state.law, state.noise
    rng = np.random.default_rng(0)
    w, psi = law.mean[0, 0], 1.0 / noise.precision[0]
    a0, b0 = noise.shape[0], noise.shape[0] * noise.scale[0]
    chance, variance = noise.chance_apart[0, 0], np.square(X).mean(axis=0)
    kept = np.ones((1, w.size), dtype=bool)
    prior = np.concatenate([1.0 / (law.scale[0, 0] * psi), b0 / psi])
    spread = np.linalg.inv(information(w[None], psi, kept, len(X)) + np.diag(prior))
    guess = multivariate_normal(np.concatenate([w, np.log(psi)]), 1.3 * spread)
    draws = guess.rvs(n_draws, random_state=rng)
    scatter, weights = X.T @ X, []
    for draw in draws:
        v, psi = draw[: w.size], np.exp(draw[w.size :])
        C = np.outer(v, v) + np.diag(psi)
        value = -0.5 * len(X) * np.linalg.slogdet(2 * np.pi * C)[1]
        value -= 0.5 * np.trace(np.linalg.solve(C, scatter))
        scale = law.scale[0, 0] * psi
        value -= 0.5 * np.sum(np.log(2 * np.pi * scale) + v**2 / scale)
        # A precision is of the pool, or of a law of its own: densities of ln(1/psi).
        pool = gamma.logpdf(1 / psi, a0, scale=1 / b0) - np.log(psi)
        own = gamma.logpdf(1 / psi, 0.5, scale=2 / (ETA * variance)) - np.log(psi)
        value += np.sum(np.logaddexp(np.log(1 - chance) + pool, np.log(chance) + own))
        value -= ETA * np.sum(variance / psi)
        weights.append(value)
    value = logsumexp(np.array(weights) - guess.logpdf(draws)) - np.log(n_draws)
    return value + w.size * np.log(law.share[0, 0]) - np.log(np.log(1e10))


def test_evidence_is_the_integral_that_the_bound_is_below():
    X = one_factor()
    samples = samples_of(covariance_of(X)[0])
    state = search_any(SparseFactors().growth(), samples, Counter()).state
    assert state.n_components == 1
    assert (state.law.inclusion > 0.999).all()
    truth = integrated(X, state)
    value = log_evidence(samples, state)
    assert abs(value - truth) < 0.1
    assert state.bound[0] < truth - 0.5


@pytest.mark.parametrize("noise", ["free", "shared", "pooled"])
def test_a_mask_of_ones_has_the_evidence_of_complete_data(noise):
    X = one_factor()
    complete = samples_of(covariance_of(X)[0])
    state = SparseFactors(noise=noise).growth()
    state = search_any(state, complete, Counter()).state
    holes = samples_of(incomplete_observations(X, np.ones(len(X)))[0])
    np.testing.assert_allclose(
        log_evidence(holes, state), log_evidence(complete, state), rtol=1e-10
    )


def test_information_of_some_features_is_that_of_the_model_of_these():
    rng = np.random.default_rng(5)
    W, psi = rng.normal(size=(2, 6)), np.exp(rng.normal(size=6))
    kept, seen = rng.random((2, 6)) < 0.7, np.array([True, True, False, True, True, False])
    matrix = information(W * kept, psi, kept, 30.0, seen)
    part = information((W * kept)[:, seen], psi[seen], kept[:, seen], 30.0)
    there = np.concatenate([seen[np.nonzero(kept)[1]], seen])
    np.testing.assert_allclose(matrix[np.ix_(there, there)], part, rtol=1e-12)
    assert not matrix[~there].any()


def parts_of_a_whole(seed, n=120, d=7):
    """Parts that add up to nearly nothing, a fifth of them missing."""
    rng = np.random.default_rng(seed)
    X = np.abs(rng.normal(size=(n, d))) + 0.5 * rng.normal(size=(n, 2)) @ rng.normal(size=(2, d))
    X = X - X.mean(axis=0)
    X = X - X.mean(axis=1, keepdims=True) + 0.02 * rng.normal(size=(n, d))
    holes = rng.random(X.shape) < 0.2
    holes[np.arange(n), rng.integers(d, size=n)] = False
    return X, holes


def regressed(X, holes):
    """Holes as the covariance of the complete data has them: the best a linear guess can do."""
    C, filled = X.T @ X / len(X), X.copy()
    for row, gone in zip(filled, holes, strict=True):
        seen = ~gone
        row[gone] = C[np.ix_(gone, seen)] @ np.linalg.lstsq(C[np.ix_(seen, seen)], row[seen])[0]
    return filled


def test_parts_of_a_whole_are_imputed_by_what_they_add_up_to():
    # The bound stops at one or two components and leaves an error of 1.4 to 2 of the best one.
    for seed in (5, 8):
        X, holes = parts_of_a_whole(seed)
        model = SparseProbabilisticPCA(standardize=True).fit(np.where(holes, np.nan, X))
        error = np.linalg.norm((model.impute(np.where(holes, np.nan, X)) - X)[holes])
        assert error < 1.2 * np.linalg.norm((regressed(X, holes) - X)[holes])


def test_a_number_that_is_ordered_is_kept():
    X, holes = parts_of_a_whole(5)
    Y = np.where(holes, np.nan, X)
    assert len(SparseProbabilisticPCA(2, standardize=True).fit(Y).predictive_loadings_) == 2
    samples = samples_of(covariance_of(one_factor())[0])
    found = search_sizes(SparseFactors().growth(), samples, {1}, Counter())
    assert not found.predictors


@pytest.mark.parametrize("kind", ["free", "shared", "pooled"])
def test_the_law_of_the_noise_is_a_density_and_its_curvature_the_second_difference(kind):
    rng = np.random.default_rng(6)
    variance = rng.uniform(0.5, 2.0, 5)
    noise = replace(
        Noise.start(kind, np.ones((1, 5))), shape=np.array([3.0]), scale=np.array([0.7])
    )

    def density(log_tau):
        tau, apart = np.exp(log_tau), noise.chance_apart[0, 0]
        if kind == "shared":
            tau = tau[:1]
        unit = ETA * (variance.mean() if kind == "shared" else variance)
        own = gamma.logpdf(tau, 0.5, scale=2 / unit) + np.log(tau)
        if kind != "pooled":
            return own
        pool = gamma.logpdf(tau, 3.0, scale=1 / (3.0 * 0.7)) + np.log(tau)
        mixed = np.logaddexp(np.log1p(-apart) + pool, np.log(apart) + own)
        return mixed - unit * tau

    # Precisions at which features are of the pool, and others at which they stand apart.
    for log_tau in (np.zeros(5), np.full(5, 0.2 - np.log(ETA))):
        if kind != "shared":
            log_tau = log_tau + 0.1 * rng.standard_normal(5)
        value, curvature = _noise_prior(replace(noise, precision=np.exp(log_tau)[None]), variance)
        assert value == pytest.approx(density(log_tau).sum(), rel=1e-9)
        h = 1e-3
        second = density(log_tau + h) - 2 * density(log_tau) + density(log_tau - h)
        np.testing.assert_allclose(curvature, -second / h**2, rtol=1e-4, atol=1e-5)


def test_a_support_that_is_not_certain_has_the_evidence_of_all_others():
    X = one_factor()
    samples = samples_of(covariance_of(X)[0])
    state = search_any(SparseFactors().growth(), samples, Counter()).state

    def evidence(chance):
        law = replace(state.law, inclusion=np.array([[chance]]))
        return log_evidence(samples, replace(state, law=law))

    # Loadings of which some are in doubt: p(data) = p(data, support) / p(support | data).
    doubt = np.array([0.9, 1.0, 0.6, 0.75])
    assert evidence(doubt) - evidence(np.ones(4)) == pytest.approx(-np.log(doubt).sum())
