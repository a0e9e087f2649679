"""Non-negative components whose size does not bind: multipliers of the signs prove them optimal."""

import numpy as np
import pytest

from loadstone.certificates import prove
from loadstone.certificates.bound_single_support import multiplier_bound, support_optimum
from loadstone.constraints import LoadingConstraint
from loadstone.covariance import ExplicitCovariance

from .small_problems import KINDS, best_nonnegative, random_matrix


@pytest.mark.parametrize("seed", range(40))
def test_multipliers_bound_the_optimum(seed):
    rng = np.random.default_rng([9, seed])
    n = int(rng.integers(1, 7))
    A = random_matrix(rng, n, KINDS[seed % len(KINDS)])
    A = (A + A.T) / 2
    optimum, size = best_nonnegative(A), np.abs(A).max()
    bound, x = multiplier_bound(A)
    assert bound >= optimum - 1e-12 * size
    assert support_optimum(A, nonnegative=True)[0] == pytest.approx(optimum, abs=1e-9 * size)
    if x is not None:
        assert x.min() >= 0
        assert np.linalg.norm(x) == pytest.approx(1)


def two_groups(rng, n=40):
    """Two groups of features against each other: no component uses both."""
    Z = rng.standard_normal((200, 1)) * np.where(np.arange(n) < n // 2, 1.0, -0.7)
    return np.cov((Z + 0.3 * rng.standard_normal((200, n))).T)


def circle(n=40):
    """Features on a circle, the near ones alike: a component is an arc, and not a half of them."""
    angle = 2 * np.pi * np.arange(n) / n
    parts = [(3.0, 0.2, 1), (1.0, 0.5, 2), (0.5, 0.1, 3)]
    A = sum(
        c * np.outer(f, f) * 2 / n
        for cosine, sine, m in parts
        for c, f in ((cosine, np.cos(m * angle)), (sine, np.sin(m * angle)))
    )
    # One side of it varies less, so that the best arc is the only one.
    size = np.where(np.cos(angle) > 0, 1.0, 0.7)
    return 0.1 * np.eye(n) + size[:, None] * A * size


def climbed(A, w):
    for _ in range(3000):
        w = np.maximum(A @ w, 0)
        w /= np.linalg.norm(w)
    return np.where(w > 1e-9, w, 0.0) / np.linalg.norm(np.where(w > 1e-9, w, 0.0))


def test_one_dual_proves_all_sizes_beyond_the_last_that_counts():
    A = circle()
    w = climbed(A, np.maximum(np.cos(2 * np.pi * np.arange(40) / 40), 0) + 1e-3)
    used = np.count_nonzero(w)
    assert 3 < used < 20
    assert (A @ w)[w == 0].max() < 0
    for k in (used, used + 3, 40):
        found = prove(ExplicitCovariance(A), LoadingConstraint(40, k, nonnegative=True), w)
        assert found.is_optimal
        assert found.upper_bound == pytest.approx(w @ A @ w, rel=1e-8)
        assert found.verify(A) == pytest.approx(found.upper_bound)
        (case,) = found.cases
        (dual,) = case.duals
        assert (dual.pairing <= 0).all()
        assert not dual.factor.any()


def test_a_component_that_is_not_the_best_is_not_called_so():
    """Stationary at its zeros, and still the worse of two groups."""
    A = two_groups(np.random.default_rng(1))
    w = np.zeros(40)
    w[20:] = np.abs(np.linalg.eigh(A[20:, 20:])[1][:, -1])
    assert (A @ w)[:20].max() < 0
    found = prove(ExplicitCovariance(A), LoadingConstraint(40, 30, nonnegative=True), w)
    assert not found.is_optimal
    assert found.upper_bound >= np.linalg.eigvalsh(A[:20, :20])[-1] * (1 - 1e-12)
