"""Feasible, unit norm, optimal against brute force, idempotent: for every constraint."""

import json
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.base import BaseEstimator, clone

from loadstone.constraints import Constraint, Groups, LoadingConstraint, Signs, filled_support
from loadstone.files.npz_json import decode, encode
from registry import constraint_classes, constraints

P = 7
CONSTRAINTS = constraints(P)
directions = arrays(
    np.float64,
    P,
    elements=st.sampled_from([-2.0, -1.0, -0.5, 0.0, 0.25, 1.0, 1.0, 3.0])
    | st.floats(-10, 10, allow_nan=False).map(lambda v: 0.0 if abs(v) < 1e-6 else v),
)


def test_every_kind_of_constraint_is_covered():
    assert {type(c) for c in CONSTRAINTS} == constraint_classes()


def rivals(constraint, d):
    """Unit vectors that ``broken_rule`` lets pass, among them the best one on every support."""
    # On a support the best direction is d itself, or a single feature where d is not allowed.
    tried = [sign * e for e in np.eye(P) for sign in (1, -1)]
    for size in range(1, P + 1):
        for support in combinations(range(P), size):
            w = np.zeros(P)
            w[list(support)] = d[list(support)]
            if w.any():
                tried.append(w / np.linalg.norm(w))
    noise = np.random.default_rng(0).standard_normal((200, P))
    tried += [w / np.linalg.norm(w) for w in noise**3 + d * np.abs(noise[:, :1])]
    return [w for w in tried if constraint.broken_rule(w) is None]


@pytest.mark.parametrize("constraint", CONSTRAINTS, ids=repr)
@given(d=directions)
@settings(max_examples=60, deadline=None)
def test_best_loading_is_allowed_and_optimal(constraint, d):
    assert isinstance(constraint, Constraint)
    w = constraint.best_loading(d)
    assert constraint.allows(w)
    best = max(d @ v for v in rivals(constraint, d))
    assert d @ w >= best - 1e-9
    if constraint.refits:
        assert d @ w == pytest.approx(best, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("constraint", CONSTRAINTS, ids=repr)
@given(d=directions)
@settings(max_examples=30, deadline=None)
def test_best_loading_is_idempotent_and_scale_free(constraint, d):
    w = constraint.best_loading(d)
    np.testing.assert_allclose(constraint.best_loading(w) @ w, 1, atol=1e-6)
    np.testing.assert_allclose(constraint.best_loading(4 * d) @ d, w @ d, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("constraint", CONSTRAINTS, ids=repr)
def test_blocks_are_columns_side_by_side(constraint):
    D = np.random.default_rng(0).standard_normal((P, 9))
    block = constraint.best_loading(D)
    for j in range(9):
        np.testing.assert_allclose(block[:, j], constraint.best_loading(D[:, j]), atol=1e-12)


@pytest.mark.parametrize("constraint", CONSTRAINTS, ids=repr)
def test_allows_refuses_what_is_not_allowed(constraint):
    assert not constraint.allows(np.zeros(P))
    assert not constraint.allows(np.full(P, 2.0))
    assert "norm" in constraint.broken_rule(np.full(P, 2.0))
    assert "shape" in constraint.broken_rule(np.ones(P + 1))
    for feature in constraint.forbidden:
        assert "forbidden" in constraint.broken_rule(np.eye(P)[feature])
    if constraint.signs is not None:
        for feature in np.flatnonzero(constraint.signs):
            wrong = -constraint.signs[feature] * np.eye(P)[feature]
            assert " 0" in constraint.broken_rule(wrong)


@pytest.mark.parametrize("constraint", CONSTRAINTS, ids=repr)
def test_without_signs_both_orientations_are_allowed(constraint):
    allowed = [constraint.best_loading(d) for d in np.eye(P)]
    if constraint.signs is None:
        assert all(constraint.allows(-w) for w in allowed)
    else:
        assert not all(constraint.allows(-w) for w in allowed)
        assert all((constraint.signs * w >= 0).all() for w in allowed)


@pytest.mark.parametrize("constraint", CONSTRAINTS, ids=repr)
@given(d=directions, seed=st.integers(0, 100))
@settings(max_examples=20, deadline=None)
def test_a_support_may_be_refitted_where_the_constraint_says_so(constraint, d, seed):
    w = constraint.best_loading(d)
    support = constraint.support(w)
    assert set(np.flatnonzero(w)) <= set(support)
    if constraint.refits:
        v = np.zeros(P)
        v[support] = np.random.default_rng(seed).standard_normal(support.size)
        if constraint.signs is not None:
            v = np.where(constraint.signs == 0, v, constraint.signs * np.abs(v))
        assert constraint.allows(v / np.linalg.norm(v))


@pytest.mark.parametrize("constraint", CONSTRAINTS, ids=repr)
@given(d=directions)
@settings(max_examples=20, deadline=None)
def test_units_are_used_and_can_be_taken_out(constraint, d):
    w = constraint.best_loading(d)
    for unit in constraint.units(w):
        assert w[unit].any()
        if np.union1d(unit, constraint.forbidden).size < P:
            other = constraint.without(unit).best_loading(d)
            assert constraint.allows(other)
            assert not other[unit].any()


@pytest.mark.parametrize("constraint", CONSTRAINTS, ids=repr)
@given(terms=arrays(np.float64, P, elements=st.floats(0, 10)))
@settings(max_examples=20, deadline=None)
def test_largest_sum_and_l1_norm_are_limits(constraint, terms):
    limit = constraint.largest_sum(terms)
    assert limit.shape == ()
    np.testing.assert_array_equal(constraint.largest_sum(np.column_stack([terms] * 2)), [limit] * 2)
    reached = 0.0
    for size in range(1, P + 1):
        for support in map(list, combinations(range(P), size)):
            w = np.zeros(P)
            sides = np.ones(P) if constraint.signs is None else constraint.signs
            w[support] = np.where(sides[support] == 0, 1, sides[support]) / np.sqrt(size)
            if constraint.allows(w):
                reached = max(reached, terms[support].sum())
                assert np.abs(w).sum() <= constraint.largest_l1 * (1 + 1e-12)
    assert limit >= reached - 1e-9
    if isinstance(constraint, LoadingConstraint | Groups | Signs):
        assert limit == pytest.approx(reached)


@pytest.mark.parametrize("constraint", CONSTRAINTS, ids=repr)
def test_the_constraint_moves_with_the_features(constraint):
    rng = np.random.default_rng(1)
    for _ in range(20):
        d, order = rng.standard_normal(P), rng.permutation(P)
        permuted = constraint.on(order)
        w, v = constraint.best_loading(d), permuted.best_loading(d[order])
        np.testing.assert_allclose(w[order], v, atol=1e-12)
        assert permuted.allows(w[order])
        assert permuted.is_free == constraint.is_free


@pytest.mark.parametrize("constraint", CONSTRAINTS, ids=repr)
def test_on_fewer_features_means_the_others_are_zero(constraint):
    forced = constraint.forced if isinstance(constraint, LoadingConstraint) else []
    kept = np.union1d([0, 3, 4, 6], forced).astype(int)
    local = constraint.on(kept)
    assert local.n_features == kept.size
    closed = np.setdiff1d(np.arange(P), kept)
    for d in np.random.default_rng(2).standard_normal((9, P)):
        w = constraint.without(closed).best_loading(d)
        np.testing.assert_allclose(local.best_loading(d[kept]), w[kept], atol=1e-12)


@pytest.mark.parametrize("constraint", CONSTRAINTS, ids=repr)
def test_bound_to_data_closes_what_does_not_vary(constraint):
    constant = np.zeros(P, dtype=bool)
    constant[[3, 5]] = True
    bound = constraint.bound_to(P, [f"x{i}" for i in range(P)], constant)
    assert {3, 5} <= set(bound.forbidden)
    assert constraint.bound_to(P).n_features == P
    with pytest.raises(ValueError, match=f"{P + 1}"):
        constraint.bound_to(P + 1)


@pytest.mark.parametrize("constraint", CONSTRAINTS, ids=repr)
def test_nothing_left_is_refused(constraint):
    with pytest.raises(ValueError, match="allow at least one"):
        constraint.without(np.arange(P))


@pytest.mark.parametrize("constraint", CONSTRAINTS, ids=repr)
def test_a_constraint_is_a_plain_value(constraint):
    class Holder(BaseEstimator):
        def __init__(self, constraint=None):
            self.constraint = constraint

    copied = clone(Holder(constraint)).constraint
    arrays_ = {}
    text = json.dumps(encode(constraint, arrays_))
    again = decode(json.loads(text), arrays_)
    d = np.random.default_rng(3).standard_normal((P, 4))
    for other in (copied, again):
        assert repr(other) == repr(constraint)
        np.testing.assert_array_equal(other.best_loading(d), constraint.best_loading(d))
    assert len(repr(constraint)) < 120
    assert "array" not in repr(constraint)


@pytest.mark.parametrize("constraint", CONSTRAINTS, ids=repr)
def test_words_can_follow_among(constraint):
    words = constraint.describe()
    assert "components" in words
    assert words[-1].isalnum()


@pytest.mark.parametrize("constraint", CONSTRAINTS, ids=repr)
@given(d=directions)
@settings(max_examples=20, deadline=None)
def test_filled_supports_leave_no_place_empty(constraint, d):
    support = filled_support(constraint, d)
    assert not np.isin(constraint.forbidden, support).any()
    if constraint.refits:
        used = np.zeros(P)
        used[support] = 1.0
        assert constraint.support(used).size == support.size
        assert support.size == constraint.largest_sum(np.ones(P)) or constraint.units(used)


def test_places_are_filled_by_those_that_lose_least():
    d = np.array([3.0, -5.0, -0.1, 0.0, -2.0, 0.0])
    for k, expected in (
        (1, [0]),
        (2, [0, 3]),
        (3, [0, 3, 5]),
        (4, [0, 2, 3, 5]),
        (5, [0, 2, 3, 4, 5]),
    ):
        assert filled_support(LoadingConstraint(6, k, nonnegative=True), d).tolist() == expected


CARDINALITIES = [c for c in CONSTRAINTS if isinstance(c, LoadingConstraint)]


@pytest.mark.parametrize("constraint", CARDINALITIES, ids=repr)
@given(d=directions)
@settings(max_examples=40, deadline=None)
def test_shrunken_loading_keeps_the_support_rules(constraint, d):
    w = constraint.shrunken_loading(d)
    assert constraint.allows(w)
    # Ties shrink to zero; they never add a feature that the hard rule leaves out.
    kept = set(np.flatnonzero(constraint.best_loading(d)))
    assert set(np.flatnonzero(w)) <= kept
