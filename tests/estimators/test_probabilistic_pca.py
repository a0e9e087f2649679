"""ProbabilisticPCA equals scikit-learn's likelihood, and goes on where values are missing."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning

from loadstone import ProbabilisticPCA


@pytest.fixture
def X():
    return load_iris().data.copy()


@pytest.mark.parametrize("q", [1, 2, 3])
def test_model_equals_scikit_learn(X, q):
    model, reference = ProbabilisticPCA(q).fit(X), PCA(q).fit(X)
    assert model.score(X) == pytest.approx(reference.score(X), rel=1e-9)
    np.testing.assert_allclose(model.score_samples(X), reference.score_samples(X), rtol=1e-8)
    np.testing.assert_allclose(model.get_covariance(), reference.get_covariance(), atol=1e-9)
    np.testing.assert_allclose(model.get_precision(), reference.get_precision(), atol=1e-6)
    assert model.noise_variance_ == pytest.approx(reference.noise_variance_, rel=1e-8)
    np.testing.assert_allclose(np.abs(model.components_), np.abs(reference.components_), atol=1e-7)


def test_random_start_reaches_the_same_likelihood(X):
    model = ProbabilisticPCA(2, init="random", tol=1e-14).fit(X)
    assert model.score(X) == pytest.approx(PCA(2).fit(X).score(X), rel=1e-7)
    assert model.n_iter_ > 2
    assert np.diff(model.log_likelihoods_).min() > -1e-9


def test_missing_values_are_imputed_well(X):
    holes = np.random.default_rng(0).random(X.shape) < 0.1
    Y = X.copy()
    Y[holes] = np.nan
    model = ProbabilisticPCA(2).fit(Y)
    error = (model.impute(Y) - X)[holes]
    mean_error = (np.nanmean(Y, axis=0) - X)[holes]
    assert np.sqrt(np.mean(error**2)) < 0.5 * np.sqrt(np.mean(mean_error**2))
    assert np.diff(model.log_likelihoods_).min() > -1e-9
    np.testing.assert_allclose(model.mean_, X.mean(axis=0), atol=0.15)


def test_scores_are_shrunk_projections(X):
    model, reference = ProbabilisticPCA(2).fit(X), PCA(2).fit(X)
    projections = reference.transform(X)
    ratio = np.abs(model.transform(X) / projections)
    np.testing.assert_allclose(ratio, np.broadcast_to(ratio[0], ratio.shape), rtol=1e-6)
    back = model.inverse_transform(model.transform(X))
    assert np.linalg.norm(back - X) < 1.1 * np.linalg.norm(
        reference.inverse_transform(projections) - X
    )


def test_no_room_for_noise_is_refused(X):
    with pytest.raises(ValueError, match="leaves no noise"):
        ProbabilisticPCA(4).fit(X)
    assert ProbabilisticPCA().fit(X).n_components_ == 3


def test_iteration_limit_is_warned_of(X):
    X[0, 0] = np.nan
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        ProbabilisticPCA(2, max_iter=2, init="random").fit(X)


def test_data_of_rank_one_has_one_component_and_hardly_any_noise():
    X = np.outer(np.random.default_rng(0).normal(size=50), [1.0, 2.0, 3.0])
    for n_components in (None, 1):
        model = ProbabilisticPCA(n_components).fit(X)
        assert model.n_components_ == 1
        assert model.noise_variance_ < 1e-9 * X.var(axis=0).sum()
    with pytest.raises(ValueError, match="at most 1 component"):
        ProbabilisticPCA(2).fit(X)
