"""Adjusted variance against the QR of the scores it is defined by."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loadstone.covariance import ExplicitCovariance, covariance_of
from loadstone.metrics import (
    adjusted_variance,
    jaccard,
    marginal_variance,
    score_correlation,
    span_variance,
)
from loadstone.metrics.explained_variance import adds_from_scores


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


def test_adjusted_variance_of_orthogonal_loadings():
    rng = np.random.default_rng(4)
    X = rng.standard_normal((30, 5))
    W = rng.standard_normal((5, 3))
    W /= np.linalg.norm(W, axis=0)
    S = np.cov(X.T)
    # Gram-Schmidt by hand, one loading after another.
    expected, before = [], np.zeros((5, 0))
    for w in W.T:
        q = w - before @ (before.T @ w)
        q /= np.linalg.norm(q)
        expected.append(q @ S @ q)
        before = np.column_stack([before, q])
    found = adjusted_variance(ExplicitCovariance(S), W, method="loadings")
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    repeated = adjusted_variance(ExplicitCovariance(S), W[:, [0, 0]], method="loadings")
    assert repeated[1] == 0
    with pytest.raises(ValueError, match="'scores' or 'loadings'"):
        adjusted_variance(ExplicitCovariance(S), W, method="angles")


def test_jaccard_counts_features_in_both_and_in_either():
    assert jaccard([1, 0, -2.0, 0], [0.1, 0, 3, 0]) == 1
    assert jaccard([1, 0, 0], [0, 0, 2]) == 0
    assert jaccard([True, True, False], [True, False, True]) == pytest.approx(1 / 3)
    assert jaccard([0, 0], [0, 0]) == 1
    with pytest.raises(ValueError, match="same features"):
        jaccard([1, 0], [1, 0, 0])


def test_of_two_scores_that_nearly_agree_the_later_one_adds_nothing():
    S = ExplicitCovariance((np.eye(4) / 4).astype(np.float32))
    # The second is five times the first, which is short, and a little that rounding may have left.
    first, use, rest = 0.03, 5.0, 2e-5
    G = np.array([[first, use * first], [use * first, use**2 * first + rest]])
    assert adds_from_scores(S, G).tolist() == [True, False]
    apart = np.diag([first, use**2 * first])
    assert adds_from_scores(S, apart).tolist() == [True, True]
