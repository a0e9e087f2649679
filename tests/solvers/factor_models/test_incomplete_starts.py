"""Searches on incomplete data start from what was observed together."""

from itertools import islice

import numpy as np
import pytest

from loadstone import SparseNoisyPCA, SparseProbabilisticPCA
from loadstone.solvers.factor_models.growth import Growth
from loadstone.solvers.factor_models.samples import samples_of
from loadstone.solvers.factor_models.sparse_factors import SparseFactors
from loadstone.solvers.factor_models.starts import joint_start
from loadstone.solvers.variational_bayes.missing import incomplete_observations
from small_factors import samples_from


def factors(n, noise, seed=0, holes=0.0):
    """Two factors with three features each, of unit variance."""
    rng = np.random.default_rng(seed)
    W = np.kron(np.eye(2), np.ones((3, 1))) * np.sqrt(1 - noise)
    X = rng.normal(size=(n, 2)) @ W.T + np.sqrt(noise) * rng.normal(size=(n, 6))
    X[rng.random(X.shape) < holes] = np.nan
    return X, W


@pytest.mark.parametrize("holes", [0.0, 0.4])
def test_holes_do_not_pull_correlations_to_zero(holes):
    X, W = factors(3000, 0.2, holes=holes)
    loadings, noise = joint_start(samples_from(X), 2)
    found, true = loadings.T @ loadings, W @ W.T
    apart = ~np.eye(6, dtype=bool)
    np.testing.assert_allclose(found[apart], true[apart], atol=0.08)
    np.testing.assert_allclose(noise, 0.2, atol=0.08)


def test_features_that_never_meet_have_no_correlation():
    X, _ = factors(200, 0.2)
    X[::2, 0] = np.nan
    X[1::2, 1] = np.nan
    loadings, noise = joint_start(samples_from(X), 2)
    assert np.isfinite(loadings).all()
    assert (noise > 0).all()


def test_pooled_noise_is_no_worse_than_what_free_noise_finds():
    samples = samples_from(factors(80, 0.01, holes=0.15)[0])
    pooled, free = Growth("pooled"), Growth("free")
    one, other = (next(islice(g.sequence(samples), 2, None)) for g in (pooled, free))
    assert pooled.holds_back(samples, one)
    assert not free.holds_back(samples, other)
    # A mask of ones takes the way of complete data.
    whole = np.nan_to_num(samples.values)
    assert not pooled.holds_back(samples_of(incomplete_observations(whole, np.ones(80))[0]), one)
    rival = pooled._pooled(samples, other, None)
    assert rival.noise.kind == "pooled"
    assert one.bound[0] >= rival.bound[0] - 1e-6 * abs(rival.bound[0])


def composition(seed, n=150, d=7):
    """Shares of a whole, scaled, a fifth of them missing: ``d - 1`` dimensions and no noise."""
    rng = np.random.default_rng(seed)
    parts = rng.lognormal(size=(n, d), sigma=0.5) * np.array([8, 4, 3, 2, 1, 1, 1])
    X = parts / parts.sum(axis=1, keepdims=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    return X, np.where(rng.random(X.shape) < 0.2, np.nan, X)


def test_parts_of_a_whole_are_seen_through_holes():
    X, Y = composition(5)
    model = SparseProbabilisticPCA().fit(Y)
    assert model.n_components_ == 6
    # A part that is missing alone is what the others leave.
    alone = np.isnan(Y).sum(axis=1) == 1
    gone = np.isnan(Y) & alone[:, None]
    assert np.sqrt(np.mean((model.impute(Y) - X)[gone] ** 2)) < 0.2


def test_all_components_are_not_forced_on_factors_with_holes():
    X, _ = factors(200, 0.2, holes=0.2)
    assert SparseFactors()(incomplete_observations(X, np.ones(200))[0]).model.n_components == 2


@pytest.mark.parametrize("seed", [5, 6])
def test_the_l0_search_sees_parts_of_a_whole_through_holes(seed):
    # One component at a time it stopped at three of them, with an error as large as the data.
    X, Y = composition(seed)
    model = SparseNoisyPCA().fit(Y)
    assert model.n_components_ == 6
    alone = np.isnan(Y).sum(axis=1) == 1
    gone = np.isnan(Y) & alone[:, None]
    assert np.sqrt(np.mean((model.impute(Y) - X)[gone] ** 2)) < 0.02
