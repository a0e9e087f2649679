"""Features that tie exactly: neither rows, layout nor units decide between them."""

import numpy as np
import pytest

from loadstone import SparsePCA
from loadstone.constraints import LoadingConstraint
from loadstone.covariance import ExplicitCovariance
from loadstone.extraction import Plan
from loadstone.extraction.exact_ties import evened
from loadstone.extraction.one_by_one import one_by_one
from loadstone.solvers.portfolio import PORTFOLIOS
from loadstone.solvers.spannogram import Spannogram

PLAN = Plan(solver=PORTFOLIOS["balanced"])

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*fewer than asked for"),
    pytest.mark.filterwarnings("ignore:.*constant feature"),
]


def categories(seed):
    """Rows with a one in one column each: columns of equal counts are exact ties."""
    rng = np.random.default_rng(seed)
    d, n = int(rng.integers(8, 35)), int(rng.integers(20, 200))
    return np.eye(d)[rng.integers(0, d, n)]


@pytest.mark.parametrize(
    "asked",
    [
        {"orthogonality": "disjoint"},
        {"orthogonality": "strict"},
        {"orthogonality": "none"},
        {"orthogonality": "disjoint", "standardize": True},
        {"orthogonality": "disjoint", "refine": False, "deflation": "projection"},
    ],
    ids=str,
)
@pytest.mark.parametrize("seed", [3, 10, 16])
def test_exact_ties_are_decided_alike_in_every_unit_order_and_layout(seed, asked):
    A = categories(seed)
    asked = {"n_components": 4, "n_nonzero": 6, "standardize": False, "effort": "fast", **asked}
    first = SparsePCA(**asked).fit(A)
    shuffled = A[np.random.default_rng(0).permutation(len(A))]
    for rows in (A[::-1], A * 1e3, np.asfortranarray(A), 0.37 * shuffled):
        other = SparsePCA(**asked).fit(rows)
        np.testing.assert_array_equal(other.support_, first.support_)
        np.testing.assert_allclose(
            other.explained_variance_ratio_, first.explained_variance_ratio_, rtol=1e-8
        )


def test_what_is_told_is_in_the_unit_of_the_data():
    A = np.eye(80)[np.random.default_rng(0).integers(0, 80, 300)]
    S = ExplicitCovariance(1e6 * np.cov(A.T))
    stages, told = [], []
    solver = PORTFOLIOS["fast"].limited(100, 1e-6, lambda stage, value: stages.append(value))
    found = one_by_one(
        S,
        [LoadingConstraint(S.n_features, 4)],
        Plan(solver=solver, refine=None),
        np.random.default_rng(0),
        report=lambda index, search: told.append(search.objective[-1]),
    )
    w = found.matrix[:, 0]
    assert told[0] == found.searches[0].objective[-1] == pytest.approx(w @ S.matrix @ w, rel=1e-8)
    assert max(stages) == pytest.approx(told[0], rel=0.1), stages


def test_matrices_without_ties_are_left_as_they_are():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 9))
    assert evened(ExplicitCovariance(np.cov(X.T)), PLAN) is None
    assert evened(ExplicitCovariance(np.corrcoef(X.T)), PLAN) is None
    X[:, 3:5] = 0
    assert evened(ExplicitCovariance(np.cov(X.T)), PLAN) is None


def test_small_features_keep_their_digits_beside_large_ones():
    X = np.random.default_rng(0).standard_normal((40, 9)) * 10.0 ** np.arange(9)
    X[:, 4] = X[:, 3]
    S = np.cov(X.T)
    even = evened(ExplicitCovariance(S), PLAN)
    sd = np.sqrt(np.diagonal(S))
    assert even.unit == S.max()
    np.testing.assert_allclose(
        even.S.matrix * even.unit / sd / sd[:, None], S / sd / sd[:, None], atol=1e-9
    )
    np.testing.assert_array_equal(even.S.matrix, even.S.matrix.T)


def test_who_tells_of_bounds_too_sees_the_matrix_as_it_is():
    S = ExplicitCovariance(np.kron(np.eye(3), np.ones((2, 2))))
    assert evened(S, PLAN) is not None
    assert evened(S, Plan(solver=Spannogram(2))) is None
