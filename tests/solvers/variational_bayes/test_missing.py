"""Missing values: imputation, weights, and the rows that hold nothing."""

import numpy as np
import pytest

from loadstone.datasets.make_sparse_factors import make_sparse_factors
from loadstone.solvers.variational_bayes.missing import incomplete_observations
from loadstone.solvers.variational_bayes.model import VariationalBayes


def with_holes(X, share, seed=0):
    rng = np.random.default_rng(seed)
    holes = rng.random(X.shape) < share
    Y = X.copy()
    Y[holes] = np.nan
    return Y, holes


def test_weights_count_like_repetitions():
    X, _ = make_sparse_factors(60, factor_std=(3.0, 2.0), random_state=0)
    X, _ = with_holes(X, 0.15)
    weights = np.random.default_rng(1).integers(1, 4, size=60)
    W = np.random.default_rng(2).normal(size=(10, 3))
    solver = VariationalBayes(max_iter=15, tol=0.0)
    weighted = solver(incomplete_observations(X, weights.astype(float))[0], W, 0.5)
    repeated = np.repeat(X, weights, axis=0)
    plain = solver(incomplete_observations(repeated, np.ones(len(repeated)))[0], W, 0.5)
    np.testing.assert_allclose(weighted.bounds, plain.bounds, rtol=1e-9)
    np.testing.assert_allclose(weighted.state.loadings.mean, plain.state.loadings.mean, atol=1e-8)


def test_centring_survives_large_means():
    X, _ = make_sparse_factors(50, factor_std=(3.0, 2.0), random_state=0)
    X, _ = with_holes(X, 0.2)
    observations, means = incomplete_observations(X + 1e8, np.ones(50))
    reference, reference_means = incomplete_observations(X, np.ones(50))
    np.testing.assert_allclose(means - 1e8, reference_means, atol=1e-6)
    np.testing.assert_allclose(observations.values, reference.values, atol=1e-6)
    assert (observations.values[np.isnan(X)] == 0).all()


def test_fewer_holes_impute_better_than_the_mean():
    X, _ = make_sparse_factors(random_state=11)
    Y, holes = with_holes(X, 0.2)
    observations, means = incomplete_observations(Y, np.ones(len(Y)))
    U, s, _ = np.linalg.svd(observations.values.T, full_matrices=False)
    posterior = VariationalBayes()(observations, U[:, :4] * s[:4] / 14.0, 0.1)
    state = posterior.state
    scores = observations.scores(state.loadings, state.noise_precision, state.location)
    fitted = scores.mean @ state.loadings.mean.T + state.location
    error = (fitted * observations.unit + means - X)[holes]
    assert np.sqrt(np.mean(error**2)) < 1.4
    assert np.sqrt(np.mean((means - X)[holes] ** 2)) > 5 * np.sqrt(np.mean(error**2))


def test_constant_observed_values_are_refused():
    X = np.ones((6, 3))
    X[0, 0] = np.nan
    with pytest.raises(ValueError, match="constant"):
        incomplete_observations(X, np.ones(6))
