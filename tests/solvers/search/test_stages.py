"""What a search tells on the way, where it stops, and which features it looks at."""

import numpy as np
import pytest

from loadstone.constraints import LoadingConstraint
from loadstone.covariance import ExplicitCovariance
from loadstone.solvers.portfolio import PORTFOLIOS
from loadstone.solvers.search.search import Search

P, K = 80, 3
STAGES = ["starts have settled", "candidates are polished", "features are exchanged"]


def matrix():
    return np.cov(np.random.default_rng(2).standard_normal((40, P)).T)


def heard(stop_at=None):
    """The search, what it said, and its answer at an effort that contains another one."""
    told = []

    def progress(stage, best):
        told.append((stage, best))
        return stage == stop_at

    search = Search(ExplicitCovariance(matrix()), LoadingConstraint(P, K), progress=progress)
    return search, told, search.run(PORTFOLIOS["balanced"])


def test_every_effort_tells_of_its_stages_and_of_the_best_so_far():
    search, told, found = heard()
    assert [stage for stage, _ in told] == 2 * STAGES
    assert not search.stopped
    assert told[0][1] == 0
    pairs = np.array([np.diag(matrix())[i] for i in range(P)])
    for _, best in told[1:]:
        assert pairs.max() <= best <= found.value * (1 + 1e-9)
    # What the smaller effort ended with is where the larger one begins.
    assert told[3][1] >= told[2][1] * (1 - 1e-9)
    assert found.value == pytest.approx(found.w @ matrix() @ found.w, rel=1e-9)


@pytest.mark.parametrize(("stop_at", "n_told"), [(STAGES[0], 2), (STAGES[1], 2), (STAGES[2], 3)])
def test_a_search_that_is_told_to_stop_answers_with_the_best_so_far(stop_at, n_told):
    """Starts are no answer before they are polished; nothing is exchanged after that."""
    search, told, found = heard(stop_at)
    assert search.stopped
    assert [stage for stage, _ in told] == STAGES[:n_told]
    assert found.value == pytest.approx(told[-1][1], rel=1e-9)
    assert LoadingConstraint(P, K).allows(found.w)
    assert found.value == pytest.approx(found.w @ matrix() @ found.w, rel=1e-9)


def test_features_are_looked_at_that_vary_and_are_open():
    """A variance of one rounding of the largest is none."""
    eps = np.finfo(float).eps
    variance = np.array([1.0, 3.0, 4.0, 0.0, 3 * eps, 4 * eps, 5 * eps, 0.5])
    constraint = LoadingConstraint(8, 2, forbidden=np.array([1]))
    found = Search(ExplicitCovariance(np.diag(variance)), constraint).allowed
    assert found.tolist() == [0, 2, 6, 7]


def test_answers_of_smaller_efforts_come_largest_first():
    search, _, found = heard()
    thorough = PORTFOLIOS["thorough"]
    assert thorough.below == PORTFOLIOS["balanced"]
    below = search.below(thorough)
    assert len(below) == 2
    np.testing.assert_array_equal(below[0], found.w)
    values = [w @ matrix() @ w for w in below]
    assert values[0] >= values[1] * (1 - 1e-12)
    assert search.below(PORTFOLIOS["fast"]) == []
