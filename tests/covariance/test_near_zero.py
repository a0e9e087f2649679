"""Rows far from zero keep their digits on the data route."""

import tempfile

import numpy as np
import pytest
from scipy import sparse

from loadstone import SparsePCA, cardinality_path
from loadstone.covariance import covariance_of


def mapped(X):
    with tempfile.TemporaryFile() as file:
        there = np.memmap(file, dtype=X.dtype, mode="w+", shape=X.shape)
    there[:] = X
    return there


def in_chunks(X):
    da = pytest.importorskip("dask.array", reason="needs dask: pip install 'loadstone[dask]'")
    return da.from_array(X, chunks=(2, 3))


CONTAINERS = {
    "dense": np.asarray,
    "csr": sparse.csr_array,
    "csc": sparse.csc_array,
    "memmap": mapped,
    "dask": in_chunks,
}


def data_far_away(dtype, offset, seed=0):
    """Values that are exact in ``dtype``, and their covariance in double precision."""
    rng = np.random.default_rng(seed)
    X = (rng.integers(-64, 65, size=(5, 8)) / 32 + offset).astype(dtype)
    Z = X.astype(np.float64) - X.astype(np.float64).mean(axis=0)
    return X, Z.T @ Z / 4


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize(
    ("dtype", "offset", "tol"),
    [("float32", 1e2, 1e-6), ("float32", 1e4, 1e-6), ("float64", 1e8, 1e-13)],
)
def test_products_keep_their_digits(container, dtype, offset, tol):
    X, expected = data_far_away(dtype, offset)
    S, moments = covariance_of(CONTAINERS[container](X), route="data")
    np.testing.assert_allclose(
        S @ np.eye(8, dtype=dtype), expected, rtol=0, atol=tol * expected.max()
    )
    np.testing.assert_allclose(moments.mean, X.astype(np.float64).mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(S.data_mean, moments.mean, rtol=1e-15)
    part = S.restrict(np.arange(1, 8))
    np.testing.assert_allclose(part.data_mean, moments.mean[1:], rtol=1e-15)


@pytest.mark.parametrize("container", CONTAINERS)
def test_a_large_constant_does_not_spoil_the_others(container):
    X = np.random.default_rng(1).standard_normal((5, 8))
    X[:, 3] = 1e12
    expected = np.cov(X.T)
    S, _ = covariance_of(CONTAINERS[container](X), route="data")
    product = S @ np.ones((8, 1))
    others = np.arange(8) != 3
    np.testing.assert_allclose(product[others, 0], expected.sum(axis=1)[others], rtol=1e-12)


@pytest.mark.parametrize("container", CONTAINERS)
def test_variance_stays_below_the_total_and_its_bound(container):
    X = np.array(
        [[9999.462, 10000.961, 9999.122, 9999.076], [9998.088, 10000.121, 9999.643, 9998.028]]
    )
    X = CONTAINERS[container](X.astype(np.float32))
    model = SparsePCA(1, n_nonzero=4, standardize=True).fit(X)
    assert model.explained_variance_[0] <= 4 * (1 + 1e-6)
    path = cardinality_path(X, [1, 2], certify="instant")
    assert (path.bounds >= path.values).all()


def test_rows_near_zero_are_not_copied():
    X = np.random.default_rng(0).standard_normal((5, 8)) + 3
    S, _ = covariance_of(X, route="data")
    assert S.rows.X is X
    assert S.origin is None


@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("container", CONTAINERS)
def test_rounding_of_a_constant_does_not_vary(container, standardize):
    # At 1e8 neighbours of single precision are 8 apart, and 1e-3 is what the others vary by.
    X = np.random.default_rng(2).standard_normal((6, 8)).astype(np.float32)
    X[:, :4] *= 1e-3
    X[:, 5] = 1e8 + 8 * np.arange(6)
    S, moments = covariance_of(CONTAINERS[container](X), route="data", standardize=standardize)
    assert moments.constant.tolist() == [j == 5 for j in range(8)]
    product = S @ np.eye(8, dtype=np.float32)
    assert not product[5].any()
    assert not product[:, 5].any()
    model = SparsePCA(2, n_nonzero=3, standardize=standardize, route="data")
    with pytest.warns(UserWarning, match="never selected: 5"):
        model.fit(CONTAINERS[container](X))
    assert not model.components_[:, 5].any()
    assert model.explained_variance_.sum() <= model.total_variance_ * (1 + 1e-6)
