"""Means, variances and the choice of the route where numbers are awkward."""

from fractions import Fraction

import dask.array as da
import numpy as np
import pytest
from scipy import sparse

from loadstone.covariance import ExplicitCovariance, covariance_of, variances_of
from loadstone.covariance.containers import rows_of
from loadstone.covariance.moments import constant_features
from loadstone.covariance.route import choose_route
from loadstone.estimators.reading import read


def exact_covariance(X):
    """The sample covariance in rational arithmetic, rounded once at the end."""
    columns = [[Fraction(float(v)) for v in column] for column in X.T]
    n = len(columns[0])
    centred = [[v - sum(column) / n for v in column] for column in columns]
    return np.array(
        [[float(sum(map(Fraction.__mul__, a, b)) / (n - 1)) for b in centred] for a in centred]
    )


@pytest.mark.parametrize("route", ["gram", "data"])
@pytest.mark.parametrize("offset", [0.0, 1e3, 1e6])
def test_digits_survive_a_large_mean(offset, route):
    X = np.random.default_rng(0).standard_normal((30, 5)) + offset
    S, moments = covariance_of(X, route=route)
    expected = exact_covariance(X)
    np.testing.assert_allclose(S @ np.eye(5), expected, rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(S.diagonal(), expected.diagonal(), rtol=1e-9)
    np.testing.assert_allclose(moments.mean, X.mean(axis=0), rtol=1e-14)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array, sparse.csc_array])
@pytest.mark.parametrize("route", ["gram", "data"])
@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("value", [0.1, 1 / 3, 1e5 + 0.7, 1e-7])
def test_a_constant_feature_has_no_variance_at_all(value, standardize, route, container):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((1001, 3))
    X[:, 1] = value
    weights = rng.uniform(0.5, 2, 1001)
    S, moments = covariance_of(
        container(X), route=route, standardize=standardize, sample_weight=weights
    )
    assert moments.constant.tolist() == [False, True, False]
    assert moments.variance[1] == 0.0
    assert S.diagonal()[1] == 0.0
    if standardize:
        assert moments.scale[1] == 1.0
        mean = weights @ X / weights.sum()
        variance = weights @ (X - mean) ** 2 / (weights.sum() - 1)
        np.testing.assert_allclose(moments.scale[[0, 2]], np.sqrt(variance[[0, 2]]), rtol=1e-10)
    everything = np.arange(3)
    assert np.isfinite(S.block(everything, everything)).all()
    # What is left of its covariances is rounding.
    np.testing.assert_allclose((S @ np.eye(3))[1, [0, 2]], 0, atol=1e-9 * max(1.0, value))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_large_constant_with_rounding_noise_counts_as_constant(dtype):
    eps = float(np.finfo(dtype).eps)
    X = np.random.default_rng(2).standard_normal((50, 2)).astype(dtype)
    # Every other value one rounding apart: no measurement, only how the number is written.
    X[:, 1] = 1e4 * (1 + eps * (np.arange(50) % 2))
    _, moments = covariance_of(X, route="data")
    assert moments.constant.tolist() == [False, True]


@pytest.mark.parametrize("route", ["gram", "data"])
def test_many_samples_of_a_feature_far_from_zero_are_not_called_constant(route):
    # Temperatures in kelvin that vary by hundredths: 280 roundings of single precision.
    X = np.random.default_rng(6).standard_normal((20_000, 3)) @ [[1, 0, 0.5], [0, 1, 0], [0, 0, 1]]
    X = (300 + 0.01 * X).astype(np.float32)
    S, moments = covariance_of(X, route=route)
    assert not moments.constant.any()
    exact = np.cov(X.T.astype(float))
    np.testing.assert_allclose(S @ np.eye(3, dtype=np.float32), exact, rtol=1e-4, atol=1e-8)


def test_a_small_feature_on_a_small_mean_is_not_constant():
    X = np.random.default_rng(3).standard_normal((50, 2)) * [1.0, 1e-12]
    _, moments = covariance_of(X)
    assert moments.constant.tolist() == [False, False]
    np.testing.assert_allclose(moments.variance, X.var(axis=0, ddof=1), rtol=1e-9)


def test_sparse_data_far_from_zero_has_nothing_to_be_told():
    X = np.random.default_rng(4).standard_normal((40, 3)) + 1e6
    for route in ("gram", "data"):
        reading = read(sparse.csr_array(X), route=route)
        assert reading.remarks == ()
        np.testing.assert_allclose(reading.S @ np.eye(3), np.cov(X.T), rtol=1e-6)


@pytest.mark.parametrize(
    ("shape", "n_products", "lazy", "expected"),
    [
        ((100, 90), 10, False, "gram"),
        ((100, 90), 9, False, "data"),
        ((100, 90), 1, True, "gram"),
        ((90, 90), 1000, False, "gram"),
        ((89, 90), 1000, False, "data"),
        ((89, 90), 1000, True, "wide"),
    ],
)
def test_the_rule_of_the_route(shape, n_products, lazy, expected):
    X = np.ones(shape)
    rows = rows_of(da.from_array(X, chunks=(50, -1)) if lazy else X)
    assert choose_route(rows, "auto", n_products) == expected
    assert choose_route(rows, "gram", n_products) == "gram"


def test_weights_are_numbers_of_samples():
    X = np.random.default_rng(5).standard_normal((12, 4))
    weights = np.arange(12.0) / 2
    mean = weights @ X / weights.sum()
    expected = (X - mean).T @ np.diag(weights) @ (X - mean) / (weights.sum() - 1)
    for route in ("gram", "data"):
        for container in (np.asarray, sparse.csr_array):
            S, _ = covariance_of(container(X), route=route, sample_weight=weights)
            np.testing.assert_allclose(S @ np.eye(4), expected, atol=1e-12)
            np.testing.assert_allclose(S.diagonal(), expected.diagonal(), atol=1e-12)
            assert S.n_samples == weights.sum()


@pytest.mark.parametrize(("dtype", "weight"), [("float32", 1e12), ("float64", 1e30)])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_rows_that_stand_for_very_many_samples_vary_all_the_same(container, dtype, weight):
    X = np.random.default_rng(5).standard_normal((12, 4)).astype(dtype)
    for route in ("gram", "data"):
        S, moments = covariance_of(container(X), route=route, sample_weight=np.full(12, weight))
        assert not moments.constant.any()
        np.testing.assert_allclose(S.diagonal(), X.var(axis=0), rtol=1e-5)


def test_a_product_with_few_rows_reads_them_alone():
    # A matrix that is not symmetric would show which way the gathered product goes.
    A = np.random.default_rng(6).standard_normal((40, 40))
    A = A + A.T
    W = np.zeros((40, 2))
    W[[3, 17]] = [[1.0, 2.0], [-1.0, 0.5]]
    np.testing.assert_allclose(ExplicitCovariance(A) @ W, A @ W, atol=1e-12)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("route", ["gram", "data"])
def test_a_feature_that_varies_only_in_rows_of_no_weight_is_constant(route, container):
    rng = np.random.default_rng(7)
    X = rng.standard_normal((30, 3))
    X[:, 1] = 0.1
    X[:10, 1] = 1e3 * rng.random(10)
    weights = np.r_[np.zeros(10), rng.uniform(0.5, 1.5, 20)]
    S, moments = covariance_of(container(X), route=route, sample_weight=weights)
    assert moments.mean[1] == pytest.approx(0.1, rel=1e-10)
    assert moments.constant.tolist() == [False, True, False]
    assert moments.variance[1] == 0.0
    assert S.diagonal()[1] == 0.0


CONTAINERS = {
    "dense": np.asarray,
    "csr": sparse.csr_array,
    "csc": sparse.csc_array,
    "dask": lambda X: da.from_array(X, chunks=(5, -1)),
}


@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("route", ["gram", "data"])
@pytest.mark.parametrize("container", CONTAINERS)
def test_every_member_is_the_weighted_formula(container, route, weighted, standardize):
    rng = np.random.default_rng(8)
    X = (rng.standard_normal((14, 9)) + 2) * (rng.random((14, 9)) < 0.7)
    weights = rng.uniform(0.2, 3, 14) if weighted else np.ones(14)
    n = weights.sum()
    Xc = X - weights @ X / n
    expected = sum(w * np.outer(x, x) for w, x in zip(weights, Xc, strict=True)) / (n - 1)
    if standardize:
        expected /= np.sqrt(np.outer(expected.diagonal(), expected.diagonal()))
    S, moments = covariance_of(
        CONTAINERS[container](X),
        route=route,
        standardize=standardize,
        sample_weight=weights if weighted else None,
    )
    W = rng.standard_normal((9, 2))
    few = np.zeros((9, 2))
    few[[2, 7]] = W[:2]
    np.testing.assert_allclose(S @ W, expected @ W, atol=1e-12)
    np.testing.assert_allclose(S @ few, expected @ few, atol=1e-12)
    np.testing.assert_allclose(S.diagonal(), expected.diagonal(), atol=1e-12)
    np.testing.assert_allclose(variances_of(S, W), np.diag(W.T @ expected @ W), atol=1e-11)
    rows, cols = np.array([1, 5]), np.array([0, 5, 8])
    np.testing.assert_allclose(S.block(rows, cols), expected[np.ix_(rows, cols)], atol=1e-12)
    np.testing.assert_allclose(S.block(cols, rows), expected[np.ix_(cols, rows)], atol=1e-12)
    np.testing.assert_allclose(
        S.restrict(cols) @ np.eye(3), expected[np.ix_(cols, cols)], atol=1e-12
    )
    np.testing.assert_allclose(moments.mean, weights @ X / n, rtol=1e-12)


def test_many_samples_do_not_make_a_feature_constant():
    # However many there are: a deviation of 1 beside a mean of 1e5 is no rounding.
    mean, variance = np.array([0.0, 1e5, 5.0]), np.array([1.0, 1.0, 0.0])
    constant = constant_features(mean, variance, np.dtype(np.float32))
    assert constant.tolist() == [False, False, True]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("ratio", [1e3, 1e6, 1e9])
def test_the_gram_matrix_of_sparse_data_keeps_its_digits_at_a_large_mean(ratio, weighted):
    from scipy import sparse

    from loadstone.covariance import covariance_of

    rng = np.random.default_rng(0)
    X = rng.standard_normal((50, 5))
    X[:, :3] += ratio * np.array([1, -1, 2])
    X[rng.random(50) < 0.6, 3] = 0
    X[7, 0] = 0 if ratio == 1e3 else X[7, 0]
    weights = rng.uniform(1, 2, 50) if weighted else np.ones(50)
    mean = weights @ X / weights.sum()
    expected = (X - mean).T * weights @ (X - mean) / (weights.sum() - 1)
    S, _ = covariance_of(sparse.csr_array(X), route="gram", sample_weight=weights)
    np.testing.assert_allclose(S.matrix, expected, rtol=1e-6, atol=1e-6 * np.abs(expected).max())


def test_explained_variance_stays_below_the_total_at_a_large_mean():
    from scipy import sparse

    from loadstone import ExactSparsePCA

    X = np.random.default_rng(0).standard_normal((60, 6)) + 1e8
    model = ExactSparsePCA(1, n_nonzero=2).fit(sparse.csr_array(X))
    dense = ExactSparsePCA(1, n_nonzero=2).fit(X)
    assert model.explained_variance_[0] <= X.var(axis=0, ddof=1).sum()
    np.testing.assert_allclose(model.explained_variance_, dense.explained_variance_, rtol=1e-6)


@pytest.mark.parametrize("route", ["gram", "data"])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_rows_of_weight_zero_do_not_count_however_far_they_are(container, route):
    X = np.random.default_rng(0).standard_normal((9, 4))
    weights = np.array([3.0, 0.5, 0, 1, 0, 1, 3, 3, 2])
    far = X.copy()
    far[weights == 0] = 1e9
    used = weights > 0
    expected = np.cov(X[used].T, aweights=weights[used], ddof=0) * weights.sum()
    S, moments = covariance_of(container(far), route=route, sample_weight=weights)
    np.testing.assert_allclose(
        S @ np.eye(4), expected / (weights.sum() - 1), rtol=1e-12, atol=1e-12
    )
    np.testing.assert_allclose(moments.mean, np.average(X[used], 0, weights[used]), rtol=1e-12)
