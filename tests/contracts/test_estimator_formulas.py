"""What a fitted estimator computes, against formulas written out on dense matrices."""

from functools import cache

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.stats import multivariate_normal
from sklearn.base import clone

from registry import small_data, subjects

COMPONENTS = subjects("reconstruct")
MODELS = subjects("score_samples")
STANDARDIZE = pytest.mark.parametrize("standardize", [False, True])


@cache
def fitted(subject, standardize):
    return clone(subject).set_params(standardize=standardize).fit(small_data())


def moments(standardize):
    X = small_data()
    return X.mean(axis=0), X.std(axis=0, ddof=1) if standardize else np.ones(12)


def dense_model(model):
    """``W`` and the covariance of the noise model, in units of the scaled data."""
    W = model.components_.T * model.component_strength_
    return W, W @ W.T + np.diag(np.broadcast_to(model.noise_variance_, 12))


def dense_predictive(model):
    """The same of new samples, which a posterior describes by other loadings than are shown."""
    if "predictive_loadings_" not in vars(model):
        return dense_model(model)
    W = model.predictive_loadings_.T
    return W, W @ W.T + np.diag(np.broadcast_to(model.predictive_noise_, 12))


@STANDARDIZE
@pytest.mark.parametrize("subject", COMPONENTS)
def test_attributes_are_what_their_formulas_say(subject, standardize):
    model = fitted(subject, standardize)
    mean, scale = moments(standardize)
    Z = (small_data() - mean) / scale
    S, W = Z.T @ Z / 59, model.components_.T
    np.testing.assert_allclose(model.mean_, mean, rtol=1e-8)
    assert (model.scale_ is None) == (not standardize)
    if standardize:
        np.testing.assert_allclose(model.scale_, scale)
    np.testing.assert_allclose(np.linalg.norm(W, axis=0), 1)
    np.testing.assert_allclose(model.total_variance_, np.trace(S))
    np.testing.assert_allclose(model.marginal_variance_, np.diag(W.T @ S @ W))
    # Variance adjusted for earlier components: squared diagonal of the R of their scores.
    R = np.linalg.qr(Z @ W, mode="r")
    np.testing.assert_allclose(model.explained_variance_, np.diag(R) ** 2 / 59)
    np.testing.assert_allclose(
        model.explained_variance_ratio_, model.explained_variance_ / np.trace(S)
    )
    gram = np.abs(W.T @ W)
    np.testing.assert_allclose(
        model.orthogonality_violation_, gram - np.diag(np.diag(gram)), atol=1e-12
    )
    np.testing.assert_allclose(model.score_correlation_, np.corrcoef((Z @ W).T), atol=1e-9)
    np.testing.assert_array_equal(model.support_, W.T != 0)
    np.testing.assert_array_equal(model.cardinality_, np.count_nonzero(W, axis=0))
    assert model.n_components_ == W.shape[1]
    assert model.n_samples_ == 60
    assert model.n_features_in_ == 12


@STANDARDIZE
@pytest.mark.parametrize("subject", COMPONENTS)
def test_transform_and_the_way_back(subject, standardize):
    model = fitted(subject, standardize)
    mean, scale = moments(standardize)
    X = small_data(3)
    Z, W = (X - mean) / scale, model.components_.T
    # The closest points of the span, by least squares.
    closest = mean + scale * (W @ np.linalg.lstsq(W, Z.T, rcond=None)[0]).T
    np.testing.assert_allclose(model.reconstruct(X), closest, atol=1e-12)
    if hasattr(model, "noise_variance_"):
        G, C = dense_model(model)
        scores = Z @ np.linalg.solve(C, G)
        back = mean + scale * (scores @ G.T)
    else:
        scores, back = Z @ W, closest
    np.testing.assert_allclose(model.transform(X), scores, atol=1e-9)
    np.testing.assert_allclose(model.inverse_transform(scores), back, atol=1e-9)
    np.testing.assert_allclose(model.transform(X[4:5]), scores[4:5], atol=1e-9)
    np.testing.assert_allclose(
        clone(model).fit_transform(small_data()), model.transform(small_data()), atol=1e-9
    )


@STANDARDIZE
@pytest.mark.parametrize("subject", COMPONENTS)
def test_score(subject, standardize):
    model = fitted(subject, standardize)
    mean, scale = moments(standardize)
    X = small_data(3)
    if hasattr(model, "noise_variance_"):
        C = dense_predictive(model)[1] * np.outer(scale, scale)
        expected = multivariate_normal(mean, C).logpdf(X).mean()
    else:
        W, Z = model.components_.T, (X - mean) / scale
        error = Z.T - W @ np.linalg.lstsq(W, Z.T, rcond=None)[0]
        expected = 1 - np.sum(error**2) / np.sum(Z**2)
    assert model.score(X) == pytest.approx(expected, rel=1e-9)


@STANDARDIZE
@pytest.mark.parametrize("subject", MODELS)
def test_noise_models(subject, standardize):
    model = fitted(subject, standardize)
    mean, scale = moments(standardize)
    X = small_data(3)
    in_units = dense_predictive(model)[1] * np.outer(scale, scale)
    np.testing.assert_allclose(model.get_covariance(), in_units)
    np.testing.assert_allclose(model.get_precision(), np.linalg.inv(in_units), atol=1e-9)
    np.testing.assert_allclose(
        model.score_samples(X), multivariate_normal(mean, in_units).logpdf(X)
    )
    W, C = dense_model(model)
    M = np.eye(W.shape[1]) - W.T @ np.linalg.solve(C, W)
    np.testing.assert_allclose(model.latent_std(X), np.tile(np.sqrt(np.diag(M)), (60, 1)))
    # A missing value: everything conditional on the features that were seen.
    seen = np.arange(12) != 5
    holes = X[:3].copy()
    holes[:, 5] = np.nan
    Z = ((X[:3] - mean) / scale)[:, seen]
    z = Z @ np.linalg.solve(C[np.ix_(seen, seen)], W[seen])
    np.testing.assert_allclose(model.transform(holes), z, atol=1e-9)
    filled, C = X[:3].copy(), dense_predictive(model)[1]
    filled[:, 5] = mean[5] + scale[5] * (Z @ np.linalg.solve(C[np.ix_(seen, seen)], C[seen, 5]))
    np.testing.assert_allclose(model.impute(holes), filled)
    np.testing.assert_allclose(model.impute(np.ma.masked_array(X[:3], np.isnan(holes))), filled)
    with pytest.raises(TypeError, match="X is sparse"):
        model.impute(sparse.csr_array(X))
    np.testing.assert_allclose(
        model.score_samples(holes),
        multivariate_normal(mean[seen], in_units[np.ix_(seen, seen)]).logpdf(X[:3, seen]),
    )
    drawn = model.sample(40_000, random_state=0)
    assert np.abs(np.cov(drawn.T) - in_units).max() < 0.05 * in_units.max()


@pytest.mark.parametrize("subject", subjects("get_support"))
def test_a_selector_keeps_what_it_ranked(subject):
    model = fitted(subject, standardize=False)
    kept = np.sort(model.ranking_)
    assert model.n_features_to_select_ == kept.size == 5
    np.testing.assert_array_equal(model.get_support(indices=True), kept)
    np.testing.assert_array_equal(model.transform(small_data(3)), small_data(3)[:, kept])
    assert (np.diff(model.scores_[model.ranking_]) <= 1e-12).all()


@pytest.mark.parametrize("subject", COMPONENTS)
def test_what_does_not_fit_is_refused_with_a_sentence(subject):
    model = fitted(subject, standardize=False)
    X = small_data()
    for method in ("transform", "reconstruct", "score"):
        with pytest.raises(ValueError, match=r"11 features, but .* 12"):
            getattr(model, method)(X[:, 1:])
        with pytest.raises(ValueError, match="2D array"):
            getattr(model, method)(X[0])
    n = model.n_components_
    with pytest.raises(ValueError, match=f"do not fit {n} component"):
        model.inverse_transform(np.zeros((3, n + 1)))


@pytest.mark.parametrize("subject", COMPONENTS)
def test_the_table_of_loadings_holds_all_of_them(subject):
    frame = pd.DataFrame(small_data(), columns=[f"f{i}" for i in range(12)])
    model = clone(subject).fit(frame)
    table = model.loadings_table()
    W = np.zeros_like(model.components_)
    numbers = sorted(table["component"].unique())
    for j, component in enumerate(numbers):
        part = table[table["component"] == component]
        assert (part["loading"].abs().diff().dropna() <= 0).all()
        W[j, frame.columns.get_indexer(part["feature"])] = part["loading"]
    np.testing.assert_array_equal(W, model.components_)
