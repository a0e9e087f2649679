"""One component of real data: nobody has found more variance than the search does.

``best_known.json`` holds the largest value that any effort, container or reference has reached;
``benchmarks/search.py --known tests/papers/best_known.json`` brings it up to date.
"""

import json
from pathlib import Path

import numpy as np
import pytest
from sklearn import datasets

from loadstone.constraints import LoadingConstraint
from loadstone.covariance import covariance_of
from loadstone.solvers.portfolio import PORTFOLIOS
from real_data import cbcl_faces, leukemia, nci60

pytestmark = pytest.mark.papers

KNOWN = json.loads(Path(__file__).with_name("best_known.json").read_text())
DATA = {
    "wine": lambda: datasets.load_wine().data,
    "breast_cancer": lambda: datasets.load_breast_cancer().data,
    "digits": lambda: datasets.load_digits().data,
    "cbcl": cbcl_faces,
    "nci60": nci60,
    "leukemia": leukemia,
}
SIZES = {2, 5, 10, 50, 100, 200}


def cases(name):
    """Sizes and signs of a data set that are remembered."""
    found = []
    for cell, value in KNOWN.items():
        data, scale, sign, size = cell.split()
        if data == name and scale == "standardised" and int(size) in SIZES:
            found.append((int(size), sign == "nonnegative", value))
    return found


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("name", DATA)
def test_the_search_reaches_the_best_known(name, order):
    S, _ = covariance_of(np.asarray(DATA[name](), dtype=float, order=order), standardize=True)
    assert cases(name)
    for size, nonnegative, best in cases(name):
        constraint = LoadingConstraint(S.n_features, size, nonnegative)
        found = PORTFOLIOS["balanced"](S, constraint, np.random.default_rng(0)).matrix[:, 0]
        assert constraint.allows(found)
        assert found @ (S @ found) >= 0.9999 * best, (name, order, size, nonnegative)
