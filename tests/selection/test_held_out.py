"""Recovered variance of held-out samples, against regressions written out."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.model_selection import KFold

from loadstone import (
    EMPCA,
    SparseNoisyPCA,
    SparsePCA,
    SparsePCACV,
    cross_validated_recovery,
)
from loadstone.constraints import Groups


def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 12)) * rng.uniform(1, 3, 12) + rng.normal(size=12)
    X[:, :6] += 2 * rng.normal(size=(40, 1))
    return X


@pytest.mark.parametrize("standardize", [False, True])
def test_it_is_the_mean_over_folds_of_what_a_regression_predicts(standardize):
    X = data()
    model = SparsePCA(2, n_nonzero=3, standardize=standardize).fit(X)
    expected = np.zeros((2, 2))
    for train, test in KFold(4, shuffle=True, random_state=0).split(X):
        mean = X[train].mean(axis=0)
        scale = X[train].std(axis=0, ddof=1) if standardize else 1.0
        A, Z = (X[train] - mean) / scale, (X[test] - mean) / scale
        ours = SparsePCA(2, n_nonzero=3, standardize=standardize).fit(X[train]).components_.T
        plain = np.linalg.svd(A, full_matrices=False)[2][:2].T
        for row, W in enumerate((ours, plain)):
            for j in (1, 2):
                B = np.linalg.lstsq(A @ W[:, :j], A, rcond=None)[0]
                lost = np.sum((Z - Z @ W[:, :j] @ B) ** 2) / np.sum(Z**2)
                expected[row, j - 1] += (1 - lost) / 4
    found = cross_validated_recovery(model, X)
    np.testing.assert_allclose(found.recovered, expected[0], rtol=1e-6)
    np.testing.assert_allclose(found.pca, expected[1], rtol=1e-5)


def test_sparse_rows_sizes_chosen_and_other_estimators():
    X = data()
    dense = cross_validated_recovery(EMPCA(2, n_nonzero=4).fit(X), X, cv=3)
    again = cross_validated_recovery(EMPCA(2, n_nonzero=4).fit(X), sparse.csr_array(X), cv=3)
    np.testing.assert_allclose(again.recovered, dense.recovered, rtol=1e-6)
    chosen = SparsePCA(2).fit(X)
    assert cross_validated_recovery(chosen, X).recovered.shape == (2,)


def test_the_model_is_left_as_it_is():
    X = data()
    model = SparsePCA(3, n_nonzero=4, certify="instant").fit(X)
    before = model.components_.copy()
    cross_validated_recovery(model, X, cv=KFold(2))
    np.testing.assert_array_equal(model.components_, before)


@pytest.mark.parametrize("route", ["auto", "data"])
@pytest.mark.parametrize("standardize", [False, True])
def test_cross_validation_says_it_of_the_size_it_chooses(route, standardize):
    X, folds = data(), KFold(4, shuffle=True, random_state=0)
    asked = {"n_nonzeros": [3], "standardize": standardize, "effort": "balanced"}
    model = SparsePCACV(2, cv=folds, route=route, **asked).fit(X)
    fixed = SparsePCA(2, n_nonzero=3, standardize=standardize).fit(X)
    found = cross_validated_recovery(fixed, X, cv=folds)
    assert model.cv_recovered_ratio_ == pytest.approx(found.recovered[-1], rel=1e-6)
    assert model.cv_pca_recovered_ratio_ == pytest.approx(found.pca[-1], rel=1e-5)


def test_a_constraint_says_the_size_itself():
    X = data()
    constraint = Groups(np.repeat([0, 1, 2], 4), n_groups=1, nonnegative=True)
    model = SparsePCA(2, constraint=constraint).fit(X)
    assert cross_validated_recovery(model, X, cv=2).recovered.shape == (2,)


def test_no_component_recovers_nothing():
    X = np.random.default_rng(3).normal(size=(80, 6))
    with pytest.warns(UserWarning, match="noise alone"):
        model = SparseNoisyPCA().fit(X)
    found = cross_validated_recovery(model, X)
    assert found.recovered.shape == found.pca.shape == (0,)
