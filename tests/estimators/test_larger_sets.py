"""Larger sets of components never give less: relations, and efforts."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, load_digits, load_wine

from loadstone import SparsePCA

#: Every set is contained in the one before it.
RELATIONS = ("none", "quasi", "strict", "disjoint")
EFFORTS = ("thorough", "balanced", "fast")
FEWER = pytest.mark.filterwarnings("ignore:.*fewer than asked for")


def random_problem(seed):
    """Data of any shape, with groups of features or without, and how to fit it."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(5, 60)), int(rng.integers(4, 40))
    X = rng.normal(size=(n, d)) * rng.uniform(0.3, 3.0, d)
    for _ in range(int(rng.integers(0, 4))):
        group = rng.random(d) < rng.uniform(0.1, 0.6)
        X[:, group] += rng.uniform(0.5, 3.0) * rng.normal(size=(n, 1))
    asked = {
        "n_components": int(rng.integers(2, 6)),
        "n_nonzero": int(rng.integers(1, min(d, 8) + 1)),
        "nonnegative": bool(rng.random() < 0.3),
        "standardize": bool(rng.random() < 0.5),
    }
    return X, asked


def explained(X, **asked):
    """What is reported: the adjusted variance, computed here by regressing the scores."""
    model = SparsePCA(**asked).fit(X)
    Z = X - X.mean(axis=0)
    if asked.get("standardize"):
        Z = Z / Z.std(axis=0, ddof=1)
    R = np.linalg.qr(Z @ model.components_.T)[1]
    total = float(np.sum(np.diagonal(R) ** 2)) / (len(X) - 1)
    assert total == pytest.approx(model.explained_variance_.sum(), rel=1e-6)
    return total


def assert_all_descend(X, asked):
    """Relations with the usual effort, and efforts with the usual relation: one fit is both."""
    usual = explained(X, orthogonality="none", effort="balanced", **asked)
    related = [explained(X, orthogonality=kind, **asked) for kind in RELATIONS[1:]]
    assert_descending([usual, *related])
    thorough, fast = (explained(X, effort=effort, **asked) for effort in ("thorough", "fast"))
    assert_descending([thorough, usual, fast])


def assert_descending(totals):
    for larger, smaller in pairwise(totals):
        assert larger >= smaller * (1 - 1e-9), totals


@FEWER
@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_more_freedom_never_explains_less(seed):
    X, asked = random_problem(seed)
    assert_descending([explained(X, orthogonality=kind, **asked) for kind in RELATIONS])


@FEWER
@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6), kind=st.sampled_from(RELATIONS))
def test_more_effort_never_explains_less(seed, kind):
    X, asked = random_problem(seed)
    asked["orthogonality"] = kind
    assert_descending([explained(X, effort=effort, **asked) for effort in EFFORTS])


@FEWER
@pytest.mark.parametrize("kind", RELATIONS)
def test_refined_components_explain_no_less_than_those_of_the_search(kind):
    for seed in range(12):
        X, asked = random_problem(seed)
        asked["orthogonality"] = kind
        totals = [explained(X, refine=refine, **asked) for refine in ("warm", False)]
        assert_descending(totals)


@FEWER
def test_the_order_of_single_features_takes_nothing_away():
    # All variances are equal, and in another order the five explain less than one by one.
    rng = np.random.default_rng(4)
    for _ in range(20):
        X = rng.normal(size=(20, 5)) @ rng.normal(size=(5, 5))
        asked = {"n_components": 4, "n_nonzero": 1, "standardize": True}
        assert_descending([explained(X, refine=refine, **asked) for refine in ("warm", False)])


@pytest.mark.parametrize("seed", [3, 7])
def test_more_effort_never_loses_single_features(seed):
    # Features of one variance: which of them comes first is open, and decides the others.
    X = np.random.default_rng(seed).normal(size=(25, 36))
    asked = {"n_components": 6, "n_nonzero": 1, "standardize": True}
    assert_descending([explained(X, effort=effort, **asked) for effort in EFFORTS])


@FEWER
@pytest.mark.parametrize("load", [load_wine, load_breast_cancer, load_digits])
@pytest.mark.parametrize(("r", "k"), [(2, 3), (5, 3), (3, 10), (10, 10)])
def test_real_data_too(load, r, k):
    X = load().data
    X = X[:, X.std(axis=0) > 0]
    asked = {"n_components": r, "n_nonzero": k, "standardize": True}
    assert_all_descend(X, asked)


def test_breast_cancer_gets_what_the_engine_has():
    model = SparsePCA(5, n_nonzero=4, standardize=True).fit(load_breast_cancer().data)
    assert model.explained_variance_ratio_.sum() >= 0.4224


def test_strict_components_explain_what_disjoint_ones_do_on_wide_data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 700))
    X[:, :30] += 2 * rng.normal(size=(30, 1))
    X[:, 20:60] += 1.5 * rng.normal(size=(30, 1))
    asked = {"n_components": 4, "n_nonzero": 12, "standardize": True}
    assert_all_descend(X, asked)


@pytest.mark.parametrize("nonnegative", [False, True])
def test_disjoint_components_leave_forced_features_to_the_first(nonnegative):
    """The only exception, and one that is told: they are no smaller set then."""
    X = load_wine().data
    asked = {"n_components": 3, "n_nonzero": 3, "forced": [0, 2], "nonnegative": nonnegative}
    model = SparsePCA(orthogonality="disjoint", standardize=True, **asked).fit(X)
    assert not model.support_[1:, [0, 2]].any()
    free = explained(X, orthogonality="none", standardize=True, **asked)
    assert model.explained_variance_.sum() > free
    told = " ".join(str(SparsePCA.__doc__).split())
    assert "Where components share no feature" in told
    assert "in the first one only" in told
