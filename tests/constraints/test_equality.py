"""Constraints that say the same are the same, and count once in a set."""

from copy import deepcopy

import numpy as np
import pytest

from loadstone.constraints import KINDS, Groups, L1Budget, LoadingConstraint, Signs

EXAMPLES = [example for kind in KINDS for example in kind.examples(8)]


@pytest.mark.parametrize("one", EXAMPLES, ids=repr)
def test_examples_equal_their_copies_and_no_other_example(one):
    copy = deepcopy(one)
    assert copy is not one
    assert copy == one
    assert hash(copy) == hash(one)
    assert [other == one for other in EXAMPLES].count(True) == 1
    assert one != "components"


def test_the_same_in_other_words():
    pairs = [
        (
            LoadingConstraint(5, 3, forced=[3, 0]),
            LoadingConstraint(5, 3, forced=np.array([0, 3, 3])),
        ),
        (Signs({"a": 1, "b": -1}), Signs([("b", -1.0), ("a", np.int8(1))])),
        (Groups(["u", "u", "v"], 1), Groups(np.array(["u", "u", "v"], dtype=object), n_groups=1)),
        (L1Budget(4, 1.5), L1Budget(4, np.float64(1.5), forbidden=[])),
    ]
    for one, other in pairs:
        assert one == other
        assert len({one, other}) == 1


def test_what_differs_in_one_word_is_another():
    asked = LoadingConstraint(5, 3, forbidden=[1])
    others = [
        LoadingConstraint(6, 3, forbidden=[1]), LoadingConstraint(5, 2, forbidden=[1]),
        LoadingConstraint(5, 3, True, forbidden=[1]), LoadingConstraint(5, 3, forbidden=[1, 2]),
        LoadingConstraint(5, 3, forbidden=[2]), LoadingConstraint(5, 3, forced=[1]),
        LoadingConstraint(5, 3),
    ]  # fmt: skip
    assert asked not in others
    assert len({asked, *others}) == 1 + len(others)
