"""The exact spannogram against brute force, ties of every kind included."""

from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from loadstone.solvers.spannogram.exact import candidate_supports, exact
from loadstone.solvers.spannogram.solver import search
from solvers.spannogram_oracles import (
    KINDS,
    brute_force,
    g_squared,
    make_rows,
    selected_support,
)

SIDES = pytest.mark.parametrize("nonnegative", [True, False], ids=["nonnegative", "signed"])


def solve(V, n_nonzero, nonnegative, method="exact", epsilon=0.1):
    rng = np.random.default_rng(0)
    return search(V, n_nonzero, method, epsilon, nonnegative=nonnegative, rng=rng)[0]


@SIDES
@pytest.mark.parametrize("rank", [1, 2, 3])
@pytest.mark.parametrize("kind", KINDS)
def test_equals_brute_force(kind, rank, nonnegative):
    rng = np.random.default_rng([KINDS.index(kind), rank])
    for _ in range(10):
        n = int(rng.integers(max(4, 2 * rank), 11))
        n_nonzero = int(rng.integers(1, n + 1))
        V = make_rows(kind, n, rank, rng)
        found = solve(V, n_nonzero, nonnegative)
        assert found.value == pytest.approx(brute_force(V, n_nonzero, nonnegative), rel=1e-10)
        assert found.upper_bound == pytest.approx(found.value, rel=1e-10)
        assert found.n_candidates <= 2**rank * comb(n + 1, rank)
        V_c = g_squared(V, found.c, n_nonzero, nonnegative)
        assert V_c == pytest.approx(found.value, rel=1e-12)


@SIDES
@pytest.mark.parametrize(("n", "rank"), [(12, 3), (12, 2)])
def test_equals_brute_force_at_twelve_features(n, rank, nonnegative):
    V = np.random.default_rng(rank).standard_normal((n, rank))
    for n_nonzero in (1, 4, 7, 12):
        assert solve(V, n_nonzero, nonnegative).value == pytest.approx(
            brute_force(V, n_nonzero, nonnegative), rel=1e-11
        )


@SIDES
@pytest.mark.parametrize("rank", [1, 2, 3])
@pytest.mark.parametrize("kind", KINDS)
def test_every_selected_support_is_a_candidate(kind, rank, nonnegative):
    rng = np.random.default_rng(7)
    V = make_rows(kind, 9, rank, rng)
    V = V[V.any(axis=1)]
    n = len(V)
    directions = rng.standard_normal((400, rank))
    for n_nonzero in (1, 3, n - 1):
        candidates = candidate_supports(V, n_nonzero, nonnegative=nonnegative)
        assert len(candidates) == len(set(candidates)) <= 2**rank * comb(n + 1, rank)
        if kind in ("duplicates", "parallel", "lattice"):
            # Tied rows are interchangeable: compare what the supports can reach instead.
            values = [_reached(V, s, directions, nonnegative) for s in candidates]
            seen = [g_squared(V, c / np.linalg.norm(c), n_nonzero, nonnegative) for c in directions]
            assert np.max(values, axis=0) == pytest.approx(seen, rel=1e-10)
        else:
            seen = {selected_support(V, c, n_nonzero, nonnegative) for c in directions}
            assert seen - {frozenset()} <= set(candidates)


def _reached(V, support, directions, nonnegative):
    heights = directions @ V[sorted(support)].T / np.linalg.norm(directions, axis=1)[:, None]
    kept = np.maximum(heights, 0.0) if nonnegative else heights
    return np.sum(kept**2, axis=1)


@pytest.mark.parametrize("n_nonzero", [2, 4])
@pytest.mark.parametrize("rank", [2, 3])
def test_every_candidate_is_selected_by_some_direction(rank, n_nonzero):
    V = np.random.default_rng(3).standard_normal((7, rank))
    for support in candidate_supports(V, n_nonzero, nonnegative=True):
        inside = sorted(support)
        outside = sorted(set(range(7)) - support)
        # The smallest selected height exceeds zero and, where all places are taken, the rest.
        gaps = [V[i] for i in inside]
        gaps += [V[i] - V[j] for i in inside for j in outside if len(inside) == n_nonzero]
        gaps += [-V[j] for j in outside if len(inside) < n_nonzero]
        margin = np.column_stack([-np.array(gaps), np.ones(len(gaps))])
        best = linprog(
            np.append(np.zeros(rank), -1.0),
            margin,
            np.zeros(len(gaps)),
            bounds=[(-1, 1)] * (rank + 1),
        )
        assert -best.fun > 1e-9


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([2, 3]), st.booleans(), st.floats(1e-6, 1e6))
def test_turning_scaling_and_permuting_change_nothing(seed, rank, nonnegative, scale):
    rng = np.random.default_rng(seed)
    V = rng.standard_normal((8, rank))
    Q = np.linalg.qr(rng.standard_normal((rank, rank)))[0]
    order = rng.permutation(8)
    first = exact(V, 3, nonnegative=nonnegative)
    second = exact(scale * V[order] @ Q, 3, nonnegative=nonnegative)
    assert second.value == pytest.approx(scale**2 * first.value, rel=1e-10)
    turned = candidate_supports(scale * V[order] @ Q, 3, nonnegative=nonnegative)
    back = {frozenset(int(order[i]) for i in support) for support in turned}
    assert back == set(candidate_supports(V, 3, nonnegative=nonnegative))


def test_signed_without_a_limit_is_the_largest_singular_value():
    V = np.random.default_rng(0).standard_normal((20, 3))
    found = exact(V, 20, nonnegative=False)
    assert found.value == pytest.approx(np.linalg.norm(V, ord=2) ** 2, rel=1e-13)
    assert found.n_candidates == 1


def test_no_limit_and_positive_rows_is_the_largest_singular_value():
    V = np.abs(np.random.default_rng(0).standard_normal((20, 3)))
    assert exact(V, 20, nonnegative=True).value == pytest.approx(
        np.linalg.norm(V, ord=2) ** 2, rel=1e-13
    )


def test_one_feature_is_the_longest_row():
    V = np.random.default_rng(0).standard_normal((40, 3))
    for nonnegative in (True, False):
        assert exact(V, 1, nonnegative=nonnegative).value == pytest.approx(
            np.sum(V**2, axis=1).max(), rel=1e-13
        )


@SIDES
@pytest.mark.parametrize("kind", ["generic", "decaying", "duplicates", "parallel"])
def test_exact_and_cones_agree_on_larger_matrices(kind, nonnegative):
    rng = np.random.default_rng(11)
    for rank, n, n_nonzero in ((2, 200, 30), (3, 60, 12)):
        V = make_rows(kind, n, rank, rng)
        a = solve(V, n_nonzero, nonnegative)
        b = solve(V, n_nonzero, nonnegative, "cones", 1e-10)
        assert b.value == pytest.approx(a.value, rel=1e-9)
        assert a.value <= b.upper_bound * (1 + 1e-12)


def test_more_places_and_fewer_signs_never_lower_the_value():
    V = np.random.default_rng(5).standard_normal((15, 3))
    values = [exact(V, k, nonnegative=True).value for k in range(1, 16)]
    assert np.all(np.diff(values) >= -1e-12)
    signed = [exact(V, k, nonnegative=False).value for k in range(1, 16)]
    assert np.all(np.array(signed) >= np.array(values) - 1e-12)
