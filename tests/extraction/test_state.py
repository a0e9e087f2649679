"""What components leave for each other, and what they explain in their best order."""

from __future__ import annotations

from itertools import combinations, permutations
from types import SimpleNamespace

import numpy as np
import pytest

from loadstone.constraints import L1Budget, LoadingConstraint
from loadstone.covariance import Array, ExplicitCovariance
from loadstone.extraction.nested import Nested, moved_apart
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


def _terms(S: Array, W: Array) -> tuple[list[float], list[int]]:
    """What each component adds to those before it, in the order that says most at first."""

    def adjusted(order: tuple[int, ...]) -> list[float]:
        factor = np.linalg.cholesky((W.T @ S @ W)[np.ix_(order, order)])
        return list(factor.diagonal() ** 2)

    # Of all orders the greedy one has the largest first term, then the largest second, ...
    best = max(permutations(range(W.shape[1])), key=adjusted)
    return adjusted(best), list(best)


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

    terms, best = _terms(S.matrix, W)
    assert state.order == best
    assert state.total == pytest.approx(sum(terms), rel=1e-12)
    assert np.array_equal(state.ordered(), W[:, best])


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


def _best_pair(S: Array, features: Array) -> tuple[float, Array]:
    """The largest variance of loadings on two of the features, every pair tried."""
    best, w = -np.inf, np.zeros(len(S))
    for pair in combinations(features.tolist(), 2):
        values, vectors = np.linalg.eigh(S[np.ix_(pair, pair)])
        if values[-1] > best:
            best, w = float(values[-1]), np.zeros(len(S))
            w[list(pair)] = vectors[:, -1]
    return best, w


def _gains(S: Array, W: Array, j: int, features: Array) -> bool:
    """Whether the best pair for the place of one component explains clearly more with the others."""
    left, total = _left(S, W, j), sum(_terms(S, W)[0])
    value, w = _best_pair(left, features)
    moved = np.column_stack([np.delete(W, j, axis=1), w])
    enough = W[:, j] @ left @ W[:, j] + 1e-5 * total
    return bool(value > enough and sum(_terms(S, moved)[0]) > total)


def _close_pairs(seed: int, *, disjoint: bool) -> tuple[ExplicitCovariance, Array]:
    """Features that all correlate, and three components on two of them each."""
    rng = np.random.default_rng(seed)
    Z = rng.standard_normal((30, 9)) @ np.diag(rng.uniform(0.5, 2, 9)) + rng.normal(size=(30, 1))
    W = np.zeros((9, 3))
    for j in range(3):
        W[rng.permutation(9)[:2] if not disjoint else [2 * j, 2 * j + 1], j] = np.sqrt(0.5)
    return ExplicitCovariance(Z.T @ Z / 30), W


@pytest.mark.parametrize("kind", ["none", "quasi", "disjoint"])
def test_settled_means_that_no_other_pair_explains_more(kind: str) -> None:
    rule, seen = Orthogonality(kind, 90.0), set()
    for seed in range(12):
        S, W = _close_pairs(seed, disjoint=kind != "none")
        found = warm_refine(S, W, [LoadingConstraint(9, 2)] * 3, rule)
        W = found.loadings
        assert rule.broken_promise(S, W) == 0.0
        assert found.total == pytest.approx(sum(_terms(S.matrix, W)[0]), rel=1e-9)
        settled = not any(_gains(S.matrix, W, j, np.arange(9)) for j in range(3))
        assert found.settled == settled
        if kind == "disjoint":
            unused = [np.flatnonzero(~np.delete(W, j, axis=1).any(axis=1)) for j in range(3)]
            assert not any(_gains(S.matrix, W, j, unused[j]) for j in range(3))
        seen.add(settled)
    assert seen == ({True} if kind == "none" else {True, False})


def test_climbs_beside_others_stay_within_an_l1_budget() -> None:
    """Where loadings may not be refitted no angle can be climbed along, and none is."""
    rule, constraint = Orthogonality("quasi", 80.0), L1Budget(9, 1.6)
    for seed in range(6):
        S, W = _close_pairs(seed, disjoint=True)
        start = constraint.best_loading(W)
        found = warm_refine(S, start, [constraint] * 3, rule)
        assert all(constraint.allows(w) for w in found.loadings.T)
        assert rule.broken_promise(S, found.loadings) == 0.0
        assert found.total is not None
        assert found.total >= sum(_terms(S.matrix, start)[0]) * (1 - 1e-9)
        apart = moved_apart(S, start[:, [0, 0, 2]], [constraint] * 3, rule)
        assert apart.shape[1] == 1
        # A size is kept by whatever is refitted: then a second one is found beside the first.
        sizes = [LoadingConstraint(9, 2)] * 3
        apart = moved_apart(S, W[:, [0, 0, 2]], sizes, rule)
        assert apart.shape[1] == 3
        assert all(sizes[0].allows(w) for w in apart.T)
        assert rule.broken_promise(S, apart) == 0.0


def test_disjoint_components_are_left_aside_only_where_they_must_lose() -> None:
    """Three pairs of four features: two at most have a feature, and explain 4 + 3 at most."""
    S = ExplicitCovariance(np.diag([4.0, 3.0, 2.0, 1e-9]))

    def too_few(third: float, n_pairs: int = 3, forbidden: tuple[int, ...] = ()) -> bool:
        closed = np.array(forbidden, dtype=np.intp)
        constraints = [LoadingConstraint(4, 2, forbidden=closed)] * n_pairs
        W = np.eye(4)[:, :3]
        W[2:, 2] = np.sqrt([third / 2, 1 - third / 2])
        return Nested(SimpleNamespace(S=S, constraints=constraints))._too_few_features(W)

    assert too_few(2.0)
    # The eigenvalues are known to three digits.
    assert too_few(0.008)
    assert not too_few(0.006)
    # Four features suffice for two pairs, or one less for the second.
    assert not too_few(2.0, n_pairs=2)
    assert not too_few(2.0, n_pairs=2, forbidden=(3,))
    assert too_few(2.0, n_pairs=2, forbidden=(2, 3))
