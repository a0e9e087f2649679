"""The l0 noise model against dense formulas, closed forms, brute force and invariances."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loadstone.covariance import ExplicitCovariance, covariance_of
from loadstone.loadings import Stop
from loadstone.metrics.information_criteria import bic, noise_model_deviance
from loadstone.solvers.l0_noise_kernels import threshold_entries
from loadstone.solvers.l0_noise_model import PENALIZE, L0NoiseModel, SecondMoment
from loadstone.solvers.l0_noise_path import penalty_path, penalty_range
from loadstone.solvers.l0_noise_start import INITS, NoisyPCA
from loadstone.solvers.varimax import varimax


def two_factors(seed, n_samples=60, n_features=12):
    rng = np.random.default_rng(seed)
    G = np.zeros((n_features, 2))
    G[:4, 0], G[3:8, 1] = 3.0, 2.0
    noise = rng.standard_normal((n_samples, n_features))
    return rng.standard_normal((n_samples, 2)) @ G.T + noise


def moment_of(X, **kwargs):
    return SecondMoment.of(covariance_of(X, **kwargs)[0])


def fit(X, penalty, r=2, init="varimax", seed=0, **solver):
    moment = moment_of(X)
    start = NoisyPCA.of(moment, r).start(r, init, np.random.default_rng(seed))
    return L0NoiseModel(**solver)(moment, penalty, *start)


def dense_deviance(X, G, noise):
    """``tr(S Omega^-1) + ln|Omega|`` written down."""
    Y = X - X.mean(axis=0)
    omega = G @ G.T + noise * np.eye(X.shape[1])
    return np.trace(np.linalg.solve(omega, Y.T @ Y / len(Y))) + np.linalg.slogdet(omega)[1]


def closed_form_deviance(X, r):
    """Deviance of noisy PCA from the eigenvalues alone (Tipping & Bishop's maximum)."""
    Y = X - X.mean(axis=0)
    values = np.linalg.eigvalsh(Y.T @ Y / len(Y))[::-1]
    left = values[r:].mean()
    return X.shape[1] + np.log(values[:r]).sum() + (X.shape[1] - r) * np.log(left)


@pytest.mark.parametrize("shape", [(60, 12), (10, 40)])
def test_woodbury_equals_the_dense_likelihood(shape):
    rng = np.random.default_rng(0)
    X, G, noise = rng.standard_normal(shape) + 5, rng.standard_normal((shape[1], 3)), 0.7
    moment = moment_of(X)
    deviance = noise_model_deviance(moment.total, shape[1], G.T @ G, G.T @ (moment @ G), noise)
    assert deviance == pytest.approx(dense_deviance(X, G, noise), rel=1e-12)


@pytest.mark.parametrize("penalize", PENALIZE)
@pytest.mark.parametrize("penalty", [0.0, 0.02, 0.3])
@pytest.mark.parametrize("shape", [(60, 12), (12, 60)])
def test_objective_never_increases_and_ends_where_it_says(penalize, penalty, shape):
    X = two_factors(1, *shape)
    model = fit(X, penalty, init="random", penalize=penalize, tol=1e-12)
    assert np.diff(model.objective).max() <= 1e-12 * np.abs(model.objective).max()
    deviance = dense_deviance(X, model.loadings, model.noise_variance)
    assert model.deviance == pytest.approx(deviance, rel=1e-11)
    expected = (deviance + penalty * model.n_parameters) / 2
    assert model.objective[-1] == pytest.approx(expected, rel=1e-11)


@pytest.mark.parametrize("penalize", PENALIZE)
@pytest.mark.parametrize("r", [1, 2, 4])
def test_without_penalty_any_start_reaches_closed_form_noisy_pca(penalize, r):
    X = two_factors(2)
    moment = moment_of(X)
    rng = np.random.default_rng(3)
    solver = L0NoiseModel(penalize=penalize, max_iter=20_000, tol=1e-15)
    model = solver(moment, 0.0, rng.standard_normal((12, r)), 3.0)
    assert model.deviance == pytest.approx(closed_form_deviance(X, r), abs=1e-9)
    start = NoisyPCA.of(moment, r).closed_form(r)
    assert dense_deviance(X, *start) == pytest.approx(closed_form_deviance(X, r), abs=1e-9)


def test_penalised_deviance_is_bic_at_log_t_over_t():
    X = two_factors(4)
    model = fit(X, np.log(60) / 60)
    assert 0 < model.n_parameters < 24
    expected = bic(model.deviance, np.count_nonzero(model.loadings), 60)
    assert 2 * model.objective[-1] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("penalize", PENALIZE)
def test_huge_penalty_leaves_the_noise_alone(penalize):
    X = two_factors(5)
    model = fit(X, 1e6, penalize=penalize)
    assert model.loadings.shape == (12, 0)
    assert model.stop is Stop.NOISE_ALONE
    assert model.noise_variance == pytest.approx(np.mean((X - X.mean(axis=0)) ** 2), rel=1e-12)
    empty = dense_deviance(X, np.zeros((12, 1)), model.noise_variance)
    assert model.deviance == pytest.approx(empty, rel=1e-12)


@pytest.mark.parametrize("penalize", PENALIZE)
def test_penalty_does_not_depend_on_the_units(penalize):
    X = two_factors(6)
    model, scaled = (fit(c * X, 0.15, penalize=penalize) for c in (1.0, 1e3))
    np.testing.assert_array_equal(model.loadings != 0, scaled.loadings != 0)
    np.testing.assert_allclose(scaled.loadings, 1e3 * model.loadings, rtol=1e-8)
    assert scaled.noise_variance == pytest.approx(1e6 * model.noise_variance, rel=1e-8)


@pytest.mark.parametrize("penalize", PENALIZE)
def test_permuting_features_permutes_the_loadings(penalize):
    X = two_factors(7)
    order = np.random.default_rng(0).permutation(12)
    model, permuted = (fit(Z, 0.15, penalize=penalize) for Z in (X, X[:, order]))
    # Columns may change place and sign with the eigenvectors they come from.
    omega = model.loadings @ model.loadings.T
    np.testing.assert_allclose(
        permuted.loadings @ permuted.loadings.T, omega[np.ix_(order, order)], atol=1e-8
    )
    assert permuted.n_parameters == model.n_parameters


def test_both_routes_and_a_given_matrix_agree():
    X = two_factors(8)
    gram, data = (moment_of(X, route=route) for route in ("gram", "data"))
    start = NoisyPCA.of(gram, 2).start(2, "varimax", np.random.default_rng(0))
    first, second = (L0NoiseModel()(m, 0.1, *start) for m in (gram, data))
    np.testing.assert_allclose(first.loadings, second.loadings, atol=1e-9)
    # Without a number of samples the matrix is taken as the second moment itself.
    Y = X - X.mean(axis=0)
    given_matrix = SecondMoment.of(ExplicitCovariance(Y.T @ Y / len(Y)))
    third = L0NoiseModel()(given_matrix, 0.1, *start)
    np.testing.assert_allclose(first.loadings, third.loadings, atol=1e-9)


def threshold_by_columns(A, B, G, level, sweeps):
    """Algorithm 2 as printed: column after column, all rows at once."""
    G = G.copy()
    for _ in range(sweeps):
        for i in range(A.shape[0]):
            others = [j for j in range(A.shape[0]) if j != i]
            residual = B[:, i] - G[:, others] @ A[others, i]
            G[:, i] = np.where(residual**2 / A[i, i] > level, residual / A[i, i], 0.0)
    return G


def row_objective(A, B, G, level):
    quadratic = np.einsum("ij,jk,ik->i", G, A, G) / 2 - np.einsum("ij,ij->i", G, B)
    return quadratic + level / 2 * np.count_nonzero(G, axis=1)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 4), st.floats(0.0, 2.0))
def test_kernel_is_algorithm_2(seed, r, level):
    rng = np.random.default_rng(seed)
    root = rng.standard_normal((r, r + 2))
    A, B = root @ root.T + np.eye(r), rng.standard_normal((9, r))
    start = rng.standard_normal((9, r)) * (rng.random((9, r)) < 0.5)
    G = start.copy()
    threshold_entries(A, B, G, level, 1)
    np.testing.assert_allclose(G, threshold_by_columns(A, B, start, level, 1), atol=1e-12)
    threshold_entries(A, B, G, level, 400)
    # No single entry can be improved any more: compare with all supports one flip away.
    value = row_objective(A, B, G, level)
    assert np.all(value <= row_objective(A, B, start, level) + 1e-12)
    for i in range(r):
        flipped = G.copy()
        flipped[:, i] = 0.0
        assert np.all(value <= row_objective(A, B, flipped, level) + 1e-9)
        flipped[:, i] = (B[:, i] - flipped @ A[:, i]) / A[i, i]
        assert np.all(value <= row_objective(A, B, flipped, level) + 1e-6)


def test_nearly_the_best_support_by_brute_force():
    """On four features and one component every support can be tried."""
    rng = np.random.default_rng(9)
    X = rng.standard_normal((40, 1)) * [2.0, 1.5, 0.0, 0.2] + rng.standard_normal((40, 4))
    moment = moment_of(X)
    exact = L0NoiseModel(tol=1e-12)
    penalty = 0.1
    best = moment.empty_deviance
    for support in product([False, True], repeat=4):
        if not any(support):
            continue
        part = moment.restrict(np.flatnonzero(support))
        free = exact(part, 0.0, np.ones((sum(support), 1)), 1.0)
        best = min(best, free.deviance + penalty * sum(support))
    assert fit(X, penalty, r=1, tol=1e-12).penalised_deviance == pytest.approx(best, abs=1e-8)


def test_features_are_kept_or_dropped_as_a_whole():
    X = two_factors(10)
    model = fit(X, 0.1, penalize="features")
    rows = model.loadings.any(axis=1)
    assert rows[:8].all()
    assert not rows.all()
    assert np.all(model.loadings[rows] != 0)
    assert model.n_parameters == rows.sum() * 2
    gram = model.loadings.T @ model.loadings
    assert abs(gram[0, 1]) < 1e-10 * gram[0, 0]


def test_dead_components_are_dropped():
    X = two_factors(11, n_samples=200)
    model = fit(X, 0.5, r=5)
    assert 0 < model.n_components < 5
    assert model.loadings.any(axis=0).all()


def test_setting_features_aside_changes_nothing():
    X = two_factors(12, 80, 60)
    moment = moment_of(X)
    start = NoisyPCA.of(moment, 2).start(2, "varimax", np.random.default_rng(0))
    model = L0NoiseModel(tol=1e-13, max_iter=5000)(moment, 0.25, *start)
    assert model.loadings.any(axis=1).sum() < 30
    again = L0NoiseModel(tol=1e-13)(moment, 0.25, model.loadings, model.noise_variance)
    np.testing.assert_allclose(model.loadings, again.loadings, atol=1e-5)


def test_iteration_limit_is_told():
    model = fit(two_factors(13), 0.05, init="random", max_iter=2)
    assert model.stop is Stop.MAX_ITER
    assert model.n_iter == 2


def test_float32_stays_close():
    X = two_factors(14)
    single, double = fit(X.astype(np.float32), 0.1), fit(X, 0.1)
    np.testing.assert_array_equal(single.loadings != 0, double.loadings != 0)
    np.testing.assert_allclose(single.loadings, double.loadings, atol=2e-2)


@pytest.mark.parametrize("shape", [(8, 30), (30, 8)])
def test_as_many_components_as_dimensions_are_refused(shape):
    X = np.random.default_rng(0).standard_normal(shape)
    limit = min(shape[1], shape[0] - 1)
    spectrum = NoisyPCA.of(moment_of(X), limit)
    assert spectrum.objection(limit - 1) is None
    assert "rank" in spectrum.objection(limit)


def test_the_rank_of_the_values_counts_not_only_the_shape():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 3)) @ rng.standard_normal((3, 10))
    spectrum = NoisyPCA.of(moment_of(X), 4)
    assert spectrum.objection(2) is None
    assert "rank" in spectrum.objection(3)


def test_constant_data_is_refused():
    with pytest.raises(ValueError, match="no variance"):
        moment_of(np.ones((5, 3)))


@pytest.mark.parametrize("init", INITS)
def test_every_start_has_the_closed_form_likelihood(init):
    X = two_factors(15)
    G, noise = NoisyPCA.of(moment_of(X), 3).start(3, init, np.random.default_rng(0))
    assert dense_deviance(X, G, noise) == pytest.approx(closed_form_deviance(X, 3), abs=1e-9)


def test_varimax_undoes_a_rotation_of_simple_loadings():
    G = np.zeros((9, 3))
    G[:3, 0], G[3:6, 1], G[6:, 2] = 3.0, 2.0, 1.0
    turned = G @ np.linalg.qr(np.random.default_rng(1).standard_normal((3, 3)))[0]
    restored = np.abs(varimax(turned))
    np.testing.assert_allclose(np.sort(restored, axis=None), np.sort(G, axis=None), atol=1e-8)


def test_path_is_never_worse_than_either_direction():
    X = two_factors(16, 40, 30)
    moment = moment_of(X)
    start = NoisyPCA.of(moment, 3).start(3, "varimax", np.random.default_rng(0))
    penalties = np.geomspace(*penalty_range(moment, start[1], np.log(40) / 40), 12)
    seen = []
    models = penalty_path(L0NoiseModel(), moment, penalties, [start], seen.append)
    assert [model.penalty for model in models] == pytest.approx(penalties)
    assert len(seen) > len(models), "the way back was not taken"
    for model in models:
        rivals = [s.penalised_deviance for s in seen if s.penalty == model.penalty]
        assert model.penalised_deviance == min(rivals)
    assert models[0].n_parameters > models[-1].n_parameters
    assert models[-1].n_components == 0, "something outlived the upper end of the range"
