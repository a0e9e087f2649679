"""Climbs among few features: each support is solved once, and a short look is a whole climb."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from loadstone.constraints import LoadingConstraint
from loadstone.covariance import Array, ExplicitCovariance, Support
from loadstone.solvers.search.sure_climb import SureClimb
from loadstone.solvers.search.tiny import tiny_climb, tiny_search
from loadstone.solvers.search.tiny_ends import BATCHED, Ends


def _matrix(seed: int, n: int = 12) -> Array:
    rng = np.random.default_rng(seed)
    Z = rng.standard_normal((9, n)) + rng.standard_normal((9, 1)) * (rng.random(n) < 0.5)
    result: Array = Z.T @ Z
    return result


def _any_step_gains(A: Array, w: Array, constraint: LoadingConstraint) -> bool:
    """A power step that takes a feature in, or a pair whose plane has more variance."""
    T, image, value = np.flatnonzero(w), A @ w, w @ A @ w
    if set(np.flatnonzero(constraint.best_loading(image))) - set(T):
        return True
    closed = set(T) | set(constraint.forbidden)
    for i, j in product(np.setdiff1d(T, constraint.forced), set(range(len(A))) - closed):
        rest, newcomer = w.copy(), np.eye(len(A))[j]
        rest[i] = 0
        plane = np.stack([rest / np.linalg.norm(rest), newcomer])
        if np.linalg.eigvalsh(plane @ A @ plane.T)[-1] > value * (1 + 1e-9):
            return True
    return False


@pytest.mark.parametrize("k", [3, 7])
@pytest.mark.parametrize("nonnegative", [False, True])
def test_a_search_solves_each_support_once(
    k: int, nonnegative: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    solved: list[bytes] = []
    rough: list[bytes] = []
    original = Ends.on_supports

    def counted(self: Ends, supports: Support) -> tuple[Array, Array, Array]:
        W, values, exact = original(self, supports)
        keys = [row.tobytes() for row in supports]
        solved.extend(keys)
        rough.extend(key for key, is_exact in zip(keys, exact, strict=True) if not is_exact)
        return W, values, exact

    monkeypatch.setattr(Ends, "on_supports", counted)
    for seed in range(4):
        solved.clear()
        rough.clear()
        tiny_search(ExplicitCovariance(_matrix(seed)), LoadingConstraint(12, k, nonnegative))
        again = [key for key in solved if solved.count(key) > 1]
        # Only near loadings are looked at again, for more digits.
        assert set(again) <= set(rough)
        assert nonnegative or not again


@pytest.mark.parametrize("forced", [[], [4]])
@pytest.mark.parametrize("forbidden", [[], [2, 9]])
def test_a_climb_stays_where_no_step_gains(forced: list[int], forbidden: list[int]) -> None:
    constraint = LoadingConstraint(
        12, 4, forced=np.array(forced, dtype=int), forbidden=np.array(forbidden, dtype=int)
    )
    n_stayed = 0
    for seed in range(40):
        A, rng = _matrix(seed), np.random.default_rng(seed)
        w = constraint.best_loading(rng.standard_normal(12))
        end = tiny_climb(ExplicitCovariance(A), w, constraint)
        # Half of them begin where a climb has ended.
        support = end.support if seed % 2 else np.flatnonzero(w)
        found = SureClimb(ExplicitCovariance(A), constraint).from_support(support)
        stayed = np.array_equal(found.support, support)
        v = np.zeros(12)
        v[support] = np.linalg.eigh(A[np.ix_(support, support)])[1][:, -1]
        assert stayed != _any_step_gains(A, v, constraint)
        assert found.value == pytest.approx(found.w @ A @ found.w, rel=1e-12)
        assert constraint.allows(found.w)
        if stayed:
            n_stayed += 1
            assert abs(found.w @ v) == pytest.approx(1)
        else:
            assert found.value > v @ A @ v
    assert 10 <= n_stayed < 40


def test_places_left_empty_are_filled_where_that_gains() -> None:
    n_empty = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        Z = rng.standard_normal((3, 6))
        A = Z.T @ Z
        w = np.zeros(6)
        w[rng.choice(6, 3, replace=False)] = 3**-0.5
        end = tiny_climb(ExplicitCovariance(A), w, LoadingConstraint(6, 3, True))
        if end.support.size < 3:
            n_empty += 1
            outside = np.setdiff1d(np.arange(6), end.support)
            assert (A @ end.w)[outside].max() <= 1e-9 * end.value
    assert n_empty > 5


def test_supports_beyond_a_batch_are_climbed() -> None:
    n = BATCHED + 10
    rng = np.random.default_rng(0)
    Z = rng.standard_normal((80, n)) + rng.standard_normal((80, 1))
    A = Z.T @ Z
    found = tiny_search(ExplicitCovariance(A), LoadingConstraint(n, BATCHED + 2))
    T = found.support
    assert found.value == pytest.approx(np.linalg.eigvalsh(A[np.ix_(T, T)])[-1], rel=1e-6)
