"""Recovery against brute force over supports, and what it promises on any data."""

from itertools import combinations, combinations_with_replacement

import numpy as np
import pytest
from scipy import sparse

from brute_force import best_beside, best_of_one_sign_beside
from loadstone import SparsePCA
from loadstone.constraints import L1Budget, LoadingConstraint, Signs
from loadstone.covariance import ExplicitCovariance, covariance_of
from loadstone.loadings import Stop
from loadstone.metrics import recovered_variance
from loadstone.solvers.recovery import Recovery, second_moments
from loadstone.solvers.recovery.cone import best_in_cone, climb_in_cone
from loadstone.solvers.recovery.joint import JointProblem
from loadstone.solvers.recovery.pencil import Pencil, largest_root
from loadstone.solvers.recovery.second_moments import SecondMoments
from solvers.search.covariances import data, kinds, matrix_of

RNG = np.random.default_rng


def problem(seed, p=8, n=30):
    rng = RNG(seed)
    X = rng.standard_normal((n, p)) @ rng.standard_normal((p, p))
    return ExplicitCovariance(np.corrcoef(X.T) if seed % 2 else np.cov(X.T), float(n))


@pytest.mark.parametrize("k", [1, 2, 3])
def test_one_component_is_the_best_of_all_supports(k):
    hits = []
    for seed in range(20):
        S = problem(seed, n=6 if seed % 3 == 0 else 30)
        A, B = S.matrix @ S.matrix, S.matrix
        best = max(best_beside(A, B, T, None)[0] for T in combinations(range(8), k))
        found = Recovery()(S, [LoadingConstraint(8, k)])
        value = recovered_variance(S, found.matrix)[-1]
        assert value == pytest.approx(found.objective[-1], rel=1e-7)
        hits.append(value >= best * (1 - 1e-7))
    assert np.mean(hits) >= 0.95


def test_two_components_are_the_best_of_all_pairs_of_supports():
    hits = []
    for seed in range(8):
        S = problem(100 + seed, p=5)
        A, B = S.matrix @ S.matrix, S.matrix
        best = 0.0
        for T, U in combinations_with_replacement(list(combinations(range(5), 2)), 2):
            for start in range(2):
                w = np.zeros(5)
                w[list(U)] = RNG(start).standard_normal(2)
                for _ in range(12):
                    v = best_beside(A, B, T, w)[1]
                    w = best_beside(A, B, U, v)[1]
                best = max(best, recovered_variance(S, np.column_stack([v, w]))[-1])
        value = Recovery()(S, [LoadingConstraint(5, 2)] * 2).objective[-1]
        hits.append(value >= best * (1 - 1e-6))
    assert np.mean(hits) >= 0.95


def test_two_disjoint_components_are_the_best_of_all_pairs_of_supports():
    hits = []
    for seed in range(8):
        S = problem(200 + seed, p=6)
        A, B = S.matrix @ S.matrix, S.matrix
        best = 0.0
        for T, U in combinations(list(combinations(range(6), 2)), 2):
            if set(T) & set(U):
                continue
            for start in range(2):
                w = np.zeros(6)
                w[list(U)] = RNG(start).standard_normal(2)
                for _ in range(12):
                    v = best_beside(A, B, T, w)[1]
                    w = best_beside(A, B, U, v)[1]
                best = max(best, recovered_variance(S, np.column_stack([v, w]))[-1])
        found = Recovery(disjoint=True)(S, [LoadingConstraint(6, 2)] * 2)
        assert not (found.matrix != 0).all(axis=1).any()
        assert found.objective[-1] <= best * (1 + 1e-6)
        hits.append(found.objective[-1] >= best * (1 - 1e-6))
    assert np.mean(hits) >= 0.95


def test_disjoint_components_leave_each_other_room():
    found = Recovery(disjoint=True)(problem(3, p=5), [LoadingConstraint(5, 4)] * 3)
    assert found.matrix.any(axis=0).all()
    assert ((found.matrix != 0).sum(axis=1) <= 1).all()


@pytest.mark.parametrize("p", [10, 40])
def test_promises(p):
    for seed in range(3):
        S = problem(seed, p=p)
        constraints = [
            LoadingConstraint(p, 4, forced=np.array([1]), forbidden=np.array([0, 5])),
            LoadingConstraint(p, 3),
            LoadingConstraint(p, 2),
        ]
        start = np.zeros((p, 3))
        start[[1, 2, 3, 4], 0] = start[[6, 7], 1] = start[8, 2] = 1
        start /= np.linalg.norm(start, axis=0)
        found = Recovery()(S, constraints, [start])
        for constraint, w in zip(constraints, found.matrix.T, strict=True):
            assert constraint.allows(w)
        recovered = recovered_variance(S, found.matrix)
        assert recovered[-1] >= recovered_variance(S, start)[-1] * (1 - 1e-9)
        top = np.linalg.eigvalsh(S.matrix)[::-1]
        assert (recovered <= np.cumsum(top[:3]) * (1 + 1e-9)).all()
        assert found.stop is Stop.CONVERGED


def test_all_features_recover_what_pca_recovers():
    S = problem(0)
    found = Recovery()(S, [LoadingConstraint(8, 8)] * 2)
    expected = np.linalg.eigvalsh(S.matrix)[::-1][:2].sum()
    assert found.objective[-1] == pytest.approx(expected, rel=1e-6)


def test_components_come_in_the_order_of_what_they_recover():
    S = problem(3, p=12)
    W = Recovery()(S, [LoadingConstraint(12, 2)] * 3).matrix
    alone = [recovered_variance(S, W[:, [j]])[0] for j in range(3)]
    assert alone[0] == max(alone)


def test_what_it_refuses_it_says():
    S = problem(0)
    with pytest.raises(ValueError, match="L1Budget has none"):
        Recovery()(S, [L1Budget(8, 1.5)])


@pytest.mark.parametrize("kind", ["C", "F", "csr", "csc", "mapped", "gram", "low rank"])
@pytest.mark.parametrize("weighted", [False, True])
def test_second_moments_of_some_features(kind, weighted, tmp_path):
    X = data()
    weights = RNG(1).integers(1, 4, len(X)).astype(float) if weighted else None
    S = kinds(X, tmp_path, weights)[kind]
    B = matrix_of(S)
    features = np.array([0, 3, 4, 17, 30])
    moments = SecondMoments(S)
    A_found, B_found = moments.on(features)
    np.testing.assert_allclose(B_found, B[np.ix_(features, features)], atol=1e-10)
    np.testing.assert_allclose(A_found, (B @ B)[np.ix_(features, features)], atol=1e-9)
    exact = kind in {"C", "F", "gram"}
    squared = (B @ B).diagonal()
    np.testing.assert_allclose(moments.squared_columns(), squared, rtol=1e-9 if exact else 0.9)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_features_not_looked_at_first_are_invited(container, monkeypatch):
    rng = RNG(0)
    X = rng.standard_normal((60, 5)) @ rng.standard_normal((5, 200))
    X += 0.5 * rng.standard_normal(X.shape)
    S, _ = covariance_of(container(X), route="data", standardize=True)
    constraints = [LoadingConstraint(200, 3)] * 2
    everything = Recovery()(S, constraints).objective[-1]
    monkeypatch.setattr(second_moments, "ALL_FEATURES", 20)
    monkeypatch.setattr(second_moments, "FEW_FEATURES", 20)
    some = Recovery()(S, constraints)
    assert len(some.objective) > 2
    assert (np.diff(some.objective) >= -1e-9 * some.objective[-1]).all()
    assert some.objective[-1] >= 0.99 * everything


def test_the_largest_root_of_a_two_by_two_pencil():
    for seed in range(20):
        rng = RNG(seed)
        A, B = (M @ M.T for M in rng.standard_normal((2, 2, 3)))
        found = largest_root(A[0, 0], A[0, [1]], A[1, [1]], B[0, 0], B[0, [1]], B[1, [1]], 1e-12)
        expected = np.max(np.linalg.eigvals(np.linalg.solve(B, A)).real)
        assert found[0] == pytest.approx(expected)
    dependent = largest_root(
        2.0, np.array([4.0]), np.array([8.0]), 1.0, np.array([2.0]), np.array([4.0]), 1e-12
    )
    assert dependent[0] == 2.0


def test_a_first_direction_without_variance_leaves_the_root_to_the_second():
    found = largest_root(
        0.0, np.zeros(2), np.array([6.0, 5.0]), 0.0, np.zeros(2), np.array([2.0, 0.0]), 1e-12
    )
    assert np.array_equal(found, [3.0, 0.0])


def test_forbidden_features_are_no_starts_where_few_are_left():
    # Three features vary and two of them are forbidden: no climb may begin at those.
    X = np.zeros((3, 8), dtype=np.float32)
    X[[0, 1, 2], [0, 1, 2]] = 1
    with pytest.warns(UserWarning, match="constant"):
        model = SparsePCA(objective="recovery", n_nonzero=1, forbidden=[1, 2]).fit(X)
    np.testing.assert_array_equal(np.flatnonzero(model.components_), [0])


def test_nothing_is_divided_by_the_variance_of_a_direction_that_has_none():
    nothing = np.zeros((3, 3))
    with np.errstate(divide="raise"):
        values, loadings = Pencil(nothing, nothing, LoadingConstraint(3, 2)).best_on(
            np.array([[0, 1], [1, 2]])
        )
    assert not values.any()
    assert not loadings.any()


def best_in_the_cone(S, k):
    """Over all supports and all of their faces."""
    A = S.matrix @ S.matrix
    supports = combinations(range(S.n_features), k)
    return max(best_of_one_sign_beside(A, S.matrix, T, None)[0] for T in supports)


@pytest.mark.parametrize("k", [1, 2, 3])
def test_one_component_of_one_sign_is_the_best_of_all_faces(k):
    hits = []
    for seed in range(20):
        S = problem(300 + seed, p=7, n=6 if seed % 3 == 0 else 30)
        best = best_in_the_cone(S, k)
        found = Recovery()(S, [LoadingConstraint(7, k, nonnegative=True)])
        assert (found.matrix >= 0).all()
        assert found.objective[-1] <= best * (1 + 1e-7)
        hits.append(found.objective[-1] >= best * (1 - 1e-7))
    assert np.mean(hits) >= 0.95


@pytest.mark.parametrize("disjoint", [False, True])
def test_two_components_of_one_sign_reach_what_alternating_over_all_pairs_does(disjoint):
    hits = []
    for seed in range(5):
        S = problem(400 + seed, p=5)
        A, B = S.matrix @ S.matrix, S.matrix
        best = 0.0
        for T, U in combinations_with_replacement(list(combinations(range(5), 2)), 2):
            if disjoint and set(T) & set(U):
                continue
            w = np.zeros(5)
            w[list(U)] = RNG(0).random(2)
            for _ in range(8):
                v = best_of_one_sign_beside(A, B, T, w)[1]
                w = best_of_one_sign_beside(A, B, U, v)[1] if v.any() else w
            best = max(best, recovered_variance(S, np.column_stack([v, w]))[-1])
        constraints = [LoadingConstraint(5, 2, nonnegative=True)] * 2
        found = Recovery(disjoint=disjoint)(S, constraints)
        assert all(c.allows(w) for c, w in zip(constraints, found.matrix.T, strict=True))
        assert not disjoint or ((found.matrix != 0).sum(axis=1) <= 1).all()
        hits.append(found.objective[-1] >= best * (1 - 1e-6))
    assert all(hits)


def test_given_signs_are_the_signs_of_features_turned():
    # Turning features turns the loadings and leaves what is recovered as it is.
    S = problem(5)
    turn = np.where(np.arange(8) % 3 == 1, -1.0, 1.0)
    turned = ExplicitCovariance(S.matrix * np.outer(turn, turn), 30.0)
    pattern = {i: int(sign) for i, sign in enumerate(turn)}
    given = Recovery()(turned, [Signs(pattern, 3, 8)] * 2)
    plain = Recovery()(S, [LoadingConstraint(8, 3, nonnegative=True)] * 2)
    assert (given.matrix * turn[:, None] >= 0).all()
    assert given.objective[-1] == pytest.approx(plain.objective[-1], rel=1e-9)


def test_features_without_a_sign_are_free():
    S = problem(6)
    some = Recovery()(S, [Signs({0: 1, 1: 1, 2: -1}, 3, 8)]).matrix[:, 0]
    assert Signs({0: 1, 1: 1, 2: -1}, 3, 8).broken_rule(some) is None
    value = recovered_variance(S, some[:, None])[-1]
    one_sign = Recovery()(S, [LoadingConstraint(8, 3, nonnegative=True, forbidden=[2])])
    assert value >= one_sign.objective[-1] * (1 - 1e-9)


def test_forced_features_keep_their_place_where_signs_make_them_zero():
    for seed in range(6):
        S = problem(seed)
        constraint = LoadingConstraint(8, 3, nonnegative=True, forced=[1], forbidden=[0])
        found = Recovery()(S, [constraint] * 2)
        assert all(constraint.allows(w) for w in found.matrix.T)


def test_a_climb_in_the_cone_starts_from_what_has_the_signs():
    B = np.array([[1.0, -0.5], [-0.5, 1.0]])[None]
    A = B @ B
    # Nothing but single features: their mixture has the wrong sign.
    values, w = best_in_cone(A, B, np.ones((1, 2)), [np.array([[1.0, -1.0]])], 1e-12)
    np.testing.assert_array_equal(w, [[w[0, 0], 0.0]])
    assert values[0] == pytest.approx(1.25)


def test_the_best_of_many_supports_has_the_best_loadings_of_one_sign():
    # Among supports whose best loadings have one sign anyway, and others that are climbed to.
    climbed = 0
    for seed in range(20):
        S = problem(500 + seed, p=7)
        A, B = S.matrix @ S.matrix, S.matrix
        pencil = Pencil(A, B, LoadingConstraint(7, 3, nonnegative=True))
        supports = np.array(list(combinations(range(7), 3)))
        values, W = pencil.best_on(supports)
        truth = np.array([best_of_one_sign_beside(A, B, T, None)[0] for T in supports])
        best = int(np.argmax(values))
        assert values[best] == pytest.approx(truth.max(), rel=1e-9)
        assert (values <= truth * (1 + 1e-9)).all()
        assert (W >= 0).all()
        w = np.zeros(7)
        w[supports[best]] = W[best]
        assert w @ A @ w / (w @ B @ w) == pytest.approx(values[best], rel=1e-9)
        climbed += 0 < (W[best] == 0).sum() < 3
        least = np.sort(truth)[-4] * (1 + 1e-6)
        some = pencil.best_on(supports, None, least)[0]
        assert some.max() == pytest.approx(truth.max(), rel=1e-9)
    assert climbed


def test_progress_is_told_on_the_way_and_may_end_the_search():
    S, constraints = problem(2, p=20), [LoadingConstraint(20, 4)] * 3
    told = []

    def listen(stage, recovered):
        told.append(recovered)
        return len(told) == 3

    stopped = Recovery()(S, constraints, progress=listen)
    assert len(told) == 3
    assert told == sorted(told)
    assert stopped.stop is Stop.CALLBACK
    assert recovered_variance(S, stopped.matrix)[-1] >= told[-1] * (1 - 1e-9)
    # Nobody asks to stop: the same answer as without anybody listening.
    told.clear()
    heard = Recovery()(S, constraints, progress=lambda _, recovered: bool(told.append(recovered)))
    np.testing.assert_array_equal(heard.matrix, Recovery()(S, constraints).matrix)
    assert len(told) > 10


def test_a_climb_in_the_cone_ends_where_no_small_step_improves():
    """The gradient ``(A - mu B) w`` is zero where loadings are, and points outwards elsewhere."""
    for seed in range(40):
        rng = RNG(seed)
        A, B = (M @ M.T for M in rng.standard_normal((2, 5, 5)))
        held = np.arange(5) != 2 if seed % 2 else np.ones(5, dtype=bool)
        start = np.where(held, np.maximum(rng.standard_normal(5), 0), 1.0)
        start[1] += 0.1
        values, ends = climb_in_cone(A[None], B[None], held[None], start[None], 1e-12)
        w = ends[0] / np.linalg.norm(ends[0])
        assert (w[held] >= 0).all()
        assert values[0] == pytest.approx(w @ A @ w / (w @ B @ w))
        assert values[0] >= start @ A @ start / (start @ B @ start)
        slope = (A - values[0] * B) @ w
        rounding = 1e-7 * np.abs(A).max()
        np.testing.assert_allclose(slope[~held | (w > 0)], 0, atol=rounding)
        assert (slope[held] <= rounding).all()


@pytest.mark.parametrize("kind", ["explicit", "C", "csr"])
def test_second_moments_are_the_same_in_parts(kind, tmp_path, monkeypatch):
    S = ExplicitCovariance(matrix_of(kinds(data(), tmp_path, None)["C"]))
    S = S if kind == "explicit" else kinds(data(), tmp_path, None)[kind]
    moments, B, features = SecondMoments(S), matrix_of(S), np.array([0, 3, 4, 17, 30])
    # Two columns of the length of a feature, or of a sample, fit into a block.
    length = len(data()) if moments.gram is not None else S.n_features
    monkeypatch.setattr(second_moments, "BLOCK_BYTES", 8 * 2 * length + 1)
    assert [part.tolist() for part in second_moments._parts(5, length)] == [[0, 1], [2, 3], [4]]
    assert [part.tolist() for part in second_moments._parts(2, 10**9)] == [[0], [1]]
    A_found, B_found = moments.on(features)
    np.testing.assert_allclose(B_found, B[np.ix_(features, features)], atol=1e-10)
    np.testing.assert_allclose(A_found, (B @ B)[np.ix_(features, features)], atol=1e-9)
    exact = kind != "csr"
    squared = (B @ B).diagonal()
    np.testing.assert_allclose(moments.squared_columns(), squared, rtol=1e-9 if exact else 0.9)


def test_searches_begin_at_the_features_that_are_best_alone():
    S = problem(8)
    A, B = S.matrix @ S.matrix, S.matrix
    alone = np.argsort(-A.diagonal() / B.diagonal())
    guides = np.linalg.eigh(B)[1][:, -2:]

    def starts(**options):
        rule = LoadingConstraint(8, 3, **options)
        return JointProblem(A, B, (rule,)).starts(Pencil(A, B, rule), guides)

    singles = [support.tolist() for support in starts() if support.size == 1]
    assert singles == [[alone[0]], [alone[1]]]
    forced = [int(alone[-1]), int(alone[-2])]
    assert all(np.isin(forced, support).all() for support in starts(forced=forced))
    assert {support.size for support in starts(forced=forced)} == {2, 3}


def test_components_are_ordered_by_what_each_adds_unless_places_differ():
    S = problem(4, p=7)
    A, B = S.matrix @ S.matrix, S.matrix
    W = np.linalg.qr(RNG(1).standard_normal((7, 4)))[0]
    alike = JointProblem(A, B, (LoadingConstraint(7, 7),) * 4).ordered(W)
    order = []
    while len(order) < 4:
        left = [j for j in range(4) if j not in order]
        order.append(max(left, key=lambda j: recovered_variance(S, W[:, [*order, j]])[-1]))
    assert order != sorted(order)
    np.testing.assert_array_equal(alike, W[:, order])
    for sizes in ((7, 7, 7, 6), (4, 5, 6, 7)):
        rules = tuple(LoadingConstraint(7, size) for size in sizes)
        np.testing.assert_array_equal(JointProblem(A, B, rules).ordered(W), W)


@pytest.mark.parametrize("unit", [1e-5, 1.0, 1e5])
def test_data_of_rank_one_is_recovered_in_any_unit(unit, monkeypatch):
    """Beside the first component the second has no variance to divide by."""
    monkeypatch.setattr(second_moments, "ALL_FEATURES", 10)
    X = unit * np.outer(RNG(0).standard_normal(30), RNG(1).standard_normal(40))
    S = ExplicitCovariance(np.cov(X.T), 30.0)
    recovery, w = Recovery(), np.zeros((40, 2))
    w[:2, 0] = w[2:4, 1] = np.sqrt(0.5)
    found = recovery(S, [LoadingConstraint(40, 2)] * 2, [w])
    assert found.objective[-1] == pytest.approx(np.trace(S.matrix), rel=1e-9)
