"""Best loadings on a support: stationary by the conditions of Karush, Kuhn and Tucker."""

from itertools import combinations

import numpy as np
import pytest

from loadstone.constraints import LoadingConstraint
from loadstone.covariance import ExplicitCovariance
from loadstone.solvers.renormalise import is_kkt, nonnegative_leading, renormalise


def stationary(S, w, tol=1e-8):
    """S w = (w'Sw) w where w > 0, and (S w)_i <= 0 where w_i = 0."""
    gradient, value = S @ w, w @ S @ w
    inner = np.abs(gradient[w > 0] - value * w[w > 0]).max()
    return bool(inner <= tol * value and (gradient[w == 0] <= tol * value).all())


def covariance(seed, p):
    X = np.random.default_rng(seed).standard_normal((2 * p, p))
    return np.cov(X.T)


@pytest.mark.parametrize(
    ("cross", "expected"),
    [(0.5, False), (1e-6, False), (0.0, True), (-0.5, True)],
)
def test_a_zero_that_wants_to_grow_is_no_end(cross, expected):
    S = np.array([[2.0, cross], [cross, 1.0]])
    w = np.array([1.0, 0.0])
    assert is_kkt(w, S @ w, w @ S @ w) is expected
    assert stationary(S, w) is expected


def test_a_positive_entry_out_of_balance_is_no_end():
    S = np.array([[2.0, 0.5], [0.5, 1.0]])
    w = np.array([0.8, 0.6])
    assert not is_kkt(w, S @ w, w @ S @ w)
    v = np.abs(np.linalg.eigh(S)[1][:, -1])
    assert is_kkt(v, S @ v, v @ S @ v)


@pytest.mark.parametrize("p", [3, 6, 12])
@pytest.mark.parametrize("seed", range(8))
def test_the_test_agrees_with_the_conditions_on_every_face(seed, p):
    S = covariance(seed, p)
    for face in combinations(range(p), 2):
        vectors = np.linalg.eigh(S[np.ix_(face, face)])[1]
        for k in range(2):
            w = np.zeros(p)
            w[list(face)] = np.abs(vectors[:, k])
            assert is_kkt(w, S @ w, float(w @ S @ w)) == stationary(S, w)


@pytest.mark.parametrize("p", [4, 9, 30])
@pytest.mark.parametrize("seed", range(6))
def test_climbs_end_at_stationary_points_and_never_below_their_start(seed, p):
    S = covariance(seed + 100, p)
    rng = np.random.default_rng(seed)
    for start in (*np.eye(p), rng.random(p), np.zeros(p)):
        w, value = nonnegative_leading(ExplicitCovariance(S), start.copy())
        assert w.min() >= 0
        assert np.linalg.norm(w) == pytest.approx(1, abs=1e-12)
        assert value == pytest.approx(w @ S @ w, rel=1e-10)
        assert stationary(S, w, 1e-7)
        if start.any():
            assert value >= start @ S @ start / (start @ start) * (1 - 1e-12)


def test_forced_features_join_the_support_that_is_renormalised():
    S = covariance(7, 6)
    constraint = LoadingConstraint(6, 4, forced=np.array([5]))
    w = np.array([0.8, 0.6, 0.0, 0.0, 0.0, 0.0])
    found, value = renormalise(ExplicitCovariance(S), w, constraint)
    block = S[np.ix_([0, 1, 5], [0, 1, 5])]
    assert value == pytest.approx(np.linalg.eigvalsh(block)[-1])
    assert np.flatnonzero(found).tolist() == [0, 1, 5]
