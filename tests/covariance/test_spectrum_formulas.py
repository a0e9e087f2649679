"""Leading eigenpairs where the easy way fails: weights, low rank, clustered values."""

import tracemalloc

import numpy as np
import pytest
from scipy import sparse

from loadstone.covariance import LowRankCovariance, covariance_of, leading_eigenpairs
from loadstone.covariance.spectrum import N_BLOCKS, block_krylov


def assert_leading(S, expected, rank, tol):
    values, vectors = leading_eigenpairs(S, rank)
    top = np.linalg.eigvalsh(expected)[::-1][:rank]
    np.testing.assert_allclose(values, top, atol=tol * top[0])
    assert vectors.shape == (expected.shape[0], rank)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(rank), atol=100 * tol)
    np.testing.assert_allclose(expected @ vectors, vectors * values, atol=100 * tol * top[0])


@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("rank", [1, 4])
def test_weighted_wide_data(rank, standardize):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((10, 30)) * np.geomspace(3, 0.3, 10)[:, None] + 4
    weights = np.array([0.0, 1, 5, 0.25, 2, 7, 1, 3, 0.5, 1])
    mean = weights @ X / weights.sum()
    expected = (X - mean).T @ np.diag(weights) @ (X - mean) / (weights.sum() - 1)
    if standardize:
        std = np.sqrt(expected.diagonal())
        expected = expected / np.outer(std, std)
    S, _ = covariance_of(X, route="data", sample_weight=weights, standardize=standardize)
    assert_leading(S, expected, rank, 1e-10)


@pytest.mark.parametrize("rank", [3, 5, 9])
def test_more_pairs_than_the_data_has_directions(rank):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((8, 3)) @ rng.standard_normal((3, 40))
    S, _ = covariance_of(X, route="data")
    assert_leading(S, np.cov(X.T), rank, 1e-10)


@pytest.mark.parametrize("rank", [2, 6])
def test_padding_is_orthonormal_for_low_rank_covariances(rank):
    V = np.linalg.qr(np.random.default_rng(2).standard_normal((12, 2)))[0]
    values = np.array([2.0, 1.0])
    assert_leading(LowRankCovariance(V, values), (V * values) @ V.T, rank, 1e-10)


def spectrum(values, seed=3):
    Q = np.linalg.qr(np.random.default_rng(seed).standard_normal((len(values), len(values))))[0]
    return (Q * values) @ Q.T


@pytest.mark.parametrize("rank", [1, 3, 6])
def test_every_pair_that_is_asked_for_has_converged(rank):
    # The first pair stands far apart and converges long before those after it.
    values = np.concatenate([[100.0], np.linspace(3.0, 1.0, 299)])
    expected = spectrum(values)

    class Matrix:
        n_features, dtype = 300, np.dtype(np.float64)

        def __matmul__(self, W):
            return expected @ W

    found, vectors = block_krylov(Matrix(), rank, 1e-9)
    np.testing.assert_allclose(found, values[:rank], atol=1e-6)
    residual = np.linalg.norm(expected @ vectors - vectors * found, axis=0)
    assert residual.max() <= 1e-9 * 100 * 10


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_sparse_and_dense_data_have_the_same_spectrum(container):
    rng = np.random.default_rng(4)
    X = rng.standard_normal((60, 130)) * (rng.random((60, 130)) < 0.3)
    S, _ = covariance_of(container(X), route="data")
    assert_leading(S, np.cov(X.T), 4, 1e-9)


def test_a_krylov_basis_is_held_once():
    n = 4000
    variances = np.linspace(1.0, 2.0, n)

    class Diagonal:
        n_features, dtype = n, np.dtype(np.float64)

        def __matmul__(self, W):
            return variances[:, None] * W

    tracemalloc.start()
    block_krylov(Diagonal(), 1, max_passes=14)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # Basis and images of 13 blocks of 9 columns, and a few blocks beside them.
    assert peak <= 8 * n * 9 * (2 * N_BLOCKS + 8)
