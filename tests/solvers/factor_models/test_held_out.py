"""Numbers of components by held-out rows."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from loadstone.solvers.factor_model import FactorModel
from loadstone.solvers.factor_models.held_out import held_out_likelihood, row_folds


def three_factors(seed, holes=0.0):
    rng = np.random.default_rng(seed)
    W = np.zeros((12, 3))
    W[:4, 0] = W[4:8, 1] = W[8:, 2] = 1.0
    X = rng.normal(size=(120, 3)) @ W.T + rng.normal(size=(120, 12)) + 5
    X[rng.random(X.shape) < holes] = np.nan
    return X


@pytest.mark.parametrize("holes", [0.0, 0.1])
def test_the_right_number_predicts_best(holes):
    found = held_out_likelihood(row_folds(three_factors(0, holes), 4, np.random.default_rng(0)))
    assert found.best == 3
    np.testing.assert_array_equal(found.table["n_components"], np.arange(6))
    assert (np.diff(found.table["held_out"][:4]) > 0.1).all()
    assert (found.table["standard_error"] > 0).all()


def test_densities_are_those_of_the_rows_left_out():
    X = three_factors(1)
    folds = row_folds(X, 3, np.random.default_rng(0))
    rng = np.random.default_rng(1)
    model = FactorModel(rng.normal(size=(12, 2)), rng.uniform(0.5, 2, 12))
    part = np.random.default_rng(0).permutation(len(X)) % 3
    for k, fold in enumerate(folds):
        train, test = X[part != k], X[part == k]
        assert fold.train.n_samples == len(train)
        expected = multivariate_normal(train.mean(axis=0), model.covariance()).logpdf(test)
        np.testing.assert_allclose(fold.densities(model, np.zeros(12)), expected, rtol=1e-10)


def test_a_size_can_end_the_walk():
    folds = row_folds(three_factors(2), 3, np.random.default_rng(0))
    assert held_out_likelihood(folds, max_components=2).table.size == 3
    assert held_out_likelihood(folds, on_size=lambda q, _: q == 1).table.size == 2
