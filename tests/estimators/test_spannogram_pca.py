"""SpannogramPCA: guarantees that hold, choices that are told, refusals with a way out."""

import numpy as np
import pytest

from loadstone import SpannogramPCA, load_model, save_model
from real_data import arrays
from solvers.spannogram_oracles import brute_force


def low_rank_matrix(n, rank, seed=0):
    V = np.random.default_rng(seed).standard_normal((n, rank))
    return V @ V.T, V


def spiked_data(seed=0, n_samples=60, n_features=14):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_samples, n_features))
    X[:, :5] += 2.0 * rng.standard_normal((n_samples, 1))
    return X


def optimum(A, n_nonzero, nonnegative):
    values, vectors = np.linalg.eigh(A)
    return brute_force(vectors * np.sqrt(np.maximum(values, 0.0)), n_nonzero, nonnegative)


@pytest.mark.parametrize("method", ["exact", "cones"])
@pytest.mark.parametrize("nonnegative", [True, False])
@pytest.mark.parametrize("rank", [1, 2, 3])
def test_optimal_and_proven_on_low_rank(rank, nonnegative, method):
    A, V = low_rank_matrix(11, rank)
    model = SpannogramPCA(
        n_nonzero=4, rank=3, nonnegative=nonnegative, method=method, epsilon=1e-10
    ).fit_covariance(A)
    assert model.marginal_variance_[0] == pytest.approx(brute_force(V, 4, nonnegative), rel=1e-9)
    assert model.upper_bound_[0] == pytest.approx(model.marginal_variance_[0], rel=1e-9)
    assert model.guarantee_[0] == pytest.approx(1.0, rel=1e-6)
    assert model.upper_bound_is_deterministic_[0]


@pytest.mark.parametrize("sigma", [0.01, 1.0, 50.0])
def test_recognises_sigma_times_identity_plus_low_rank(sigma):
    A, V = low_rank_matrix(12, 2, seed=1)
    model = SpannogramPCA(n_nonzero=4, rank=2).fit_covariance(A + sigma * np.eye(12))
    assert model.shift_[0] == pytest.approx(sigma, rel=1e-9)
    assert model.marginal_variance_[0] == pytest.approx(brute_force(V, 4, True) + sigma, rel=1e-9)
    assert model.upper_bound_[0] == pytest.approx(model.marginal_variance_[0], rel=1e-9)
    assert model.guarantee_[0] == pytest.approx(1.0, rel=1e-6)


def test_identity_has_nothing_to_find_and_says_so():
    model = SpannogramPCA(n_nonzero=2).fit_covariance(3.0 * np.eye(5))
    assert model.marginal_variance_[0] == pytest.approx(3.0)
    assert model.upper_bound_[0] == pytest.approx(3.0)
    assert model.shift_[0] == pytest.approx(3.0)


@pytest.mark.parametrize("method", ["exact", "cones", "net"])
@pytest.mark.parametrize("nonnegative", [True, False])
def test_guarantee_and_bound_hold_on_full_rank(nonnegative, method):
    for seed in range(6):
        A = np.cov(spiked_data(seed, n_features=11), rowvar=False)
        for n_nonzero in (2, 5):
            model = SpannogramPCA(
                n_nonzero=n_nonzero, nonnegative=nonnegative, method=method, rank=2
            ).fit_covariance(A)
            best = optimum(A, n_nonzero, nonnegative)
            value = model.marginal_variance_[0]
            assert model.guarantee_[0] * best <= value * (1 + 1e-10)
            assert value <= best * (1 + 1e-10)
            assert best <= model.upper_bound_[0] * (1 + 1e-10)
            assert model.low_rank_gap_[0] == pytest.approx(np.linalg.eigvalsh(A)[-3])


def test_guarantee_is_the_formula_of_the_theorem():
    A = np.cov(spiked_data(), rowvar=False)
    values = np.linalg.eigvalsh(A)[::-1]
    n, k, d = 14, 4, 2
    model = SpannogramPCA(n_nonzero=k, rank=d, method="exact").fit_covariance(A)
    expected = max(k / (2 * n), 1 / (1 + 2 * n / k * values[d] / values[0]))
    assert model.guarantee_[0] == pytest.approx(expected)
    net = SpannogramPCA(n_nonzero=k, rank=d, method="net", epsilon=0.2).fit_covariance(A)
    assert net.guarantee_[0] == pytest.approx(0.8 * expected)
    assert not net.guarantee_is_deterministic_[0]
    signed = SpannogramPCA(n_nonzero=k, rank=d, nonnegative=False).fit_covariance(A)
    expected = max(k / n, 1 / (1 + n / k * values[d] / values[0]))
    assert signed.guarantee_[0] == pytest.approx(expected)


def test_a_bound_that_is_free_is_deterministic_even_from_the_net():
    A = np.diag([5.0, 1.0, 1.0, 1.0, 1.0, 1.0]) + 0.1
    model = SpannogramPCA(n_nonzero=6, method="net", rank=1).fit_covariance(A)
    assert model.upper_bound_[0] == pytest.approx(np.linalg.eigvalsh(A)[-1])
    assert model.upper_bound_is_deterministic_[0]


def test_higher_rank_narrows_the_gap():
    A = np.cov(spiked_data(3), rowvar=False)
    gaps = [
        SpannogramPCA(n_nonzero=4, rank=rank, method="cones", epsilon=1e-3)
        .fit_covariance(A)
        .low_rank_gap_[0]
        for rank in (1, 2, 3, 4, 5)
    ]
    assert np.all(np.diff(gaps) < 0)


@pytest.mark.parametrize("method", ["exact", "cones", "net"])
def test_polish_never_loses_variance(method):
    gained = 0.0
    for seed in range(8):
        X = np.random.default_rng(seed).standard_normal((20, 60))
        plain, polished = (
            SpannogramPCA(n_nonzero=6, rank=1, method=method, polish=polish).fit(X)
            for polish in (False, True)
        )
        difference = polished.marginal_variance_[0] - plain.marginal_variance_[0]
        assert difference >= -1e-12
        gained += difference
    assert gained > 0.0


def test_auto_chooses_by_cost_and_says_so():
    X = spiked_data()
    line = SpannogramPCA(n_nonzero=3, rank=1).fit(X)
    assert line.method_ == ["exact"]
    space = SpannogramPCA(n_nonzero=3).fit(X)
    assert space.method_ == ["cones"]
    costs = space.predicted_costs_[0]
    assert set(costs) == {"exact", "cones", "net"}
    assert costs["cones"] < costs["exact"]
    deep = SpannogramPCA(n_nonzero=3, rank=6, epsilon=0.3).fit(X)
    assert deep.method_ == ["net"]
    assert set(deep.predicted_costs_[0]) == {"net"}


@pytest.mark.parametrize("nonnegative", [True, False])
def test_auto_usually_proves_far_more_than_epsilon(nonnegative):
    A, _ = low_rank_matrix(40, 3, seed=2)
    auto = SpannogramPCA(n_nonzero=9, nonnegative=nonnegative).fit_covariance(A)
    exact = SpannogramPCA(n_nonzero=9, nonnegative=nonnegative, method="exact").fit_covariance(A)
    assert auto.marginal_variance_ == pytest.approx(exact.marginal_variance_, rel=1e-9)
    assert auto.upper_bound_ == pytest.approx(auto.marginal_variance_, rel=1e-9)


def test_exact_refuses_with_the_estimate_and_the_alternative():
    X = np.random.default_rng(0).standard_normal((8, 1500))
    with pytest.raises(ValueError, match=r"1500 features would visit about 5\.6e\+08 crossings"):
        SpannogramPCA(n_nonzero=3, method="exact").fit(X)
    with pytest.raises(ValueError, match="use method='cones'"):
        SpannogramPCA(n_nonzero=3, method="exact").fit(X)


@pytest.mark.parametrize(("method", "rank"), [("exact", 4), ("cones", 6)])
def test_ranks_out_of_reach_are_refused_with_the_way_out(method, rank):
    with pytest.raises(ValueError, match=f"not rank={rank}; .*use method="):
        SpannogramPCA(n_nonzero=3, method=method, rank=rank).fit(spiked_data())


def test_auto_refuses_a_net_of_minutes():
    S = np.cov(np.random.default_rng(0).standard_normal((40, 14)).T)
    with pytest.raises(ValueError, match=r"directions \(.* (seconds|minutes)\); use rank <= 5"):
        SpannogramPCA(n_nonzero=3, rank=13).fit_covariance(S)
    assert SpannogramPCA(n_nonzero=3, rank=13, epsilon=0.6).fit_covariance(S).method_ == ["net"]


def test_rank_above_that_of_the_data_is_no_obstacle():
    A, V = low_rank_matrix(10, 2)
    model = SpannogramPCA(n_nonzero=3, rank=9, method="exact").fit_covariance(A)
    assert model.low_rank_factors_[0].shape == (10, 2)
    assert model.marginal_variance_[0] == pytest.approx(brute_force(V, 3, True), rel=1e-9)


def test_disjoint_components_share_no_feature_and_each_has_its_bound():
    X = spiked_data(5, 80, 20)
    model = SpannogramPCA(3, n_nonzero=4, orthogonality="disjoint").fit(X)
    assert model.support_.sum(axis=0).max() == 1
    assert model.upper_bound_.shape == (3,)
    for j in range(3):
        assert model.objective_[j][-1] <= model.upper_bound_[j] * (1 + 1e-12)
    # The second turn is the first turn of the features that are left.
    left = np.flatnonzero(~model.support_[0])
    again = SpannogramPCA(n_nonzero=4).fit(X[:, left])
    assert np.allclose(again.components_[0], model.components_[1][left], atol=1e-8)
    assert again.upper_bound_[0] == pytest.approx(model.upper_bound_[1])


@pytest.mark.parametrize("deflation", ["projection", "hotelling", "schur"])
def test_works_with_deflations(deflation):
    model = SpannogramPCA(3, n_nonzero=4, deflation=deflation).fit(spiked_data(6, 50, 15))
    assert model.components_.shape == (3, 15)
    assert np.all(model.components_ >= 0)
    assert np.all(model.cardinality_ <= 4)


def test_data_and_covariance_agree_wide_or_tall():
    for shape in ((200, 12), (9, 40)):
        X = np.random.default_rng(7).standard_normal(shape)
        X[:, :4] += X[:, [0]]
        by_data = SpannogramPCA(n_nonzero=4, route="data").fit(X)
        by_matrix = SpannogramPCA(n_nonzero=4).fit_covariance(np.cov(X, rowvar=False))
        assert np.allclose(by_data.components_, by_matrix.components_, atol=1e-8)
        assert by_data.upper_bound_ == pytest.approx(by_matrix.upper_bound_, rel=1e-9)


def test_without_constraints_it_is_pca():
    X = spiked_data(8)
    model = SpannogramPCA(2, nonnegative=False).fit(X)
    values = np.linalg.eigvalsh(np.cov(X, rowvar=False))[::-1]
    assert model.upper_bound_ == pytest.approx(values[:2])
    assert model.marginal_variance_ == pytest.approx(values[:2])


def test_forbidden_features_stay_out_and_do_not_weaken_the_bound():
    X = spiked_data(9)
    model = SpannogramPCA(n_nonzero=3, forbidden=[0, 1]).fit(X)
    assert not model.support_[0, :2].any()
    assert not model.low_rank_factors_[0][:2].any()
    alone = SpannogramPCA(n_nonzero=3).fit(X[:, 2:])
    assert model.upper_bound_ == pytest.approx(alone.upper_bound_)


def test_same_seed_same_answer_and_float32_stays():
    X = spiked_data(10, 40, 60)
    first, second = (
        SpannogramPCA(n_nonzero=5, method="net", random_state=4).fit(X.astype(np.float32))
        for _ in range(2)
    )
    assert first.components_.dtype == np.float32
    assert np.array_equal(first.components_, second.components_)
    double = SpannogramPCA(n_nonzero=5, method="net", random_state=4).fit(X)
    assert np.array_equal(first.support_, double.support_)


def test_everything_it_proved_survives_a_file(tmp_path):
    model = SpannogramPCA(2, n_nonzero=3, rank=2).fit(spiked_data(11))
    again = load_model(save_model(model, tmp_path / "model.npz"))
    assert np.array_equal(again.upper_bound_, model.upper_bound_)
    assert again.predicted_costs_ == model.predicted_costs_
    assert again.method_ == model.method_
    for kept, original in zip(again.low_rank_factors_, model.low_rank_factors_, strict=True):
        assert np.array_equal(kept, original)


def test_without_a_second_look_the_loadings_are_those_of_the_search():
    X = spiked_data(3)
    model = SpannogramPCA(n_nonzero=4, rank=2, method="exact", second_look=False).fit(X)
    V, c = model.low_rank_factors_[0], model.directions_[0]
    height = np.maximum(V @ c, 0)
    height[np.argsort(-height)[4:]] = 0
    np.testing.assert_allclose(model.components_[0], height / np.linalg.norm(height), atol=1e-12)
    second = SpannogramPCA(n_nonzero=4, rank=2, method="exact").fit(X)
    assert second.marginal_variance_[0] >= model.marginal_variance_[0]
    # The paper's ratio, from its formula: an exact search has no epsilon.
    value = np.sum((V.T @ model.components_[0]) ** 2)
    gap = np.linalg.eigvalsh(np.cov(X.T))[-3]
    assert model.published_ratio_[0] == pytest.approx(value / (value + gap))
    published = SpannogramPCA.as_published(2, n_nonzero=4).fit(X)
    assert published.method_ == ["net", "net"]
    assert (np.count_nonzero(published.components_, axis=0) <= 1).all()
    height = np.maximum(published.low_rank_factors_[0] @ published.directions_[0], 0)
    height[np.argsort(-height)[4:]] = 0
    np.testing.assert_allclose(
        published.components_[0], height / np.linalg.norm(height), atol=1e-12
    )
    assert SpannogramPCA.as_published(epsilon=0.2, method="exact").method == "exact"
    with pytest.raises(ValueError, match="second_look=True"):
        SpannogramPCA(n_nonzero=4, polish=True, second_look=False).fit(X)


@pytest.mark.papers
def test_the_ratio_of_the_paper_on_its_spectra():
    X = arrays("lrs.npz")["X"].astype(float)
    model = SpannogramPCA(n_nonzero=20, method="net", second_look=False).fit(X)
    assert model.published_ratio_[0] == pytest.approx(0.858, abs=0.002)


@pytest.mark.parametrize("route", ["gram", "data"])
def test_bounds_are_not_below_the_variance_in_single_precision(route):
    for seed in range(10):
        rng = np.random.default_rng(seed)
        X = np.tile(rng.standard_normal(4), (30, 1)) + (np.arange(30) == 0)[:, None]
        model = SpannogramPCA(rank=1, route=route).fit(X.astype(np.float32))
        assert model.upper_bound_[0] >= model.explained_variance_[0]
        assert model.upper_bound_[0] <= model.explained_variance_[0] * (1 + 1e-5)


@pytest.mark.parametrize("seed", [79, 254])
def test_components_that_span_all_features_leave_nothing(seed):
    # Two of them are nearly alike: rounding in their scores hid that nothing is left.
    X = np.random.default_rng(seed).standard_cauchy((12, 4))
    with pytest.warns(UserWarning, match="4 component"):
        model = SpannogramPCA(7, rank=2, polish=False, route="data").fit(X)
    assert model.n_components_ == 4
