"""SparseProbabilisticPCA with noise per feature and exact zeros, on factors that are known."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from loadstone import SparseProbabilisticPCA, load_model, save_model
from loadstone.datasets import make_sparse_factors

NEW = {"prior": "point_normal", "noise": "pooled"}


@pytest.fixture(scope="module")
def data():
    return make_sparse_factors(random_state=0)[0]


@pytest.mark.parametrize("noise", ["shared", "pooled", "free"])
@pytest.mark.parametrize("standardize", [False, True])
def test_both_factors_are_found_whatever_the_scale(data, noise, standardize):
    if noise == "shared" and standardize:
        # One noise variance is wrong once features are divided by their own scales.
        return
    model = SparseProbabilisticPCA(prior="point_normal", noise=noise, standardize=standardize)
    model.fit(data * np.linspace(1, 3, 10) if noise != "shared" else data)
    assert sorted(map(tuple, model.support_.tolist())) == sorted(
        [(True,) * 4 + (False,) * 6, (False,) * 4 + (True,) * 4 + (False,) * 2]
    )
    assert np.ndim(model.noise_variance_) == (0 if noise == "shared" else 1)
    assert np.all(np.diff(model.lower_bounds_) >= -1e-9 * np.abs(model.lower_bounds_[1:]))
    assert ((model.inclusion_ > 0.9) == model.support_).all()


@pytest.mark.parametrize("standardize", [False, True])
def test_densities_are_those_of_the_dense_gaussian(data, standardize):
    model = SparseProbabilisticPCA(**NEW, standardize=standardize).fit(data)
    W = model.predictive_loadings_.T
    scale = np.ones(10) if model.scale_ is None else model.scale_
    C = (W @ W.T + np.diag(model.predictive_noise_)) * np.outer(scale, scale)
    expected = multivariate_normal(model.mean_, C).logpdf(data)
    np.testing.assert_allclose(model.score_samples(data), expected, rtol=1e-9)
    np.testing.assert_allclose(model.get_covariance(), C)


def test_missing_values_are_imputed_by_the_model(data):
    rng = np.random.default_rng(0)
    holes = rng.random(data.shape) < 0.2
    model = SparseProbabilisticPCA(**NEW).fit(np.where(holes, np.nan, data))
    assert model.cardinality_.tolist() == [4, 4]
    error = np.sqrt(np.mean((model.impute(np.where(holes, np.nan, data)) - data)[holes] ** 2))
    # The noise has unit variance; the rest of the error is that of scores from fewer values.
    assert error < 1.3


def test_noise_alone_has_no_components():
    X = np.random.default_rng(1).standard_normal((100, 8))
    with pytest.warns(UserWarning, match="0 component"):
        model = SparseProbabilisticPCA(**NEW).fit(X)
    assert model.n_components_ == 0
    assert model.transform(X).shape == (100, 0)
    np.testing.assert_allclose(np.diag(model.get_covariance()), X.var(axis=0), rtol=0.3)


def test_a_vector_of_noise_is_saved(data, tmp_path):
    model = SparseProbabilisticPCA(**NEW).fit(data)
    again = load_model(save_model(model, tmp_path / "m.npz"))
    np.testing.assert_array_equal(again.noise_variance_, model.noise_variance_)
    np.testing.assert_array_equal(again.transform(data), model.transform(data))
    np.testing.assert_array_equal(again.score_samples(data), model.score_samples(data))


@pytest.mark.parametrize("seed", range(3))
def test_the_posterior_predicts_better_than_its_zeros(seed):
    # Weak loadings and few samples: much is not certain, and still worth something.
    rng = np.random.default_rng(seed)
    W = rng.normal(size=(3, 30)) * (rng.random((3, 30)) < 0.6)
    train, test = (rng.normal(size=(n, 3)) @ W + rng.normal(size=(n, 30)) for n in (40, 4000))
    model = SparseProbabilisticPCA(3).fit(train)
    W = model.components_.T * model.component_strength_
    shown = multivariate_normal(model.mean_, W @ W.T + np.diag(model.noise_variance_))
    assert model.score(test) > shown.logpdf(test).mean() + 0.1
