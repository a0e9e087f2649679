"""Several components: how they relate, are refined, and are extended."""

import csv
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from loadstone import EMPCA, GreedyPCA, SparsePCA, ThresholdedPCA
from real_data import arrays, data_file


def made_up(seed=0, n=60, d=12):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    X[:, :5] += 2 * rng.normal(size=(n, 1))
    X[:, 3:9] -= 1.5 * rng.normal(size=(n, 1))
    return X


@st.composite
def awkward_data(draw):
    seed = draw(st.integers(0, 10_000))
    n, d = draw(st.sampled_from([(25, 7), (6, 10)]))
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * rng.uniform(0.2, 3.0, d)
    flaw = draw(st.sampled_from(["none", "twins", "rank"]))
    if flaw == "twins":
        X[:, 1] = X[:, 0]
        X[:, 2] = -X[:, 0]
    elif flaw == "rank":
        X = rng.normal(size=(n, 2)) @ rng.normal(size=(2, d))
    return X


def assert_promise(model, kind, angle):
    W = model.components_
    violation = model.orthogonality_violation_
    np.testing.assert_allclose(violation, np.abs(W @ W.T) * (1 - np.eye(len(W))), atol=1e-12)
    if kind in {"strict", "disjoint"}:
        assert violation.max(initial=0) <= 1e-8
    if kind == "disjoint" or (kind == "strict" and model.nonnegative):
        assert (model.support_.sum(axis=0) <= 1).all()
    if kind == "quasi":
        assert violation.max(initial=0) <= np.cos(np.deg2rad(angle)) + 1e-12
    if kind == "uncorrelated":
        R = np.abs(model.score_correlation_) * (1 - np.eye(len(W)))
        assert R.max(initial=0) <= 1e-6


@pytest.mark.filterwarnings("ignore:.*fewer than asked for")
@settings(max_examples=40, deadline=None)
@given(
    X=awkward_data(),
    kind=st.sampled_from(["none", "disjoint", "quasi", "strict", "uncorrelated"]),
    nonnegative=st.booleans(),
    n_nonzero=st.integers(1, 4),
    n_components=st.integers(2, 4),
    angle=st.sampled_from([50.0, 85.0]),
    estimator=st.sampled_from([SparsePCA, EMPCA]),
)
def test_every_option_keeps_its_promise(
    X, kind, nonnegative, n_nonzero, n_components, angle, estimator
):
    if kind == "uncorrelated" and nonnegative:
        return
    model = estimator(
        n_components,
        n_nonzero=n_nonzero,
        nonnegative=nonnegative,
        orthogonality=kind,
        min_angle=angle,
    ).fit(X)
    assert 1 <= model.n_components_ <= n_components
    assert np.isfinite(model.components_).all()
    assert (model.cardinality_ <= n_nonzero).all()
    assert (model.cardinality_ >= 1).all()
    np.testing.assert_allclose(np.linalg.norm(model.components_, axis=1), 1, rtol=1e-9)
    if nonnegative:
        assert model.components_.min() >= 0
    assert_promise(model, kind, angle)


def test_more_components_than_can_be_disjoint_come_with_a_warning():
    with pytest.warns(UserWarning, match="every feature is used"):
        model = SparsePCA(5, n_nonzero=4, orthogonality="disjoint").fit(made_up())
    assert model.n_components_ == 3
    assert model.cardinality_.sum() == 12


def test_more_components_than_can_be_uncorrelated_come_with_a_warning():
    with pytest.warns(UserWarning, match="orthogonality='uncorrelated'"):
        model = SparsePCA(4, n_nonzero=2, orthogonality="uncorrelated").fit(made_up())
    assert model.n_components_ == 2


def test_uncorrelated_nonnegative_components_are_refused():
    with pytest.raises(ValueError, match="both signs"):
        SparsePCA(2, nonnegative=True, orthogonality="uncorrelated").fit(made_up())


@pytest.mark.parametrize("estimator", [SparsePCA, EMPCA])
@pytest.mark.parametrize("kind", ["none", "disjoint", "quasi", "strict", "uncorrelated"])
def test_refinement_keeps_constraints_and_never_explains_less(estimator, kind):
    X = made_up(3, n=40, d=9)
    arguments = {"n_nonzero": 3, "orthogonality": kind}
    plain = estimator(3, **arguments).fit(X)
    refined = estimator(3, refine=True, **arguments).fit(X)
    gained = refined.explained_variance_.sum() - plain.explained_variance_.sum()
    assert gained >= -1e-12 * plain.total_variance_
    assert (refined.cardinality_ <= 3).all()
    assert_promise(refined, kind, 85.0)


@pytest.mark.parametrize("angle", [50.0, 70.0, 89.0])
def test_the_angle_is_kept_where_deflation_alone_would_not(angle):
    X = made_up(4, d=20)
    arguments = {"n_nonzero": 20, "nonnegative": True, "min_angle": angle}
    free = EMPCA(4, **arguments).fit(X)
    kept = EMPCA(4, orthogonality="quasi", **arguments).fit(X)
    cosine = np.cos(np.deg2rad(angle))
    assert kept.orthogonality_violation_.max() <= cosine
    if angle > 80:
        assert free.orthogonality_violation_.max() > cosine


def test_without_a_cardinality_strict_components_are_pca():
    X = made_up(6)
    strict = SparsePCA(3, n_nonzero=None, orthogonality="strict").fit(X)
    plain = SparsePCA(3, n_nonzero=None).fit(X)
    np.testing.assert_allclose(strict.components_, plain.components_, atol=1e-8)


@pytest.mark.parametrize("route", ["gram", "data"])
@pytest.mark.parametrize("kind", ["quasi", "strict", "uncorrelated"])
def test_sparse_data_and_both_routes_give_the_same_components(route, kind):
    X = made_up(7)
    X[np.abs(X) < 0.7] = 0
    arguments = {"n_nonzero": 4, "orthogonality": kind, "route": route}
    dense = SparsePCA(3, **arguments).fit(X)
    sparse_model = SparsePCA(3, **arguments).fit(sparse.csr_array(X))
    np.testing.assert_allclose(sparse_model.components_, dense.components_, atol=1e-6)


@pytest.mark.parametrize("estimator", [SparsePCA, EMPCA, GreedyPCA, ThresholdedPCA])
@pytest.mark.parametrize("deflation", ["projection", "schur", "orthogonalized_projection"])
def test_added_components_equal_those_asked_for_at_once(estimator, deflation):
    X = made_up(8)
    arguments = {"n_nonzero": 4, "deflation": deflation, "standardize": True, "random_state": 3}
    if estimator is SparsePCA:
        arguments["refine"] = False
    whole = estimator(4, **arguments).fit(X)
    grown = estimator(2, **arguments).fit(X).add_components(X, 2)
    assert grown.n_components_ == 4
    np.testing.assert_allclose(grown.components_, whole.components_, atol=1e-12)
    np.testing.assert_allclose(grown.explained_variance_, whole.explained_variance_)
    assert len(grown.stop_reason_) == len(grown.objective_) == 4
    assert grown.n_iter_ == whole.n_iter_
    assert grown.transform(X).shape == (60, 4)


@pytest.mark.parametrize("kind", ["disjoint", "quasi", "strict", "uncorrelated"])
def test_added_components_relate_to_the_first_ones(kind):
    X = made_up(9)
    arguments = {"n_nonzero": 3, "orthogonality": kind, "refine": False}
    whole = SparsePCA(3, **arguments).fit(X)
    grown = SparsePCA(1, **arguments).fit(X).add_components(X, 2)
    np.testing.assert_allclose(grown.components_, whole.components_, atol=1e-12)
    assert_promise(grown, kind, 85.0)


def test_components_are_added_to_a_fitted_covariance_and_to_weighted_data():
    X = made_up(10)
    S = np.cov(X.T)
    whole = SparsePCA(3, n_nonzero=3).fit_covariance(S, n_samples=60)
    grown = SparsePCA(1, n_nonzero=3).fit_covariance(S, n_samples=60)
    grown.add_components(covariance=S, n_components=2)
    np.testing.assert_allclose(grown.components_, whole.components_, atol=1e-12)
    assert grown.n_samples_ == 60
    weights = np.random.default_rng(0).uniform(0.5, 2, 60)
    whole = EMPCA(2, n_nonzero=3).fit(X, sample_weight=weights)
    grown = EMPCA(1, n_nonzero=3).fit(X, sample_weight=weights)
    grown.add_components(X, sample_weight=weights)
    np.testing.assert_allclose(grown.components_, whole.components_, atol=1e-12)


def test_added_components_are_certified_where_the_first_ones_were():
    X = made_up(13)
    whole = SparsePCA(3, n_nonzero=4, certify="instant").fit(X)
    grown = SparsePCA(1, n_nonzero=4, certify="instant").fit(X).add_components(X, 2)
    np.testing.assert_allclose(grown.upper_bound_, whole.upper_bound_)
    assert len(grown.certificates_) == 3


@pytest.mark.parametrize("mask", [False, True])
def test_adding_keeps_the_problem_the_first_ones_were_proven_for(mask):
    X = made_up(14)
    forced = np.arange(X.shape[1]) == 2 if mask else [2]
    model = SparsePCA(1, n_nonzero=[4], forced=forced, certify="instant").fit(X)
    before = model.upper_bound_[0]
    model.add_components(X, n_nonzero=5).add_components(X, n_nonzero=3)
    assert [c.constraint.n_nonzero for c in model.certificates_] == [4, 5, 3]
    assert model.upper_bound_[0] == pytest.approx(before)


def test_proofs_are_about_the_size_asked_for_even_where_fewer_features_are_used():
    a = np.random.default_rng(0).normal(size=20)
    X = np.column_stack([a, -a, a])
    model = SparsePCA(1, n_nonzero=[3], nonnegative=True, certify="instant").fit(X)
    assert model.cardinality_[0] == 2
    # The three features are one but for their signs: nothing is left to explain.
    with pytest.warns(UserWarning, match="no direction with any variance is left"):
        model.add_components(X, n_nonzero=2)
    assert model.n_components_ == 1
    assert model.certificates_[0].constraint.n_nonzero == 3


def test_sizes_are_remembered_without_proofs_too():
    X = made_up(16)
    mask = np.arange(X.shape[1]) == 2
    model = SparsePCA(1, n_nonzero=[4], forced=mask).fit(X).set_params(certify="instant")
    model.add_components(X, n_nonzero=2)
    assert [c.constraint.n_nonzero for c in model.certificates_] == [4, 2]


def test_new_components_may_have_another_size():
    X = made_up(11)
    model = SparsePCA(2, n_nonzero=[3, 4]).fit(X)
    with pytest.raises(ValueError, match="pass n_nonzero"):
        model.add_components(X)
    assert model.n_components_ == 2
    np.testing.assert_array_equal(model.add_components(X, n_nonzero=5).cardinality_, [3, 4, 5])


def test_other_data_is_recognised():
    X = made_up(12)
    model = SparsePCA(1, n_nonzero=3).fit(X)
    with pytest.raises(ValueError, match="not the data of the fit"):
        model.add_components(X * 2)
    with pytest.raises(ValueError, match="either"):
        model.add_components()
    with pytest.raises(ValueError, match="at least 1"):
        model.add_components(X, 0)


def test_components_of_recovery_cannot_be_followed_by_components_of_variance():
    X = np.random.default_rng(0).normal(size=(30, 6))
    model = SparsePCA(1, n_nonzero=2, objective="recovery").fit(X)
    with pytest.raises(ValueError, match="objective='recovery' finds all components together"):
        model.add_components(X)
    assert model.n_components_ == 1


def test_a_number_in_the_place_of_the_data_is_recognised():
    model = SparsePCA(1, n_nonzero=3).fit(made_up())
    with pytest.raises(TypeError, match=r"add_components\(X, 2\)"):
        model.add_components(2)


@pytest.mark.parametrize("objective", ["variance", "recovery"])
@pytest.mark.parametrize("refine", [False, "warm"])
def test_no_more_components_than_the_data_has_directions(objective, refine):
    X = made_up(17, n=40, d=6)
    with pytest.warns(UserWarning, match="fewer than asked for") as caught:
        model = SparsePCA(20, n_nonzero=2, objective=objective, refine=refine).fit(X)
    assert [str(w.message) for w in caught] == [
        "6 component(s) found, fewer than asked for: no direction with any variance is left"
    ]
    assert (model.explained_variance_ratio_ > 1e-10).all()
    assert model.recovered_variance_ratio_[-1] == pytest.approx(1)


def test_nothing_left_to_add_is_said():
    X = np.random.default_rng(0).normal(size=(20, 3))
    model = SparsePCA(1, n_nonzero=3, orthogonality="disjoint").fit(X)
    with pytest.warns(UserWarning, match="every feature is used"):
        model.add_components(X)
    assert model.n_components_ == 1


@pytest.mark.papers
@pytest.mark.parametrize("seed", [0, 1])
def test_strict_pit_props_explain_more_than_the_best_published(seed):
    S = arrays("pitprops.npz")["X"]
    # Projection counts the variance orthogonal components have in S, which the papers add up.
    asked = {"n_nonzero": 4, "orthogonality": "strict", "refine": True, "random_state": seed}
    model = SparsePCA(6, deflation="projection", **asked).fit_covariance(S)
    assert model.orthogonality_violation_.max() <= 1e-8
    np.testing.assert_array_equal(model.cardinality_, 4)
    assert model.marginal_variance_.sum() / 13 >= 0.81


@pytest.mark.papers
def test_strict_mtcars_explain_as_much_as_the_best_published():
    with data_file("mtcars.csv").open() as lines:
        X = np.array([[float(v) for v in row[1:]] for row in list(csv.reader(lines))[1:]])
    asked = {"n_nonzero": 4, "orthogonality": "strict", "refine": True, "standardize": True}
    model = SparsePCA(3, deflation="projection", **asked).fit(X)
    assert model.orthogonality_violation_.max() <= 1e-8
    assert model.marginal_variance_.sum() / 11 >= 0.829


@pytest.mark.filterwarnings("ignore:.*fewer than asked for")
@pytest.mark.parametrize("refine", [False, "warm", "full"])
@pytest.mark.parametrize("relation", ["none", "strict", "quasi"])
def test_a_place_for_a_forced_feature_is_not_given_to_another(relation, refine):
    X = np.random.default_rng(0).standard_normal((20, 6)) * np.arange(1, 7)
    asked = {"n_nonzero": 1, "forced": [1], "orthogonality": relation, "refine": refine}
    model = SparsePCA(2, **asked).fit(X)
    np.testing.assert_array_equal(model.components_ != 0, [[False, True] + 4 * [False]])


@pytest.mark.parametrize("refine", [False, "warm", "full"])
@pytest.mark.parametrize("k", [1, 2])
def test_the_first_of_disjoint_components_has_what_is_forced(k, refine):
    X = np.random.default_rng(0).standard_normal((20, 6)) * np.arange(1, 7)
    asked = {"n_nonzero": k, "forced": [1], "orthogonality": "disjoint", "refine": refine}
    model = SparsePCA(2, **asked).fit(X)
    np.testing.assert_array_equal(model.components_[:, 1] != 0, [True, False])


@pytest.mark.parametrize("seed", [166, 257, 745, 1328])
def test_more_components_than_features_that_are_allowed_use_no_others(seed):
    # Nothing is left of the allowed features but rounding, which may be below zero.
    rng = np.random.default_rng(seed)
    n_features, n_samples = int(rng.integers(4, 9)), int(rng.integers(5, 12))
    whole = seed % 2
    X = rng.integers(-2, 3, size=(n_samples, n_features)).astype(float)
    X = X if whole else np.random.default_rng(seed).standard_normal((n_samples, n_features))
    for forbidden in combinations(range(n_features), n_features // 2):
        model = SparsePCA(n_features, n_nonzero=3, nonnegative=True, forbidden=forbidden)
        with pytest.warns(UserWarning, match="fewer than asked for"):
            model.fit(X)
        assert not model.components_[:, forbidden].any()
