"""Thresholds, counts and starts of the l0 noise model, against the formulas of the paper."""

from itertools import product

import numpy as np
import pytest

from loadstone.covariance import covariance_of
from loadstone.solvers.l0_noise_model import L0NoiseModel, SecondMoment, _threshold_features
from loadstone.solvers.varimax import varimax


def deviance(C, loadings, noise):
    """tr(C Omega^-1) + ln|Omega| with Omega = GG' + noise I, dense."""
    omega = loadings @ loadings.T + noise * np.eye(C.shape[0])
    return np.trace(C @ np.linalg.inv(omega)) + np.linalg.slogdet(omega)[1]


@pytest.mark.parametrize("r", [1, 2, 4])
@pytest.mark.parametrize("seed", range(3))
def test_a_feature_stays_where_its_row_pays_for_all_components(seed, r):
    rng = np.random.default_rng(seed)
    root = rng.standard_normal((r, r))
    A, B = root @ root.T + np.eye(r), rng.standard_normal((60, r))
    level = 0.4
    found = _threshold_features(A, B, level)
    for g, b in zip(found, B, strict=True):
        # g'Ag/2 - g'b + level/2 times the r entries a feature in use costs.
        best = np.linalg.solve(A, b)
        used = best @ A @ best / 2 - best @ b + level * r / 2
        expected = best if used < 0 else np.zeros(r)
        np.testing.assert_allclose(g, expected, atol=1e-10)
    assert 0 < np.count_nonzero(found.any(axis=1)) < 60


@pytest.mark.parametrize("penalize", ["entries", "features"])
def test_the_objective_is_the_penalised_likelihood_and_never_rises(penalize):
    rng = np.random.default_rng(1)
    X = 0.7 * rng.standard_normal((50, 12))
    X[:, :5] += rng.standard_normal((50, 3)) @ rng.standard_normal((3, 5))
    S, _ = covariance_of(X)
    C = np.cov(X.T, bias=True)
    for penalty in (0.02, 0.1, 0.3):
        start = rng.standard_normal((12, 3))
        model = L0NoiseModel(penalize)(SecondMoment.of(S), penalty, start, 1.0)
        drops = np.diff(model.objective)
        assert (drops <= 1e-9 * np.abs(model.objective[:-1])).all()
        G = model.loadings
        price = np.count_nonzero(G)
        if penalize == "features":
            price = np.count_nonzero(G.any(axis=1)) * G.shape[1]
        expected = deviance(C, G, model.noise_variance) / 2 + penalty * price / 2
        assert model.objective[-1] == pytest.approx(expected, rel=1e-6)
        assert model.n_parameters == price
        first = deviance(C, start, 1.0) / 2 + penalty * 36 / 2
        assert model.objective[0] == pytest.approx(first, rel=1e-9)


def varimax_criterion(loadings):
    squares = loadings**2
    return float(((squares - squares.mean(axis=0)) ** 2).sum())


@pytest.mark.parametrize("seed", range(4))
def test_varimax_is_the_best_of_all_plane_rotations(seed):
    rng = np.random.default_rng(seed)
    loadings = rng.standard_normal((15, 2)) * [3.0, 1.0] + 0.8
    found = varimax(loadings)
    np.testing.assert_allclose(found @ found.T, loadings @ loadings.T, atol=1e-10)
    turned = [
        loadings @ [[np.cos(a), -np.sin(a)], [np.sin(a), np.cos(a)]]
        for a in np.linspace(0, np.pi / 2, 2001)
    ]
    best = max(varimax_criterion(candidate) for candidate in turned)
    assert varimax_criterion(found) >= best * (1 - 1e-5)


def test_varimax_of_three_columns_is_a_stationary_point():
    loadings = np.random.default_rng(5).standard_normal((20, 3))
    found = varimax(loadings)
    value = varimax_criterion(found)
    for (i, j), angle in product([(0, 1), (0, 2), (1, 2)], (-1e-3, 1e-3)):
        turn = np.eye(3)
        turn[[i, j], [i, j]] = np.cos(angle)
        turn[i, j], turn[j, i] = -np.sin(angle), np.sin(angle)
        assert varimax_criterion(found @ turn) <= value * (1 + 1e-9)
