"""Recovered variance against least squares by hand."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from loadstone.covariance import ExplicitCovariance, covariance_of
from loadstone.metrics import (
    held_out_recovery,
    recovered_from_scores,
    recovered_variance,
    regressed_variance,
)


def by_least_squares(Z, W):
    """Sum of squares of the fitted values, over n - 1, for the first 1, 2, ... scores."""
    fitted = []
    for j in range(1, W.shape[1] + 1):
        scores = Z @ W[:, :j]
        coefficients = np.linalg.lstsq(scores, Z, rcond=None)[0]
        fitted.append(np.sum((scores @ coefficients) ** 2) / (len(Z) - 1))
    return np.array(fitted)


@given(seed=st.integers(0, 10_000), m=st.integers(1, 6), wide=st.booleans())
@settings(max_examples=60, deadline=None)
def test_recovered_variance_is_that_of_the_fitted_values(seed, m, wide):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((9 if wide else 30, 12)) @ rng.standard_normal((12, 12))
    W = rng.standard_normal((12, m)) * (rng.random((12, m)) < 0.5)
    W[0] += 1
    S, _ = covariance_of(X)
    found = recovered_variance(S, W)
    np.testing.assert_allclose(found, by_least_squares(X - X.mean(axis=0), W), rtol=1e-7)
    top = np.linalg.eigvalsh(np.cov(X.T))[::-1]
    assert (found <= np.cumsum(top[:m]) * (1 + 1e-9)).all()
    assert found[-1] == pytest.approx(regressed_variance(S, W), rel=1e-7)


@pytest.mark.parametrize("route", ["gram", "data"])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_containers_and_precisions(container, route, dtype):
    X = np.random.default_rng(0).standard_normal((40, 8)).astype(dtype)
    S, _ = covariance_of(container(X), route=route, standardize=True)
    W = np.eye(8, 3, dtype=dtype)
    Z = (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)
    np.testing.assert_allclose(recovered_variance(S, W), by_least_squares(Z, W), rtol=1e-4)


def test_principal_components_recover_their_eigenvalues():
    X = np.random.default_rng(1).standard_normal((30, 7))
    S, _ = covariance_of(X)
    values, vectors = np.linalg.eigh(np.cov(X.T))
    found = recovered_variance(S, vectors[:, ::-1][:, :4])
    np.testing.assert_allclose(found, np.cumsum(values[::-1][:4]))


def test_a_repeated_or_empty_component_adds_nothing():
    X = np.random.default_rng(2).standard_normal((30, 5))
    X[:, 4] = 1
    S, _ = covariance_of(X)
    W = np.zeros((5, 4))
    W[0, 0] = W[0, 1] = W[4, 2] = W[1, 3] = 1
    found = recovered_variance(S, W)
    assert found[0] == found[1] == found[2] < found[3]


@pytest.mark.parametrize("m", [1, 3])
def test_held_out_recovery_is_the_error_of_predictions(m):
    rng = np.random.default_rng(3)
    X = rng.standard_normal((60, 3)) @ rng.standard_normal((3, 8)) + rng.standard_normal((60, 8))
    train, test = X[:40], X[40:]
    mean, scale = train.mean(axis=0), train.std(axis=0, ddof=1)
    A, Z = (train - mean) / scale, (test - mean) / scale
    W = rng.standard_normal((8, m))
    S_train, _ = covariance_of(train, standardize=True)

    class SecondMoment:
        """Of the test sample about the mean of the training sample."""

        n_samples, n_features, dtype = 20.0, 8, np.dtype(float)

        def __matmul__(self, V):
            return Z.T @ (Z @ V) / 19

        def diagonal(self):
            return np.sum(Z**2, axis=0) / 19

    expected = []
    for j in range(1, m + 1):
        B = np.linalg.lstsq(A @ W[:, :j], A, rcond=None)[0]
        expected.append(1 - np.sum((Z - Z @ W[:, :j] @ B) ** 2) / np.sum(Z**2))
    np.testing.assert_allclose(held_out_recovery(S_train, SecondMoment(), W), expected)


@pytest.mark.parametrize("seed", [10, 27, 46, 49, 58, *range(1000, 1020)])
def test_scores_that_nearly_repeat_others_are_not_credited_with_rounding(seed):
    rng = np.random.default_rng(seed)
    Z = rng.standard_normal((12, 5)) * 10.0 ** rng.uniform(-2, 2, 5)
    Z -= Z.mean(axis=0)
    W = np.zeros((5, 3))
    W[:, 0] = rng.standard_normal(5)
    W[:, 1:] = W[:, [0]] + 10.0 ** rng.uniform(-7, -3) * rng.standard_normal((5, 2))
    found = recovered_variance(ExplicitCovariance(Z.T @ Z / 11, 12.0), W)
    squares = np.linalg.svd(Z, compute_uv=False) ** 2 / 11
    assert (found <= np.cumsum(squares)[:3] * (1 + 1e-10)).all()
    assert (np.diff(found) >= 0).all()


def test_rounding_below_zero_recovers_nothing_in_silence():
    G, M = np.diag([1.0, 2.0]), np.diag([3.0, -1e-18])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_allclose(recovered_from_scores(G, M, 2e-16), [3.0, 3.0])
