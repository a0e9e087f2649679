"""GreedyPCA as an estimator; its paths are tested with the solver."""

import numpy as np
import pytest

from loadstone import GreedyPCA


def test_all_features_by_number_give_the_whole_path():
    X = np.random.default_rng(0).standard_normal((30, 6))
    model = GreedyPCA(n_nonzero=6).fit(X)
    assert model.path_variance_.size == 6
    assert model.path_variance_[-1] == pytest.approx(np.linalg.eigvalsh(np.cov(X.T))[-1])
    assert sorted(model.path_order_) == list(range(6))


def test_added_components_leave_the_path_of_the_first_alone():
    X = np.random.default_rng(1).standard_normal((30, 6))
    model = GreedyPCA(n_nonzero=3).fit(X)
    order, variance = model.path_order_, model.path_variance_
    model.add_components(X)
    np.testing.assert_array_equal(model.path_order_, order)
    np.testing.assert_array_equal(model.path_variance_, variance)


def test_nothing_left_to_add_is_said():
    line = np.outer(np.arange(10.0), [1, 2, 3.0])
    model = GreedyPCA(n_nonzero=3).fit(line)
    with pytest.warns(UserWarning, match="no direction with any variance is left"):
        model.add_components(line)
    assert model.n_components_ == 1
    assert model.path_variance_.size == 3


@pytest.mark.parametrize("direction", ["forward", "backward", "forward-backward"])
@pytest.mark.parametrize("nonnegative", [False, True])
def test_an_empty_remainder_is_no_division_by_zero(direction, nonnegative):
    X = np.c_[np.random.default_rng(0).normal(size=20), np.ones((20, 4))]
    model = GreedyPCA(2, n_nonzero=3, direction=direction, nonnegative=nonnegative)
    with (
        pytest.warns(UserWarning, match="4 constant"),
        pytest.warns(UserWarning, match="fewer than asked for"),
    ):
        model.fit(X)
    np.testing.assert_array_equal(model.components_, [[1, 0, 0, 0, 0]])
