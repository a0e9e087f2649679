"""The elastic net against a convex solver, and the published pit props components."""

import cvxpy as cp
import numpy as np
import pytest

from loadstone import ElasticNetPCA
from loadstone.covariance import ExplicitCovariance
from loadstone.solvers.elastic_net import PATIENCE, ElasticNet, _rotation
from loadstone.solvers.elastic_net_regressions import Ridge, regressions
from loadstone.solvers.least_angle import least_angle
from real_data import arrays


def problem(seed, n_features=6):
    rng = np.random.default_rng(seed)
    S = np.cov(rng.standard_normal((20, n_features)).T)
    return S, S @ np.linalg.eigh(S)[1][:, -1]


def convex(S, target, ridge, penalty):
    b = cp.Variable(target.size)
    smooth = cp.quad_form(b, cp.psd_wrap(S + ridge * np.eye(target.size))) - 2 * target @ b
    cp.Problem(cp.Minimize(smooth + penalty * cp.norm1(b))).solve(
        solver=cp.CLARABEL, tol_gap_abs=1e-12, tol_gap_rel=1e-12, tol_feas=1e-12
    )
    return b.value


@pytest.mark.parametrize("ridge", [0.0, 0.3, 5.0])
@pytest.mark.parametrize("penalty", [0.0, 0.2, 0.8])
@pytest.mark.parametrize("seed", range(3))
def test_regression_agrees_with_a_convex_solver(seed, ridge, penalty):
    S, target = problem(seed)
    rules = regressions(ExplicitCovariance(S), None, [penalty], ridge, None)
    ours = rules.penalised(target[:, None], np.zeros((6, 1)))[:, 0]
    np.testing.assert_allclose(ours, convex(S, target, ridge, penalty), atol=1e-5)


@pytest.mark.parametrize("ridge", [0.0, 0.3])
@pytest.mark.parametrize("penalty", [0.2, 0.8])
def test_descent_agrees_with_it_where_no_signs_lead_to_the_answer(ridge, penalty, monkeypatch):
    monkeypatch.setattr(Ridge, "_with_signs", lambda *_: None)
    S, target = problem(0)
    rules = regressions(ExplicitCovariance(S), None, [penalty], ridge, None)
    ours = rules.penalised(target[:, None], np.zeros((6, 1)))[:, 0]
    np.testing.assert_allclose(ours, convex(S, target, ridge, penalty), atol=1e-5)


@pytest.mark.parametrize("size", [1, 2, 4, 6])
@pytest.mark.parametrize("seed", range(4))
def test_exact_sizes_lie_on_the_path(seed, size):
    S, target = problem(seed)
    rules = regressions(ExplicitCovariance(S), [size], None, 0.1, None)
    b = rules.penalised(target[:, None], np.zeros((6, 1)))[:, 0]
    assert np.count_nonzero(b) == size
    # Stationarity: all kept features correlate equally with the residual, no other more.
    left = target - (S + 0.1 * np.eye(6)) @ b
    kept = np.abs(left[b != 0])
    np.testing.assert_allclose(kept, kept[0], atol=1e-10)
    assert np.abs(left).max() <= kept[0] + 1e-10


#: Table 3 of Zou et al. (2006): features and loadings of each component.
PRINTED = (
    ([0, 1, 4, 6, 7, 8, 9], [0.477, 0.476, -0.177, 0.250, 0.344, 0.416, 0.400]),
    ([2, 3, 7, 11], [0.785, 0.620, -0.021, 0.013]),
    ([4, 5, 6, 12], [0.640, 0.589, 0.492, -0.015]),
    ([10], [1.0]),
    ([11], [1.0]),
    ([12], [1.0]),
)


def test_published_pit_props_components():
    S = arrays("pitprops.npz")["X"]
    # The print is of a run that stopped at 1e-3; what it was on its way to differs by .007.
    model = ElasticNetPCA(6, penalty=[0.06, 0.16, 0.1, 0.5, 0.5, 0.5], ridge=0.0, tol=1e-3)
    model.fit_covariance(S)
    for w, (features, loadings) in zip(model.components_, PRINTED, strict=True):
        printed = np.zeros(13)
        printed[features] = loadings
        np.testing.assert_allclose(w * np.sign(w @ printed), printed, atol=1e-3)
    np.testing.assert_allclose(
        100 * model.explained_variance_ratio_, [28.0, 14.0, 13.3, 7.4, 6.8, 6.2], atol=0.1
    )
    settled = ElasticNetPCA(6, penalty=[0.06, 0.16, 0.1, 0.5, 0.5, 0.5], ridge=0.0)
    assert settled.fit_covariance(S).cardinality_.tolist() == [7, 4, 4, 1, 1, 1]
    np.testing.assert_allclose(settled.components_, model.components_, atol=8e-3)


def test_sizes_that_take_turns_settle_all_the_same():
    X = arrays("glass.npz")["X"]
    sizes = [8, 8, 5, 7, 3, 5, 3]
    model = ElasticNetPCA(7, n_nonzero=sizes, standardize=True).fit(X)
    assert PATIENCE < model.n_iter_ < model.max_iter
    assert sorted(model.cardinality_) == sorted(sizes)
    # The authors' own loadings of these sizes explain .926 of the variance.
    assert model.explained_variance_ratio_.sum() > 0.91


def test_held_supports_are_a_stationary_point():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((60, 9)) @ rng.standard_normal((9, 9))
    S = np.cov(X.T)
    found = ElasticNet([4] * 5, None, 1e-3, None, 20_000, 1e-9).solve(ExplicitCovariance(S))
    assert found.n_iter > PATIENCE
    W = found.matrix
    # The ridge regressions on the supports have these directions, and A = UV' of S B: one more
    # round by hand changes nothing that matters.
    supports = [np.flatnonzero(w) for w in W.T]
    lengths = np.ones(W.shape[1])
    for _ in range(500):
        U, _, Vt = np.linalg.svd(S @ (W * lengths), full_matrices=False)
        targets = S @ (U @ Vt)
        B = np.zeros_like(W)
        for j, support in enumerate(supports):
            block = S[np.ix_(support, support)] + 1e-3 * np.eye(support.size)
            B[support, j] = np.linalg.solve(block, targets[support, j])
        lengths = np.linalg.norm(B, axis=0)
    np.testing.assert_allclose(B / lengths, W, atol=2e-3)


@pytest.mark.parametrize("seed", range(20))
def test_the_least_angle_path_meets_its_conditions(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 25))
    X = rng.standard_normal((30, n))
    X[:, -1] = X[:, 0] + 0.1 * X[:, -1]
    G, target = X.T @ X / 30 + 1e-4 * np.eye(n), rng.standard_normal(n)
    size = int(rng.integers(1, n + 1))
    b = least_angle(G, target, size)
    assert np.count_nonzero(b) == size
    left = target - G @ b
    level = np.abs(left[b != 0]).max()
    np.testing.assert_allclose(left[b != 0], level * np.sign(b[b != 0]), atol=1e-10)
    outside = np.abs(left[b == 0])
    # Either the next feature is about to enter, or nothing is left to correlate with.
    assert size == n or outside.max() == pytest.approx(level, abs=1e-10)


def test_a_repeated_feature_does_not_enter_twice():
    X = np.random.default_rng(0).standard_normal((30, 3))
    G = np.cov(np.c_[X, X].T)
    b = least_angle(G, G @ np.ones(6), 5)
    assert np.count_nonzero(b) == 3


def test_pit_props_sizes_when_asked_for():
    model = ElasticNetPCA(6, n_nonzero=[7, 4, 4, 1, 1, 1]).fit_covariance(
        arrays("pitprops.npz")["X"]
    )
    assert model.cardinality_.tolist() == [7, 4, 4, 1, 1, 1]


def test_without_penalty_it_is_pca():
    S, _ = problem(1)
    model = ElasticNetPCA(3, penalty=0.0, ridge=0.5).fit_covariance(S)
    values, vectors = np.linalg.eigh(S)
    np.testing.assert_allclose(
        np.abs(model.components_ @ vectors[:, ::-1][:, :3]), np.eye(3), atol=1e-5
    )
    np.testing.assert_allclose(model.explained_variance_, values[::-1][:3], rtol=1e-6)


def test_infinite_ridge_is_the_limit_of_large_ones():
    S, _ = problem(2)
    limit = ElasticNet(penalties=[0.4], ridge=np.inf).solve(ExplicitCovariance(S)).matrix
    large = ElasticNet(penalties=[0.4], ridge=1e6).solve(ExplicitCovariance(S)).matrix
    np.testing.assert_allclose(np.abs(large), np.abs(limit), atol=1e-4)


@pytest.mark.parametrize("sizes", [3, [5, 2]])
def test_wide_data_never_needs_the_matrix(sizes):
    X = np.random.default_rng(0).standard_normal((8, 50))
    model = ElasticNetPCA(2, n_nonzero=sizes).fit(X)
    assert model.cardinality_.tolist() == (sizes if isinstance(sizes, list) else [sizes] * 2)
    np.testing.assert_allclose(np.linalg.norm(model.components_, axis=1), 1)


def test_renormalising_raises_the_variance():
    S, _ = problem(3)
    raw = ElasticNetPCA(1, n_nonzero=3).fit_covariance(S)
    best = ElasticNetPCA(1, n_nonzero=3, renormalize=True).fit_covariance(S)
    np.testing.assert_array_equal(raw.support_, best.support_)
    inside = np.flatnonzero(raw.support_[0])
    top = np.linalg.eigvalsh(S[np.ix_(inside, inside)])[-1]
    assert best.marginal_variance_[0] == pytest.approx(top)
    assert raw.marginal_variance_[0] < top


def test_penalties_that_leave_nothing_are_told():
    S, _ = problem(4)
    with pytest.raises(ValueError, match="leaves no loading"):
        ElasticNetPCA(1, penalty=1e3).fit_covariance(S)
    with pytest.warns(UserWarning, match="leaves no loading of 1"):
        model = ElasticNetPCA(2, penalty=[0.1, 1e3]).fit_covariance(S)
    assert model.n_components_ == 1
    with pytest.raises(ValueError, match="one for each"):
        ElasticNetPCA(2, penalty=[0.1, 0.2, 0.3]).fit_covariance(S)


def test_collinear_features_give_one_component_and_not_two_alike():
    a = np.random.default_rng(2).normal(size=20)
    with pytest.warns(UserWarning, match="fewer than asked for: no direction"):
        model = ElasticNetPCA(2, n_nonzero=3).fit(np.c_[a, -a, a, -a])
    assert model.components_.shape == (1, 4)
    assert model.cardinality_.tolist() == [3]
    np.testing.assert_allclose(np.linalg.norm(model.components_, axis=1), 1)


@pytest.mark.parametrize("ridge", ["auto", 0.0, np.inf])
@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
def test_no_component_without_variance(ridge, scale):
    a = np.random.default_rng(2).normal(size=20) * scale
    with (
        pytest.warns(UserWarning, match="2 constant"),
        pytest.warns(UserWarning, match="fewer than asked for: no direction"),
    ):
        model = ElasticNetPCA(2, n_nonzero=2, ridge=ridge).fit(np.c_[a, np.ones((20, 2))])
    np.testing.assert_array_equal(model.components_, [[1, 0, 0]])


def test_features_that_do_not_help_are_not_counted():
    model = ElasticNetPCA(2, n_nonzero=3).fit_covariance(np.diag([3, 2, 1.0, 0.5]))
    np.testing.assert_array_equal(model.components_, np.eye(4)[:2])
    turn = np.linalg.qr(np.random.default_rng(0).normal(size=(2, 2)))[0]
    S = np.zeros((4, 4))
    S[:2, :2], S[2:, 2:] = turn @ np.diag([5, 4.0]) @ turn.T, np.eye(2)
    model = ElasticNetPCA(2, n_nonzero=3).fit_covariance(S)
    assert model.cardinality_.tolist() == [2, 2]


@pytest.mark.parametrize("renormalize", [False, True])
@pytest.mark.parametrize("n_samples", [8, 40])
def test_components_of_low_rank_data_are_sound(n_samples, renormalize):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(n_samples, 2)) @ rng.normal(size=(2, 10))
    with pytest.warns(UserWarning, match="fewer than asked for"):
        model = ElasticNetPCA(4, n_nonzero=3, renormalize=renormalize).fit(X)
    assert model.n_components_ == 2
    np.testing.assert_allclose(np.linalg.norm(model.components_, axis=1), 1)
    assert (model.explained_variance_ > 0).all()


def test_where_components_say_the_same_the_order_of_features_does_not_decide():
    rng = np.random.default_rng(0)
    A = np.linalg.qr(rng.standard_normal((7, 3)))[0]
    # Two components of one feature: SB has rank two, and its rotation a free direction.
    SB = rng.standard_normal((7, 2))[:, [0, 0, 1]] * [1.0, 2.0, 1.0]
    order = rng.permutation(7)
    found = _rotation(SB, A)
    np.testing.assert_allclose(found.T @ found, np.eye(3), atol=1e-12)
    np.testing.assert_allclose(_rotation(SB[order], A[order]), found[order], atol=1e-7)
    # Where nothing is free it is the rotation of the paper.
    SB = rng.standard_normal((7, 3))
    U, _, Vt = np.linalg.svd(SB, full_matrices=False)
    np.testing.assert_allclose(_rotation(SB, A), U @ Vt, atol=1e-6)
    np.testing.assert_allclose(_rotation(SB, U @ Vt), U @ Vt, atol=1e-13)


@pytest.mark.parametrize("penalties", [[0.0, 0.0], [1e-3, 1e-3]])
def test_a_singular_matrix_of_single_precision_gives_what_double_precision_gives(penalties):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((3, 3)).astype(np.float32)
    single = ExplicitCovariance(np.cov(X.T).astype(np.float32), 3.0)
    double = ExplicitCovariance(np.cov(X.T.astype(float)), 3.0)
    solver = ElasticNet(penalties=penalties, ridge=1e-6)
    found, expected = solver.solve(single), solver.solve(double)
    assert found.matrix.dtype == np.float32
    np.testing.assert_allclose(
        np.abs(np.einsum("ij,ij->j", found.matrix, expected.matrix)), 1, atol=1e-5
    )


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("seed", range(6))
def test_a_penalty_that_reaches_every_target_leaves_nothing(seed, dtype):
    # Four copies of a feature of variance 1/4: S a = (1/2, ..., 1/2), which half the penalty is.
    offset = np.random.default_rng(seed).standard_normal((1, 4))
    X = (np.repeat(offset, 4, axis=0) + (np.arange(4) == 0)[:, None]).astype(dtype)
    with pytest.raises(ValueError, match="leaves no loading"):
        ElasticNetPCA(penalty=1.0).fit(X)
    assert ElasticNetPCA(penalty=0.99).fit(X).n_components_ == 1
