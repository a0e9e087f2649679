"""Where searches end: hilltops, basins, exchanges, and the smallest sizes, against brute force."""

from itertools import combinations

import numpy as np
import pytest

from loadstone.constraints import LoadingConstraint
from loadstone.covariance import ExplicitCovariance, covariance_of
from loadstone.solvers.portfolio import PORTFOLIOS
from loadstone.solvers.search.crossing import (
    SHAKEN_OUT,
    apart,
    crossed,
    new_rows,
    parents_of,
    shaken,
)
from loadstone.solvers.search.exchange_block import climb_by_exchange
from loadstone.solvers.search.few_places import best_feature, best_pair
from loadstone.solvers.search.finish import Found, best_of, different_basins
from loadstone.solvers.search.spaces import by_columns, space_of
from loadstone.solvers.search.sparse_block import SparseBlock, block_of
from loadstone.solvers.search.tiny_ends import Ends
from solvers.search.blocks import dense_rows, random_block
from solvers.search.covariances import data, deflated, kinds, matrix_of

RNG = np.random.default_rng


def found_at(support, value, p=12):
    w = np.zeros(p)
    w[support] = 1 / np.sqrt(len(support))
    return Found(w, value)


def test_equal_values_are_decided_by_the_support():
    tied = [found_at([3, 4], 2.0), found_at([1, 9], 2.0 - 1e-12), found_at([0, 1], 1.9)]
    assert best_of(tied).support.tolist() == [1, 9]


def test_basins_share_less_than_half_and_the_next_best_follows():
    found = [
        found_at([0, 1, 2, 3], 5.0),
        found_at([0, 1, 2, 4], 4.9),
        found_at([5, 6, 7, 8], 4.0),
        found_at([5, 6, 7, 9], 3.9),
    ]
    chosen = [each.value for each in different_basins(found, 3)]
    assert chosen == [5.0, 4.0, 4.9]
    assert len(different_basins(found[:1], 4)) == 1


def hilltops(A, k, nonnegative):
    """Supports that neither a power step nor an exchange of two features improves."""
    n = len(A)

    def value(T):
        v = np.linalg.eigh(A[np.ix_(T, T)])[1][:, -1]
        w = np.full(k, k**-0.5)
        for _ in range(400 if nonnegative else 0):
            w = np.maximum(A[np.ix_(T, T)] @ w, 0)
            w /= np.linalg.norm(w)
        w = w if nonnegative else v
        return w @ A[np.ix_(T, T)] @ w

    def is_top(T):
        here = value(T) * (1 + 1e-7)
        rest = np.setdiff1d(np.arange(n), T)
        return all(value(np.append(np.delete(T, i), j)) <= here for i in range(k) for j in rest)

    return value, is_top


@pytest.mark.parametrize("nonnegative", [False, True])
@pytest.mark.parametrize("kind", ["C", "csr", "gram"])
@pytest.mark.parametrize("rule", [None, "schur"])
def test_climbing_ends_on_hilltops_and_never_falls(kind, nonnegative, rule, tmp_path):
    S = kinds(data(n=25, p=24), tmp_path)[kind]
    S = S if rule is None else deflated(S, rule)
    A, k = matrix_of(S), 4
    value, is_top = hilltops(A, k, nonnegative)
    space = space_of(by_columns(S))
    for seed in range(4):
        start = random_block(RNG(seed), 1, 24, k)
        start = SparseBlock(start.indices, np.abs(start.values)) if nonnegative else start
        constraint = LoadingConstraint(24, k, nonnegative)
        end = climb_by_exchange(space, start, constraint, S.diagonal(), 200)
        assert constraint.allows(end.dense(0, 24))
        assert value(end.indices[0]) >= value(start.indices[0]) - 1e-9
        assert is_top(end.indices[0])


def test_climbing_keeps_forced_features_and_leaves_forbidden_ones():
    S, _ = covariance_of(data(n=25, p=24), standardize=True)
    constraint = LoadingConstraint(24, 5, forced=np.array([2, 9]), forbidden=np.arange(12, 20))
    start = SparseBlock(np.array([[0, 1, 2, 9, 10]]), np.full((1, 5), 5**-0.5))
    end = climb_by_exchange(space_of(S), start, constraint, S.diagonal(), 200)
    assert constraint.allows(end.dense(0, 24))
    assert {2, 9} <= set(end.indices[0].tolist())


def test_a_pair_of_twins_is_exchanged_for_a_better_pair():
    # Each twin alone is worse than what it replaces; both together are better.
    A = np.eye(6)
    for left, right, r in ((0, 1, 0.8), (2, 3, 0.9)):
        A[left, right] = A[right, left] = r
    start = SparseBlock(np.array([[0, 1]]), np.full((1, 2), 0.5**0.5))
    space = space_of(ExplicitCovariance(A))
    end = climb_by_exchange(space, start, LoadingConstraint(6, 2), A.diagonal(), 50)
    assert end.indices[0].tolist() == [2, 3]


@pytest.mark.parametrize("nonnegative", [False, True])
def test_children_are_between_their_parents(nonnegative):
    S, _ = covariance_of(data(n=30), standardize=True, route="data")
    parents = random_block(RNG(0), 3, 40, 5)
    A, W = matrix_of(S), dense_rows(parents, 40)
    constraint = LoadingConstraint(40, 5, nonnegative)
    children = dense_rows(crossed(space_of(S), parents, constraint), 40)
    for child, (i, j) in zip(children, [(0, 1), (0, 2), (1, 2)], strict=True):
        sign = -1 if W[i] @ A @ W[j] < 0 else 1
        expected = constraint.best_loading(A @ (W[i] + sign * W[j]))
        np.testing.assert_allclose(child, expected, atol=1e-10)
    assert len(crossed(space_of(S), parents.take([0]), constraint)) == 0


@pytest.mark.parametrize("nonnegative", [False, True])
def test_shaken_rows_are_where_their_strongest_features_lead(nonnegative):
    S, _ = covariance_of(data(n=30), standardize=True, route="data")
    parents = random_block(RNG(1), 2, 40, 8)
    A, W = matrix_of(S), dense_rows(parents, 40)
    constraint = LoadingConstraint(40, 8, nonnegative)
    expected = []
    for count in sorted({max(1, round(share * 8)) for share in SHAKEN_OUT}):
        for w in W:
            strong = np.where(np.abs(w) > np.sort(np.abs(w[w != 0]))[count - 1], w, 0)
            expected.append(constraint.best_loading(A @ strong))
    found = dense_rows(shaken(space_of(S), parents, constraint), 40)
    np.testing.assert_allclose(found, expected, atol=1e-10)
    lone = LoadingConstraint(40, 1)
    assert len(shaken(space_of(S), random_block(RNG(2), 3, 40, 1), lone)) == 0


def test_copies_of_a_feature_are_shaken_out_together():
    S, _ = covariance_of(data(n=30), standardize=True, route="data")
    values = np.array([[0.5, 0.5, -0.5, 0.3, 0.3, 0.26]])
    parents = SparseBlock(np.arange(6)[None] * 5, values)
    constraint = LoadingConstraint(40, 6)
    found = dense_rows(shaken(space_of(S), parents, constraint), 40)
    for kind in ([0, 5, 10], [15, 20]):
        left = parents.dense(0, 40)
        left[kind] = 0
        expected = constraint.best_loading(matrix_of(S) @ left)
        assert any(np.allclose(row, expected, atol=1e-10) for row in found)


def test_parents_are_those_apart_and_then_those_nearer():
    supports = [range(10), range(1, 11), range(2, 12), [0, 1, 20, *range(30, 37)]]
    block = SparseBlock(np.array([list(each) for each in supports]), np.full((4, 10), 10**-0.5))
    assert apart(block, 4) == [0, 3]
    assert parents_of(block, 1) == [0]
    assert parents_of(block, 2) == [0, 3]
    assert parents_of(block, 3) == [0, 1, 3]
    assert parents_of(block, 9) == [0, 1, 2, 3]


@pytest.mark.parametrize("nonnegative", [False, True])
@pytest.mark.parametrize("k", [1, 2])
def test_one_feature_and_two_are_searched_exactly(k, nonnegative):
    for seed in range(20):
        rng = RNG(seed)
        A = np.cov(rng.standard_normal((12, 9)) @ rng.standard_normal((9, 9)), rowvar=False)
        forced = rng.permutation(9)[: seed % (k + 1)]
        forbidden = np.setdiff1d(rng.permutation(9)[: seed % 4], forced)
        constraint = LoadingConstraint(9, k, nonnegative, np.sort(forced), forbidden)
        find = best_feature if k == 1 else best_pair
        found = find(ExplicitCovariance(A), constraint)
        open_ = [T for T in combinations(range(9), k) if not set(T) & set(forbidden)]
        allowed = [T for T in open_ if set(forced) <= set(T)]
        # The best loadings on a circle of directions, all of them or those without a minus.
        angles = np.linspace(0, np.pi / 2 if nonnegative else np.pi, 4001)
        circle = np.stack([np.cos(angles), np.sin(angles)]) if k == 2 else np.ones((1, 1))
        best = max(np.einsum("in,ij,jn->n", circle, A[np.ix_(T, T)], circle).max() for T in allowed)
        assert constraint.allows(found.w)
        assert found.w @ A @ found.w == pytest.approx(found.value)
        assert found.value == pytest.approx(best, rel=1e-6)


def test_equal_pairs_are_decided_by_the_support():
    A = np.eye(6)
    A[2, 4] = A[4, 2] = A[1, 5] = A[5, 1] = 0.5
    assert best_pair(ExplicitCovariance(A), LoadingConstraint(6, 2)).support.tolist() == [1, 5]
    # Feature 0 says nothing of the others; 1, 2, 4 and 5 say the same.
    assert best_feature(ExplicitCovariance(A), LoadingConstraint(6, 1)).support.tolist() == [1]
    assert best_feature(ExplicitCovariance(np.eye(6)), LoadingConstraint(6, 1)).w[0] == 1


@pytest.mark.parametrize("nonnegative", [False, True])
def test_a_climb_among_few_features_ends_on_a_hilltop(nonnegative):
    for seed in range(6):
        A = np.corrcoef(RNG(seed).standard_normal((12, 14)), rowvar=False)
        _, is_top = hilltops(A, 4, nonnegative)
        w = np.zeros(14)
        w[RNG(seed).permutation(14)[:4]] = 0.5
        climbs = Ends(ExplicitCovariance(A), LoadingConstraint(14, 4, nonnegative))
        end = climbs.found(climbs.exchanged(climbs.polished(climbs.top(w[None])))[0])
        assert end.value >= w @ A @ w
        # Where non-negativity leaves places empty there is nothing to exchange.
        if end.support.size == 4:
            assert is_top(end.support)


def test_a_vector_with_spare_places_keeps_its_size():
    w = np.zeros(9)
    w[[0, 5]] = [0.6, -0.8]
    block = block_of(w, 4)
    assert block.size == 4
    np.testing.assert_array_equal(block.dense(0, 9), w)
    assert block.support(0).tolist() == [0, 5]


def test_non_negative_loadings_where_all_features_together_cancel():
    # Rows that sum to zero: the even loading has no variance, a single feature has.
    n = 4
    S = ExplicitCovariance(np.eye(n) - 1 / n)
    constraint = LoadingConstraint(n, n, nonnegative=True)
    found = PORTFOLIOS["fast"](S, constraint, np.random.default_rng(0))
    w = found.matrix[:, 0]
    assert w @ S.matrix @ w == pytest.approx(1 - 1 / n)


def test_children_that_were_tried_make_room_for_the_next():
    """The same pool has the same children: asked again, it shows others, the best of what is left."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((30, 200))
    S, _ = covariance_of(X)
    A = np.cov(X, rowvar=False)
    space, constraint = space_of(S), LoadingConstraint(200, 6)
    pool = random_block(rng, 12, 200, 6)
    tried = set()
    shown = []
    while len(children := new_rows(space, pool, 8, constraint, 10, tried)):
        rows = dense_rows(children, 200)
        shown.append([(tuple(np.flatnonzero(w)), w @ A @ w) for w in rows])
    supports = [support for part in shown for support, _ in part]
    assert len(shown) > 2
    assert len(set(supports)) == len(supports) == len(tried)
    assert not set(supports) & {tuple(np.flatnonzero(w)) for w in dense_rows(pool, 200)}
    values = [value for part in shown for _, value in part]
    np.testing.assert_allclose(values, np.sort(values)[::-1], rtol=1e-12)
