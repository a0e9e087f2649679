"""The search: equal to the dense oracle, monotone, equivariant, and right where truth is known."""

import numpy as np
import pytest

from loadstone.covariance.explicit import ExplicitCovariance
from loadstone.covariance.route import covariance_of
from loadstone.covariance.spectrum import leading_eigenpairs
from loadstone.datasets.make_sparse_factors import make_sparse_factors
from loadstone.loadings import Stop
from loadstone.solvers.variational_bayes.latent import complete_observations
from loadstone.solvers.variational_bayes.missing import incomplete_observations
from loadstone.solvers.variational_bayes.model import VariationalBayes
from loadstone.solvers.variational_bayes.priors import PRIORS
from loadstone.solvers.variational_bayes.start import probabilistic_start
from loadstone.solvers.variational_bayes.zeros import kept_loadings
from loadstone.solvers.varimax import varimax
from real_data import data_file
from variational_bayes_oracle import DenseModel

ALL_PRIORS = list(PRIORS)


def small_data(seed=0, n=25, d=7, holes=0.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2)) @ rng.normal(size=(2, d)) * 2 + rng.normal(size=(n, d)) + 3
    X[rng.random(X.shape) < holes] = np.nan
    return X


def start_of(S, unit, q, init="varimax"):
    values, vectors = leading_eigenpairs(S, q)
    W, noise = probabilistic_start(values / unit**2, vectors, S.n_features, S.n_features)
    return (varimax(W) if init == "varimax" else W), noise


def search(X, q, prior, init="varimax", standardize=False, **options):
    S, _ = covariance_of(X, standardize=standardize)
    observations = complete_observations(S)
    start, noise = start_of(S, observations.unit, q, init)
    solver = VariationalBayes(prior=prior, **options)
    return solver, observations, solver(observations, start, noise)


def worst_fall(bounds):
    return float(np.min(np.diff(bounds) / np.abs(bounds[1:]), initial=0.0))


@pytest.mark.parametrize("holes", [0.0, 0.25])
@pytest.mark.parametrize("prior", ALL_PRIORS)
def test_bounds_equal_the_dense_oracle(prior, holes, monkeypatch):
    X = small_data(holes=holes)
    observations, means = incomplete_observations(X, np.ones(len(X)))
    rng = np.random.default_rng(1)
    W = rng.normal(size=(7, 3))
    T = (X - means) / observations.unit
    monkeypatch.setattr(PRIORS["jeffreys"], "warm_up", None)
    oracle = DenseModel(T, W, 0.5, PRIORS[prior].start(W**2))
    solver = VariationalBayes(prior=prior, rotation_steps=False, max_iter=8, tol=0.0)
    if holes == 0.0:
        observations = complete_observations(covariance_of(X)[0])
    posterior = solver(observations, W, 0.5)
    expected = np.array([oracle.round() for _ in range(len(posterior.bounds))])
    expected -= np.isfinite(X).sum() * np.log(observations.unit)
    np.testing.assert_allclose(posterior.bounds, expected, rtol=1e-10)
    np.testing.assert_allclose(posterior.state.loadings.mean, oracle.mu, atol=1e-9)
    np.testing.assert_allclose(posterior.state.location, oracle.m, atol=1e-9)


@pytest.mark.parametrize("prior", ALL_PRIORS)
@pytest.mark.parametrize("seed", range(4))
def test_the_bound_never_falls(prior, seed):
    X = small_data(seed, n=40, d=12)
    solver, observations, posterior = search(X, 5, prior, tol=1e-9, max_iter=150)
    assert worst_fall(posterior.bounds) >= -1e-8
    support = kept_loadings(posterior.state.loadings, 0.1, 40, 1.0, 0.0)
    refit = solver.refit(observations, posterior, support)
    assert worst_fall(refit.bounds) >= -1e-8
    assert (refit.state.loadings.mean[~support[:, support.any(axis=0)]] == 0).all()


@pytest.mark.parametrize("prior", ALL_PRIORS)
def test_the_bound_never_falls_with_missing_values(prior):
    X = small_data(5, n=60, d=9, holes=0.2)
    observations, _ = incomplete_observations(X, np.ones(len(X)))
    W = np.random.default_rng(0).normal(size=(9, 4))
    posterior = VariationalBayes(prior=prior, tol=1e-9, max_iter=120)(observations, W, 0.5)
    assert worst_fall(posterior.bounds) >= -1e-8


@pytest.mark.papers
@pytest.mark.parametrize("prior", ALL_PRIORS)
@pytest.mark.parametrize("name", ["glass", "synthetic_control", "cmu_faces"])
def test_the_bound_never_falls_on_real_data(prior, name):
    X = np.load(data_file(f"{name}.npz"), allow_pickle=False)["X"].astype(float)
    if name == "cmu_faces":
        X = X[::6, ::4]
    _, _, posterior = search(X, 8, prior, standardize=name == "glass", max_iter=90)
    assert worst_fall(posterior.bounds) >= -1e-8
    X[np.random.default_rng(0).random(X.shape) < 0.1] = np.nan
    scale = np.nanstd(X, axis=0) if name == "glass" else None
    rows, _ = incomplete_observations(X, np.ones(len(X)), scale)
    solver = VariationalBayes(prior=prior, max_iter=30)
    start = np.random.default_rng(1).normal(size=(X.shape[1], 5))
    assert worst_fall(solver(rows, start, 0.5).bounds) >= -1e-8


@pytest.mark.parametrize("prior", ALL_PRIORS)
def test_without_holes_the_row_path_equals_the_covariance_path(prior):
    X = make_sparse_factors(random_state=3)[0]
    S, _ = covariance_of(X)
    complete = complete_observations(S)
    rows, _ = incomplete_observations(X, np.ones(len(X)))
    start, noise = start_of(S, complete.unit, 9)
    solver = VariationalBayes(prior=prior)
    one, two = solver(complete, start, noise), solver(rows, start, noise)
    assert one.n_iter == two.n_iter
    # While factors un-mix, a rounding error grows a hundred thousandfold before it dies out.
    np.testing.assert_allclose(one.bounds, two.bounds, rtol=1e-5)
    one, support = solver.select(complete, one, 3.0, None)
    two, same = solver.select(rows, two, 3.0, None)
    np.testing.assert_array_equal(support, same)
    one, two = solver.refit(complete, one, support), solver.refit(rows, two, support)
    assert one.bounds[-1] == pytest.approx(two.bounds[-1], rel=1e-8)
    # The scale of a factor against that of its scores is all but flat at this signal.
    np.testing.assert_allclose(one.state.loadings.mean, two.state.loadings.mean, rtol=1e-5)
    assert one.state.noise_precision == pytest.approx(two.state.noise_precision, rel=1e-8)


@pytest.mark.parametrize("prior", ALL_PRIORS)
def test_without_holes_every_round_of_both_paths_is_the_same(prior):
    X = small_data(2, n=40)
    S, _ = covariance_of(X)
    complete = complete_observations(S)
    rows, _ = incomplete_observations(X, np.ones(len(X)))
    start, noise = start_of(S, complete.unit, 3)
    solver = VariationalBayes(prior=prior, max_iter=20, tol=0.0)
    one, two = solver(complete, start, noise), solver(rows, start, noise)
    np.testing.assert_allclose(one.bounds, two.bounds, rtol=1e-9)
    np.testing.assert_allclose(one.state.loadings.mean, two.state.loadings.mean, atol=1e-9)


@pytest.mark.parametrize("prior", ALL_PRIORS)
def test_scale_and_permutation_equivariance(prior):
    X = small_data(7, n=50, d=8)
    order = np.random.default_rng(0).permutation(8)
    # A power of two, so that scaling is exact and both searches take the same path.
    base, scaled, permuted = (
        search(Y, 3, prior, max_iter=60)[2] for Y in (X, 1024.0 * X, X[:, order])
    )
    W = base.state.loadings.mean
    np.testing.assert_allclose(scaled.state.loadings.mean, W, atol=1e-8)
    np.testing.assert_allclose(scaled.bounds + X.size * np.log(1024.0), base.bounds, rtol=1e-9)
    overlap = np.abs(permuted.state.loadings.mean.T @ W[order])
    np.testing.assert_allclose(overlap.max(axis=0), (W**2).sum(axis=0), rtol=1e-3, atol=1e-5)
    assert permuted.bounds[-1] == pytest.approx(base.bounds[-1], rel=1e-4)


@pytest.mark.parametrize(
    ("prior", "at_least"), [("inverse_gaussian", 8), ("laplace", 5), ("jeffreys", 7)]
)
def test_two_factors_are_found_and_unmixed(prior, at_least):
    right = 0
    for seed in range(400, 408):
        X, truth = make_sparse_factors(random_state=seed)
        solver, observations, posterior = search(X, 9, prior)
        posterior, support = solver.select(observations, posterior, 3.0, None)
        found = {tuple(column) for column in support[:, support.any(axis=0)].T}
        if found == {tuple(row) for row in truth != 0}:
            right += 1
            W = solver.refit(observations, posterior, support).state.loadings.mean
            W = np.abs(W / np.linalg.norm(W, axis=0))
            np.testing.assert_allclose(W[W > 0], 0.5, atol=0.002)
    assert right >= at_least


def test_a_warm_up_helps_a_prior_that_holds_loadings_where_they_start(monkeypatch):
    X = np.load(data_file("glass.npz"), allow_pickle=False)["X"]
    warm = search(X, 8, "jeffreys", standardize=True, tol=1e-5)[2]
    monkeypatch.setattr(PRIORS["jeffreys"], "warm_up", None)
    cold = search(X, 8, "jeffreys", standardize=True, tol=1e-5)[2]
    assert warm.bounds[-1] > cold.bounds[-1] + 5


def test_without_rotation_steps_pca_stays_mixed():
    # The reason for rotation steps; if this ever fails they can go.
    X, _ = make_sparse_factors(random_state=1)
    mixed = search(X, 9, "inverse_gaussian", init="pca", rotation_steps=False, tol=1e-9)[2]
    unmixed = search(X, 9, "inverse_gaussian", init="pca")[2]
    assert unmixed.bounds[-1] > mixed.bounds[-1] + 10


def test_fixed_hyperparameters_are_kept_in_units_of_the_data():
    X = 10 * small_data(3)
    options = {"hyperparameters": {"lam": 25.0}, "max_iter": 30}
    _, observations, posterior = search(X, 3, "laplace", **options)
    assert posterior.state.prior.lam * observations.unit**2 == pytest.approx(25.0)


@pytest.mark.parametrize("lam", [1e-30, 1e30])
def test_extreme_fixed_hyperparameters_stay_finite(lam):
    options = {"hyperparameters": {"lam": lam}, "max_iter": 30}
    posterior = search(small_data(3), 3, "laplace", **options)[2]
    assert np.isfinite(posterior.bounds).all()
    assert np.isfinite(posterior.state.loadings.mean).all()


def test_stop_reasons_are_honest():
    X = small_data(1)
    assert search(X, 2, "laplace", max_iter=2)[2].stop is Stop.MAX_ITER
    assert search(X, 2, "laplace")[2].stop is Stop.CONVERGED


def test_a_falling_bound_is_reported(monkeypatch):
    from loadstone.solvers.variational_bayes import state

    values = iter([0.0, -1.0, -5.0, -9.0])
    monkeypatch.setattr(state, "lower_bound", lambda *_: next(values))
    with pytest.warns(RuntimeWarning, match="lower bound fell"):
        search(small_data(1), 2, "laplace", max_iter=2, tol=-1.0)


def test_unknown_number_of_samples_and_constant_data_are_refused():
    with pytest.raises(ValueError, match="n_samples=nan"):
        complete_observations(ExplicitCovariance(np.eye(3)))
    with pytest.raises(ValueError, match="constant"):
        complete_observations(ExplicitCovariance(np.zeros((3, 3)), 10.0))


def test_rounding_of_single_precision_without_noise_is_no_falling_bound():
    # One row apart from the others, which are equal: nothing but one component.
    X = np.tile(np.array([0.3, -1.2, 0.7, 2.1], dtype=np.float32), (30, 1))
    X[0] += 1
    for tol in (1e-6, -1.0):
        posterior = search(X, 1, "inverse_gaussian", max_iter=30, tol=tol)[2]
        assert np.isfinite(posterior.bounds).all()
