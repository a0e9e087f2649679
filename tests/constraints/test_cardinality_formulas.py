"""Thresholds, ties, forbidden features and budgets of the constraints, written out by hand."""

from itertools import combinations

import numpy as np
import pytest

from loadstone.constraints import Groups, L1Budget, LoadingConstraint, Signs

P = 8


def soft_by_hand(direction, constraint):
    """Algorithm 2 of Sigg & Buhmann: subtract the (K+1)-th largest, cut at zero, normalise.

    Forced features keep their place whatever their size, forbidden ones have none.
    """
    worth = {}
    for i, d in enumerate(direction):
        if i not in constraint.forbidden:
            worth[i] = max(d, 0.0) if constraint.nonnegative else abs(d)
    others = sorted((i for i in worth if i not in constraint.forced), key=lambda i: -worth[i])
    places = constraint.n_nonzero - len(constraint.forced)
    kept = [*constraint.forced.tolist(), *others[:places]]
    left_out = [worth[i] for i in others[places:]]
    threshold = max(left_out, default=0.0)
    w = np.zeros(P)
    for i in kept:
        w[i] = np.sign(direction[i]) * max(worth[i] - threshold, 0.0)
    if not w.any():
        for i in kept:
            w[i] = np.sign(direction[i]) * worth[i]
    return w / np.sqrt((w**2).sum())


CONSTRAINTS = [
    LoadingConstraint(P, 1),
    LoadingConstraint(P, 3),
    LoadingConstraint(P, P),
    LoadingConstraint(P, 3, nonnegative=True),
    LoadingConstraint(P, 4, forbidden=np.array([0, 5])),
    LoadingConstraint(P, 4, forced=np.array([2])),
    LoadingConstraint(P, 3, nonnegative=True, forced=np.array([1]), forbidden=np.array([6])),
]


@pytest.mark.parametrize("constraint", CONSTRAINTS, ids=range(len(CONSTRAINTS)))
def test_the_soft_threshold_is_the_largest_entry_left_out(constraint):
    rng = np.random.default_rng(0)
    for _ in range(40):
        d = rng.standard_normal(P)
        if constraint.nonnegative:
            d[rng.choice(P, 4, replace=False)] = 0.5 + rng.random(4)
        found = constraint.shrunken_loading(d)
        np.testing.assert_allclose(found, soft_by_hand(d, constraint), atol=1e-12)


def test_shrinking_differs_from_keeping():
    d = np.array([4.0, -3.0, 2.0, 1.0, 0, 0, 0, 0])
    found = LoadingConstraint(P, 2).shrunken_loading(d)
    np.testing.assert_allclose(found[:2], np.array([2.0, -1.0]) / np.sqrt(5))
    kept = LoadingConstraint(P, 2).best_loading(d)
    np.testing.assert_allclose(kept[:2], [0.8, -0.6])


def test_ties_go_to_the_first_feature():
    d = np.array([1.0, 2.0, 1.0, 1.0, 2.0, 1.0, 0.0, 1.0])
    for size, expected in ((1, [1]), (2, [1, 4]), (3, [0, 1, 4]), (4, [0, 1, 2, 4])):
        constraint = LoadingConstraint(P, size)
        assert np.flatnonzero(constraint.best_loading(d)).tolist() == expected
        both = constraint.best_loading(np.column_stack([d, d[::-1]]))
        assert np.flatnonzero(both[:, 0]).tolist() == expected


def test_where_every_entry_is_negative_the_allowed_one_that_loses_least_is_taken():
    d = -np.array([0.1, 5.0, 0.5, 3.0, 4.0, 6.0, 7.0, 8.0])
    constraint = LoadingConstraint(P, 3, nonnegative=True, forbidden=np.array([0]))
    np.testing.assert_array_equal(constraint.best_loading(d), np.eye(P)[2])


def test_a_vector_of_zeros_gives_an_allowed_feature():
    constraint = LoadingConstraint(P, 3, nonnegative=True, forbidden=np.array([0, 1]))
    w = constraint.best_loading(np.zeros(P))
    assert np.flatnonzero(w).tolist() == [2]
    assert constraint.allows(w)


@pytest.mark.parametrize("nonnegative", [False, True])
def test_a_forbidden_feature_fills_no_place_that_others_leave(nonnegative):
    d = np.array([9.0, 0, 0, 1.0, 0, 0, 0, 7.0])
    constraint = LoadingConstraint(P, 4, nonnegative, forbidden=np.array([0, 7]))
    for found in (constraint.best_loading(d), constraint.shrunken_loading(d)):
        np.testing.assert_array_equal(found, np.eye(P)[3])
    assert not {0, 7} & set(constraint.support(constraint.best_loading(d)).tolist())


@pytest.mark.parametrize(
    ("used", "forced", "allowed"),
    [
        ([0, 1, 2], [], True),
        ([0, 1, 2, 3], [], False),
        ([0, 1], [7], True),
        ([0, 1, 2], [7], False),
        ([0, 1], [6, 7], False),
    ],
)
def test_forced_features_hold_a_place_even_at_zero(used, forced, allowed):
    constraint = LoadingConstraint(P, 3, forced=np.array(forced, dtype=np.intp))
    w = np.zeros(P)
    w[used] = 1 / np.sqrt(len(used))
    assert constraint.allows(w) is allowed
    rule = constraint.broken_rule(w)
    assert (rule is None) is allowed
    assert allowed or "more than n_nonzero=3" in rule


@pytest.mark.parametrize(("norm", "allowed"), [(1.0, True), (1 + 1e-14, True), (1 + 1e-9, False)])
def test_loadings_have_unit_norm_to_the_last_digits(norm, allowed):
    assert LoadingConstraint(P, 3).allows(norm * np.eye(P)[1]) is allowed


def test_a_constraint_on_some_features_keeps_its_names():
    constraint = LoadingConstraint(P, 2, forced=np.array([4]), forbidden=np.array([1, 6]))
    inner = constraint.on(np.array([1, 3, 4, 6, 7]))
    d = np.array([9.0, 2.0, 0.5, 9.0, 1.0])
    assert np.flatnonzero(inner.best_loading(d)).tolist() == [1, 2]
    assert not inner.allows(np.eye(5)[0])
    assert not inner.allows(np.eye(5)[3])
    assert inner.allows(np.eye(5)[2])


def test_used_features_are_closed_to_what_follows():
    constraint = LoadingConstraint(P, 2, forced=np.array([3]), forbidden=np.array([0]))
    left = constraint.without(np.array([3, 5]))
    assert not any(left.allows(np.eye(P)[i]) for i in (0, 3, 5))
    assert all(left.allows(np.eye(P)[i]) for i in (1, 2, 4, 6, 7))


@pytest.mark.parametrize("budget", [1.0, 1.2, 1.7])
def test_tied_entries_share_a_budget_below_what_they_would_need(budget):
    d = np.array([2.0, -2.0, 2.0, 2.0, 1.0, 0.0, 0.0, 0.0])
    w = L1Budget(P, budget).best_loading(d)
    assert np.abs(w).sum() <= budget * (1 + 1e-10)
    assert np.sqrt((w**2).sum()) == pytest.approx(1)
    # All the budget on entries of size two is the most any allowed vector can have.
    assert d @ w == pytest.approx(2 * budget, rel=1e-9)


@pytest.mark.parametrize("nonnegative", [False, True])
def test_no_vector_of_any_support_beats_the_best_loading(nonnegative):
    rng = np.random.default_rng(1)
    constraint = LoadingConstraint(P, 3, nonnegative)
    for _ in range(20):
        d = rng.standard_normal(P)
        d[0] = 1.0
        worth = np.maximum(d, 0) if nonnegative else np.abs(d)
        best = max(np.sqrt((worth[list(s)] ** 2).sum()) for s in combinations(range(P), 3))
        assert d @ constraint.best_loading(d) == pytest.approx(best)


@pytest.mark.parametrize("nonnegative", [False, True])
@pytest.mark.parametrize("budget", [1.0, 1.3, 2.0, 5.0])
def test_a_budget_is_spent_as_its_dual_says(budget, nonnegative):
    """max <d, w> = min over t >= 0 of |(|d| - t)_+| + t budget, a convex function of t."""
    rng = np.random.default_rng(2)
    for _ in range(10):
        d = rng.standard_normal(P) + 0.3
        worth = np.maximum(d, 0) if nonnegative else np.abs(d)
        levels = np.linspace(0, worth.max(), 20001)
        lengths = np.sqrt((np.maximum(worth[:, None] - levels, 0) ** 2).sum(axis=0))
        best = (lengths + levels * budget).min()
        w = L1Budget(P, budget, nonnegative).best_loading(d)
        assert np.abs(w).sum() <= budget * (1 + 1e-10)
        assert (w**2).sum() == pytest.approx(1)
        assert d @ w == pytest.approx(best, rel=1e-6)
        assert not nonnegative or w.min() >= 0


def test_forced_features_without_any_direction_keep_their_places():
    constraint = LoadingConstraint(4, 1, forced=np.array([2]))
    direction = np.array([1.0, 0.5, 0.0, 0.2])
    for loading in (constraint.best_loading, constraint.shrunken_loading):
        w = loading(direction)
        assert constraint.allows(w)
        np.testing.assert_array_equal(np.flatnonzero(w), [2])


def test_features_may_be_given_as_a_list():
    constraint = LoadingConstraint(6, 3, forced=[4, 1, 4], forbidden=(2,))
    assert constraint.forced.tolist() == [1, 4]
    assert constraint.forbidden.tolist() == [2]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"forced": [6]}, "feature 6 of forced does not exist; features go from 0 to 5"),
        ({"forbidden": [0, -1]}, "feature -1 of forbidden does not exist"),
        ({"forced": [1.5]}, "must be the numbers of features"),
        ({"forced": [True] * 6}, "must be the numbers of features"),
        ({"forced": ["a"]}, "must be the numbers of features"),
        ({"n_nonzero": 0}, "n_nonzero=0 must be a whole number of at least 1"),
        ({"n_nonzero": 2.5}, "n_nonzero=2.5 must be"),
        ({"n_nonzero": None}, "n_nonzero=None must be"),
        ({"n_nonzero": True}, "n_nonzero=True must be"),
    ],
)
def test_features_and_sizes_that_are_none_are_refused(given, words):
    with pytest.raises(ValueError, match=words):
        LoadingConstraint(6, **{"n_nonzero": 3, **given})


@pytest.mark.parametrize(
    "make",
    [lambda: L1Budget(6, "a"), lambda: Groups([0, 0, 1], "a"), lambda: Groups([0, 0, 1], 1.5)],
)
def test_limits_that_are_no_numbers_are_refused(make):
    with pytest.raises(ValueError, match="must be"):
        make()


def test_other_constraints_take_lists_as_well():
    assert Groups([0, 0, 1, 1], 1, forbidden=[3]).forbidden.tolist() == [3]
    assert Signs({0: 1}, n_features=4, forbidden=[3]).forbidden.tolist() == [3]


def test_a_forced_feature_that_does_not_vary_is_refused():
    constant = np.isin(np.arange(P), [2, 5])
    bound = LoadingConstraint(P, 3, forced=np.array([1])).bound_to(P, constant=constant)
    assert (bound.forced.tolist(), bound.forbidden.tolist()) == ([1], [2, 5])
    for forced in ([1, 5], [2, 5]):
        stuck = [feature for feature in forced if constant[feature]]
        with pytest.raises(ValueError, match=rf"forced feature\(s\) \{stuck} are constant"):
            LoadingConstraint(P, 3, forced=np.array(forced)).bound_to(P, constant=constant)


def test_without_a_size_nothing_is_closed():
    constant = np.isin(np.arange(P), [2, 5])
    assert LoadingConstraint(P, P).bound_to(P, constant=constant).forbidden.size == 0
    assert LoadingConstraint(P, P - 1).bound_to(P, constant=constant).forbidden.tolist() == [2, 5]
