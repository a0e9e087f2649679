"""The Gaussian of the factor models against dense algebra."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from loadstone.solvers.factor_model import FactorModel

WIDTHS = (0, 1, 3)


def make_model(width: int, *, shared: bool, dtype: type = np.float64) -> FactorModel:
    rng = np.random.default_rng(width)
    W = rng.standard_normal((7, width)).astype(dtype)
    return FactorModel(W, 0.4 if shared else rng.uniform(0.2, 1.5, 7))


def dense(model: FactorModel) -> np.ndarray:
    W = model.loadings.astype(np.float64)
    return W @ W.T + np.diag(np.broadcast_to(model.noise_variance, W.shape[0]))


@pytest.fixture(params=[(w, s) for w in WIDTHS for s in (True, False)])
def model(request):
    width, shared = request.param
    return make_model(width, shared=shared)


def close(value, expected):
    np.testing.assert_allclose(
        value, expected, rtol=5e-15, atol=5e-15 * np.max(np.abs(expected), initial=0.0)
    )


def test_covariance_and_precision_are_the_dense_ones(model):
    C = dense(model)
    close(model.covariance(), C)
    close(model.precision(), np.linalg.inv(C))
    close(model.log_determinant(), np.linalg.slogdet(C)[1])


def test_scores_are_the_conditional_gaussian(model):
    W, C = model.loadings, dense(model)
    t = np.random.default_rng(5).standard_normal((4, 7))
    if W.shape[1]:
        close(t @ model.scores_matrix(), t @ np.linalg.solve(C, W))
        conditional = np.eye(W.shape[1]) - W.T @ np.linalg.solve(C, W)
        close(model.scores_std(), np.sqrt(np.diagonal(conditional)))
    assert (t @ model.scores_matrix()).shape == (4, W.shape[1])
    assert model.scores_std().shape == (W.shape[1],)


def test_log_density_is_that_of_the_dense_gaussian(model):
    t = np.random.default_rng(6).standard_normal((4, 7))
    squares = np.square(t) @ (1.0 / model.noise)
    value = model.log_density(squares, t @ model.scores_matrix())
    close(value, multivariate_normal(np.zeros(7), dense(model)).logpdf(t))


def test_holes_leave_their_features_out(model):
    rng = np.random.default_rng(7)
    W, C = model.loadings, dense(model)
    observed = rng.random((9, 7)) < 0.6
    observed[:, 0] |= ~observed.any(axis=1)
    observed[0] = True
    t = np.where(observed, rng.standard_normal((9, 7)), 0.0)
    scores = model.observed_scores(t, observed)
    values = model.observed_log_likelihood(t, observed)
    expected, means, variances, log_determinants = [], [], [], []
    for part, seen in zip(t, observed, strict=True):
        inner = C[np.ix_(seen, seen)]
        expected.append(multivariate_normal(np.zeros(seen.sum()), inner).logpdf(part[seen]))
        means.append(W[seen].T @ np.linalg.solve(inner, part[seen]))
        conditional = np.eye(W.shape[1]) - W[seen].T @ np.linalg.solve(inner, W[seen])
        variances.append(np.diagonal(conditional))
        log_determinants.append(np.linalg.slogdet(conditional)[1])
    close(values, np.array(expected))
    close(scores.mean, np.array(means))
    close(scores.variance, np.array(variances))
    close(scores.log_determinants, np.array(log_determinants))


def test_single_precision_loadings_are_worked_on_in_double(model):
    single = FactorModel(model.loadings.astype(np.float32), model.noise_variance)
    double = FactorModel(single.loadings.astype(np.float64), model.noise_variance)
    np.testing.assert_array_equal(single.precision(), double.precision())
    assert single.covariance().dtype == np.float64


@pytest.mark.parametrize("make_rng", [np.random.default_rng, np.random.RandomState])
def test_samples_have_the_covariance_of_the_model(make_rng):
    model = make_model(2, shared=False)
    X = model.sample(make_rng(0), 100_000)
    C = dense(model)
    # An entry of the sample covariance has variance (C_ii C_jj + C_ij^2)/n.
    spread = np.sqrt((np.multiply.outer(np.diag(C), np.diag(C)) + C**2) / len(X))
    assert np.abs((X.T @ X / len(X) - C) / spread).max() < 5


def test_scores_of_samples_with_holes_keep_their_digits_where_noise_is_next_to_none():
    for seed in range(10):
        W, t = np.random.default_rng(seed).standard_normal((6, 5)), 1.3
        scores = FactorModel(W, 1e-7).observed_scores(t * np.eye(6), np.eye(6))
        # One value seen in each sample: t w / (psi + w'w).
        wanted = W * (t / (1e-7 + np.square(W).sum(axis=1)))[:, None]
        np.testing.assert_allclose(scores.mean @ W.T, wanted @ W.T, rtol=0, atol=1e-7)
