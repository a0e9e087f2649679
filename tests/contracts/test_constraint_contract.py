"""Feasible, unit norm, optimal against brute force, idempotent: for every constraint."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from loadstone.constraints import Constraint, L1Budget, LoadingConstraint
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


def brute_force_value(constraint, d):
    """max <d, w> over allowed w, by trying every support."""
    if isinstance(constraint, L1Budget):
        return l1_value(constraint, d)
    forced = set(constraint.forced.tolist())
    free = [i for i in range(P) if i not in forced | set(constraint.forbidden.tolist())]
    best = -np.inf
    for r in range(constraint.size - len(forced) + 1):
        for extra in combinations(free, r):
            A = sorted(forced | set(extra))
            if not A:
                continue
            part = d[A]
            if constraint.nonnegative:
                value = np.linalg.norm(np.maximum(part, 0))
                best = max(best, value if value > 0 else part.max())
            else:
                best = max(best, np.linalg.norm(part))
    return best


def l1_value(constraint, d):
    """Dual: min over t >= 0 of ||(|d| - t)_+|| + t * budget, an upper bound that is tight."""
    worth = np.maximum(d, 0) if constraint.nonnegative else np.abs(d)
    if not worth.any():
        return d.max() if constraint.nonnegative else 0.0
    grid = np.concatenate([np.linspace(0, worth.max(), 4001), worth])
    return min(np.linalg.norm(np.maximum(worth - t, 0)) + t * constraint.budget for t in grid)


@pytest.mark.parametrize("constraint", CONSTRAINTS, ids=repr)
@given(d=directions)
@settings(max_examples=60, deadline=None)
def test_best_loading_is_allowed_and_optimal(constraint, d):
    assert isinstance(constraint, Constraint)
    w = constraint.best_loading(d)
    assert constraint.allows(w)
    best = brute_force_value(constraint, d)
    assert d @ w == pytest.approx(best, rel=1e-5, abs=1e-9)
    assert d @ w <= best + 1e-9


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
    if getattr(constraint, "nonnegative", False):
        w = np.zeros(P)
        w[3] = -1
        assert not constraint.allows(w)


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


@pytest.mark.parametrize("constraint", CARDINALITIES, ids=repr)
def test_permuting_features_permutes_the_answer(constraint):
    if constraint.forced.size or constraint.forbidden.size:
        constraint = LoadingConstraint(P, constraint.n_nonzero, constraint.nonnegative)
    rng = np.random.default_rng(1)
    d, order = rng.standard_normal(P), rng.permutation(P)
    np.testing.assert_array_equal(
        constraint.best_loading(d)[order], constraint.best_loading(d[order])
    )
