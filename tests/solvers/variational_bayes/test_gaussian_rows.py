"""The fused kernel against explicit inverses."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loadstone.solvers.variational_bayes.gaussian_rows import (
    gaussian_rows,
    pack,
    point_rows,
    unpack,
)


def dense_twin(second, D, cross, tau):
    """Covariances and means, one row after the other."""
    d, q = D.shape
    Sigma = np.zeros((d, q, q))
    for i in range(d):
        S = second[i % second.shape[0]]
        root = np.diag(np.sqrt(D[i]))
        Sigma[i] = root @ np.linalg.inv(np.eye(q) + tau * root @ S @ root) @ root
    return Sigma, tau * np.einsum("ijk,ik->ij", Sigma, cross)


def problem(seed, d, q, *, shared, zeros):
    rng = np.random.default_rng(seed)
    factors = rng.normal(size=(1 if shared else d, q, q + 2))
    second = factors @ factors.transpose(0, 2, 1)
    D = rng.exponential(size=(d, q))
    D[rng.random((d, q)) < zeros] = 0.0
    return second, D, rng.normal(size=(d, q)), 3.0


@settings(deadline=None, max_examples=40)
@given(
    seed=st.integers(0, 10**6),
    d=st.integers(1, 19),
    q=st.integers(1, 7),
    shared=st.booleans(),
    zeros=st.sampled_from([0.0, 0.4, 1.0]),
)
def test_kernel_equals_explicit_inverses(seed, d, q, shared, zeros):
    second, D, cross, tau = problem(seed, d, q, shared=shared, zeros=zeros)
    rows = gaussian_rows(pack(second), D, cross, tau, keep_moments=True)
    Sigma, mean = dense_twin(second, D, cross, tau)
    np.testing.assert_allclose(rows.mean, mean, atol=1e-12)
    np.testing.assert_allclose(rows.variance, np.einsum("ijj->ij", Sigma), atol=1e-12)
    moments = Sigma + mean[:, :, None] * mean[:, None, :]
    np.testing.assert_allclose(unpack(rows.moments), moments, atol=1e-12)
    np.testing.assert_allclose(rows.total, moments.sum(axis=0), atol=1e-11)
    for i in range(d):
        free = D[i] > 0
        expected = np.linalg.slogdet(Sigma[i][np.ix_(free, free)])[1]
        assert rows.log_determinants[i] == pytest.approx(expected, abs=1e-9)


def test_covariances_are_symmetric_positive_semi_definite():
    second, D, cross, tau = problem(3, 30, 6, shared=False, zeros=0.2)
    rows = gaussian_rows(pack(second), D * 1e6, cross, tau, keep_moments=True)
    Sigma = unpack(rows.moments) - rows.mean[:, :, None] * rows.mean[:, None, :]
    np.testing.assert_array_equal(Sigma, Sigma.transpose(0, 2, 1))
    assert np.linalg.eigvalsh(Sigma).min() > -1e-9 * np.abs(Sigma).max()


def test_moments_are_not_kept_unless_asked_for():
    second, D, cross, tau = problem(4, 20, 3, shared=True, zeros=0.0)
    assert gaussian_rows(pack(second), D, cross, tau, keep_moments=False).moments is None


@pytest.mark.parametrize("scale", [1e-150, 1e150])
def test_extreme_prior_variances_stay_finite(scale):
    second, D, cross, tau = problem(5, 9, 4, shared=True, zeros=0.0)
    rows = gaussian_rows(pack(second), D * scale, cross, tau, keep_moments=True)
    for values in (rows.mean, rows.variance, rows.log_determinants, rows.moments):
        assert np.isfinite(values).all()
    assert (rows.variance >= 0).all()


def test_point_rows_have_no_variance():
    W = np.random.default_rng(0).normal(size=(5, 3))
    rows = point_rows(W, keep_moments=True)
    np.testing.assert_allclose(unpack(rows.moments), W[:, :, None] * W[:, None, :])
    np.testing.assert_allclose(rows.second, W**2)
