"""Adjusted variance against the QR of the scores it is defined by."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from loadstone.covariance import covariance_of
from loadstone.metrics import adjusted_variance, marginal_variance, score_correlation, span_variance


@given(seed=st.integers(0, 10_000), m=st.integers(1, 6))
@settings(max_examples=40, deadline=None)
def test_adjusted_variance_is_the_qr_of_the_scores(seed, m):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((20, 8))
    W = rng.standard_normal((8, m))
    W /= np.linalg.norm(W, axis=0)
    S, _ = covariance_of(X)
    R = np.linalg.qr((X - X.mean(axis=0)) @ W)[1]
    np.testing.assert_allclose(adjusted_variance(S, W), np.diag(R) ** 2 / 19, rtol=1e-8)
    top = np.linalg.eigvalsh(np.cov(X.T))[::-1]
    assert (np.cumsum(adjusted_variance(S, W)) <= np.cumsum(top[:m]) * (1 + 1e-9)).all()
    assert span_variance(S, W) <= top[:m].sum() * (1 + 1e-9)
    np.testing.assert_allclose(np.diag(score_correlation(S, W)), 1)


def test_a_repeated_component_adds_nothing():
    X = np.random.default_rng(0).standard_normal((20, 5))
    S, _ = covariance_of(X)
    w = np.eye(5)[:, [0]]
    W = np.hstack([w, w, np.eye(5)[:, [1]]])
    adjusted = adjusted_variance(S, W)
    assert adjusted[1] < 1e-12
    assert adjusted[2] > 0
    np.testing.assert_allclose(marginal_variance(S, W)[:2], X[:, 0].var(ddof=1))
