"""What the spannogram promises, from the formulas of its theorems."""

import numpy as np
import pytest
from scipy.stats import beta

from loadstone.solvers.spannogram.direction import Direction
from loadstone.solvers.spannogram.low_rank import LowRank, guarantee_of
from loadstone.solvers.spannogram.net import n_directions


def low_rank(gap=0.3, shift=0.2):
    V = np.linalg.qr(np.random.default_rng(0).standard_normal((10, 2)))[0] * [2.0, 1.0]
    variances = (V**2).sum(axis=1) + shift
    return LowRank(V, shift, gap, 4.0 + shift, variances)


def found(upper_bound):
    fields = dict.fromkeys(Direction.__dataclass_fields__)
    fields |= {"c": np.array([1.0, 0.0]), "upper_bound": upper_bound, "deterministic": True}
    return Direction(**fields)


@pytest.mark.parametrize("nonnegative", [False, True])
@pytest.mark.parametrize("size", [1, 4, 10])
def test_the_factor_of_theorem_1(size, nonnegative):
    A = low_rank()
    share = size / (20 if nonnegative else 10)
    # The leading eigenvalue without the part that is the same in every direction is 4.
    expected = max(share, 1 / (1 + 0.3 / (share * 4.0)))
    proof = guarantee_of(A, found(3.0), size, nonnegative=nonnegative, accuracy=0.9)
    assert proof.guarantee == pytest.approx(0.9 * expected)
    assert proof.low_rank_gap == 0.3


@pytest.mark.parametrize("size", [1, 3, 10])
def test_the_bound_is_the_least_of_three(size):
    A = low_rank()
    trace = np.sort(A.diagonal)[::-1][:size].sum()
    for through_search in (0.05, 0.5, 50.0):
        proof = guarantee_of(A, found(through_search), size, nonnegative=False, accuracy=1.0)
        assert proof.upper_bound == pytest.approx(min(through_search + 0.3 + 0.2, 4.2, trace))


@pytest.mark.parametrize("rank", [2, 3, 5])
@pytest.mark.parametrize("epsilon", [0.05, 0.3])
def test_random_directions_miss_the_cap_with_probability_one_over_n(rank, epsilon):
    """Cos^2 of the angle to a fixed direction is beta distributed with 1/2 and (d - 1)/2."""
    inside = beta(0.5, (rank - 1) / 2).sf(1 - epsilon)
    count = n_directions(500, rank, epsilon)
    assert (1 - inside) ** count <= 1 / 500
    assert (1 - inside) ** (count - 1) > 1 / 500
