"""Components at an angle against the exact optimum over all supports.

On a support, max w'Aw over unit w with (v'w)^2 <= c^2 has no duality gap: it equals the least
over a >= 0 of lambda_max(A - a vv') + a c^2.
"""

from itertools import combinations

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from loadstone.constraints import LoadingConstraint
from loadstone.covariance import ExplicitCovariance
from loadstone.extraction.quasi_orthogonal import climb_within_angle

P, SIZE, LIMIT = 8, 3, 0.3


def problem(seed):
    rng = np.random.default_rng(seed)
    A = np.cov((rng.standard_normal((30, P)) + 0.8 * rng.standard_normal((30, 1))).T)
    w = np.linalg.eigh(A)[1][:, -1]
    w[np.argsort(np.abs(w))[:-SIZE]] = 0.0
    return A, w / np.linalg.norm(w)


def optimum(A, v):
    def limited(support):
        block, u = A[np.ix_(support, support)], v[list(support)]

        def dual(a):
            return np.linalg.eigvalsh(block - a * np.outer(u, u))[-1] + a * LIMIT**2

        most = 20 * np.trace(block) / LIMIT**2
        bounded = minimize_scalar(dual, bounds=(0, most), method="bounded", options={"xatol": 1e-7})
        return min(dual(0.0), bounded.fun)

    return max(limited(list(support)) for support in combinations(range(P), SIZE))


def test_climbs_keep_the_angle_and_leave_the_old_support_for_better_ones():
    constraint = LoadingConstraint(P, SIZE)
    shares = []
    for seed in range(30):
        A, v = problem(seed)
        found = climb_within_angle(ExplicitCovariance(A), v[:, None], LIMIT, constraint, v)
        assert found is not None
        assert abs(v @ found.w) <= LIMIT * (1 + 1e-9)
        assert found.value == pytest.approx(found.w @ A @ found.w)
        shares.append(found.value / optimum(A, v))
    assert max(shares) <= 1 + 1e-6
    # One climb from one start: local, but worth more than staying where the old one is.
    assert np.mean(shares) >= 0.8
