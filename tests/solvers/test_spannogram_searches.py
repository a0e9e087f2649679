"""Rank-one step, epsilon net and cones: values that exist, bounds that hold."""

import numpy as np
import pytest

from loadstone.solvers.spannogram.cones import cones
from loadstone.solvers.spannogram.exact import exact
from loadstone.solvers.spannogram.net import n_directions, net
from loadstone.solvers.spannogram.rank_one import (
    best_loading,
    climb,
    direction_values,
    longest_first,
)
from solvers.spannogram_oracles import KINDS, brute_force, g_squared, make_rows

SIDES = pytest.mark.parametrize("nonnegative", [True, False], ids=["nonnegative", "signed"])


@SIDES
def test_direction_values_are_the_definition(nonnegative, monkeypatch):
    monkeypatch.setattr("loadstone.solvers.spannogram.rank_one._BLOCK", 60)
    rng = np.random.default_rng(0)
    V, C = rng.standard_normal((20, 3)), rng.standard_normal((3, 17))
    for n_nonzero in (1, 6, 20):
        values = direction_values(V, C, n_nonzero, nonnegative=nonnegative)
        assert values == pytest.approx([g_squared(V, c, n_nonzero, nonnegative) for c in C.T])


@SIDES
@pytest.mark.parametrize("tail", [0.3, 3.0])
def test_skipping_short_rows_changes_no_value(nonnegative, tail):
    rng = np.random.default_rng(8)
    V = longest_first(rng.standard_normal((6000, 3)) * rng.pareto(tail, size=(6000, 1)))
    C = rng.standard_normal((3, 50))
    C /= np.linalg.norm(C, axis=0)
    for n_nonzero in (1, 40, 200):
        values = direction_values(V, C, n_nonzero, nonnegative=nonnegative)
        plain = direction_values(V[::-1], C, n_nonzero, nonnegative=nonnegative)
        assert values == pytest.approx(plain, rel=1e-13)


def test_skipping_is_right_where_too_few_rows_are_positive():
    V = -np.abs(np.random.default_rng(9).standard_normal((5000, 2)))
    V[4990:] *= -1e-3
    values = direction_values(longest_first(V), np.eye(2), 20, nonnegative=True)
    assert values == pytest.approx([g_squared(V, c, 20, True) for c in np.eye(2)])


def test_longest_first_drops_zero_rows_only():
    V = np.array([[0.0, 1.0], [0.0, 0.0], [3.0, 0.0], [1e-9, 0.0]])
    assert longest_first(V).tolist() == [[3.0, 0.0], [0.0, 1.0], [1e-9, 0.0]]


@SIDES
def test_best_loading_solves_rank_one(nonnegative):
    rng = np.random.default_rng(1)
    for _ in range(20):
        v = rng.standard_normal((8, 1))
        n_nonzero = int(rng.integers(1, 9))
        value = max(
            (v[:, 0] @ best_loading(v, np.array([s]), n_nonzero, nonnegative=nonnegative)) ** 2
            for s in (1.0, -1.0)
        )
        assert value == pytest.approx(brute_force(v, n_nonzero, nonnegative), rel=1e-12)


@SIDES
def test_climbing_never_descends_and_ends_stationary(nonnegative):
    rng = np.random.default_rng(2)
    V = rng.standard_normal((30, 4))
    for _ in range(10):
        start = rng.standard_normal(4)
        start /= np.linalg.norm(start)
        c, value = climb(V, start, 7, nonnegative=nonnegative)
        assert value >= g_squared(V, start, 7, nonnegative) - 1e-12
        x = best_loading(V, c, 7, nonnegative=nonnegative)
        assert np.linalg.norm(V.T @ x) ** 2 == pytest.approx(value, rel=1e-9)


@SIDES
@pytest.mark.parametrize("rank", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("kind", KINDS)
def test_cones_hold_their_epsilon_and_their_bound(kind, rank, nonnegative):
    rng = np.random.default_rng(3)
    V = make_rows(kind, 10, rank, rng)
    for n_nonzero in (2, 5):
        truth = brute_force(V, n_nonzero, nonnegative)
        found = cones(V, n_nonzero, nonnegative=nonnegative, epsilon=0.05)
        assert found.complete
        assert found.deterministic
        assert found.value <= truth * (1 + 1e-10)
        assert found.value >= 0.95 * truth
        assert truth <= found.upper_bound * (1 + 1e-12)
        assert found.upper_bound <= found.value / 0.95 * (1 + 1e-12)
        assert g_squared(V, found.c, n_nonzero, nonnegative) == pytest.approx(found.value)


@SIDES
def test_cones_close_at_a_tiny_epsilon(nonnegative):
    V = np.random.default_rng(4).standard_normal((80, 3))
    found = cones(V, 15, nonnegative=nonnegative, epsilon=1e-12)
    assert found.complete
    assert found.n_candidates < 2000
    assert found.upper_bound <= found.value * (1 + 1e-11)


def test_cones_end_where_every_direction_is_equally_good():
    # Rows on a circle, every second one its opposite: no angle is better than its neighbours.
    angles = np.linspace(0.0, 2.0 * np.pi, 400, endpoint=False)
    V = np.column_stack([np.cos(angles), np.sin(angles)])
    found = cones(V, 100, nonnegative=True, epsilon=0.01)
    assert found.complete
    assert found.upper_bound <= found.value / 0.99 * (1 + 1e-12)
    assert found.value == pytest.approx(exact(V, 100, nonnegative=True).value, rel=1e-9)


@pytest.mark.parametrize("rank", [2, 3, 4])
def test_cones_end_at_the_last_digit_where_rows_repeat(rank):
    # Repeated rows tie everywhere, so the selected support never settles between vertices.
    rng = np.random.default_rng(12)
    V = np.repeat(rng.standard_normal((3 * rank, rank)), 3, axis=0) * (1 + 1e-15)
    found = cones(V, 4, nonnegative=True, epsilon=1e-9)
    assert found.complete
    assert found.upper_bound <= found.value * (1 + 1e-8)


def test_cones_stopped_early_still_bound_the_optimum():
    V = np.random.default_rng(5).standard_normal((12, 5))
    found = cones(V, 4, nonnegative=True, epsilon=1e-6, max_directions=60)
    assert not found.complete
    assert found.value <= brute_force(V, 4, True) * (1 + 1e-10) <= found.upper_bound * (1 + 1e-10)
    assert found.upper_bound > found.value * (1 + 1e-3)


@pytest.mark.parametrize("rank", [2, 3, 4])
@pytest.mark.parametrize("epsilon", [0.05, 0.3])
def test_number_of_directions_leaves_one_in_n_chances_to_miss(rank, epsilon):
    count = n_directions(1000, rank, epsilon)
    C = np.random.default_rng(0).standard_normal((rank, 400_000))
    inside = C[0] ** 2 >= (1 - epsilon) * np.sum(C**2, axis=0)
    miss = 1 - inside.mean()
    assert miss**count <= 1e-3 * 1.1
    assert miss ** (count - 1) > 1e-3 / 1.1


def test_number_of_directions_grows_with_the_logarithm():
    counts = [n_directions(n, 3, 0.1) for n in (10**3, 10**6)]
    assert counts[1] == pytest.approx(2 * counts[0], abs=2)
    assert n_directions(100, 1, 0.1) == 1
    assert counts[0] <= 0.1**-3 * np.log(1000)


@SIDES
def test_net_keeps_its_promise(nonnegative):
    rng = np.random.default_rng(6)
    for _ in range(20):
        V = rng.standard_normal((40, 3))
        found = net(V, 6, nonnegative=nonnegative, epsilon=0.1, rng=rng)
        truth = exact(V, 6, nonnegative=nonnegative).value
        assert 0.9 * truth <= found.value <= truth * (1 + 1e-10)
        assert found.upper_bound >= truth * (1 - 1e-12)
        assert not found.deterministic


def test_net_of_rank_one_is_exact():
    V = np.random.default_rng(7).standard_normal((10, 1))
    found = net(V, 3, nonnegative=True, epsilon=0.5, rng=np.random.default_rng(0))
    assert found.deterministic
    assert found.value == found.upper_bound == pytest.approx(brute_force(V, 3, True))
