"""The soft threshold of a budget, exact to rounding."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import brentq

from loadstone.constraints import L1Budget
from loadstone.constraints.l1_budget import within_budget


def bisected(worth, budget):
    """The threshold by its definition, one column at a time."""

    def excess(t):
        rest = np.maximum(worth - t, 0)
        return rest.sum() - budget * np.linalg.norm(rest)

    if excess(0.0) <= 0:
        return worth / np.linalg.norm(worth)
    second = np.partition(worth, -2)[-2]
    t = brentq(excess, 0.0, (worth.max() + second) / 2, xtol=1e-15, rtol=1e-15)
    rest = np.maximum(worth - t, 0)
    return rest / np.linalg.norm(rest)


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10_000), p=st.integers(2, 60), share=st.floats(0.05, 0.95))
def test_the_closed_form_is_the_bisected_threshold(seed, p, share):
    worth = np.abs(np.random.default_rng(seed).standard_normal((p, 5)))
    budget = 1.0 + share * (np.sqrt(p) - 1.0)
    found = within_budget(worth, budget)
    for column, w in zip(worth.T, found.T, strict=True):
        np.testing.assert_allclose(w / np.linalg.norm(w), bisected(column, budget), atol=1e-9)


def dual_value(constraint, d):
    """min over t >= 0 of ``|(|d| - t)_+| + t budget``: a limit of <d, w> that is reached."""
    d = np.delete(d, constraint.forbidden)
    worth = np.maximum(d, 0) if constraint.nonnegative else np.abs(d)
    if not worth.any():
        return d.max() if constraint.nonnegative else 0.0
    grid = np.concatenate([np.linspace(0, worth.max(), 4001), worth])
    return min(np.linalg.norm(np.maximum(worth - t, 0)) + t * constraint.budget for t in grid)


@pytest.mark.parametrize("constraint", L1Budget.examples(7), ids=repr)
@settings(max_examples=40, deadline=None)
@given(
    d=arrays(
        np.float64,
        7,
        elements=st.sampled_from([-2.0, -1.0, -0.5, 0.0, 0.25, 1.0, 1.0, 3.0])
        | st.floats(-10, 10).map(lambda v: 0.0 if abs(v) < 1e-6 else v),
    )
)
def test_no_vector_within_the_budget_points_further(constraint, d):
    reached, limit = d @ constraint.best_loading(d), dual_value(constraint, d)
    assert reached == pytest.approx(limit, rel=1e-5, abs=1e-9)
    assert reached <= limit + 1e-9


@pytest.mark.parametrize("near", [0.0, 1e-16, 1e-12, 1e-8])
@pytest.mark.parametrize("budget", [1.0, 1.2, np.sqrt(2), 1.7])
def test_entries_that_almost_tie_keep_the_budget(near, budget):
    d = np.array([1.0, 1.0 - near, 1.0 + near, 0.9, 0.2])
    constraint = L1Budget(5, budget)
    w = constraint.best_loading(d)
    assert constraint.broken_rule(w) is None
    # Three entries of at least 1 - near can take the whole budget, and none is worth more.
    assert budget * (1 - near - 1e-12) <= d @ w <= budget * (1 + near + 1e-12)


def test_an_unused_budget_changes_nothing():
    d = np.array([[3.0, 0.0], [4.0, 0.0], [0.0, 0.0]])
    np.testing.assert_allclose(L1Budget(3, 1.5).best_loading(d)[:, 0], [0.6, 0.8, 0.0])
    # Nothing to follow: any single feature is as good.
    assert np.abs(L1Budget(3, 1.5).best_loading(d)[:, 1]).tolist() == [1.0, 0.0, 0.0]


def test_length_and_budget_are_checked():
    assert L1Budget(budget=2.0).bound_to(9).n_features == 9
    assert L1Budget(9, 2.0).bound_to(9) == L1Budget(9, 2.0)
    with pytest.raises(ValueError, match=r"budget=0\.5"):
        L1Budget(9, 0.5)
    with pytest.raises(ValueError, match="budget=nan"):
        L1Budget(9)
    with pytest.raises(ValueError, match="about 9 features, the data has 8"):
        L1Budget(9, 2.0).bound_to(8)
    assert "sum to 1.41421, more than budget=1.2" in L1Budget(2, 1.2).broken_rule(
        np.full(2, np.sqrt(0.5))
    )


def test_a_budget_in_the_place_of_the_length_is_recognised():
    with pytest.raises(ValueError, match=r"L1Budget\(budget=1.5\)"):
        L1Budget(1.5)
