"""Disjoint components with the largest sum of variances, against brute force."""

from itertools import combinations, product

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

from loadstone import SparsePCA
from loadstone.constraints import Groups, LoadingConstraint
from loadstone.covariance import ExplicitCovariance
from loadstone.datasets import load_pitprops
from loadstone.extraction import RefusedConstraintError, disjoint_sum
from loadstone.extraction.disjoint_sum import largest_disjoint_sum

PITPROPS = load_pitprops().correlation


def random_covariance(rng, n):
    X = rng.standard_normal((30, n)) + rng.standard_normal((30, 2)) @ rng.standard_normal((2, n))
    return np.cov(X.T)


def best_pair(matrix, k):
    """The largest sum of two disjoint components of size k, by trying everything."""
    n = len(matrix)
    best = 0.0
    for one in combinations(range(n), k):
        rest = [i for i in range(n) if i not in one]
        first = np.linalg.eigvalsh(matrix[np.ix_(one, one)])[-1]
        for other in combinations(rest, k):
            second = np.linalg.eigvalsh(matrix[np.ix_(other, other)])[-1]
            best = max(best, first + second)
    return best


def total(matrix, W):
    return float(np.trace(W.T @ matrix @ W))


def test_few_features_are_solved_exactly():
    rng = np.random.default_rng(0)
    for _ in range(5):
        matrix = random_covariance(rng, 8)
        rules = [LoadingConstraint(8, 3)] * 2
        S = ExplicitCovariance(matrix)
        W, exact = largest_disjoint_sum(S, [np.eye(8)[:, :2]], rules, rng)
        assert exact
        assert total(matrix, W) == pytest.approx(best_pair(matrix, 3), rel=1e-10)
        assert not (W[:, 0] * W[:, 1]).any()


def test_dealing_features_out_comes_close(monkeypatch):
    monkeypatch.setattr(disjoint_sum, "can_try_disjoint", lambda problem: False)
    rng = np.random.default_rng(1)
    shares = []
    for _ in range(8):
        matrix = random_covariance(rng, 8)
        rules = [LoadingConstraint(8, 3)] * 2
        W, exact = largest_disjoint_sum(ExplicitCovariance(matrix), [np.eye(8)[:, :2]], rules, rng)
        assert not exact
        assert not (W[:, 0] * W[:, 1]).any()
        assert all(rule.allows(w) for rule, w in zip(rules, W.T, strict=True))
        shares.append(total(matrix, W) / best_pair(matrix, 3))
    assert max(shares) <= 1 + 1e-10
    assert np.median(shares) > 0.99


@pytest.mark.parametrize("nonnegative", [False, True])
def test_sizes_signs_and_closed_features_are_kept(monkeypatch, nonnegative):
    monkeypatch.setattr(disjoint_sum, "can_try_disjoint", lambda problem: False)
    rng = np.random.default_rng(2)
    matrix = random_covariance(rng, 30)
    closed = np.array([3, 7])
    rules = [
        LoadingConstraint(30, size, nonnegative=nonnegative, forbidden=closed) for size in (6, 4, 2)
    ]
    W, _ = largest_disjoint_sum(ExplicitCovariance(matrix), [np.zeros((30, 0))], rules, rng)
    assert W.shape == (30, 3)
    assert all(rule.allows(w) for rule, w in zip(rules, W.T, strict=True))
    assert ((W != 0).sum(axis=1) <= 1).all()
    assert not W[closed].any()


@pytest.mark.parametrize(
    ("r", "k", "exact"), [(2, 4, 5.25516), (3, 4, 7.25015), (4, 3, 8.33268), (6, 2, 9.74)]
)
def test_pit_props(r, k, exact):
    asked = {"n_nonzero": k, "orthogonality": "disjoint"}
    model = SparsePCA(r, objective="sum", **asked).fit_covariance(PITPROPS)
    assert model.marginal_variance_.sum() == pytest.approx(exact, abs=1e-5)
    assert (np.diff(model.marginal_variance_) <= 1e-12).all()
    usual = SparsePCA(r, **asked).fit_covariance(PITPROPS)
    assert usual.marginal_variance_.sum() < exact


def test_the_sum_is_proven_and_quoted():
    model = SparsePCA(
        3, n_nonzero=4, orthogonality="disjoint", objective="sum", certify="instant"
    ).fit_covariance(PITPROPS)
    joint = model.joint_certificate_
    assert joint.is_optimal
    assert str(joint).startswith("together all of the sum of variances any 3 disjoint components")


def test_where_the_sum_says_nothing_it_is_refused():
    for kind in ("none", "quasi"):
        with pytest.raises(RefusedConstraintError, match=f"{kind!r} copies of one component"):
            SparsePCA(2, n_nonzero=3, objective="sum", orthogonality=kind).fit_covariance(PITPROPS)
    groups = Groups(np.repeat(["a", "b"], [6, 7]), 1)
    model = SparsePCA(2, constraint=groups, objective="sum", orthogonality="disjoint")
    with pytest.raises(RefusedConstraintError, match="leave out the constraint"):
        model.fit_covariance(PITPROPS)
    model = SparsePCA(2, n_nonzero=3, objective="sum", orthogonality="disjoint")
    model.fit_covariance(PITPROPS)
    with pytest.raises(ValueError, match="finds all components together"):
        model.add_components(covariance=PITPROPS)


@pytest.mark.parametrize("kind", ["strict", "uncorrelated"])
def test_orthogonal_and_uncorrelated_components_have_a_sum_too(kind):
    asked = {"n_nonzero": 4, "orthogonality": kind}
    model = SparsePCA(3, objective="sum", **asked).fit_covariance(PITPROPS)
    usual = SparsePCA(3, **asked).fit_covariance(PITPROPS)
    assert model.marginal_variance_.sum() >= usual.marginal_variance_.sum() - 1e-9
    products = model.components_ @ (PITPROPS if kind == "uncorrelated" else np.eye(13))
    np.testing.assert_allclose(np.triu(products @ model.components_.T, 1), 0.0, atol=1e-8)


def test_one_component_is_the_usual_one():
    model = SparsePCA(1, n_nonzero=4, objective="sum", orthogonality="disjoint")
    model.fit_covariance(PITPROPS)
    usual = SparsePCA(1, n_nonzero=4).fit_covariance(PITPROPS)
    np.testing.assert_allclose(model.components_, usual.components_, atol=1e-9)


def test_single_precision_stays_single():
    X = np.random.default_rng(3).standard_normal((40, 30)).astype(np.float32)
    model = SparsePCA(3, n_nonzero=4, objective="sum", orthogonality="disjoint").fit(X)
    assert model.components_.dtype == np.float32
    assert model.n_components_ == 3


def test_recovery_is_proven_one_component_at_a_time():
    model = SparsePCA(2, n_nonzero=3, objective="recovery", certify="standard")
    joint = model.fit_covariance(PITPROPS).joint_certificate_
    assert str(joint).startswith("component 1 recovers at least")
    shares = model.recovered_variance_ratio_ * model.total_variance_
    first = joint.claim("recovered variance", 0)
    assert first.value == pytest.approx(shares[0], rel=1e-9)
    assert joint.verify(PITPROPS) >= first.value
    assert not hasattr(model, "certificates_")


@pytest.mark.parametrize("kind", ["strict", "disjoint"])
def test_what_is_forced_takes_one_of_the_places(kind):
    X = (np.random.default_rng(0).random((12, 8)) < 0.3).astype(float)
    asked = {"n_nonzero": 3, "forced": [1], "orthogonality": kind, "objective": "sum"}
    model = SparsePCA(standardize=False, **asked).fit(X)
    assert np.count_nonzero(model.components_) == 3
    assert model.components_[0, 1] != 0


@pytest.mark.parametrize("orthogonality", ["disjoint", "strict"])
def test_the_sum_is_never_below_that_of_a_chain_under_any_rule_of_deflation(orthogonality):
    # Dealing from turned principal components ended 3 % below a chain by projection.
    tables = [load_breast_cancer().data, np.random.default_rng(3).normal(size=(40, 25)) ** 3]
    for X, k in product(tables, (3, 5)):
        asked = {"n_nonzero": k, "orthogonality": orthogonality, "standardize": True}
        found = SparsePCA(2, objective="sum", **asked).fit(X).marginal_variance_.sum()
        for rule in ("schur", "projection", "hotelling"):
            greedy = SparsePCA(2, deflation=rule, refine=False, **asked).fit(X)
            assert found >= greedy.marginal_variance_.sum() * (1 - 1e-9), (k, rule)
