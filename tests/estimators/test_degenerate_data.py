"""Data that vary less than they seem to."""

import warnings

import numpy as np
import pytest
from scipy import sparse

from loadstone import (
    EMPCA,
    ExactSparsePCA,
    SparsePCA,
    SparsePCACV,
    SparseProbabilisticPCA,
    certify,
)
from registry import sequential_estimators


@pytest.mark.parametrize("route", ["gram", "data"])
@pytest.mark.parametrize("constant", [0.1, 3.7, 1e6 + 0.3])
def test_constant_columns_of_sparse_data_are_never_selected(constant, route):
    D = np.c_[np.full(50, constant), np.arange(50) % 7, np.random.default_rng(0).random(50)]
    for X in (D, sparse.csr_array(D), sparse.csc_matrix(D)):
        with pytest.warns(UserWarning, match="1 constant feature"):
            model = SparsePCA(n_nonzero=2, standardize=True, route=route).fit(X)
        assert not model.support_[0, 0]
        assert model.scale_[0] == 1


def test_features_constant_on_the_weighted_rows_are_never_selected():
    X = np.random.default_rng(0).standard_normal((8, 4))
    X[:4, 1] = 0.3
    weights = np.array([3.0, 2, 1, 1, 0, 0, 0, 0])
    with pytest.warns(UserWarning, match="1 constant feature"):
        model = SparsePCA(n_nonzero=2, standardize=True).fit(X, sample_weight=weights)
    assert not model.support_[0, 1]


def test_one_weighted_row_is_no_sample():
    X = np.random.default_rng(0).standard_normal((6, 5))
    with pytest.raises(ValueError, match="single sample"):
        SparsePCA().fit(X, sample_weight=[5, 0, 0, 0, 0, 0])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(40, 6), (6, 10), (5, 3)])
def test_components_end_where_the_variance_does(shape, dtype):
    X = np.random.default_rng(0).standard_normal(shape).astype(dtype)
    with pytest.warns(UserWarning, match="fewer than asked for"):
        model = SparsePCA(12, n_nonzero=2, effort="fast").fit(X)
    tol = 1e-3 if dtype == np.float32 else 1e-8
    assert model.n_components_ <= 12
    assert model.explained_variance_ratio_.sum() <= 1 + tol
    assert model.score(X) <= 1 + tol
    scores = model.transform(X)
    again = model.transform(model.inverse_transform(scores).astype(dtype))
    np.testing.assert_allclose(again, scores, atol=tol)


def test_no_component_beyond_the_rank():
    X = np.random.default_rng(2).standard_normal((4, 6))
    with pytest.warns(UserWarning, match="no direction with any variance is left"):
        model = SparsePCA(7, n_nonzero=3, effort="fast").fit(X)
    assert model.n_components_ == 3
    assert (model.explained_variance_ratio_ > 1e-10).all()


def test_a_warm_start_notices_that_the_data_changed():
    X = np.random.default_rng(0).standard_normal((40, 8)) * np.arange(1, 9)
    model = EMPCA(n_nonzero=3, warm_start=True).fit(X)
    model.set_params(standardize=True).fit(X)
    fresh = EMPCA(n_nonzero=3, standardize=True).fit(X)
    np.testing.assert_allclose(model.components_, fresh.components_, atol=1e-8)
    model.fit(X[:, ::-1])
    fresh = EMPCA(n_nonzero=3, standardize=True).fit(X[:, ::-1])
    np.testing.assert_allclose(model.components_, fresh.components_, atol=1e-8)


def test_single_precision_says_when_it_runs_out_of_range():
    X = np.random.default_rng(0).standard_normal((50, 6)).astype(np.float32)
    with pytest.raises(ValueError, match="float32; rescale"):
        SparsePCA(n_nonzero=2).fit(X * np.float32(1e10))
    # Ordinary units, such as thousands, make no noise.
    assert SparsePCA(2, n_nonzero=3).fit(X * np.float32(1e5)).n_components_ == 2


@pytest.mark.parametrize("route", ["gram", "data"])
@pytest.mark.parametrize("size", [2, 5])
def test_a_weak_component_is_found_in_single_precision_too(route, size):
    # The third component has 9e-5 of the variance, far more than single precision rounds away.
    from sklearn.datasets import load_wine

    X = load_wine().data
    double = SparsePCA(3, n_nonzero=size, route=route).fit(X)
    single = SparsePCA(3, n_nonzero=size, route=route).fit(X.astype(np.float32))
    assert single.n_components_ == double.n_components_ == 3
    np.testing.assert_allclose(single.explained_variance_, double.explained_variance_, rtol=1e-2)


@pytest.mark.parametrize("cls", sequential_estimators())
def test_a_billion_components_are_as_many_as_there_can_be(cls):
    X = np.random.default_rng(0).standard_normal((30, 5))
    with pytest.warns(UserWarning, match="fewer than asked for"):
        model = cls(n_components=10**9, n_nonzero=2).fit(X)
    assert 1 <= model.n_components_ <= 5


@pytest.mark.parametrize("asked", [{"n_nonzero": "auto"}, {"n_components": 0.5, "n_nonzero": 2}])
def test_nothing_beside_a_forbidden_outlier_is_said_and_not_an_error(asked):
    X = np.random.default_rng(0).standard_normal((3, 8))
    X[0, 0] = 1e8
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = SparsePCA(forbidden=[0], standardize=False, **asked).fit(X)
    assert model.n_components_ == 0
    assert any("0 component" in str(w.message) for w in caught), caught


def beside_one_that_outweighs_them(n=8, d=4):
    """Features whose variance is rounding beside that of the first."""
    X = np.random.default_rng(0).standard_normal((n, d))
    X[:, 0] *= 1e8
    return X


@pytest.mark.parametrize(
    "model",
    [
        ExactSparsePCA(n_nonzero=1, forbidden=[0], standardize=False),
        SparsePCA(n_nonzero=1, forbidden=[0], standardize=False, certify="instant"),
    ],
    ids=lambda model: type(model).__name__,
)
def test_where_no_component_is_found_nothing_is_proven_of_all(model):
    with pytest.warns(UserWarning, match="0 component"):
        model.fit(beside_one_that_outweighs_them())
    assert model.components_.shape == (0, 4)
    assert "joint_certificate_" not in vars(model)


def test_nothing_to_certify_is_said():
    X = beside_one_that_outweighs_them()
    with pytest.raises(ValueError, match="no component was found to certify"):
        certify(X, n_nonzero=1, forbidden=[0])


@pytest.mark.parametrize("route", ["gram", "data"])
@pytest.mark.parametrize("objective", ["variance", "recovery"])
def test_folds_without_a_component_recover_nothing(objective, route):
    asked = {"n_nonzeros": [1, 2], "cv": 2, "forbidden": [0], "standardize": False}
    model = SparsePCACV(objective=objective, route=route, **asked)
    with pytest.warns(UserWarning, match="0 component"):
        model.fit(beside_one_that_outweighs_them(d=6))
    assert model.cv_recovered_ratio_ == model.cv_pca_recovered_ratio_ == 0


def test_a_fold_at_the_mean_of_the_others_has_nothing_to_recover():
    X = np.array([[1.0, 4.0], [2.0, 6.0], [3.0, 8.0]])
    model = SparsePCACV(n_nonzeros=[1], cv=3, standardize=False).fit(X)
    assert np.isfinite(model.cv_recovered_ratio_)


def test_a_component_that_its_noise_takes_over_is_not_returned():
    # In the last rounds the second component has one feature, whose noise explains it as well.
    X = np.array(
        [
            [-1.4, 0.94, -0.71, -1.2, 1.2],
            [-0.13, -0.4, 1.3, 1.7, -0.59],
            [1.2, -0.8, -0.29, -0.17, -0.75],
            [-0.29, 0.69, -0.39, -0.68, -0.75],
            [-1.5, -0.55, 0.55, -1.0, 1.5],
            [-0.098, 1.0, -0.14, -1.2, 1.5],
            [0.34, -0.86, -0.064, -1.7, 0.55],
            [-0.86, -0.14, 0.47, -0.81, 1.4],
            [-1.1, 0.95, -0.99, -1.0, 1.1],
            [-0.42, -1.6, 2.2, 0.88, 1.5],
        ]
    )
    weights = [2, 2, 0.5, 2, 3, 3, 0.5, 1, 2, 1]
    model = SparseProbabilisticPCA(2, inclusion_threshold=0.99)
    with pytest.warns(UserWarning, match="1 component"):
        model.fit(X * [1e-5, 1, 1, 1e-6, 1e6], sample_weight=weights)
    assert model.components_.any(axis=1).all()
    assert np.isfinite(model.components_).all()
    assert np.isfinite(model.components_std_).all()
