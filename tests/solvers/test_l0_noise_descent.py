"""Descent and maps of the l0 model with noise per feature, against dense algebra."""

from __future__ import annotations

import numpy as np
import pytest

from loadstone.covariance import covariance_of
from loadstone.solvers.factor_models.samples import samples_of
from loadstone.solvers.l0_noise_descent import L0Descent, evaluated
from loadstone.solvers.l0_noise_maps import (
    MAX_SHEAR,
    _map_deviance,
    _shear,
    mapped,
    on_canonical_axes,
)
from loadstone.solvers.l0_noise_model import L0NoiseModel, SecondMoment
from loadstone.solvers.variational_bayes.missing import incomplete_observations
from small_factors import samples_from

ETA = 1e-6
KINDS = ("free", "shared")


def small_data(seed=0, n=60, d=9, holes=0.0):
    rng = np.random.default_rng(seed)
    W = rng.normal(size=(3, d)) * (rng.random((3, d)) < 0.5) * 2
    X = rng.normal(size=(n, 3)) @ W + rng.normal(size=(n, d)) + 1
    X[rng.random(X.shape) < holes] = np.nan
    return X


def dense_deviance(X, G, psi, location):
    """Minus twice the mean log-likelihood without ``ln 2 pi``, and the floor of the noise."""
    T = X - np.nanmean(X, axis=0) - location
    C = G.T @ G + np.diag(psi)
    seen = np.isfinite(T)
    v = np.nanmean((X - np.nanmean(X, axis=0)) ** 2, axis=0)
    total = float(np.sum(seen.sum(axis=0) * ETA * v / psi))
    for t, o in zip(T, seen, strict=True):
        inner = C[np.ix_(o, o)]
        total += np.linalg.slogdet(inner)[1] + t[o] @ np.linalg.solve(inner, t[o])
    return total / len(X)


@pytest.mark.parametrize("holes", [0.0, 0.2])
def test_noise_alone_is_the_variance_of_each_feature_or_of_a_value(holes):
    X = small_data(holes=holes) * np.linspace(0.5, 3, 9)
    squares = (X - np.nanmean(X, axis=0)) ** 2
    free, shared = (L0Descent(kind).empty(samples_from(X)) for kind in KINDS)
    np.testing.assert_allclose(free.noise, np.nanmean(squares, axis=0), rtol=2 * ETA)
    np.testing.assert_allclose(shared.noise, np.full(9, np.nanmean(squares)), rtol=2 * ETA)


@pytest.mark.parametrize("holes", [0.0, 0.2])
def test_the_deviance_is_that_of_the_dense_gaussian(holes):
    X = small_data(holes=holes)
    rng = np.random.default_rng(1)
    G, psi = rng.normal(size=(2, 9)), rng.uniform(0.5, 2, 9)
    location = 0.1 * rng.normal(size=9) * (holes > 0)
    point = evaluated(samples_from(X), G, psi, location)
    assert point.deviance == pytest.approx(dense_deviance(X, G, psi, location), rel=1e-12)


@pytest.mark.parametrize("holes", [0.0, 0.2])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(3))
def test_the_objective_never_rises(kind, holes, seed):
    samples = samples_from(small_data(seed, holes=holes))
    G = np.random.default_rng(seed).normal(size=(4, 9))
    found = L0Descent(kind, 150, 0.0)(samples, 0.08, G, samples.variance / 2)
    assert (np.diff(found.objective) <= 1e-9 * np.abs(found.objective[1:])).all()
    point = found.point
    again = evaluated(samples, point.G, point.noise, point.location)
    assert again.deviance + 0.08 * point.n_nonzero == pytest.approx(found.value, rel=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_an_entry_stays_where_the_expected_likelihood_pays_for_it(kind):
    X = small_data(3, n=80)
    T = X - X.mean(axis=0)
    rng = np.random.default_rng(3)
    g, psi, penalty = rng.normal(size=9), np.full(9, 1.3), 0.15
    samples = samples_from(X)
    solver = L0Descent(kind)
    G, noise = solver._step(samples, penalty, evaluated(samples, g[None], psi), None)
    # E-step of one component from explicit samples.
    variance = 1.0 / (1.0 + np.sum(g**2 / psi))
    u = variance * T @ (g / psi)
    A, B, v = np.mean(u**2) + variance, u @ T / len(T), np.mean(T**2, axis=0)
    kept, dropped = v - B**2 / A + ETA * v, v + ETA * v
    if kind == "free":
        stays = np.log(kept) + penalty < np.log(dropped)
        expected = np.where(stays, kept, dropped)
    else:
        stays = kept / psi + penalty < dropped / psi
        expected = np.full(9, np.where(stays, kept, dropped).mean())
    assert 0 < stays.sum() < 9
    np.testing.assert_allclose(G[0], np.where(stays, B / A, 0.0) * np.sqrt(A), rtol=1e-10)
    np.testing.assert_allclose(noise, expected, rtol=1e-10)


@pytest.mark.parametrize("kind", KINDS)
def test_a_mask_of_ones_is_the_complete_path(kind):
    X = small_data(4)
    rows = samples_of(incomplete_observations(X, np.ones(len(X)))[0])
    G = np.random.default_rng(4).normal(size=(3, 9))
    one, two = (
        L0Descent(kind, 60, 0.0)(s, 0.05, G, np.full(9, 1.0)) for s in (samples_from(X), rows)
    )
    np.testing.assert_allclose(one.objective, two.objective, rtol=1e-10)
    np.testing.assert_allclose(one.point.G, two.point.G, atol=1e-10)


def test_shared_noise_is_the_model_of_the_paper():
    X = small_data(5, n=150)
    S, _ = covariance_of(X)
    samples = samples_of(S)
    rng = np.random.default_rng(0)
    G = rng.normal(size=(3, 9))
    old = L0NoiseModel(max_iter=3000, tol=1e-13)(SecondMoment.of(S), 0.05, G.T, 1.0)
    new = L0Descent("shared", 3000, 1e-13)(samples, 0.05, old.loadings.T, np.full(9, 1.0))
    assert new.value <= 2 * old.objective[-1] + 1e-4
    np.testing.assert_allclose(new.point.noise, old.noise_variance, rtol=1e-3)


def test_a_support_can_be_held():
    samples = samples_from(small_data(6))
    keep = np.random.default_rng(0).random((2, 9)) < 0.5
    G = np.where(keep, 1.0, 0.0)
    found = L0Descent("free", 300, 1e-9)(samples, 0.5, G, samples.variance, keep=keep)
    np.testing.assert_array_equal(found.point.G != 0, keep)


def test_maps_know_the_deviance_of_any_map():
    X = small_data(7)
    samples = samples_from(X)
    rng = np.random.default_rng(2)
    G, psi = rng.normal(size=(3, 9)), rng.uniform(0.5, 2, 9)
    maps = np.eye(3) + 0.5 * rng.normal(size=(4, 3, 3))
    V = G / psi
    values = _map_deviance(maps, G @ V.T, V @ samples.products(V).T / samples.n_samples)
    dense = [dense_deviance(X, A.T @ G, psi, 0.0) for A in maps]
    np.testing.assert_allclose(values - values[0], np.array(dense) - dense[0], rtol=1e-9, atol=1e-9)


def test_maps_undo_a_rotation():
    rng = np.random.default_rng(4)
    G = np.zeros((2, 10))
    G[0, :4], G[1, 3:8] = 2.0, 1.5
    X = rng.normal(size=(300, 2)) @ G + rng.normal(size=(300, 10))
    samples = samples_from(X)
    c, s = np.cos(0.5), np.sin(0.5)
    mixed = evaluated(samples, np.array([[c, s], [-s, c]]) @ G, np.ones(10))
    penalty = 0.05
    back = mapped(samples, mixed, penalty)
    found = L0Descent("free")(samples, penalty, back, np.ones(10))
    assert {tuple(row) for row in found.point.G != 0} == {tuple(row) for row in G != 0}


def test_rounding_does_not_choose_between_quarter_turns():
    rng = np.random.default_rng(0)
    for _ in range(20):
        samples = samples_from(rng.normal(size=(8, 3)))
        G, psi = np.array([[0.0, -0.8, -0.3], [-0.8, -0.6, -0.5]]), np.full(3, 0.1)
        first = mapped(samples, evaluated(samples, G, psi), 0.7)
        nudged = G * (1.0 + 1e-14 * rng.normal(size=G.shape))
        second = mapped(samples, evaluated(samples, nudged, psi), 0.7)
        np.testing.assert_allclose(first, second, atol=1e-9)
        assert (np.abs(first) != np.abs(G)).any()


def test_without_a_price_axes_are_the_classical_ones_wherever_the_descent_began():
    X = small_data(8)
    samples, rng = samples_from(X), np.random.default_rng(3)
    found = []
    for _ in range(2):
        descent = L0Descent("free", 3000, 1e-13)(
            samples, 0.0, rng.normal(size=(2, 9)), samples.variance
        )
        turned = on_canonical_axes(samples, descent).point
        inner = (turned.G / turned.noise) @ turned.G.T
        assert abs(inner[0, 1]) < 1e-9 * inner[1, 1]
        assert turned.deviance == pytest.approx(descent.value, rel=1e-12)
        found.append(turned.G)
    np.testing.assert_allclose(*map(np.abs, found), rtol=1e-3, atol=1e-3)


def test_zeros_are_not_turned_away():
    samples = samples_from(small_data(8))
    descent = L0Descent("free")(samples, 0.05, np.ones((2, 9)), samples.variance)
    assert (descent.point.G == 0).any()
    assert on_canonical_axes(samples, descent) is descent


def test_a_shear_is_the_best_of_those_that_zero_an_entry_and_those_between():
    """Scores that correlate in the sample leave small entries where none are; noise is one."""
    taken = 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        U = np.zeros((2, 8))
        U[0, :5], U[1, 3:] = 2.0, 1.0 + rng.random(5)
        U[0, 5:] = 0.05 * rng.choice([-1, 1]) * U[1, 5:]
        X = rng.normal(size=(200, 2)) @ U + rng.normal(size=(200, 8))
        S = X.T @ X / len(X)

        def price(loadings, S=S):
            C = np.eye(8) + loadings.T @ loadings
            deviance = np.linalg.slogdet(C)[1] + np.trace(np.linalg.solve(C, S))
            return deviance + np.minimum(np.log1p(loadings**2), 0.002).sum()

        zeros = np.unique(-U[0, 3:] / U[1, 3:])
        zeros = zeros[np.abs(zeros) < MAX_SHEAR / np.sqrt(200)]
        trials = [0.0, *zeros, *(0.5 * (zeros[1:] + zeros[:-1]))]
        best = min(price(np.array([U[0] + t * U[1], U[1]])) for t in trials)
        found, A, before = U.copy(), np.eye(2), price(U)
        moved = _shear(found, A, (U @ U.T, U @ S @ U.T), 0, 1, 0.002, 200)
        assert moved == (best < before - 1e-9 * (1 + abs(before)))
        assert price(found) == pytest.approx(best, rel=1e-9)
        np.testing.assert_allclose(A.T @ U, found, atol=1e-9)
        taken += moved
    assert 0 < taken < 12
