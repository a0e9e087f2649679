"""Standardising data with holes: the scale is that of the values observed."""

import numpy as np
import pytest

from loadstone import SparseProbabilisticPCA
from loadstone.datasets import load_mtcars


@pytest.fixture(scope="module")
def holes():
    X = load_mtcars().data.copy()
    X[np.random.default_rng(3).random(X.shape) < 0.1] = np.nan
    return X


def test_it_is_the_fit_of_columns_divided_by_their_deviation(holes):
    scaled = holes / np.nanstd(holes, axis=0, ddof=1)
    by_hand = SparseProbabilisticPCA(3).fit(scaled)
    model = SparseProbabilisticPCA(3, standardize=True).fit(holes)
    np.testing.assert_allclose(model.components_, by_hand.components_, atol=1e-8)


def test_units_do_not_matter(holes):
    units = np.logspace(-3, 3, holes.shape[1])
    model = SparseProbabilisticPCA(3, standardize=True).fit(holes)
    other = SparseProbabilisticPCA(3, standardize=True).fit(holes * units)
    np.testing.assert_allclose(other.components_, model.components_, atol=1e-8)
    filled = other.impute(holes * units) / units
    np.testing.assert_allclose(filled, model.impute(holes), rtol=1e-6)
