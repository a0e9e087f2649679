"""What components leave for each other, and what they explain in their best order."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from loadstone.constraints import LoadingConstraint
from loadstone.covariance import Array, ExplicitCovariance
from loadstone.extraction.state import State


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
    look = state.first_look(constraint, 0.0)
    assert look.ends is not None
    for j, end in enumerate(look.ends):
        left = _left(S.matrix, state.W, j)
        assert end.w @ left @ end.w == pytest.approx(end.value, rel=1e-9)
        present = state.W[:, j] @ left @ state.W[:, j]
        assert look.may_climb[j] == (end.value > present)
        assert end.value >= left.diagonal().max() * (1 - 1e-12)
