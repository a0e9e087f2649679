"""Rotation steps: the promised gain is the gain of the bound, and mixed factors come apart."""

import numpy as np
import pytest

from loadstone.solvers.variational_bayes import rotation_kernels as kernels
from loadstone.solvers.variational_bayes.gaussian_rows import gaussian_rows, pack, unpack
from loadstone.solvers.variational_bayes.priors import PRIORS
from loadstone.solvers.variational_bayes.rotation import _tabulate, rotate

ALL_PRIORS = list(PRIORS)


def posterior(seed=0, d=40, q=4):
    rng = np.random.default_rng(seed)
    factor = rng.normal(size=(q, 30))
    scores = factor @ factor.T
    D = rng.exponential(size=(d, q))
    rows = gaussian_rows(
        pack(scores)[:, None], D, 20 * rng.normal(size=(d, q)), 1.0, keep_moments=True
    )
    return rows, scores


def part_of_bound(rows, scores, log_det_scores, n_samples, prior):
    """All terms of the lower bound that a map of the scores can change."""
    moments = unpack(rows.moments)
    Sigma = moments - rows.mean[:, :, None] * rows.mean[:, None, :]
    value = prior.bound_term(np.einsum("ijj->ij", moments)).sum()
    value += 0.5 * np.linalg.slogdet(Sigma)[1].sum()
    return value + 0.5 * n_samples * log_det_scores - 0.5 * np.trace(scores)


@pytest.mark.parametrize("name", ALL_PRIORS)
def test_gain_equals_the_change_of_the_bound(name):
    rows, scores = posterior()
    prior = PRIORS[name].start(rows.second)
    result = rotate(rows, scores, 30.0, prior, np.ones(4, dtype=bool))
    assert result.gain > 0
    moved = result.loadings
    M = np.linalg.lstsq(rows.mean, moved.mean, rcond=None)[0]
    np.testing.assert_allclose(rows.mean @ M, moved.mean, atol=1e-8)
    np.testing.assert_allclose(
        unpack(moved.moments), M.T @ unpack(rows.moments) @ M, atol=1e-6, rtol=1e-6
    )
    np.testing.assert_allclose(moved.total, M.T @ rows.total @ M, rtol=1e-6, atol=1e-6)
    back = np.linalg.inv(M)
    before = part_of_bound(rows, scores, 0.0, 30.0, prior)
    after = part_of_bound(moved, back @ scores @ back.T, -2 * np.linalg.slogdet(M)[1], 30.0, prior)
    assert result.gain == pytest.approx(after - before, rel=1e-6, abs=1e-6)
    np.testing.assert_allclose(
        moved.log_determinants - rows.log_determinants, 2 * np.linalg.slogdet(M)[1], atol=1e-10
    )


@pytest.mark.parametrize("name", ALL_PRIORS)
def test_a_rotated_simple_structure_is_found_again(name):
    rng = np.random.default_rng(1)
    W = np.zeros((40, 2))
    W[:20, 0] = 3 + rng.random(20)
    W[20:, 1] = 3 + rng.random(20)
    angle = 0.6
    G = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    scores = 100.0 * np.eye(2)
    D = np.full((40, 2), 1e6)
    rows = gaussian_rows(pack(scores)[:, None], D, 100.0 * W @ G, 1.0, keep_moments=True)
    prior = PRIORS[name].start(rows.second)
    for _ in range(8):
        result = rotate(rows, scores, 100.0, prior, np.ones(2, dtype=bool))
        rows = result.loadings
    largest = np.abs(rows.mean).max(axis=1)
    assert np.abs(rows.mean).min(axis=1).max() < 0.02 * largest.min()


def test_inactive_components_are_not_mixed():
    rows, scores = posterior()
    prior = PRIORS["laplace"].start(rows.second)
    active = np.array([True, True, False, False])
    moved = rotate(rows, scores, 30.0, prior, active).loadings.mean
    ratio = moved[:, 2:] / rows.mean[:, 2:]
    np.testing.assert_allclose(ratio, np.broadcast_to(ratio[0], ratio.shape), rtol=1e-10)


@pytest.mark.parametrize("name", ALL_PRIORS)
def test_table_follows_the_bound_term(name):
    second = np.random.default_rng(2).exponential(size=(200, 3))
    prior = PRIORS[name].start(second)
    table, base = _tabulate(prior, second, kernels.MANTISSA_BITS)
    flat = np.ascontiguousarray(second.ravel())
    exact = prior.bound_term(flat).sum()
    assert kernels.table_sum(flat, table, base) == pytest.approx(exact, abs=1e-3 * flat.size)


@pytest.mark.parametrize("kind", [kernels.ROTATE, kernels.SHEAR, kernels.RESCALE])
def test_search_along_one_direction_beats_a_fine_grid(kind):
    rows, scores = posterior(3)
    prior = PRIORS["inverse_gaussian"].start(rows.second)
    table, base = _tabulate(prior, rows.second, kernels.MANTISSA_BITS)
    moments = np.ascontiguousarray(np.moveaxis(unpack(rows.moments), 0, -1))
    score = np.array([scores[0, 0], scores[1, 1], scores[0, 1], 30.0])
    work = np.empty(2 * moments.shape[-1])
    data = (moments[0, 0], moments[1, 1], moments[0, 1], score, table, base, work)
    grid = np.linspace(-0.7, 0.7, 15)
    grid[7] = 0.0
    t = kernels.maximise(kind, grid, 14, *data)
    fine = [kernels.gain(kind, u, *data) for u in np.linspace(-0.7, 0.7, 1001)]
    assert kernels.gain(kind, t, *data) >= max(fine) - 0.01 * (max(fine) - min(fine))
