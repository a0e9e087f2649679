"""objective="recovery": a regression on the scores recovers as much of all features as can be."""

from itertools import combinations, product

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_wine

from brute_force import best_beside
from loadstone import SparsePCA
from loadstone.constraints import Groups
from loadstone.covariance import ExplicitCovariance
from loadstone.metrics import recovered_variance

X = load_wine().data


def recovered_by_hand(X, W):
    """Share of the variance of all columns that least squares on the scores explains."""
    Z = (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)
    T = Z @ W.T
    fitted = T @ np.linalg.lstsq(T, Z, rcond=None)[0]
    return np.sum(fitted**2) / np.sum(Z**2)


@pytest.mark.parametrize(("r", "k"), [(1, 3), (2, 4), (3, 4)])
def test_what_is_reported_is_least_squares_and_never_below_the_variance_answer(r, k):
    recovery = SparsePCA(r, n_nonzero=k, objective="recovery", standardize=True).fit(X)
    variance = SparsePCA(r, n_nonzero=k, standardize=True).fit(X)
    assert recovery.recovered_variance_ratio_[-1] == pytest.approx(
        recovered_by_hand(X, recovery.components_)
    )
    assert recovery.recovered_variance_ratio_[-1] >= variance.recovered_variance_ratio_[-1] - 1e-12
    assert (recovery.cardinality_ <= k).all()
    eigenvalues = np.linalg.eigvalsh(np.corrcoef(X.T))[::-1]
    assert recovery.recovered_variance_ratio_[-1] <= eigenvalues[:r].sum() / 13 + 1e-12


def test_one_component_is_the_best_of_all_supports():
    Y = X[:, :7]
    R = np.corrcoef(Y.T)
    best = 0.0
    for support in combinations(range(7), 2):
        T = list(support)
        best = max(
            best,
            np.linalg.eigvals(np.linalg.solve(R[np.ix_(T, T)], (R @ R)[np.ix_(T, T)])).real.max(),
        )
    model = SparsePCA(1, n_nonzero=2, objective="recovery", standardize=True).fit(Y)
    assert model.recovered_variance_ratio_[0] == pytest.approx(best / 7, rel=1e-6)


def test_sparse_and_wide_data_give_the_same():
    rng = np.random.default_rng(0)
    wide = rng.standard_normal((30, 3)) @ rng.standard_normal((3, 80)) + rng.standard_normal(
        (30, 80)
    )
    wide[np.abs(wide) < 0.5] = 0
    settings = {"n_nonzero": 4, "objective": "recovery"}
    answers = [
        SparsePCA(2, route=route, **settings).fit(container(wide)).recovered_variance_ratio_
        for route, container in product(("gram", "data"), (np.asarray, sparse.csr_array))
    ]
    for answer in answers[1:]:
        np.testing.assert_allclose(answer, answers[0], rtol=1e-6)


def test_no_component_is_added_to_those_found_together():
    model = SparsePCA(2, n_nonzero=3, objective="recovery", standardize=True).fit(X)
    before = model.components_.copy()
    with pytest.raises(ValueError, match="finds all components together"):
        model.add_components(X)
    np.testing.assert_array_equal(model.components_, before)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"nonnegative": True, "n_nonzero": 3}, "both signs"),
        ({"orthogonality": "strict", "n_nonzero": 3}, "orthogonality='strict'"),
        ({"constraint": Groups([0, 1] * 6 + [0], n_groups=1)}, "Groups has none"),
    ],
)
def test_what_cannot_be_had_together_is_said(parameters, message):
    with pytest.raises(ValueError, match=message):
        SparsePCA(2, objective="recovery", **parameters).fit(X)


@pytest.mark.parametrize(("r", "k"), [(2, 3), (3, 4), (4, 4), (13, 1)])
def test_disjoint_components_recover_at_least_what_those_of_variance_do(r, k):
    asked = {"n_components": r, "n_nonzero": k, "standardize": True, "orthogonality": "disjoint"}
    found = SparsePCA(**asked, objective="recovery").fit(X)
    variance = SparsePCA(**asked).fit(X)
    assert (found.components_ != 0).sum(axis=0).max() == 1
    assert (found.cardinality_ <= k).all()
    ours, theirs = found.recovered_variance_ratio_, variance.recovered_variance_ratio_
    assert ours[-1] >= theirs[-1] * (1 - 1e-12)
    shared = SparsePCA(r, n_nonzero=k, standardize=True, objective="recovery").fit(X)
    assert ours[-1] <= shared.recovered_variance_ratio_[-1] * (1 + 1e-3)


def best_disjoint_pair(S):
    """Every two disjoint pairs of features, their loadings settled in turn."""
    best = 0.0
    for T in combinations(range(len(S)), 2):
        for U in combinations(sorted(set(range(T[0] + 1, len(S))) - set(T)), 2):
            w = np.zeros(len(S))
            w[list(U)] = 1
            for _ in range(50):
                v = best_beside(S @ S, S, T, w)[1]
                w = best_beside(S @ S, S, U, v)[1]
            W = np.stack([v, w], axis=1)
            best = max(best, recovered_variance(ExplicitCovariance(S), W)[-1])
    return best


def test_disjoint_components_are_nearly_always_the_best_there_are():
    model = SparsePCA(2, n_nonzero=2, objective="recovery", orthogonality="disjoint")
    shares = []
    for seed in range(20):
        mixed = np.random.default_rng(seed + 100).standard_normal((5, 5))
        S = np.cov((np.random.default_rng(seed).standard_normal((20, 5)) @ mixed).T)
        found = model.fit_covariance(S).recovered_variance_ratio_[-1] * np.trace(S)
        shares.append(found / best_disjoint_pair(S))
    assert max(shares) <= 1 + 1e-6
    assert np.mean(np.array(shares) >= 1 - 1e-6) >= 0.95
    assert min(shares) > 0.99


@pytest.mark.parametrize("seed", [0, 1])
def test_a_random_start_that_nothing_beats_has_unit_length(seed):
    units = 10.0 ** np.array([2, -2, 4, 1, -6, 4])
    Y = np.random.default_rng(seed).standard_normal((15, 6)) * units
    with pytest.warns(UserWarning, match="standardize"):
        model = SparsePCA(2, objective="recovery", n_nonzero=2, forced=[1]).fit(Y)
    np.testing.assert_allclose(np.linalg.norm(model.components_, axis=1), 1, rtol=1e-12)


@pytest.mark.parametrize(("seed", "power"), [(5, -240), (8, 240)])
def test_the_unit_does_not_decide_what_is_recovered(seed, power):
    # Powers of two change no digit; fourth powers of the data left the range of numbers.
    Y = np.random.default_rng(seed).standard_normal((40, 16))
    found = [
        SparsePCA(1, objective="recovery", n_nonzero=4).fit(Y * unit) for unit in (1.0, 2.0**power)
    ]
    np.testing.assert_array_equal(found[0].support_, found[1].support_)
    np.testing.assert_allclose(*(m.recovered_variance_ratio_ for m in found), rtol=1e-12)
