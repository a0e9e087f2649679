"""Entries that the criterion is lower without."""

from __future__ import annotations

import numpy as np
import pytest

from loadstone.covariance import covariance_of
from loadstone.solvers.factor_models.samples import samples_of
from loadstone.solvers.l0_noise_descent import L0Descent
from loadstone.solvers.l0_noise_prune import doubtful_entries, pruned
from loadstone.solvers.l0_noise_search import L0Search


def overlapping(seed, n=200, d=30, r=5, k=6):
    rng = np.random.default_rng(seed)
    W = np.zeros((d, r))
    for j in range(r):
        W[rng.choice(d, k, replace=False), j] = rng.choice([-1, 1], k) * rng.uniform(1, 2, k)
    return rng.normal(size=(n, r)) @ W.T + rng.normal(size=(n, d)), W


@pytest.mark.parametrize("seed", [7018, 7020])
def test_a_search_ends_no_higher_than_the_truth(seed):
    """A superfluous entry stayed: with the scores fixed it looked worth its price."""
    X, W = overlapping(seed)
    S, _ = covariance_of(X)
    search = L0Search(noise="shared")
    fit, samples = search(S), samples_of(S)
    penalty = search.price(samples, 5)
    solver = L0Descent("shared", 1000, 1e-9)
    truth = solver(samples, penalty, W.T, samples.variance, keep=W.T != 0)
    assert fit.criterion <= truth.value + 1e-6
    assert (np.count_nonzero(fit.model.loadings, axis=0) == 6).all()


@pytest.mark.parametrize("kind", ["free", "shared"])
def test_what_is_left_out_lowers_the_criterion(kind):
    rng = np.random.default_rng(0)
    W = np.zeros((8, 2))
    W[:4, 0], W[4:, 1] = 1.5, 1.2
    X = rng.normal(size=(100, 2)) @ W.T + rng.normal(size=(100, 8))
    samples = samples_of(covariance_of(X)[0])
    solver, penalty = L0Descent(kind, 500, 1e-9), 0.12
    crowded = np.where(rng.random((2, 8)) < 0.5, 0.3, 0.0) + W.T
    start = solver(samples, penalty, crowded, samples.variance / 2, keep=crowded != 0)
    found = pruned(solver, samples, penalty, start)
    assert found.value < start.value
    np.testing.assert_array_equal(found.point.G != 0, W.T != 0)
    # None of what is left goes without a loss: by brute force over all single entries.
    for entry in zip(*np.nonzero(found.point.G), strict=True):
        G = found.point.G.copy()
        G[entry] = 0.0
        rival = solver(samples, penalty, G, found.point.noise, keep=G != 0)
        assert rival.value > found.value - 1e-6


def test_a_component_keeps_two_features():
    rng = np.random.default_rng(1)
    samples = samples_of(covariance_of(rng.normal(size=(50, 5)))[0])
    G = np.array([[0.3, 0.2, 0.0, 0.0, 0.0], [0.0, 0.0, 0.3, 0.2, 0.1]])
    point = L0Descent("free")(samples, 10.0, G, samples.variance, keep=G != 0).point
    assert {j for j, _ in doubtful_entries(samples, 10.0, point)} <= {1}
