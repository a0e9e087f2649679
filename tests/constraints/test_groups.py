"""Groups: labels of every kind, limits within groups, and what is refused."""

import numpy as np
import pandas as pd
import pytest

from loadstone.constraints import Groups


def test_the_best_groups_have_the_largest_sums_of_squares():
    d = np.array([3.0, 1.0, 1.0, 2.0, 2.0, 2.5])
    labels = ["a", "b", "b", "c", "c", "d"]
    assert np.flatnonzero(Groups(labels, 1).best_loading(d)).tolist() == [0]
    assert np.flatnonzero(Groups(labels, 2).best_loading(d)).tolist() == [0, 3, 4]
    assert np.flatnonzero(Groups(labels, 2, per_group=1).best_loading(d)).tolist() == [0, 5]


@pytest.mark.parametrize(
    "labels",
    [
        ["a", "b", "a"],
        (0, 1, 0),
        np.array(["a", "b", "a"], dtype=object),
        pd.Series(["a", "b", "a"]),
        pd.Series(["a", "b", "a"], dtype="category"),
        pd.Index([5, 7, 5]),
    ],
    ids=lambda labels: type(labels).__name__,
)
def test_labels_come_in_any_array(labels):
    constraint = Groups(labels, 1)
    assert constraint.n_features == 3
    assert np.flatnonzero(constraint.best_loading(np.array([1.0, 1.2, 1.0]))).tolist() == [0, 2]
    assert repr(constraint) == "Groups(3 features in 2 groups, n_groups=1)"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"labels": [0.5, 1.5], "n_groups": 1}, "text or whole number"),
        ({"labels": [["a", "b"]], "n_groups": 1}, r"shape \(1, 2\)"),
        ({"labels": ["a", None], "n_groups": 1}, "text or whole number"),
        ({"labels": ["a", "b"], "n_groups": 0}, "n_groups=0"),
        ({"labels": ["a", "b"], "n_groups": 1.5}, "n_groups=1.5"),
        ({"labels": ["a", "b"], "n_groups": 1, "per_group": 0}, "per_group=0"),
    ],
)
def test_what_makes_no_groups_is_refused(options, words):
    with pytest.raises(ValueError, match=words):
        Groups(**options)


def test_rules_are_told_with_their_numbers():
    constraint = Groups(["a", "a", "b", "c"], 2, per_group=1)
    assert "3 groups, more than n_groups=2" in constraint.broken_rule(
        np.array([0.0, 1.0, 1.0, 1.0]) / np.sqrt(3)
    )
    assert "2 features of group a" in constraint.broken_rule(
        np.array([1.0, 1.0, 0.0, 0.0]) / np.sqrt(2)
    )
    with pytest.raises(ValueError, match="about 4 features, the data has 5"):
        constraint.bound_to(5)


def test_tiny_and_huge_directions_are_no_ties():
    labels = ["a", "b", "b"]
    for scale in (1e-200, 1e200):
        w = Groups(labels, 1).best_loading(scale * np.array([1.0, 3.0, 4.0]))
        np.testing.assert_allclose(w, [0.0, 0.6, 0.8])


def test_everything_is_plain_pca():
    assert Groups([0, 0, 1], 2).is_free
    assert Groups([0, 0, 1], 5, per_group=2).is_free
    assert not Groups([0, 0, 1], 2, per_group=1).is_free
    assert not Groups([0, 0, 1], 1).is_free
    assert not Groups([0, 0, 1], 2, nonnegative=True).is_free
    constant = np.array([True, False, False])
    assert Groups([0, 0, 1], 2).bound_to(3, constant=constant).forbidden.size == 0


def test_words():
    assert Groups([0, 1], 1).describe() == "components of 1 group"
    full = Groups([0, 1], 2, per_group=3, nonnegative=True).describe()
    assert full == "non-negative components of 2 groups with at most 3 features each"


@pytest.mark.parametrize("per_group", [None, 2])
def test_the_largest_sum_of_loadings_is_that_of_equal_ones(per_group):
    constraint = Groups([0, 0, 0, 1, 1, 1, 1, 2], 2, per_group=per_group)
    w = constraint.best_loading(np.ones(8))
    assert constraint.largest_l1 == pytest.approx(w.sum())
