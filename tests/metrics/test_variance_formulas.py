"""Explained variance and criteria, from scores and regressions instead of covariances."""

import numpy as np
import pytest

from loadstone.covariance import covariance_of
from loadstone.metrics import (
    adjusted_variance,
    marginal_variance,
    regressed_variance,
    score_correlation,
    score_covariance,
    span_variance,
    total_variance,
)
from loadstone.metrics.information_criteria import bic, ebic, noise_model_deviance

X = np.random.default_rng(0).standard_normal((40, 7)) @ np.diag(np.geomspace(3, 0.3, 7))
XC = X - X.mean(axis=0)


@pytest.fixture(params=["gram", "data"])
def S(request):
    return covariance_of(X, route=request.param)[0]


@pytest.fixture
def W():
    W = np.random.default_rng(1).standard_normal((7, 3))
    return W / np.sqrt((W**2).sum(axis=0))


def test_scores_have_the_covariance_and_correlation_of_the_data(S, W):
    scores = XC @ W
    np.testing.assert_allclose(score_covariance(S, W), np.cov(scores.T), atol=1e-12)
    np.testing.assert_allclose(marginal_variance(S, W), scores.var(axis=0, ddof=1))
    np.testing.assert_allclose(score_correlation(S, W), np.corrcoef(scores.T), atol=1e-12)
    assert total_variance(S) == pytest.approx((XC**2).sum() / 39)


def test_a_component_without_variance_correlates_with_nothing():
    flat = X.copy()
    flat[:, 6] = 2.0
    S, _ = covariance_of(flat)
    R = score_correlation(S, np.eye(7)[:, [0, 6]])
    np.testing.assert_allclose(R, [[1.0, 0.0], [0.0, 0.0]], atol=1e-12)


def test_the_span_is_measured_by_the_projection_on_it(S, W):
    fit = (W @ np.linalg.lstsq(W, XC.T, rcond=None)[0]).T
    assert span_variance(S, W) == pytest.approx((fit**2).sum() / 39)
    assert span_variance(S, 3 * W) == pytest.approx((fit**2).sum() / 39)


@pytest.mark.parametrize("dependent", [False, True])
def test_adjusted_variance_is_what_regressions_on_earlier_scores_leave(S, W, dependent):
    if dependent:
        # A combination of the first two adds nothing, and the last one what it added before.
        W = np.column_stack([W[:, :2], W[:, 0] - 2 * W[:, 1], W[:, 2]])
    scores = XC @ W
    left = [
        t - earlier @ np.linalg.lstsq(earlier, t, rcond=1e-10)[0]
        for t, earlier in ((scores[:, j], scores[:, :j]) for j in range(W.shape[1]))
    ]
    expected = np.square(left).sum(axis=1) / 39
    np.testing.assert_allclose(adjusted_variance(S, W), expected, atol=1e-10)


def test_regression_on_the_scores_explains_what_least_squares_says(S, W):
    scores = XC @ W
    fit = scores @ np.linalg.lstsq(scores, XC, rcond=None)[0]
    assert regressed_variance(S, W) == pytest.approx((fit**2).sum() / 39)


def test_a_repeated_component_regresses_on_nothing_new(S, W):
    alone = regressed_variance(S, W[:, :2])
    again = np.column_stack([W[:, :2], W[:, 0] + 1e-15 * W[:, 1]])
    assert regressed_variance(S, again) == pytest.approx(alone, rel=1e-6)


def test_each_component_is_credited_with_what_is_new_however_little():
    """Variances fall by seven orders, and the last one still counts."""
    rng = np.random.default_rng(2)
    scales = np.geomspace(1, 1e-4, 5)
    data = np.linalg.qr(rng.standard_normal((50, 5)))[0] * scales
    data -= data.mean(axis=0)
    S, _ = covariance_of(data)
    W = np.eye(5)
    W[0, 1:] = 0.3
    W /= np.sqrt((W**2).sum(axis=0))
    scores = data @ W
    expected = []
    for j in range(5):
        before = scores[:, :j]
        rest = scores[:, j] - before @ np.linalg.lstsq(before, scores[:, j], rcond=None)[0]
        expected.append((rest**2).sum() / 49)
    np.testing.assert_allclose(adjusted_variance(S, W), expected, rtol=1e-5)


def test_criteria_are_their_formulas():
    assert bic(10.0, 6, 50.0) == pytest.approx(10.0 + 6 * np.log(50) / 50)
    paid = ebic(10.0, 6, 50.0, n_chosen=4, n_candidates=30, gamma=0.5)
    assert paid == pytest.approx(10.0 + 6 * np.log(50) / 50 + 2 * 0.5 * 4 * np.log(30) / 50)
    assert ebic(10.0, 0, 50.0, n_chosen=0, n_candidates=30) == 10.0


@pytest.mark.parametrize("r", [1, 3])
def test_the_deviance_is_that_of_the_dense_covariance(r):
    rng = np.random.default_rng(3)
    G, C = rng.standard_normal((7, r)), np.cov(X.T)
    omega = G @ G.T + 0.4 * np.eye(7)
    expected = np.trace(C @ np.linalg.inv(omega)) + np.linalg.slogdet(omega)[1]
    found = noise_model_deviance(np.trace(C), 7, G.T @ G, G.T @ C @ G, 0.4)
    assert found == pytest.approx(expected)
