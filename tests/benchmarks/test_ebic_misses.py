"""The share of data sets in which EBIC lets a zero in, against regressions on drawn numbers."""

from pathlib import Path

import numpy as np
import pytest
from benchmarks.ebic_misses import expected, table


@pytest.mark.parametrize("free", [False, True])
def test_expected_misses_are_those_of_regressions(free):
    n, d, repeats = 50, 10, 60_000
    rng = np.random.default_rng(0)
    z, y = rng.normal(size=(2, repeats, n))
    explained = (z * y).sum(axis=1) ** 2 / (z**2).sum(axis=1)
    total = (y**2).sum(axis=1)
    gain = n * np.log(total / (total - explained)) if free else explained
    share = (gain > np.log(n) + 2 * np.log(2 * d)).mean() * (2 * d - 8)
    assert expected(n, d, free=free) == pytest.approx(share, rel=0.2)


def test_the_table_of_the_documentation_is_this_one():
    page = Path(__file__).parents[2] / "docs" / "measured" / "ebic_misses.md"
    assert page.read_text() == table()
