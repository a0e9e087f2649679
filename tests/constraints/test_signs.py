"""Signs: features by name or number, looked up when the data is known."""

import numpy as np
import pytest

from loadstone.constraints import Signs

NAMES = ["alcohol", "malic_acid", "ash", "hue"]


def test_names_are_looked_up():
    bound = Signs({"hue": -1, "alcohol": 1}, 2).bound_to(4, NAMES)
    np.testing.assert_array_equal(bound.signs, [1, 0, 0, -1])
    assert bound.n_features == 4
    numbers = Signs({3: -1, np.int64(0): 1}, 2).bound_to(4)
    np.testing.assert_array_equal(numbers.signs, bound.signs)
    assert repr(bound) == "Signs({3: -1, 0: +1}, n_nonzero=2, n_features=4)"


@pytest.mark.parametrize(
    ("pattern", "names", "words"),
    [
        ({"alcohl": 1}, NAMES, "did you mean 'alcohol'"),
        ({"hue": 1}, None, "data has no names"),
        ({7: 1}, NAMES, "features go from 0 to 3"),
        ({-1: 1}, NAMES, "features go from 0 to 3"),
        ({"hue": 1, 3: -1}, NAMES, "same feature"),
    ],
)
def test_unknown_features_are_refused_when_the_data_is_known(pattern, names, words):
    with pytest.raises(ValueError, match=words):
        Signs(pattern).bound_to(4, names)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"pattern": {"hue": 0}}, "leave the feature out"),
        ({"pattern": {"hue": 2}}, r"give \+1 or -1"),
        ({"pattern": {"hue": 1}, "n_nonzero": 0}, "n_nonzero=0"),
    ],
)
def test_what_is_no_sign_is_refused_at_once(options, words):
    with pytest.raises(ValueError, match=words):
        Signs(**options)


def test_without_data_a_constraint_says_what_is_missing():
    with pytest.raises(ValueError, match="bound_to"):
        Signs({"hue": 1}).best_loading(np.ones(4))
    with pytest.raises(ValueError, match="bound_to"):
        _ = Signs({"hue": 1}, n_features=4).signs
    with pytest.raises(ValueError, match="about 4 features"):
        Signs({0: 1}, n_features=4).bound_to(5)


def test_both_signs_are_free_again_once_the_given_ones_are_used_up():
    constraint = Signs({0: 1, 1: -1}, 2, 4)
    assert constraint.signs is not None
    left = constraint.without(np.array([0, 1]))
    assert left.signs is None
    assert left.allows(np.array([0, 0, -1.0, 0]))
    assert Signs({}, n_features=4).is_free


def test_rules_name_the_feature():
    constraint = Signs({0: 1, 1: -1}, 2, 4)
    assert "feature 0 lies below 0" in constraint.broken_rule(np.array([-1.0, 0, 0, 0]))
    assert "feature 1 lies above 0" in constraint.broken_rule(np.array([0, 1.0, 0, 0]))
    assert "n_nonzero=2" in constraint.broken_rule(np.array([1.0, 0, 1, 1]) / np.sqrt(3))


def test_long_patterns_are_cut():
    text = repr(Signs(dict.fromkeys(range(500), 1)))
    assert len(text) < 80
    assert "494 more" in text


def test_words():
    assert Signs({"hue": 1}, 3).describe() == "components of 3 features with 1 given sign"
    assert Signs({"hue": 1, "ash": 1}).describe() == "components with 2 given signs"
