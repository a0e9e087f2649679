"""Thousands of features whose variances fall off: the best pair is known by trying all of them."""

import numpy as np
import pytest

from loadstone import SparsePCA

N_SAMPLES, N_FEATURES = 40, 4200


def raw(seed, *, falling):
    rng = np.random.default_rng(seed)
    factors = rng.standard_normal((N_SAMPLES, 6)) @ rng.standard_normal((6, N_FEATURES))
    X = factors + rng.standard_normal((N_SAMPLES, N_FEATURES))
    X = (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)
    # In no order of the features, so that the first ones are not the largest.
    return X * rng.permutation(np.arange(1, N_FEATURES + 1.0)) ** -0.7 if falling else X


def best_pair(X, *, nonnegative=False, forced=None, forbidden=()):
    """Largest eigenvalue of any 2 x 2 block of the covariance, by brute force."""
    Y = X - X.mean(axis=0)
    variance = np.sum(Y**2, axis=0) / (len(Y) - 1)
    allowed = np.setdiff1d(np.arange(X.shape[1]), forbidden)
    best = 0.0
    first = allowed if forced is None else np.array([forced])
    for rows in np.array_split(first, max(1, first.size // 500)):
        C = Y[:, rows].T @ Y[:, allowed] / (len(Y) - 1)
        a, b = variance[rows][:, None], variance[allowed][None, :]
        if nonnegative:
            # A pair of negative covariance is no better than its better half.
            C = np.maximum(C, 0)
        value = (a + b) / 2 + np.sqrt(((a - b) / 2) ** 2 + C**2)
        value[rows[:, None] == allowed[None, :]] = 0
        best = max(best, value.max())
    return best


def value_of(X, **kwargs):
    model = SparsePCA(n_nonzero=2, **kwargs).fit(X)
    assert np.count_nonzero(model.components_) <= 2
    w = model.components_[0]
    value = np.var(X @ w, ddof=1)
    assert model.marginal_variance_[0] == pytest.approx(value)
    return value, np.flatnonzero(w)


@pytest.mark.parametrize("nonnegative", [False, True])
@pytest.mark.parametrize("falling", [True, False])
def test_the_best_pair_is_found(nonnegative, falling):
    X = raw(0, falling=falling)
    value, _ = value_of(X, nonnegative=nonnegative)
    assert value == pytest.approx(best_pair(X, nonnegative=nonnegative), rel=1e-9)


@pytest.mark.parametrize("seed", [1, 2])
def test_a_forced_feature_of_small_variance_keeps_its_place(seed):
    X = raw(seed, falling=True)
    smallest = int(np.argmin(X.var(axis=0)))
    value, _ = value_of(X, forced=[smallest])
    assert value == pytest.approx(best_pair(X, forced=smallest), rel=1e-9)


@pytest.mark.parametrize("seed", [3, 4])
def test_forbidden_features_are_not_used_however_large(seed):
    X = raw(seed, falling=True)
    largest = np.argsort(-X.var(axis=0))[:3]
    value, support = value_of(X, forbidden=largest)
    assert not set(support) & set(largest)
    assert value == pytest.approx(best_pair(X, forbidden=largest), rel=1e-9)
