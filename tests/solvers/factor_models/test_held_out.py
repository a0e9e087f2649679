"""Numbers of components by held-out rows."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.stats import multivariate_normal

from loadstone.solvers.factor_model import FactorModel
from loadstone.solvers.factor_models.choice import SampleRows
from loadstone.solvers.factor_models.growth import Growth
from loadstone.solvers.factor_models.held_out import (
    _mean,
    held_out_likelihood,
    incomplete_folds,
    row_folds,
)
from loadstone.solvers.variational_bayes.missing import (
    IncompleteObservations,
    incomplete_observations,
)

WALK = Growth().models


def three_factors(seed, holes=0.0):
    rng = np.random.default_rng(seed)
    W = np.zeros((12, 3))
    W[:4, 0] = W[4:8, 1] = W[8:, 2] = 1.0
    X = rng.normal(size=(120, 3)) @ W.T + rng.normal(size=(120, 12)) + 5
    X[rng.random(X.shape) < holes] = np.nan
    return X


@pytest.mark.parametrize("holes", [0.0, 0.1])
def test_the_right_number_predicts_best(holes):
    X, rng = three_factors(0, holes), np.random.default_rng(0)
    if holes:
        folds = incomplete_folds(incomplete_observations(X, np.ones(len(X)))[0], 4, rng)
    else:
        folds = row_folds(X, 4, rng)
    found = held_out_likelihood(folds, WALK)
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
    assert held_out_likelihood(folds, WALK, max_components=2).table.size == 3
    assert held_out_likelihood(folds, WALK, on_size=lambda q, _: q == 1).table.size == 2


def test_densities_are_in_the_units_of_the_rows_and_sparse_rows_stay_sparse():
    X = three_factors(3) * np.linspace(1, 5, 12)
    X[:, 0] = np.where(np.arange(120) == 3, 1.0, 0.0)
    rng = np.random.default_rng(1)
    model = FactorModel(rng.normal(size=(12, 2)), rng.uniform(0.5, 2, 12))
    part = np.random.default_rng(0).permutation(120) % 3
    folds = [
        row_folds(Y, 3, np.random.default_rng(0), standardize=True)
        for Y in (X, sparse.csr_array(X))
    ]
    for k, (one, two) in enumerate(zip(*folds, strict=True)):
        train, test = X[part != k], X[part == k]
        varying = np.ptp(train, axis=0) > 0
        kept = FactorModel(model.loadings[varying], model.noise[varying])
        sd = train.std(axis=0, ddof=1)[varying]
        law = multivariate_normal(
            train.mean(axis=0)[varying], kept.covariance() * np.multiply.outer(sd, sd)
        )
        expected = law.logpdf(test[:, varying])
        assert one.train.n_features == varying.sum()
        for fold in (one, two):
            found = fold.densities(kept, np.zeros(varying.sum()))
            np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_weights_count_like_repetitions_of_rows_that_are_held_out_together():
    X = three_factors(4)
    weights = np.arange(120) % 3
    folds = row_folds(X, 3, np.random.default_rng(0), weights)
    assert sum(fold.weights.sum() for fold in folds) == weights.sum()
    assert sum(fold.weights.size for fold in folds) == 80
    model = FactorModel(np.zeros((12, 0)), 1.0)
    used = np.flatnonzero(weights > 0)
    part = np.random.default_rng(0).permutation(80) % 3
    for k, fold in enumerate(folds):
        train = used[part != k]
        assert fold.train.n_samples == weights[train].sum()
        mean = np.repeat(X[train], weights[train], axis=0).mean(axis=0)
        expected = multivariate_normal(mean, np.eye(12)).logpdf(X[used[part == k]])
        np.testing.assert_allclose(fold.densities(model, np.zeros(12)), expected, rtol=1e-9)


@pytest.mark.parametrize("holes", [False, True])
@pytest.mark.parametrize(("n_rows", "n_splits"), [(40, 2), (834, 1)])
def test_little_data_is_split_twice_and_rows_count_once(n_rows, n_splits, holes):
    rng = np.random.default_rng(0)
    X, weights = rng.normal(size=(n_rows, 12)), rng.uniform(1, 2, n_rows)
    incomplete = incomplete_observations(X, weights)[0] if holes else None
    rows = SampleRows(rows=X, weights=weights, holes=incomplete, standardize=False)
    folds = rows.folds(np.random.default_rng(1))
    assert len(folds) == 5 * n_splits
    assert sum(fold.weights.sum() for fold in folds) == pytest.approx(weights.sum())
    # The splits differ.
    firsts = {tuple(fold.weights[:3]) for fold in folds}
    assert len(firsts) == len(folds)
    # All that is fitted on keeps its weight.
    assert folds[0].train.n_samples == pytest.approx(
        weights.sum() - n_splits * folds[0].weights.sum()
    )


@pytest.mark.parametrize("holes", [False, True])
def test_a_row_without_which_nothing_varies_has_no_fold(holes):
    """All other rows are the same, so that no model fitted to them can say anything of it."""
    X = np.zeros((5, 4))
    X[2, :2] = 1.0
    rng = np.random.default_rng(0)
    if holes:
        folds = incomplete_folds(incomplete_observations(X, np.ones(5))[0], 5, rng)
    else:
        folds = row_folds(X, 5, rng)
    assert [fold.train.n_features for fold in folds] == [2] * 4
    assert np.isfinite(held_out_likelihood(folds, WALK).table["held_out"]).all()


def test_a_hole_does_not_make_a_feature_vary():
    X = three_factors(5)[:20]
    X[:, 0] = 2.0
    X[3, 0], X[7, 0] = 3.0, np.nan
    rows = incomplete_observations(X, np.ones(20))[0]
    folds = incomplete_folds(rows, 20, np.random.default_rng(0))
    left_out = np.random.default_rng(0).permutation(20)[3]
    sizes = [fold.train.n_features for fold in folds]
    assert sizes == [11 if k == left_out else 12 for k in range(20)]


def test_rows_that_vary_in_no_fold_are_refused_in_a_sentence():
    X = np.full((5, 5), np.nan)
    np.fill_diagonal(X, [1.0, 2.0, 3.0, 4.0, 5.0])
    X[0, 1] = 7.0
    holes = incomplete_observations(X, np.ones(5))[0]
    rows = SampleRows(rows=None, weights=None, holes=holes, standardize=False)
    rows_of_one = rows.folds(np.random.default_rng(0))
    assert all(fold.train.n_features == 1 for fold in rows_of_one)
    X[0, 1] = np.nan
    holes = IncompleteObservations(np.nan_to_num(X), np.eye(5), np.ones(5), 1.0)
    rows = SampleRows(rows=None, weights=None, holes=holes, standardize=False)
    with pytest.raises(ValueError, match="no feature has two different values"):
        rows.folds(np.random.default_rng(0))


def test_weights_count_like_repetitions_in_a_standard_error():
    rng = np.random.default_rng(2)
    values, times = rng.standard_normal(9) + 3, rng.integers(1, 5, 9)
    every = np.repeat(values, times)
    expected = every.mean(), every.std(ddof=1) / np.sqrt(every.size)
    assert _mean(values, times.astype(float)) == pytest.approx(expected)


def test_densities_of_rows_with_holes_are_those_of_what_was_seen():
    X = three_factors(6, holes=0.2)
    rows, means = incomplete_observations(X, np.ones(120))
    rng = np.random.default_rng(1)
    model = FactorModel(rng.normal(size=(12, 2)), rng.uniform(0.5, 2, 12))
    location, part = rng.normal(size=12), np.random.default_rng(0).permutation(120) % 3
    C = model.covariance()
    for k, fold in enumerate(incomplete_folds(rows, 3, np.random.default_rng(0))):
        mean = np.nanmean(X[part != k], axis=0) + location
        assert np.abs(mean - location - means).max() > 0.1
        expected = []
        for row in X[part == k]:
            seen = np.isfinite(row)
            law = multivariate_normal(mean[seen], C[np.ix_(seen, seen)])
            expected.append(law.logpdf(row[seen]))
        np.testing.assert_allclose(fold.densities(model, location), expected, rtol=1e-9)
