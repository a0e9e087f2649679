"""Information about loadings and noise: second derivatives, units, and who is told apart."""

import numpy as np
import pytest

from loadstone.covariance import covariance_of
from loadstone.solvers.factor_models.information import information, joint_variances
from loadstone.solvers.factor_models.samples import samples_of
from loadstone.solvers.factor_models.size_search import Counter, search_any
from loadstone.solvers.factor_models.sparse_factors import SparseFactors


def model(seed=0):
    rng = np.random.default_rng(seed)
    kept = rng.random((2, 5)) < 0.7
    return rng.normal(size=(2, 5)) * kept, np.exp(rng.normal(size=5)), kept


def test_information_is_the_curvature_of_the_expected_likelihood():
    W, psi, kept = model()
    truth = W.T @ W + np.diag(psi)
    n = np.count_nonzero(kept)

    def loss(x):
        G = np.zeros_like(W)
        G[kept] = x[:n]
        C = G.T @ G + np.diag(np.exp(x[n:]))
        return 0.5 * (np.linalg.slogdet(C)[1] + np.trace(np.linalg.solve(C, truth)))

    x, step = np.concatenate([W[kept], np.log(psi)]), 1e-3
    moves = step * np.eye(x.size)
    curvature = [
        [
            (loss(x + a + b) - loss(x + a - b) - loss(x - a + b) + loss(x - a - b)) / (4 * step**2)
            for a in moves
        ]
        for b in moves
    ]
    np.testing.assert_allclose(
        information(W, psi, kept, 70.0), 70 * np.array(curvature), rtol=2e-4, atol=2e-4
    )


def overlapping(seed, noise=1.0):
    rng = np.random.default_rng(seed)
    W = np.zeros((3, 15))
    for w in W:
        w[rng.choice(15, 5, replace=False)] = rng.choice([-1, 1], 5) * rng.uniform(1, 2, 5)
    return rng.normal(size=(150, 3)) @ W + noise * rng.normal(size=(150, 15))


def found(samples, noise="free"):
    growth = SparseFactors(noise=noise).growth()
    return search_any(growth, samples, Counter()).state


@pytest.mark.parametrize("noise", ["free", "shared", "pooled"])
def test_loadings_are_less_sure_when_others_may_answer(noise):
    samples = samples_of(covariance_of(overlapping(1, noise=2.0))[0])
    state = found(samples, noise)
    before, after = state.law.slab_variance[0], joint_variances(samples, state)
    there = state.law.inclusion[0] > 0.5
    np.testing.assert_array_equal(after[~there], before[~there])
    assert (after[there] >= before[there] * (1 - 1e-3)).all()
    assert (after[there] > before[there] * 1.1).any()


def test_variances_are_those_of_the_inverse_information():
    samples = samples_of(covariance_of(overlapping(1))[0])
    state = found(samples)
    law, tau = state.law, state.noise.precision[0]
    kept = law.inclusion[0] > 0.5
    matrix = information(law.mean[0] * kept, 1 / tau, kept, 150.0)
    component, feature = np.nonzero(kept)
    prior = [*(tau[feature] / law.scale[0][component]), *np.full(15, state.noise.shape[0])]
    expected = np.diagonal(np.linalg.inv(matrix + np.diag(prior)))[: kept.sum()]
    np.testing.assert_allclose(joint_variances(samples, state)[kept], expected, rtol=1e-9)


def test_factors_without_zeros_are_left_as_they_are():
    rng = np.random.default_rng(4)
    W = rng.normal(size=(1, 2, 8))
    samples = samples_of(covariance_of(rng.normal(size=(200, 8)))[0])
    state = SparseFactors().growth().started(samples, W, np.ones((1, 8)))
    np.testing.assert_array_equal(joint_variances(samples, state), np.zeros((2, 8)))
