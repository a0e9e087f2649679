"""Greedy paths against an oracle that tries every feature at every step."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loadstone import GreedyPCA
from loadstone.constraints import LoadingConstraint
from loadstone.covariance import ExplicitCovariance, covariance_of
from loadstone.solvers.greedy import Greedy, _unit, greedy_path
from real_data import arrays


def largest(S, support):
    return np.linalg.eigvalsh(S[np.ix_(support, support)])[-1]


def exhaustive_greedy(S, k):
    """Every candidate at every step; the first of equal ones."""
    order = [int(np.argmax(S.diagonal()))]
    while len(order) < k:
        rest = [i for i in range(len(S)) if i not in order]
        order.append(max(rest, key=lambda i: (largest(S, [*order, i]), -i)))
    return order, [largest(S, order[: j + 1]) for j in range(k)]


def path_spca(S, k):
    """The published rule: largest |a_i'x| with x the leading eigenvector in sample space."""
    values, vectors = np.linalg.eigh(S)
    A = (vectors * np.sqrt(np.maximum(values, 0))).T
    order = [int(np.argmax(S.diagonal()))]
    while len(order) < k:
        x = np.linalg.eigh(A[:, order] @ A[:, order].T)[1][:, -1]
        worth = (A.T @ x) ** 2
        worth[order] = -np.inf
        order.append(int(np.argmax(worth)))
    return order, [largest(S, order[: j + 1]) for j in range(k)]


def covariance(seed, n_samples=12, n_features=9):
    X = np.random.default_rng(seed).standard_normal((n_samples, n_features))
    X[:, :4] += np.random.default_rng(seed + 1).standard_normal((n_samples, 1))
    return X, np.cov(X.T)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from([4, 8, 30]))
def test_exact_rule_equals_trying_every_feature(seed, n_samples):
    _, S = covariance(seed, n_samples)
    order, values = exhaustive_greedy(S, 9)
    path = greedy_path(ExplicitCovariance(S), 9)
    # Beyond the rank of S several features add the same; only the values are unique then.
    unique = min(9, n_samples - 1)
    assert path.order[:unique].tolist() == order[:unique]
    np.testing.assert_allclose(path.values[:unique], values[:unique], rtol=1e-10)


@pytest.mark.parametrize("seed", range(5))
def test_approximate_rule_is_the_published_one(seed):
    _, S = covariance(seed)
    order, values = path_spca(S, 8)
    path = greedy_path(ExplicitCovariance(S), 8, rule="approximate")
    assert path.order.tolist() == order
    np.testing.assert_allclose(path.values, values, rtol=1e-10)


@pytest.mark.parametrize("rule", ["exact", "approximate"])
def test_data_route_gives_the_same_path(rule):
    X, S = covariance(3, 10, 40)
    wide, _ = covariance_of(X, route="data")
    # Sizes on both sides of half the samples, where the representation changes.
    one = greedy_path(ExplicitCovariance(S), 9, rule=rule)
    two = greedy_path(wide, 9, rule=rule)
    assert one.order.tolist() == two.order.tolist()
    np.testing.assert_allclose(one.values, two.values, rtol=1e-9)


def test_whole_path_ends_at_pca():
    X, S = covariance(4, 10, 30)
    wide, _ = covariance_of(X, route="data")
    path = greedy_path(wide, 30)
    assert sorted(path.order) == list(range(30))
    assert (np.diff(path.values) >= -1e-12).all()
    assert path.values[-1] == pytest.approx(np.linalg.eigvalsh(S)[-1])


def test_pit_props_values_are_those_of_path_spca():
    S = arrays("pitprops.npz")["X"]
    order, values = path_spca(S, 13)
    path = greedy_path(ExplicitCovariance(S), 13, rule="approximate")
    assert path.order.tolist() == order
    np.testing.assert_allclose(path.values, values, rtol=1e-10)
    exact = greedy_path(ExplicitCovariance(S), 13)
    assert (exact.values >= path.values - 1e-12).all()
    np.testing.assert_allclose(exact.values[[1, 4, 9]], [1.954, 3.406, 4.173], atol=6e-4)


@pytest.mark.parametrize("direction", ["forward", "backward", "forward-backward"])
@pytest.mark.parametrize("nonnegative", [False, True])
def test_directions_keep_the_constraint(direction, nonnegative):
    _, S = covariance(6)
    constraint = LoadingConstraint(9, 4, nonnegative, np.array([2]), np.array([0]))
    w = Greedy(direction)(ExplicitCovariance(S), constraint, np.random.default_rng(0)).matrix[:, 0]
    assert constraint.broken_rule(w) is None


@pytest.mark.parametrize("direction", ["forward", "forward-backward"])
@pytest.mark.parametrize("seed", range(5))
def test_nonnegative_paths_never_fall(seed, direction):
    # Few samples of many features: the positive part of the eigenvector jumps as features join.
    _, S = covariance(seed, 20, 40)
    model = GreedyPCA(n_nonzero=40, nonnegative=True, direction=direction).fit_covariance(S)
    assert (np.diff(model.path_variance_) >= -1e-12 * model.path_variance_[0]).all()
    assert model.marginal_variance_[0] >= model.path_variance_[-1] * (1 - 1e-9)


@pytest.mark.parametrize("seed", range(6))
def test_exchanges_never_lose(seed):
    _, S = covariance(seed, 20, 15)
    forward = GreedyPCA(n_nonzero=5).fit_covariance(S)
    both = GreedyPCA(n_nonzero=5, direction="forward-backward").fit_covariance(S)
    assert both.marginal_variance_[0] >= forward.marginal_variance_[0] * (1 - 1e-12)


def test_exchanges_leave_a_bad_start():
    # One feature of large variance alone, four smaller ones together.
    S = np.full((5, 5), 0.9)
    S[0] = S[:, 0] = 0
    np.fill_diagonal(S, [2, 1, 1, 1, 1])
    forward = GreedyPCA(n_nonzero=2).fit_covariance(S)
    backward = GreedyPCA(n_nonzero=4, direction="backward").fit_covariance(S)
    assert forward.support_[0, 0]
    assert backward.support_[0].tolist() == [False, True, True, True, True]


def test_estimator_tells_the_whole_path():
    X, S = covariance(7, 30)
    model = GreedyPCA(2, n_nonzero=6).fit(X)
    order, values = exhaustive_greedy(S, 6)
    assert model.path_order_.tolist() == order
    np.testing.assert_allclose(model.path_variance_, values)
    assert set(np.flatnonzero(model.support_[0])) == set(order)


def test_tied_variances_take_the_first_feature():
    assert greedy_path(ExplicitCovariance(np.eye(4)), 4).order.tolist() == [0, 1, 2, 3]


def test_more_components_than_directions_take_what_rounding_left():
    # The last complements are rounding alone, with values below zero among which one was to be best.
    rng = np.random.default_rng(5)
    for _ in range(60):
        X = rng.normal(size=(8, 6)) * rng.uniform(0.2, 2, 6)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = GreedyPCA(50, forbidden=[0], direction="forward-backward").fit(X)
        assert 1 <= len(model.components_) <= 6


def test_directions_whose_squares_vanish_have_a_length():
    image = np.array([0.0, 0.0, 8e-165])
    np.testing.assert_array_equal(_unit(image, image > 0), [0, 0, 1])
    np.testing.assert_allclose(_unit(np.array([3e-200, 4e-200]), image[:2] > 0), [0.6, 0.8])
