"""Scores, reconstructions and likelihoods of every estimator, against dense formulas.

Means and standard deviations are computed here from the data, never read off the model.
"""

import inspect
from functools import cache

import numpy as np
import pytest
from scipy import sparse
from scipy.stats import multivariate_normal

from registry import containers, estimators

CONTAINERS = containers()
#: Settings that keep every fit small; only those an estimator knows are given to it.
SETTINGS = {"n_components": 2, "n_nonzero": 4, "n_nonzeros": [3, 5]}


def data():
    """Two groups of features with means and scales of their own, some cells exactly zero."""
    rng = np.random.default_rng(0)
    X = 0.4 * rng.standard_normal((80, 9))
    X[:, :4] += 3 * rng.standard_normal((80, 1))
    X[:, 4:8] += 2 * rng.standard_normal((80, 1))
    X = (X + rng.uniform(2, 6, 9)) * np.logspace(-1, 1, 9)
    X[rng.random(X.shape) < 0.05] = 0
    return X


@pytest.fixture(scope="module")
def X():
    return data()


@cache
def fitted(cls, standardize):
    known = inspect.signature(cls).parameters
    settings = {name: value for name, value in SETTINGS.items() if name in known}
    return cls(**settings, standardize=standardize).fit(data())


_WITH_COMPONENTS = [cls for cls in estimators() if cls.__name__ != "FeatureSelector"]
_WITH_LIKELIHOOD = [cls for cls in _WITH_COMPONENTS if hasattr(cls, "score_samples")]
_PROJECTIONS = [cls for cls in _WITH_COMPONENTS if cls not in _WITH_LIKELIHOOD]


@pytest.fixture(scope="module", params=[False, True], ids=["raw", "standardised"])
def standardize(request):
    return request.param


@pytest.fixture(scope="module", params=_WITH_COMPONENTS, ids=lambda cls: cls.__name__)
def model(request, standardize):
    return fitted(request.param, standardize)


@pytest.fixture(scope="module", params=_PROJECTIONS, ids=lambda cls: cls.__name__)
def projection(request, standardize):
    return fitted(request.param, standardize)


@pytest.fixture(scope="module", params=_WITH_LIKELIHOOD, ids=lambda cls: cls.__name__)
def likelihood(request, standardize):
    return fitted(request.param, standardize)


@pytest.fixture(scope="module")
def centred(X, standardize):
    """(X - mean) / scale with the divisor n - 1, by hand."""
    Xc = X - X.sum(axis=0) / 80
    return Xc / np.sqrt((Xc**2).sum(axis=0) / 79) if standardize else Xc


def model_loadings(model):
    """W of ``x = mean + W z + noise``: unit-norm components times their strength."""
    strength = vars(model).get("component_strength_", vars(model).get("loading_norms_"))
    return model.components_.T * strength


def expected_scores(model, centred):
    if "noise_variance_" not in vars(model):
        return centred @ model.components_.T
    # The posterior mean W'(WW' + noise I)^-1 x, without any identity that makes it cheap.
    W = model_loadings(model)
    C = W @ W.T + model.noise_variance_ * np.eye(W.shape[0])
    return centred @ np.linalg.solve(C, W)


def test_no_estimator_is_left_out():
    assert len(_WITH_COMPONENTS) == len(estimators()) - 1
    names = {cls.__name__ for cls in _WITH_LIKELIHOOD}
    assert names == {"ProbabilisticPCA", "SparseNoisyPCA", "SparseProbabilisticPCA"}
    for cls in _WITH_COMPONENTS:
        model = fitted(cls, standardize=True)
        assert ("noise_variance_" in vars(model)) == (cls in _WITH_LIKELIHOOD)


@pytest.mark.parametrize("container", ["c_order", "csr_array", "csc_array", "dask", "memmap"])
def test_scores_are_the_formula(model, X, centred, container, tmp_path):
    scores = np.asarray(model.transform(CONTAINERS[container](X, tmp_path)))
    expected = expected_scores(model, centred)
    np.testing.assert_allclose(scores, expected, atol=1e-9 * np.abs(expected).max())


def test_scores_of_single_precision(model, X, centred):
    scores = model.transform(X.astype(np.float32))
    expected = expected_scores(model, centred)
    np.testing.assert_allclose(scores, expected, atol=1e-4 * np.abs(expected).max())


def test_scores_of_other_data_use_the_old_mean_and_scale(model, X, centred):
    # Twice the data is the old centred data plus the mean once more.
    mean, std = X.mean(axis=0), X.std(axis=0, ddof=1)
    moved = 2 * centred + (mean / std if model.scale_ is not None else mean)
    expected = expected_scores(model, moved)
    scores = model.transform(sparse.csr_array(2 * X))
    np.testing.assert_allclose(scores, expected, atol=1e-9 * np.abs(expected).max())


def test_reconstruction_and_score_are_least_squares(projection, X, centred):
    W = projection.components_.T
    fit = (W @ np.linalg.lstsq(W, centred.T, rcond=None)[0]).T
    scale = X.std(axis=0, ddof=1) if projection.scale_ is not None else 1.0
    back = projection.inverse_transform(projection.transform(X))
    expected = fit * scale + X.mean(axis=0)
    np.testing.assert_allclose(back, expected, atol=1e-9 * np.abs(expected).max())
    share = 1 - ((centred - fit) ** 2).sum() / (centred**2).sum()
    assert projection.score(X) == pytest.approx(share, rel=1e-9)
    assert projection.score(sparse.csr_array(X)) == pytest.approx(share, rel=1e-9)


def test_likelihood_is_that_of_the_normal_distribution(likelihood, X):
    W, noise = model_loadings(likelihood), likelihood.noise_variance_
    if "predictive_loadings_" in vars(likelihood):
        W, noise = likelihood.predictive_loadings_.T, likelihood.predictive_noise_
    scale = X.std(axis=0, ddof=1) if likelihood.scale_ is not None else np.ones(9)
    C = np.outer(scale, scale) * (W @ W.T + noise * np.eye(9))
    expected = multivariate_normal(X.mean(axis=0), C).logpdf(X)
    np.testing.assert_allclose(likelihood.score_samples(X), expected, rtol=1e-8)
    np.testing.assert_allclose(likelihood.score_samples(sparse.csr_array(X)), expected, rtol=1e-8)
    assert likelihood.score(X) == pytest.approx(expected.mean(), rel=1e-8)
    np.testing.assert_allclose(likelihood.get_covariance(), C, atol=1e-9 * C.max())
    np.testing.assert_allclose(likelihood.get_precision() @ C, np.eye(9), atol=1e-8)


def test_variances_of_the_components_are_those_of_the_scores(model, centred):
    projected = centred @ model.components_.T
    np.testing.assert_allclose(model.marginal_variance_, projected.var(axis=0, ddof=1), rtol=1e-9)
    # The squared diagonal of R in the QR of the scores: what each adds to those before it.
    R = np.linalg.qr(projected)[1]
    np.testing.assert_allclose(model.explained_variance_, np.diag(R) ** 2 / 79, rtol=1e-8)
    assert model.total_variance_ == pytest.approx((centred**2).sum() / 79, rel=1e-10)
