"""The parts of the search among a few dozen features, each written out by hand."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from loadstone.constraints import LoadingConstraint
from loadstone.covariance import Array, ExplicitCovariance
from loadstone.solvers.search.tiny import N_ENDS, _n_near_best, _Starts, tiny_search, tiny_start
from loadstone.solvers.search.tiny_ends import Ends

P = 11


def _matrix(seed: int, n: int = P) -> Array:
    rng = np.random.default_rng(seed)
    Z = rng.standard_normal((20, n)) + rng.standard_normal((20, 1)) * (rng.random(n) < 0.5)
    result: Array = Z.T @ Z / 20
    return result


def _starts(A: Array, constraint: LoadingConstraint) -> _Starts:
    return _Starts(Ends(ExplicitCovariance(A), constraint))


def _largest(direction: Array, k: int, nonnegative: bool) -> Array:
    """Places of the k entries that are worth most, the first ones of equals."""
    worth = np.maximum(direction, 0) if nonnegative else np.abs(direction)
    return np.sort(np.argsort(-worth, kind="stable")[:k])


def _kept(direction: Array, k: int, nonnegative: bool) -> Array:
    """Unit loadings on these; on the largest of them alone where none may grow."""
    w = np.zeros(len(direction))
    at = _largest(direction, k, nonnegative)
    w[at] = np.maximum(direction[at], 0) if nonnegative else direction[at]
    if not w.any():
        w[at[np.argmax(direction[at])]] = 1
    unit: Array = w / np.sqrt((w**2).sum())
    return unit


def _shrunken(direction: Array, k: int, nonnegative: bool) -> Array:
    """Algorithm 2 of Sigg & Buhmann: what is above the largest entry left out."""
    worth = np.maximum(direction, 0) if nonnegative else np.abs(direction)
    out = np.sort(worth)[::-1][k] if k < len(worth) else 0.0
    w = np.sign(direction) * np.maximum(worth - out, 0)
    unit: Array = w / np.sqrt((w**2).sum())
    return unit


@pytest.mark.parametrize("nonnegative", [False, True])
@pytest.mark.parametrize(("n", "k"), [(P, 1), (P, P), (40, 6)])
def test_em_is_algorithm_2(n: int, k: int, nonnegative: bool) -> None:
    for seed in range(50):
        # In noise every threshold matters: it has many supports to settle on.
        A = np.cov(np.random.default_rng(seed).standard_normal((n, n)).T)
        direction = np.linalg.eigh(A)[1][:, -1]
        direction = direction * np.sign(direction.sum())
        if seed % 2:
            # Fewer of one sign than there are places.
            direction = np.where(np.arange(n) < 4, 1, -1) * np.abs(direction)
        w = _shrunken(direction, k, nonnegative)
        for _ in range(199):
            last, w = w, _shrunken(A @ w, k, nonnegative)
            if 1 - abs(w @ last) < 1e-6:
                w = last
                break
        found = _starts(A, LoadingConstraint(n, k, nonnegative)).em(direction)[0]
        assert found.size == k
        assert set(np.flatnonzero(w)) <= set(found.tolist())


@pytest.mark.parametrize("nonnegative", [False, True])
def test_steps_are_power_steps_cut_to_size_and_end_with_the_best_first(nonnegative: bool) -> None:
    A, k, n_steps = _matrix(3), 3, 4
    R = np.random.default_rng(0).standard_normal((9, P))
    R[0] = -np.abs(R[0])
    ends = []
    for direction in R:
        for _ in range(n_steps):
            places, w = _largest(direction, k, nonnegative), _kept(direction, k, nonnegative)
            direction = A @ w
        ends.append((-float(w @ A @ w), places.tolist()))
    found = _starts(A, LoadingConstraint(P, k, nonnegative)).steps(R, n_steps)
    order = np.argsort([value for value, _ in ends], kind="stable")
    assert found.tolist() == [ends[row][1] for row in order]


@pytest.mark.parametrize("nonnegative", [False, True])
def test_a_start_is_no_worse_than_where_its_steps_lead(nonnegative: bool) -> None:
    for seed in range(10):
        A, k = _matrix(seed), 4
        V = np.linalg.eigh(A)[1].T
        reached = []
        for direction in np.concatenate([V, -V, A] if nonnegative else [V, A]):
            w = _kept(direction, k, nonnegative)
            for _ in range(2):
                w = _kept(A @ w, k, nonnegative)
            reached.append(float(w @ A @ w))
        S, constraint = ExplicitCovariance(A), LoadingConstraint(P, k, nonnegative)
        begun, searched = tiny_start(S, constraint), tiny_search(S, constraint)
        assert constraint.allows(begun.w)
        assert begun.value == pytest.approx(begun.w @ A @ begun.w, rel=1e-12)
        assert max(reached) <= begun.value * (1 + 1e-12)
        supports = [list(support) for support in combinations(range(P), k)]
        most = max(np.linalg.eigvalsh(A[np.ix_(at, at)])[-1] for at in supports)
        assert begun.value <= most * (1 + 1e-12)
        assert searched.value <= most * (1 + 1e-12)
        assert nonnegative or searched.value == pytest.approx(most, rel=1e-9)


def test_loadings_that_point_nowhere_are_the_feature_that_is_least_against_it() -> None:
    starts = _starts(np.eye(P), LoadingConstraint(P, 2, nonnegative=True))
    R = np.zeros((3, P))
    R[0, [2, 5]] = [3.0, 4.0]
    R[1, :2] = [-2.0, -1.0]
    R[2, [0, 3]] = [-1.0, 2.0]
    expected = np.zeros((3, P))
    expected[0, [2, 5]] = [0.6, 0.8]
    expected[1, 1] = expected[2, 3] = 1
    np.testing.assert_array_equal(starts.loadings(R, np.array([[2, 5], [0, 1], [0, 3]])), expected)


def test_exchanges_begin_at_all_ends_near_the_best() -> None:
    """However alike they are: 0.95 of the best is near, eight are enough, two are tried at least."""
    assert _n_near_best(np.array([10.0, 9.9, 9.8, 9.5, 9.49])) == 4
    assert _n_near_best(np.array([10.0, 1.0, 0.5])) == 2
    assert _n_near_best(np.full(12, 7.0)) == N_ENDS == 8
    A, begun = _matrix(2, 30), []
    exchanged = Ends.exchanged

    def recorded(self: Ends, ends: list[int]) -> list[int]:
        begun.append(self.values[ends])
        return exchanged(self, ends)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Ends, "exchanged", recorded)
        found = tiny_search(ExplicitCovariance(A), LoadingConstraint(30, 5))
    assert len(begun) == 1
    assert 2 <= begun[0].size <= 8
    assert (np.diff(begun[0]) <= 0).all()
    assert begun[0][0] <= found.value


@pytest.mark.parametrize("nonnegative", [False, True])
def test_supports_to_polish_are_distinct_and_hold_those_of_em(nonnegative: bool) -> None:
    A = _matrix(1, 20)
    starts = _starts(A, LoadingConstraint(20, 4, nonnegative))
    settled = starts.settled(None)
    v = np.linalg.eigh(A)[1][:, -1]
    n_em = 2 if nonnegative else 1
    ends = [starts.em(sign * v)[0].tolist() for sign in (1, -1)]
    assert settled[0].tolist() in ends
    assert not nonnegative or sorted(settled[:2].tolist()) == sorted(ends)
    for rows, most in ((settled, 16 + n_em), (starts.begun(), 8)):
        assert 1 < len(rows) <= most
        assert len({row.tobytes() for row in rows}) == len(rows)
