"""Components of many sizes on one matrix: against eigenvalues, enumeration and single fits."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from loadstone import SparsePCA
from loadstone.covariance import ExplicitCovariance
from loadstone.metrics import adjusted_variance
from loadstone.selection.every_size import loadings_of_every_size
from loadstone.selection.path import PATH_EFFORTS
from loadstone.solvers.search.cone_kernels import leading_in_cone
from loadstone.solvers.search.krylov_kernels import leading_on
from loadstone.solvers.search.support_kernels import FINE, largest_places

NONE = np.empty(0, dtype=np.intp)


def covariance(n_features: int, seed: int, n_samples: int = 200) -> np.ndarray:
    return np.cov(np.random.default_rng(seed).standard_normal((n_samples, n_features)).T)


def found_on(matrix: np.ndarray, n_components: int, sizes: list[int], **how: object) -> list:
    S = ExplicitCovariance(matrix, 200)
    asked = {"forbidden": NONE, "refined": True, "nonnegative": False, **how}
    return list(
        loadings_of_every_size(S, n_components, np.array(sizes), PATH_EFFORTS["fast"], **asked)
    )


def explained(matrix: np.ndarray, W: np.ndarray) -> float:
    return float(adjusted_variance(ExplicitCovariance(matrix, 200), W).sum())


@pytest.mark.parametrize("size", [1, 2, 7, 70])
def test_the_leading_pair_on_a_support_is_that_of_the_block(size):
    A = covariance(90, size)
    support = np.sort(np.random.default_rng(size).choice(90, size, replace=False))
    w = np.zeros(size)
    value = leading_on(A, support, w, FINE)
    values, vectors = np.linalg.eigh(A[np.ix_(support, support)])
    assert value == pytest.approx(values[-1], rel=1e-12)
    assert abs(w @ vectors[:, -1]) == pytest.approx(1.0, abs=1e-12)


def test_a_start_in_one_block_does_not_hide_a_better_one():
    A = np.diag([1.0, 1.0, 3.0, 3.0])
    A[0, 1] = A[1, 0] = 0.5
    A[2, 3] = A[3, 2] = 2.0
    w = np.array([1.0, 1.0, 0.0, 0.0])
    assert leading_on(A, np.arange(4), w, FINE) == pytest.approx(5.0)


@pytest.mark.parametrize("positive", [False, True])
def test_places_go_to_the_largest_and_ties_to_the_first(positive):
    rng = np.random.default_rng(0)
    for _ in range(50):
        image = rng.integers(-4, 5, 12).astype(float)
        k = int(rng.integers(1, 13))
        support, w = np.empty(k, np.int64), np.empty(k)
        largest_places(image, support, w, positive or None)
        given = np.maximum(image, 0) if positive else image
        expected = np.sort(np.argsort(-np.abs(given), kind="stable")[:k])
        np.testing.assert_array_equal(support, expected)
        np.testing.assert_array_equal(w, given[expected])


def best_of_size(A: np.ndarray, size: int, nonnegative: bool) -> float:
    """By enumeration: the best loadings are an eigenvector on the features they use."""
    best = 0.0
    for n_used in range(1, size + 1) if nonnegative else [size]:
        for s in combinations(range(len(A)), n_used):
            values, vectors = np.linalg.eigh(A[np.ix_(s, s)])
            if (
                not nonnegative
                or np.abs(vectors[:, -1].sum()) > np.abs(vectors[:, -1]).sum() - 1e-9
            ):
                best = max(best, values[-1])
    return best


@pytest.mark.parametrize("nonnegative", [False, True])
def test_single_components_are_the_best_there_are(nonnegative):
    n_best, sizes = 0, list(range(1, 9))
    for seed in range(10):
        A = covariance(8, seed, 30)
        for size, W in zip(sizes, found_on(A, 1, sizes, nonnegative=nonnegative), strict=True):
            best = best_of_size(A, size, nonnegative)
            value = float(W[:, 0] @ A @ W[:, 0])
            assert np.count_nonzero(W) <= size
            assert W.min() >= 0 or not nonnegative
            assert value <= best * (1 + 1e-12)
            n_best += value > best * (1 - 1e-10)
    assert n_best >= 78


def test_non_negative_loadings_on_a_support_are_the_best_there():
    rng = np.random.default_rng(0)
    for seed in range(40):
        A = covariance(7, seed, 20)
        support = np.sort(rng.choice(7, 5, replace=False))
        w = rng.random(5)
        value = leading_in_cone(A, support, w, FINE)
        B = A[np.ix_(support, support)]
        assert value == pytest.approx(w @ B @ w, rel=1e-12)
        assert w.min() >= 0
        # Nothing wants to grow, and what is in use is in balance.
        gradient = B @ w - value * w
        assert gradient.max() <= 1e-6 * value
        assert np.abs(gradient[w > 0]).max() <= 1e-6 * value


@pytest.mark.parametrize("nonnegative", [False, True])
@pytest.mark.parametrize("n_features", [20, 70])
def test_several_components_explain_what_a_fit_of_their_size_does(n_features, nonnegative):
    A, sizes = covariance(n_features, 3), [1, 2, 5, 12, n_features]
    totals, shares = [], []
    for size, W in zip(sizes, found_on(A, 3, sizes, nonnegative=nonnegative), strict=True):
        np.testing.assert_allclose(np.linalg.norm(W, axis=0), 1.0)
        assert (np.count_nonzero(W, axis=0) <= size).all()
        asked = SparsePCA(3, n_nonzero=size, nonnegative=nonnegative, effort="fast")
        fit = asked.fit_covariance(A, 200)
        totals.append(explained(A, W))
        shares.append(totals[-1] / fit.explained_variance_.sum())
    # Of noise a search among many equals finds now one, now another.
    assert min(shares) > 0.99
    assert np.mean(shares) > 0.998
    assert np.all(np.diff(totals) >= 0)
    if not nonnegative:
        assert np.all(np.diff(totals) > 0)
        assert totals[-1] == pytest.approx(np.linalg.eigvalsh(A)[-3:].sum())


@pytest.mark.parametrize("nonnegative", [False, True])
def test_refinement_explains_no_less(nonnegative):
    for seed in range(5):
        A, sizes = covariance(25, seed), [2, 4, 8]
        plain = found_on(A, 4, sizes, refined=False, nonnegative=nonnegative)
        refined = found_on(A, 4, sizes, nonnegative=nonnegative)
        for before, after in zip(plain, refined, strict=True):
            assert explained(A, after) >= explained(A, before) * (1 - 1e-12)


def test_forbidden_features_stay_out():
    forbidden = np.array([0, 3])
    for W in found_on(covariance(12, 0), 2, [2, 5, 11], forbidden=forbidden):
        assert not W[forbidden].any()
        assert (np.count_nonzero(W, axis=0) <= 10).all()


def test_no_more_components_than_there_is_variance():
    A = covariance(10, 0, n_samples=3)
    assert [W.shape[1] for W in found_on(A, 4, [3, 10])] == [2, 2]


def test_single_precision_stays_single():
    A = covariance(10, 0).astype(np.float32)
    single, double = found_on(A, 2, [3])[0], found_on(A.astype(float), 2, [3])[0]
    assert single.dtype == np.float32
    np.testing.assert_allclose(np.abs(single), np.abs(double), atol=1e-5)
