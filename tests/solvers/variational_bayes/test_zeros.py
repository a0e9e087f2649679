"""Zero rules against brute evidence."""

import numpy as np
import pytest

from loadstone.solvers.variational_bayes.gaussian_rows import GaussianRows, gaussian_rows, pack
from loadstone.solvers.variational_bayes.start import probabilistic_start
from loadstone.solvers.variational_bayes.zeros import (
    inclusion_probability,
    kept_loadings,
    weakest_vanishing,
)
from loadstone.solvers.varimax import varimax


def log_evidence(S, D, cross, tau):
    """Log marginal likelihood of one row of a regression, up to a constant."""
    root = np.diag(np.sqrt(D))
    inner = np.eye(len(D)) + tau * root @ S @ root
    Sigma = root @ np.linalg.inv(inner) @ root
    return -0.5 * np.linalg.slogdet(inner)[1] + 0.5 * tau**2 * cross @ Sigma @ cross


def rows_problem(seed=0, d=60, q=4):
    rng = np.random.default_rng(seed)
    factor = rng.normal(size=(q, 25))
    S = factor @ factor.T
    D = rng.exponential(size=(d, q)) * 0.3
    cross = 8 * rng.normal(size=(d, q))
    return S, D, cross, gaussian_rows(pack(S)[:, None], D, cross, 1.3, keep_moments=False)


def test_removed_loadings_raise_the_evidence_most():
    S, D, cross, rows = rows_problem()
    marked = weakest_vanishing(rows, D)
    assert 0 < marked.sum() < len(D)
    for i in range(len(D)):
        changes = []
        vanishing = []
        for j in range(D.shape[1]):
            without = D[i].copy()
            without[j] = 0.0
            base = log_evidence(S, D[i], cross[i], 1.3)
            changes.append(log_evidence(S, without, cross[i], 1.3) - base)
            # Evidence falls with D_j from zero on: a tiny D_j is worse than none.
            tiny = without.copy()
            tiny[j] = 1e-7
            vanishing.append(log_evidence(S, tiny, cross[i], 1.3) < base + changes[-1])
        if marked[i].any():
            best = max((c for c, v in zip(changes, vanishing, strict=True) if v))
            assert changes[int(np.flatnonzero(marked[i])[0])] == pytest.approx(best, abs=1e-9)
            assert best > 0
        else:
            assert not any(vanishing)


def test_pinned_loadings_are_not_removed_again():
    S, D, cross, _ = rows_problem(1)
    D[:] = 0.0
    rows = gaussian_rows(pack(S)[:, None], D, cross, 1.0, keep_moments=False)
    assert not weakest_vanishing(rows, D).any()
    assert (inclusion_probability(rows, D) == 0).all()


def test_inclusion_is_the_evidence_ratio():
    S, D, cross, rows = rows_problem(2)
    probability = inclusion_probability(rows, D)
    for i, j in [(0, 0), (5, 2), (17, 3)]:
        without = D[i].copy()
        without[j] = 0.0
        gain = log_evidence(S, D[i], cross[i], 1.3) - log_evidence(S, without, cross[i], 1.3)
        assert probability[i, j] == pytest.approx(1 / (1 + np.exp(-gain)), rel=1e-8)


def fixed_rows(mean, sd):
    return GaussianRows(mean, sd**2, np.zeros(len(mean)), mean.T @ mean, None)


def test_zero_rule_counts_standard_deviations():
    mean = np.array([[3.0, 0.1], [-2.9, 0.0], [5.0, 0.2]])
    sd = np.ones((3, 2))
    support = kept_loadings(fixed_rows(mean, sd), 1e-6, 100.0, 2.95, 0.0)
    np.testing.assert_array_equal(support, [[True, False], [False, False], [True, False]])


def test_components_below_noise_are_dropped():
    mean = np.array([[1.0, 0.02], [1.0, 0.02]])
    sd = np.full((2, 2), 1e-3)
    rows = fixed_rows(mean, sd)
    np.testing.assert_array_equal(kept_loadings(rows, 1.0, 100.0, 3.0, None).any(axis=0), [1, 0])
    np.testing.assert_array_equal(kept_loadings(rows, 1.0, 100.0, 3.0, 0.0).any(axis=0), [1, 1])
    assert not kept_loadings(rows, 1.0, 100.0, 3.0, 5.0).any()


def test_varimax_recovers_a_rotated_simple_structure():
    rng = np.random.default_rng(0)
    W = np.kron(np.eye(3), np.ones((5, 1))) * (1 + rng.random((15, 1)))
    rotated = W @ np.linalg.qr(rng.normal(size=(3, 3)))[0]
    found = np.abs(varimax(rotated))
    assert np.sort(found, axis=1)[:, 1].max() < 0.05 * found.max()
    np.testing.assert_allclose(varimax(rotated) @ varimax(rotated).T, W @ W.T, atol=1e-10)


def test_start_is_finite_when_nothing_is_left_for_noise():
    W, noise = probabilistic_start(np.array([2.0, 1.0]), np.eye(2), 3.0, 2)
    assert noise > 0
    assert np.isfinite(W).all()
    assert (np.linalg.norm(W, axis=0) > 0).all()
