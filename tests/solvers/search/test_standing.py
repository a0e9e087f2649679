"""One look at all components says which of them a first step improves."""

from __future__ import annotations

import numpy as np
import pytest

from loadstone.constraints import LoadingConstraint
from loadstone.covariance import Array
from loadstone.solvers.search.few_places import best_features, best_pairs
from loadstone.solvers.search.standing import may_climb


def _problem(seed: int) -> tuple[Array, Array, Array]:
    """What all leave, what each takes, and loadings on three of seven features."""
    rng = np.random.default_rng(seed)
    Z = rng.standard_normal((20, 7))
    W = np.zeros((4, 7))
    for w in W:
        w[rng.choice(7, 3, replace=False)] = rng.standard_normal(3)
    if seed % 2:
        # On the first rows the best loadings of their support, where only a pair can help.
        for row in (0, 1):
            T = np.flatnonzero(W[row])
            W[row, T] = np.linalg.eigh((Z.T @ Z)[np.ix_(T, T)])[1][:, -1]
    return Z.T @ Z, 0.1 * rng.standard_normal((4, 7)), W / np.linalg.norm(W, axis=1)[:, None]


def _gains(A: Array, w: Array, constraint: LoadingConstraint, least: float) -> bool:
    """Whether any first step gains: every one of them, written out."""
    value = w @ A @ w + least
    T = np.flatnonzero(w)
    if np.linalg.eigvalsh(A[np.ix_(T, T)])[-1] > value:
        return True
    image = A @ w
    if set(np.flatnonzero(constraint.best_loading(image))) - set(T):
        return True
    for i in np.setdiff1d(T, constraint.forced):
        u = w.copy()
        u[i] = 0
        u /= np.linalg.norm(u)
        for j in np.setdiff1d(np.arange(w.size), [*T, *constraint.forbidden]):
            cross = u @ A[j]
            if constraint.nonnegative:
                cross = max(cross, 0)
            if np.linalg.eigvalsh([[u @ A @ u, cross], [cross, A[j, j]]])[-1] > value:
                return True
    return False


@pytest.mark.parametrize("least", [0.0, 20.0])
@pytest.mark.parametrize("seed", range(8))
def test_a_row_may_climb_exactly_where_a_first_step_gains(seed: int, least: float) -> None:
    R, P, W = _problem(seed)
    forced = np.intersect1d(*map(np.flatnonzero, W[:2]))[:1].astype(np.intp)
    closed = np.setdiff1d(np.arange(7), np.flatnonzero(W[:2].any(axis=0)))[:1].astype(np.intp)
    cases = [
        (LoadingConstraint(7, 3), W),
        (LoadingConstraint(7, 3, nonnegative=True), np.abs(W)),
        (LoadingConstraint(7, 3, forced=forced, forbidden=closed), W[:2]),
    ]
    for constraint, rows in cases:
        pulls = P[: len(rows)]
        expected = [
            _gains(R + np.outer(p, p), w, constraint, least)
            for p, w in zip(pulls, rows, strict=True)
        ]
        assert may_climb(R, pulls, rows, constraint, least).tolist() == expected


def test_nothing_is_known_of_a_row_with_empty_places() -> None:
    W = np.stack([np.eye(4)[0], np.array([0.8, 0.6, 0, 0])])
    R, P = np.diag([2.0, 2.0, 1.0, 1.0]), np.zeros((2, 4))
    assert may_climb(R, P, W, LoadingConstraint(4, 2)).tolist() == [True, False]


@pytest.mark.parametrize("nonnegative", [False, True])
def test_pairs_of_several_matrices_are_the_best_of_all(nonnegative: bool) -> None:
    rng = np.random.default_rng(3)
    stack = np.stack([Z.T @ Z for Z in rng.standard_normal((5, 9, 6))])
    constraint = LoadingConstraint(6, 2, nonnegative=nonnegative, forbidden=np.array([4]))
    first, second = np.triu_indices(6, 1)
    ends = best_pairs(np.einsum("ijj->ij", stack), stack[:, first, second], constraint)
    for A, found in zip(stack, ends, strict=True):
        values = [
            np.linalg.eigvalsh([[A[i, i], cross], [cross, A[j, j]]])[-1]
            for i in range(6)
            for j in range(i)
            if 4 not in (i, j)
            for cross in [max(A[i, j], 0) if nonnegative else A[i, j]]
        ]
        assert found.value == pytest.approx(max(values), rel=1e-12)
        assert found.w @ A @ found.w == pytest.approx(max(values), rel=1e-12)
        assert constraint.allows(found.w)


def test_a_pair_with_one_open_feature_is_that_feature() -> None:
    constraint = LoadingConstraint(3, 2, forbidden=np.array([0, 1]))
    found = best_pairs(np.array([[3.0, 2.0, 1.0]]), np.zeros((1, 3)), constraint)[0]
    assert (found.w.tolist(), found.value) == ([0, 0, 1], 1.0)


def test_the_feature_with_most_variance_among_those_forced_and_open() -> None:
    variances = np.array([[1.0, 4.0, 3.0], [2.0, 2.0, 5.0]])
    open_ = best_features(variances, LoadingConstraint(3, 1, forbidden=np.array([2])))
    forced = best_features(variances, LoadingConstraint(3, 1, forced=np.array([2])))
    assert [found.support.tolist() for found in open_] == [[1], [0]]
    assert [found.support.tolist() for found in forced] == [[2], [2]]
