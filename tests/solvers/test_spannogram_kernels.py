"""Compiled kernels against their NumPy twins."""

from itertools import combinations

import numpy as np
import pytest

from loadstone.solvers.spannogram import circle_kernels, inner_kernels, sweep_kernels
from loadstone.solvers.spannogram.exact import candidate_supports
from solvers.spannogram_oracles import g_squared, inner_problem, selected_support


@pytest.mark.parametrize("d", [1, 2, 3, 5])
def test_leading_eigenpair_is_lapacks(d):
    rng = np.random.default_rng(d)
    for scale in (1e-8, 1.0, 1e8):
        R = rng.standard_normal((6, d)) * scale
        value, u = inner_kernels.leading_eigenpair(R.T @ R)
        assert value == pytest.approx(np.linalg.eigvalsh(R.T @ R)[-1], rel=1e-13)
        assert np.linalg.norm(u) == pytest.approx(1.0, rel=1e-13)
        assert u @ (R.T @ (R @ u)) == pytest.approx(value, rel=1e-12)


def test_leading_eigenpair_of_a_diagonal_matrix():
    value, u = inner_kernels.leading_eigenpair(np.diag([1.0, 3.0, 2.0]))
    assert value == 3.0
    assert u.tolist() == [0.0, 1.0, 0.0]


def test_orthogonal_plane_is_orthonormal_near_the_axes_too():
    for r in (*np.eye(3), [1e-9, 1.0, 0.0], [1.0, 1.0, 1.0], [-2.0, 0.0, 1e-12]):
        r = np.array(r, dtype=float)
        B = inner_kernels.orthogonal_plane(r)
        assert np.allclose(B.T @ B, np.eye(2), atol=1e-15)
        assert np.allclose(B.T @ r, 0.0, atol=1e-15 * np.linalg.norm(r))


@pytest.mark.parametrize("d", [2, 3])
def test_inner_problem_is_the_plain_recursion(d):
    solve = inner_kernels.inner_plane if d == 2 else inner_kernels.inner_space
    rng = np.random.default_rng(d)
    feasible = 0
    for _ in range(200):
        k = int(rng.integers(1, 8))
        R = rng.standard_normal((k, d)) + rng.choice([0.0, 0.7])
        if rng.random() < 0.3:
            R[-1] = -2.0 * R[0]
        expected, direction = inner_problem(R)
        value, c = solve(R, k, R.T @ R, 0.0)
        assert value == pytest.approx(expected, rel=1e-10, abs=1e-14)
        if direction is not None and expected > 0:
            feasible += 1
            assert (R @ c).min() >= -1e-8
            assert g_squared(R, c, k, True) == pytest.approx(expected, rel=1e-8)
    assert feasible > 50


def test_inner_problem_returns_the_incumbent_it_cannot_beat():
    R = np.random.default_rng(0).standard_normal((4, 3))
    value, c = inner_kernels.inner_space(R, 4, R.T @ R, 1e6)
    assert value == 1e6
    assert not c.any()


def test_sort_crossings_sorts_and_carries_owners():
    rng = np.random.default_rng(0)
    for size in (0, 1, 2, 17, 100):
        angle = rng.integers(0, 50, 100).astype(float)
        owner = np.arange(100)
        before = angle.copy()
        circle_kernels.sort_crossings(angle, owner, size)
        assert angle[:size].tolist() == np.sort(before[:size]).tolist()
        assert np.array_equal(before[owner], angle)


@pytest.mark.parametrize("nonnegative", [True, False])
def test_plane_crossings_are_where_two_curves_meet(nonnegative):
    V = np.random.default_rng(1).standard_normal((6, 2))
    angles, first, second = sweep_kernels.plane_crossings(V, nonnegative)
    rows = np.vstack([V, np.zeros(2)])
    assert len(angles) == (21 if nonnegative else 30)
    assert angles.min() >= 0.0
    assert angles.max() < np.pi
    for angle, i, j in zip(angles, first, second, strict=True):
        heights = rows[[i, j]] @ [np.cos(angle), np.sin(angle)]
        if not nonnegative:
            heights = np.abs(heights)
        assert heights[0] == pytest.approx(heights[1], abs=1e-14)


def test_identical_rows_never_cross():
    V = np.array([[1.0, 2.0], [1.0, 2.0], [0.5, -1.0]])
    _, first, second = sweep_kernels.plane_crossings(V, True)
    assert (0, 1) not in set(zip(first.tolist(), second.tolist(), strict=True))


def test_circle_lists_each_other_row_twice_and_ties_once():
    V = np.random.default_rng(2).standard_normal((5, 3))
    V[3] = 0.25 * V[0] + 0.75 * V[1]
    rows = np.vstack([V, np.zeros(3)])
    circle = circle_kernels.Circle(
        np.empty((6, 2)),
        np.empty(6, dtype=np.int64),
        np.empty(6),
        np.empty(12),
        np.empty(12, dtype=np.int64),
        np.zeros(6, dtype=bool),
        np.empty(6, dtype=np.int64),
    )
    n_tied, n_crossings = circle_kernels.trace_circle(rows, 0, 1, 1.0, True, circle)
    assert sorted(circle.tied[:n_tied].tolist()) == [0, 1, 3]
    assert sorted(circle.owner[:n_crossings].tolist()) == [2, 2, 4, 4, 5, 5]
    assert np.all(np.diff(circle.angle[:n_crossings]) >= 0.0)
    # The same circle through rows 0 and 3 belongs to the pair (0, 1).
    assert circle_kernels.trace_circle(rows, 0, 3, 1.0, True, circle) == (0, 0)


@pytest.mark.parametrize("nonnegative", [True, False])
@pytest.mark.parametrize("n_nonzero", [1, 3, 6])
def test_plane_sweep_meets_the_supports_between_all_crossings(n_nonzero, nonnegative):
    V = np.random.default_rng(3).standard_normal((8, 2))
    angles = np.sort(sweep_kernels.plane_crossings(V, nonnegative)[0])
    angles = np.concatenate([angles, angles + np.pi, angles[:1] + 2 * np.pi])
    middles = 0.5 * (angles[1:] + angles[:-1])
    expected = {
        selected_support(V, np.array([np.cos(m), np.sin(m)]), n_nonzero, nonnegative)
        for m in middles
    } - {frozenset()}
    assert set(candidate_supports(V, n_nonzero, nonnegative=nonnegative)) == expected


@pytest.mark.parametrize("nonnegative", [True, False])
def test_circle_sweep_meets_the_supports_beside_all_arcs(nonnegative):
    V = np.random.default_rng(4).standard_normal((6, 3))
    rows = np.vstack([V, np.zeros(3)]) if nonnegative else V
    expected = set()
    for i, j in combinations(range(len(rows)), 2):
        for sign in (1.0,) if nonnegative else (1.0, -1.0):
            e = rows[i] - sign * rows[j]
            e /= np.linalg.norm(e)
            B = np.linalg.svd(e[None, :])[2][1:].T
            turns = np.linspace(0.0, 2.0 * np.pi, 400, endpoint=False)
            for c in (B @ np.stack([np.cos(turns), np.sin(turns)])).T:
                for side in (1e-7, -1e-7):
                    expected.add(selected_support(V, c + side * e, 2, nonnegative))
    found = set(candidate_supports(V, 2, nonnegative=nonnegative))
    assert expected - {frozenset()} <= found
    assert len(found - expected) <= 1  # an arc shorter than the step of this walk
