"""What components leave for each other, and what they explain in their best order."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from loadstone.constraints import LoadingConstraint
from loadstone.covariance import Array, ExplicitCovariance
from loadstone.extraction.orthogonality import Orthogonality
from loadstone.extraction.state import State
from loadstone.extraction.warm import warm_refine


def _components(seed: int) -> tuple[ExplicitCovariance, Array]:
    rng = np.random.default_rng(seed)
    Z = rng.standard_normal((15, 8))
    W = np.where(rng.random((8, 3)) < 0.6, rng.standard_normal((8, 3)), 0)
    W[0] = 1
    return ExplicitCovariance(Z.T @ Z), W / np.linalg.norm(W, axis=0)


def _left(S: Array, W: Array, j: int) -> Array:
    others = np.delete(W, j, axis=1)
    return S - S @ others @ np.linalg.pinv(others.T @ S @ others) @ others.T @ S


@pytest.mark.parametrize("seed", range(3))
def test_left_for_each_is_the_schur_complement_of_the_others(seed: int) -> None:
    S, W = _components(seed)
    state = State.of(S, W, alike=True).replaced(1, W[:, 0] * 0.6 + W[:, 1] * 0.8)
    for j in range(3):
        expected = _left(S.matrix, state.W, j)
        np.testing.assert_allclose(state.left_for(j) @ np.eye(8), expected, atol=1e-10)


def test_dependent_components_leave_what_a_pseudo_inverse_says() -> None:
    S, W = _components(0)
    W[:, 2] = W[:, 1]
    state = State.of(S, W, alike=True)
    for j in range(3):
        expected = _left(S.matrix, W, j)
        np.testing.assert_allclose(state.left_for(j) @ np.eye(8), expected, atol=1e-8)
    assert all(state.first_look(LoadingConstraint(8, 2), 0.0).may_climb)


@pytest.mark.parametrize("seed", range(3))
def test_the_total_is_that_of_the_order_in_which_each_adds_most(seed: int) -> None:
    S, W = _components(seed)
    state = State.of(S, W, alike=True)

    def adjusted(order: tuple[int, ...]) -> list[float]:
        factor = np.linalg.cholesky((W.T @ S.matrix @ W)[np.ix_(order, order)])
        return list(factor.diagonal() ** 2)

    # Of all orders the greedy one has the largest first term, then the largest second, ...
    best = max(permutations(range(3)), key=adjusted)
    assert state.order == list(best)
    assert state.total == pytest.approx(sum(adjusted(best)), rel=1e-12)
    assert np.array_equal(state.ordered(), W[:, list(best)])


@pytest.mark.parametrize("size", [1, 2])
def test_climbs_of_few_places_are_known_at_once(size: int) -> None:
    S, W = _components(1)
    constraint = LoadingConstraint(8, size)
    state = State.of(S, constraint.best_loading(W), alike=True)
    # A component that is the best one already differs from its end by rounding.
    least = 1e-9
    look = state.first_look(constraint, least)
    assert look.ends is not None
    for j, end in enumerate(look.ends):
        left = _left(S.matrix, state.W, j)
        assert end.w @ left @ end.w == pytest.approx(end.value, rel=1e-9)
        present = state.W[:, j] @ left @ state.W[:, j]
        assert look.may_climb[j] == (end.value > present + least)
        assert end.value >= left.diagonal().max() * (1 - 1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_the_covariance_of_the_scores_is_inverted_where_it_can_be(seed: int) -> None:
    S, W = _components(seed)
    state = State.of(S, W, alike=True)
    assert state.inverse is not None
    np.testing.assert_allclose(state.inverse, np.linalg.inv(W.T @ S.matrix @ W), rtol=1e-9)
    W[:, 2] = W[:, 1]
    assert State.of(S, W, alike=True).inverse is None


def test_a_climb_says_whether_components_ever_shared_a_feature() -> None:
    S = ExplicitCovariance(np.diag([5.0, 4.0, 3.0, 2.0, 1.0, 0.5]))
    constraints = [LoadingConstraint(6, 2)] * 2
    apart, shared = np.zeros((2, 6, 2))
    apart[[2, 4], 0] = apart[[3, 5], 1] = shared[[2, 4], 0] = shared[[2, 5], 1] = np.sqrt(0.5)
    for start, expected in ((apart, True), (shared, False)):
        refined = warm_refine(S, start, constraints, Orthogonality("none"))
        assert refined.apart is expected
        assert refined.total == pytest.approx(9.0)


def test_equal_components_keep_their_order() -> None:
    S = ExplicitCovariance(np.diag([2.0, 1.0, 1.0, 3.0, 1.0]))
    state = State.of(S, np.eye(5), alike=True)
    assert state.order == [3, 0, 1, 2, 4]
    assert state.total == pytest.approx(8.0)


def test_components_that_add_nothing_come_last() -> None:
    S, W = _components(0)
    W = np.column_stack([W[:, :2], W[:, 0], W[:, 2]])
    state = State.of(S, W, alike=True)
    assert not state.independent
    assert state.order[-1] in (0, 2)
    alone = State.of(S, W[:, [0, 1, 3]], alike=True)
    assert state.total == pytest.approx(alone.total, rel=1e-9)


def test_climbs_of_more_places_are_not_known_before() -> None:
    S, W = _components(1)
    look = State.of(S, W, alike=True).first_look(LoadingConstraint(8, 3), 0.0)
    assert look.ends is None
    assert all(look.may_climb)
