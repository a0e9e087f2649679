"""Exchanges, polishing, greedy steps and working sets, against trying everything."""

from itertools import combinations, product

import numpy as np
import pytest

from loadstone.constraints import LoadingConstraint
from loadstone.covariance import ExplicitCovariance, LowRankCovariance, covariance_of
from loadstone.solvers import portfolio
from loadstone.solvers.exchange import _best_pair, improve_by_exchange
from loadstone.solvers.greedy import Greedy, Growth, _three_by_three
from loadstone.solvers.polish import polish
from loadstone.solvers.portfolio import Portfolio, working_set
from loadstone.solvers.support_spectrum import SupportSpectrum

P = 9


def covariance(seed, p=P):
    rng = np.random.default_rng(seed)
    return np.cov((rng.standard_normal((2 * p, p)) + 0.7 * rng.standard_normal((2 * p, 1))).T)


def leading_on(A, support):
    values, vectors = np.linalg.eigh(A[np.ix_(support, support)])
    w = np.zeros(len(A))
    w[list(support)] = vectors[:, -1]
    return w, values[-1]


def pair_bounds(A, w, constraint):
    """For every exchange, the largest eigenvalue of A on span{w without i, e_j}."""
    found = {}
    for i, j in product(np.flatnonzero(w), np.flatnonzero(w == 0)):
        if i in constraint.forced or j in constraint.forbidden:
            continue
        u = w.copy()
        u[i] = 0.0
        u /= np.linalg.norm(u)
        basis = np.column_stack([u, np.eye(len(A))[j]])
        found[int(i), int(j)] = np.linalg.eigvalsh(basis.T @ A @ basis)[-1]
    return found


CONSTRAINTS = [
    LoadingConstraint(P, 3),
    LoadingConstraint(P, 5),
    LoadingConstraint(P, 4, forced=np.array([0, 1])),
    LoadingConstraint(P, 3, forbidden=np.array([6, 7, 8])),
]


@pytest.mark.parametrize("constraint", CONSTRAINTS, ids=range(4))
@pytest.mark.parametrize("seed", range(12))
def test_the_best_pair_is_the_best_of_all_pairs(seed, constraint):
    A = covariance(seed)
    support = np.arange(constraint.n_nonzero)
    w, value = leading_on(A, support)
    bounds = pair_bounds(A, w, constraint)
    found = _best_pair(ExplicitCovariance(A), w, value, constraint, support)
    best = max(bounds.values())
    if found is None:
        assert best <= value * (1 + 1e-12)
    else:
        i, j, bound = found
        assert bound == pytest.approx(best, rel=1e-10)
        assert bounds[i, j] == pytest.approx(best, rel=1e-10)


@pytest.mark.parametrize("constraint", CONSTRAINTS, ids=range(4))
@pytest.mark.parametrize("seed", range(8))
def test_after_the_exchanges_no_pair_promises_more(seed, constraint):
    A = covariance(seed)
    start, first = leading_on(A, np.arange(constraint.n_nonzero))
    S = ExplicitCovariance(A)
    w, value = improve_by_exchange(S, start, first, constraint, 50)
    assert value == pytest.approx(w @ A @ w, rel=1e-12)
    assert value >= first * (1 - 1e-12)
    assert constraint.allows(w)
    assert value >= max(pair_bounds(A, w, constraint).values()) * (1 - 1e-9)


@pytest.mark.parametrize("seed", range(8))
def test_polishing_ends_where_the_largest_gradient_is_the_support(seed):
    A = covariance(seed)
    constraint = LoadingConstraint(P, 3)
    start, first = leading_on(A, np.array([0, 4, 8]))
    w, value = polish(ExplicitCovariance(A), start, constraint)
    assert value >= first * (1 - 1e-12)
    # The best loadings on the three largest entries of |Aw| are no better than w.
    top = np.sort(np.argsort(-np.abs(A @ w))[:3])
    assert leading_on(A, top)[1] <= value * (1 + 1e-12)
    moved = np.sort(np.argsort(-np.abs(A @ start))[:3])
    assert value >= leading_on(A, moved)[1] * (1 - 1e-12)


def backward_by_hand(A, size):
    """Drop the smallest loading of the leading eigenvector until ``size`` are left."""
    inside = list(range(len(A)))
    values = [leading_on(A, inside)[1]]
    while len(inside) > size:
        w = leading_on(A, inside)[0]
        inside.remove(min(inside, key=lambda i: abs(w[i])))
        values.append(leading_on(A, inside)[1])
    return inside, values[::-1]


@pytest.mark.parametrize("seed", range(5))
def test_backward_elimination_is_the_published_one(seed):
    A = covariance(seed)
    solver = Greedy(direction="backward")
    found = solver(ExplicitCovariance(A), LoadingConstraint(P, 3), np.random.default_rng(0))
    inside, values = backward_by_hand(A, 3)
    assert np.flatnonzero(found.matrix[:, 0]).tolist() == inside
    np.testing.assert_allclose(found.objective, values, rtol=1e-10)


def exchanged_by_hand(A, size):
    """Forward steps; after each, swap the smallest loading for the best newcomer while it gains."""

    def best_newcomer(inside):
        outside = [j for j in range(len(A)) if j not in inside]
        return max(outside, key=lambda j: leading_on(A, sorted([*inside, j]))[1])

    inside = [int(np.argmax(A.diagonal()))]
    while len(inside) < size:
        inside.append(best_newcomer(inside))
        while True:
            w, value = leading_on(A, sorted(inside))
            kept = [i for i in inside if i != min(inside, key=lambda i: abs(w[i]))]
            moved = [*kept, best_newcomer(kept)]
            if not leading_on(A, sorted(moved))[1] > value * (1 + 1e-12):
                break
            inside = moved
    return sorted(inside)


@pytest.mark.parametrize("seed", range(10))
def test_forward_steps_with_exchanges_equal_trying_every_feature(seed):
    A = covariance(seed + 50, 14)
    solver = Greedy(direction="forward-backward")
    found = solver(ExplicitCovariance(A), LoadingConstraint(14, 6), np.random.default_rng(0))
    assert np.flatnonzero(found.matrix[:, 0]).tolist() == exchanged_by_hand(A, 6)


def test_upper_limits_of_candidates_are_eigenvalues_of_three_by_three_matrices():
    rng = np.random.default_rng(5)
    b, c, r = rng.random((3, 6)) * 2
    found = _three_by_three(1.5, 0.7, b, c, r)
    for i in range(6):
        by_hand = np.array([[1.5, 0, c[i]], [0, 0.7, r[i]], [c[i], r[i], b[i]]])
        assert found[i] == pytest.approx(np.linalg.eigvalsh(by_hand)[-1])


def test_lengths_follow_the_support_in_and_out():
    A = covariance(1)
    growth = Growth(ExplicitCovariance(A), LoadingConstraint(P, 5), "exact", 4)
    for feature in (2, 7, 0):
        growth._join(feature)
    growth._leave(7)
    np.testing.assert_allclose(growth.lengths, (A[[4, 2, 0]] ** 2).sum(axis=0), atol=1e-12)


@pytest.mark.parametrize("coarse", [False, True])
def test_eigenpairs_follow_a_support_that_grows_and_shrinks(coarse):
    rng = np.random.default_rng(2)
    X = rng.standard_normal((10, 40))
    S, A = covariance_of(X, route="data")[0], np.cov(X.T)
    spectrum = SupportSpectrum(S, coarse=coarse)
    support = np.zeros(40, dtype=bool)
    support[rng.permutation(40)[:25]] = True
    for _ in range(30):
        support[rng.integers(40, size=3)] ^= True
        inside = np.flatnonzero(support)
        values, vectors = np.linalg.eigh(A[np.ix_(inside, inside)])
        found, image = spectrum.leading_pairs(support, 2)
        np.testing.assert_allclose(found[:2], values[[-1, -2]], rtol=1e-9)
        expected = A[:, inside] @ vectors[:, -1]
        overlap = image @ expected / np.linalg.norm(image) / np.linalg.norm(expected)
        assert abs(overlap) == pytest.approx(1, abs=1e-5)
        if not coarse:
            assert np.linalg.norm(image) == pytest.approx(np.linalg.norm(expected))
        outside = int(rng.choice(np.flatnonzero(~support)))
        more = np.append(inside, outside)
        one_more = np.linalg.eigvalsh(A[np.ix_(more, more)])[-1]
        assert spectrum.value_with(support, outside) == pytest.approx(one_more)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_the_sign_of_an_eigenvector_does_not_matter(sign, monkeypatch):
    # Three features rise together while the fourth falls: one sign keeps three, the other one.
    A = np.array([[3.0, 2, 2, -2], [2, 3.0, 2, -2], [2, 2, 3.0, -2], [-2, -2, -2, 3.0]])
    monkeypatch.setattr(
        portfolio,
        "eigenvector_starts",
        lambda S, n, **_: (
            sign * np.abs(np.linalg.eigh(A)[1][:, ::-1][:, :1]) * [[1], [1], [1], [-1]]
        ),
    )
    solver = Portfolio(n_eigenvectors=1, n_columns=0, n_combinations=0, n_exchanges=0)
    constraint = LoadingConstraint(4, 3, nonnegative=True)
    found = solver(ExplicitCovariance(A), constraint, np.random.default_rng(0)).matrix[:, 0]
    assert found @ A @ found == pytest.approx(7.0)


def test_the_optimum_of_small_problems_is_never_beaten_by_exchanges():
    A = covariance(3)
    constraint = LoadingConstraint(P, 3)
    best = max(leading_on(A, list(s))[1] for s in combinations(range(P), 3))
    for support in combinations(range(P), 3):
        w, value = leading_on(A, np.array(support))
        assert (
            improve_by_exchange(ExplicitCovariance(A), w, value, constraint, 20)[1] <= best + 1e-9
        )


def variances_only(variances):
    """A covariance with given variances that takes no memory: rank one."""
    return LowRankCovariance(np.sqrt(variances)[:, None], np.ones(1))


@pytest.mark.parametrize(
    ("outside", "searched_first"),
    [(1.0, False), (0.2, False), (0.05, True), (0.0, True)],
)
def test_features_are_left_aside_only_where_they_hardly_vary(outside, searched_first):
    variances = np.full(4400, outside)
    variances[::5] = 1.0  # 880 of them, fewer than are searched first
    found = working_set(variances_only(variances), LoadingConstraint(4400, 10))
    if not searched_first:
        assert found is None
    else:
        assert set(range(0, 4400, 5)) <= set(found.tolist())
        assert found.size == 1024
        assert (np.diff(found) > 0).all()


def test_forced_features_are_searched_and_forbidden_ones_are_not():
    variances = np.full(4400, 1e-6)
    variances[:1100] = 1.0
    forced, forbidden = np.array([4000, 4399]), np.array([0, 1])
    constraint = LoadingConstraint(4400, 10, forced=forced, forbidden=forbidden)
    # Seventy-six good features too many for the set, so nothing may be left out.
    assert working_set(variances_only(variances), constraint) is None
    variances[900:1100] = 1e-6
    found = working_set(variances_only(variances), constraint)
    assert {4000, 4399} <= set(found.tolist())
    assert set(range(2, 900)) <= set(found.tolist())
