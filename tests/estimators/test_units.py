"""Data in mixed units: one warning, with the way out."""

import warnings

import numpy as np
import pytest
from scipy import sparse

from loadstone import (
    EMPCA,
    FeatureSelector,
    SampleCovariance,
    SparseNoisyPCA,
    SparsePCA,
    SparsePCACV,
    SparseProbabilisticPCA,
    cardinality_path,
)

MIXED = "differ by a factor of .* standardize=True .* standardize=False"


def data(factor):
    """Two features vary by one and the others by the square root of the factor."""
    rng = np.random.default_rng(0)
    Z = rng.standard_normal((50, 5))
    Z = (Z - Z.mean(axis=0)) / Z.std(axis=0, ddof=1)
    return Z * np.array([1.0, 1.0, 1.0, np.sqrt(factor), np.sqrt(factor)])


def said_by(fit):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fit()
    return [str(warning.message) for warning in caught]


@pytest.mark.parametrize(
    "fit",
    [
        lambda X: SparsePCA(2, n_nonzero=2).fit(X),
        lambda X: SparsePCA(1, n_nonzero=2).fit(sparse.csr_array(X)),
        lambda X: SparsePCA(1, n_nonzero=2).fit(SampleCovariance.of(X)),
        lambda X: SparsePCA(1, n_nonzero=2).fit_covariance(np.cov(X.T)),
        lambda X: SparsePCA(2).fit(X),
        lambda X: EMPCA(1, n_nonzero=2).fit(X),
        lambda X: SparsePCACV(1, n_nonzeros=[2, 5]).fit(X),
        lambda X: cardinality_path(X),
    ],
)
def test_said_once_and_only_of_units_that_differ_by_much(fit):
    (said,) = said_by(lambda: fit(data(2e4)))
    assert "factor of 2e+04" in said
    assert not said_by(lambda: fit(data(0.9e4)))


@pytest.mark.parametrize("standardize", [False, True])
def test_whoever_has_chosen_is_not_told(standardize):
    X = data(1e6)
    assert not said_by(lambda: SparsePCA(1, n_nonzero=2, standardize=standardize).fit(X))
    assert not said_by(lambda: cardinality_path(X, standardize=standardize))


@pytest.mark.parametrize(
    ("model", "n_said"),
    [
        (SparseProbabilisticPCA(1), 0),
        (SparseProbabilisticPCA(1, noise="free"), 0),
        (SparseProbabilisticPCA(1, noise="shared"), 1),
        (SparseNoisyPCA(1), 0),
        (SparseNoisyPCA(1, noise="shared"), 1),
    ],
)
def test_noise_of_their_own_keeps_features_from_deciding_for_others(model, n_said):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(60, 1)) * 3 + rng.normal(size=(60, 5))
    said = said_by(lambda: model.fit(X * [1, 1, 1, 1, 1e3]))
    assert sum("differ by a factor" in sentence for sentence in said) == n_said


def test_none_does_not_scale():
    X = data(1e6)
    with pytest.warns(UserWarning, match=MIXED):
        model = SparsePCA(1, n_nonzero=2).fit(X)
    np.testing.assert_array_equal(
        model.components_, SparsePCA(1, n_nonzero=2, standardize=False).fit(X).components_
    )
    assert model.scale_ is None


def test_selecting_features_is_about_their_scale():
    assert not said_by(lambda: FeatureSelector(2).fit(data(1e6)))


def test_a_constant_feature_is_in_no_unit():
    X = np.column_stack([data(1.0), np.ones(50)])
    assert said_by(lambda: SparsePCA(1, n_nonzero=2).fit(X)) == [
        "1 constant feature(s) are never selected: 5"
    ]
