"""What other programs take: a covariance, and a PCA of scikit-learn with the same scores."""

import pickle  # noqa: TID251  people pickle estimators
from functools import cache

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.decomposition import PCA

from loadstone import SparsePCA
from registry import small_data, subjects

COMPONENTS = subjects("reconstruct")
#: Those that say what is outside of their span as well are tested with their formulas.
PROJECTIONS = [s for s in COMPONENTS if not hasattr(s.values[0], "score_samples")]
NAMES = [f"f{i}" for i in range(12)]
STANDARDIZE = pytest.mark.parametrize("standardize", [False, True])


def frame():
    return pd.DataFrame(small_data(), columns=NAMES)


@cache
def fitted(subject, standardize):
    return clone(subject).set_params(standardize=standardize).fit(frame())


@STANDARDIZE
@pytest.mark.parametrize("subject", COMPONENTS)
def test_a_plain_pca_gives_the_same_scores(subject, standardize):
    X = frame()
    model = fitted(subject, standardize)
    plain = pickle.loads(pickle.dumps(model.to_sklearn()))
    assert type(plain) is PCA
    np.testing.assert_allclose(plain.transform(X), model.transform(X), atol=1e-9)
    assert list(plain.feature_names_in_) == NAMES
    assert plain.get_feature_names_out().size == model.n_components_


@STANDARDIZE
@pytest.mark.parametrize("subject", PROJECTIONS)
def test_the_covariance_is_that_of_the_data_in_the_span(subject, standardize):
    X = small_data()
    model = fitted(subject, standardize)
    scale = X.std(axis=0, ddof=1) if standardize else np.ones(12)
    S = np.cov((X / scale).T)
    C = model.get_covariance() / np.outer(scale, scale)
    Q, _ = np.linalg.qr(model.components_.T)
    np.testing.assert_allclose(Q.T @ C @ Q, Q.T @ S @ Q, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(np.trace(C), np.trace(S))
    # Outside of it there is one variance, and nothing is correlated with the inside.
    rest = np.eye(12) - Q @ Q.T
    level = np.trace(rest @ C @ rest) / (12 - Q.shape[1])
    np.testing.assert_allclose(rest @ C, level * rest, atol=1e-9 * abs(C).max())


def test_with_all_features_it_is_that_of_pca():
    X = small_data()
    sparse = SparsePCA(3, n_nonzero=None).fit(X)
    np.testing.assert_allclose(
        sparse.get_covariance(), PCA(3).fit(X).get_covariance(), atol=1e-6 * X.var()
    )
