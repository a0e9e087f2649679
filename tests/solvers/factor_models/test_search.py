"""The search over numbers of components, both models: right where the truth is known."""

from __future__ import annotations

import numpy as np
import pytest

from loadstone.covariance import covariance_of
from loadstone.covariance.explicit import ExplicitCovariance
from loadstone.datasets.make_sparse_factors import make_sparse_factors
from loadstone.solvers.factor_models import rounds
from loadstone.solvers.factor_models.growth import TRIAL_ROUNDS
from loadstone.solvers.factor_models.samples import samples_of
from loadstone.solvers.factor_models.sparse_factors import SparseFactors
from loadstone.solvers.factor_models.unmix import other_maps
from loadstone.solvers.l0_noise_search import L0Search
from loadstone.solvers.variational_bayes.missing import incomplete_observations

SEARCHES = {"bayes": SparseFactors(), "l0": L0Search()}
FREE = {"bayes": SparseFactors(noise="free"), "l0": L0Search(noise="free")}


def same_supports(model, truth):
    """Whether the non-zeros of the model are those of ``truth`` (components as rows)."""
    found = {tuple(column) for column in (model.loadings != 0).T}
    return found == {tuple(row) for row in truth != 0}


def overlapping(seed, n=150, d=15):
    rng = np.random.default_rng(seed)
    W = np.zeros((d, 3))
    for j in range(3):
        W[rng.choice(d, 5, replace=False), j] = rng.choice([-1, 1], 5) * rng.uniform(1.5, 2.5, 5)
    return rng.normal(size=(n, 3)) @ W.T + rng.normal(size=(n, d))


@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("search", SEARCHES)
def test_two_factors_are_found_whatever_the_units(search, standardize):
    for seed in (0, 2):
        X, truth = make_sparse_factors(random_state=seed)
        S, _ = covariance_of(X, standardize=standardize)
        assert same_supports(SEARCHES[search](S).model, truth)


@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize("spread", [0.0, 0.7])
def test_noise_alone_has_no_component(search, spread):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(100, 20)) * np.exp(spread * rng.normal(size=20))
    fit = SEARCHES[search](covariance_of(X)[0])
    assert fit.model.loadings.shape == (20, 0)
    v = X.var(axis=0)
    np.testing.assert_allclose(fit.model.noise, v if spread else v.mean(), rtol=0.25)


@pytest.mark.parametrize("search", SEARCHES)
def test_noise_of_each_feature_is_its_own(search):
    rng = np.random.default_rng(2)
    X, truth = make_sparse_factors(400, factor_std=(3.0, 2.5), random_state=3)
    psi = np.exp(rng.normal(size=10))
    X = X + (np.sqrt(psi) - 1) * rng.normal(size=X.shape)
    fit = SEARCHES[search](covariance_of(X)[0])
    assert same_supports(fit.model, truth)
    expected = 1 + (np.sqrt(psi) - 1) ** 2
    np.testing.assert_allclose(np.log(fit.model.noise), np.log(expected), atol=0.4)


@pytest.mark.parametrize("search", FREE)
def test_free_noise_does_not_see_units(search):
    X = overlapping(0)
    scale = np.exp(np.random.default_rng(1).normal(scale=3, size=X.shape[1]))
    one, two = (FREE[search](covariance_of(Y)[0]) for Y in (X, X * scale))
    W, V = one.model.loadings, two.model.loadings / scale[:, None]
    np.testing.assert_array_equal(W != 0, V != 0)
    np.testing.assert_allclose(V, W, rtol=1e-8, atol=1e-8 * np.abs(W).max())
    np.testing.assert_allclose(two.model.noise / scale**2, one.model.noise, rtol=1e-8)
    if search == "bayes":
        np.testing.assert_allclose(two.inclusion, one.inclusion, atol=1e-8)


@pytest.mark.parametrize("search", SEARCHES)
def test_order_of_features_does_not_matter(search):
    X = overlapping(3)
    order = np.random.default_rng(0).permutation(X.shape[1])
    one, two = (SEARCHES[search](covariance_of(Y)[0]).model for Y in (X, X[:, order]))
    assert {tuple(c) for c in (one.loadings[order] != 0).T} == {
        tuple(c) for c in (two.loadings != 0).T
    }
    np.testing.assert_allclose(two.covariance(), one.covariance()[np.ix_(order, order)], atol=1e-3)


@pytest.mark.parametrize("search", SEARCHES)
def test_values_may_be_missing(search):
    X, truth = make_sparse_factors(200, factor_std=(3.0, 2.5), random_state=5)
    X[np.random.default_rng(0).random(X.shape) < 0.15] = np.nan
    rows, _ = incomplete_observations(X, np.ones(len(X)))
    fit = SEARCHES[search](rows)
    assert same_supports(fit.model, truth)
    assert fit.location.shape == (10,)


@pytest.mark.parametrize("search", SEARCHES)
def test_a_mask_of_ones_finds_the_same_model(search):
    X = overlapping(4, n=80)
    rows, _ = incomplete_observations(X, np.ones(len(X)))
    one, two = SEARCHES[search](covariance_of(X)[0]), SEARCHES[search](rows)
    np.testing.assert_array_equal(one.model.loadings != 0, two.model.loadings != 0)
    # Rounding grows on the way; the end is settled to few digits where the likelihood is flat.
    np.testing.assert_allclose(one.model.covariance(), two.model.covariance(), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("search", SEARCHES)
def test_numbers_of_components_are_orders(search):
    S, _ = covariance_of(overlapping(1))
    assert SEARCHES[search](S, 2).model.n_components == 2
    assert SEARCHES[search](S, 0).model.n_components == 0
    assert SEARCHES[search](S, range(1, 3)).model.n_components == 2
    assert SEARCHES[search](S).model.n_components == 3
    # More than there are: what has no second feature is not made up.
    assert SEARCHES[search](S, 4).model.n_components == 3


@pytest.mark.parametrize("search", SEARCHES)
def test_impossible_numbers_are_refused_in_a_sentence(search):
    S, _ = covariance_of(overlapping(1))
    with pytest.raises(ValueError, match="from 1 to 14"):
        SEARCHES[search](S, 15)
    with pytest.raises(ValueError, match="n_samples=nan"):
        SEARCHES[search](ExplicitCovariance(np.eye(3)))
    with pytest.raises(ValueError, match="Feature 1 has variance 0"):
        SEARCHES[search](ExplicitCovariance(np.diag([1.0, 0.0, 1.0]), 9.0))


def test_duplicates_of_a_feature_stay_finite():
    X = np.random.default_rng(0).normal(size=(60, 6))
    X[:, 1] = X[:, 0]
    for search in SEARCHES.values():
        fit = search(covariance_of(X)[0])
        assert np.isfinite(fit.model.loadings).all()
        assert (fit.model.noise > 0).all()


def test_pairs_are_turned_to_where_they_are_as_sparse():
    # Rows along two axes, and along both diagonals: at 45 degrees the two pictures change places.
    axes, diagonals = np.eye(2), np.array([[1.0, 1.0], [1.0, -1.0]]) / np.sqrt(2)
    U = 2.0 * np.vstack([axes, axes, diagonals, diagonals])
    (A,) = other_maps(U, 100.0)
    np.testing.assert_allclose(np.abs(A), np.sqrt(0.5))
    np.testing.assert_allclose(A.T @ A, np.eye(2), atol=1e-12)
    zeros = [(np.abs(V) < 1e-9).sum(axis=0).tolist() for V in (U, U @ A)]
    assert zeros == [[2, 2], [2, 2]]
    # Along the axes alone nothing is gained elsewhere, nor where no feature has both.
    assert other_maps(np.vstack([axes] * 20), 100.0) == []


@pytest.mark.parametrize("seed", [930005, 930016])
def test_overlapping_factors_end_no_lower_than_from_the_truth(seed):
    # Two of five stayed mixed: turned, they are nearly as sparse, and which is better only the
    # bound knows.
    rng, W = np.random.default_rng(seed), np.zeros((30, 5))
    for j in range(5):
        W[rng.choice(30, 6, replace=False), j] = rng.choice([-1, 1], 6) * rng.uniform(1, 2, 6)
    X = rng.normal(size=(200, 5)) @ W.T + rng.normal(size=(200, 30))
    solver, samples = SparseFactors(), samples_of(covariance_of(X)[0])
    begun = solver.growth().started(samples, W.T[None], np.ones((1, 30)))
    best = float(rounds.Rounds()(samples, begun)[0].bound[0])
    fit = solver(covariance_of(X)[0])
    assert fit.lower_bound >= best - 0.01
    assert fit.sizes["lower_bound"].max() == pytest.approx(fit.lower_bound, abs=1e-6)
    assert same_supports(fit.model, W.T)


def test_a_callback_ends_the_search():
    S, _ = covariance_of(overlapping(1))
    seen = []
    fit = SparseFactors()(S, on_round=lambda n, bound: bool(seen.append(bound)) or n >= 3)
    assert fit.stop.name == "CALLBACK"
    assert len(seen) < 10


@pytest.mark.parametrize("share", [0.3, 0.6, 0.8, 0.95])
def test_a_search_hears_a_callback_wherever_it_is(monkeypatch, share):
    rng = np.random.default_rng(14)
    parts = np.exp(rng.normal(size=(60, 2)) @ rng.normal(size=(2, 5)) + rng.normal(size=(60, 5)))
    X = parts / parts.sum(axis=1, keepdims=True)
    X[rng.random(X.shape) < 0.1] = np.nan
    holes, n_rounds, stopped = incomplete_observations(X, np.ones(60))[0], [0], []
    once = rounds.update

    def counted(*args, **options):
        n_rounds[0] += 1
        return once(*args, **options)

    monkeypatch.setattr(rounds, "update", counted)
    SparseFactors()(holes)
    last = share * n_rounds[0]
    n_rounds[0] = 0

    def stop(_, bound):
        if n_rounds[0] < last:
            return False
        stopped.append(n_rounds[0])
        return True

    assert SparseFactors()(holes, on_round=stop).stop.name == "CALLBACK"
    # A race between proposals is short and runs to its end.
    assert stopped[0] - last <= 4 * TRIAL_ROUNDS
    assert n_rounds[0] - stopped[0] <= 4 * TRIAL_ROUNDS


def test_inclusion_probabilities_are_calibrated():
    # Brier score of a fifth of loadings, and how often what is called likely is there.
    scores, likely, there = [], 0, 0
    for seed in range(700, 704):
        rng = np.random.default_rng(seed)
        W = np.zeros((30, 2))
        for j in range(2):
            W[rng.choice(30, 10, replace=False), j] = rng.normal(size=10)
        X = rng.normal(size=(100, 2)) @ W.T + rng.normal(size=(100, 30))
        fit = SparseFactors()(covariance_of(X)[0], 2)
        truth = W[:, np.argsort(-np.abs(fit.model.loadings.T @ W), axis=1)[:, 0]] != 0
        scores.append(np.mean((fit.inclusion - truth) ** 2))
        likely += int((fit.inclusion > 0.9).sum())
        there += int(truth[fit.inclusion > 0.9].sum())
    assert np.mean(scores) < 0.09
    assert there > 0.9 * likely


def test_standard_deviations_cover_the_truth():
    inside = total = 0
    for seed in range(6):
        rng = np.random.default_rng(seed)
        W = np.zeros((12, 2))
        W[:5, 0], W[5:10, 1] = 1.5, 1.0
        X = rng.normal(size=(300, 2)) @ W.T + rng.normal(size=(300, 12))
        fit = SparseFactors()(covariance_of(X)[0], 2)
        found, std = fit.model.loadings, fit.loadings_std
        for j in range(2):
            w = W[:, np.argmax(np.abs(W.T @ found[:, j]))]
            kept = found[:, j] != 0
            # The scale of a component against its scores is learned too: compare directions.
            norm = np.linalg.norm(found[:, j]) / np.linalg.norm(w)
            error = np.abs(np.abs(found[kept, j]) - norm * np.abs(w[kept]))
            inside += int((error < 2 * std[kept, j]).sum())
            total += int(kept.sum())
    assert 0.85 < inside / total <= 1.0
