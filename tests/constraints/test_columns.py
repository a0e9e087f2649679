"""The largest entries of each column, however many entries there are."""

import numpy as np
import pytest

from loadstone.constraints.columns import top_k


@pytest.mark.parametrize("n", [3, 60, 512, 1500])
@pytest.mark.parametrize("k", [1, 2, 7, 60, 187])
def test_largest_entries_are_those_of_a_sort_and_ties_go_to_the_first(n, k):
    rng = np.random.default_rng(n + k)
    drawn = rng.standard_normal((n, 6))
    drawn[:, 1] = np.round(drawn[:, 1])
    drawn[:, 2] = 0
    drawn[:, 3] = -1
    drawn[: min(5, k), 4] = np.inf
    drawn[n // 2 :, 5] = np.where(np.arange(n - n // 2) % 3, -1.0, 2.0)
    for worth in (drawn, np.asfortranarray(drawn), drawn.astype(np.float32)):
        expected = np.argsort(-worth, axis=0, kind="stable")[: min(k, n)]
        np.testing.assert_array_equal(np.sort(top_k(worth, k), axis=0), np.sort(expected, axis=0))


def test_what_is_not_a_number_does_not_stop_a_search():
    worth = np.random.default_rng(0).standard_normal((2000, 2))
    worth[7, 0] = np.nan
    assert top_k(worth, 5).shape == (5, 2)
