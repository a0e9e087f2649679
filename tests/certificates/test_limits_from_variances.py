"""Limits that stand in for rows never formed must lie above the rows themselves."""

from itertools import combinations

import numpy as np
import pytest

from loadstone.certificates import bound_dual, bound_instant
from loadstone.certificates.bound_dual import Dual, evaluate
from loadstone.certificates.bound_instant import row_bounds
from loadstone.certificates.bound_rows import limited_squares, reach_limits
from loadstone.certificates.problem import SupportProblem
from loadstone.covariance import covariance_of

from .small_problems import brute_force


def collinear(seed, n=7, noise=0.0):
    """Data whose features are multiples of one score: |A_ij| reaches sqrt(A_ii A_jj)."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 1)) @ rng.uniform(0.5, 2, (1, 9)) * rng.choice([-1, 1], 9)
    X += noise * rng.standard_normal(X.shape)
    return covariance_of(X, route="data")[0], np.cov(X.T)


def largest_reach(A, i, problem):
    """Largest sum of A_ij^2 over the supports that contain i, by trying them all."""
    forced = set(problem.features[problem.forced].tolist())
    best = 0.0
    for chosen in combinations(problem.features.tolist(), problem.n_nonzero):
        if i in chosen and forced <= set(chosen):
            best = max(best, float((A[i, list(chosen)] ** 2).sum()))
    return best


PROBLEMS = [
    SupportProblem.of(9, 3),
    SupportProblem.of(9, 4, forced=[8, 2]),
    SupportProblem.of(9, 3, nonnegative=True, forbidden=[0]),
    SupportProblem.of(9, 9),
]


@pytest.mark.parametrize("noise", [0.0, 0.3])
@pytest.mark.parametrize("problem", PROBLEMS, ids=range(4))
def test_no_row_reaches_beyond_its_limit(problem, noise):
    for seed in range(4):
        S, A = collinear(seed, noise=noise)
        limits = reach_limits(S, problem, A.diagonal()[problem.features])
        exact = np.array([largest_reach(A, i, problem) for i in problem.features])
        assert (limits >= exact).all()
        if noise == 0.0:
            # Nowhere loose where features are multiples of each other.
            assert (limits <= 1.01 * exact).any()


@pytest.mark.parametrize("problem", PROBLEMS, ids=range(4))
def test_bounds_from_rows_hold_where_rows_are_skipped(problem, monkeypatch):
    # One row at a time, so that as many as possible are never looked at.
    monkeypatch.setattr(bound_instant, "ROW_BLOCK", 1)
    for seed in range(6):
        S, A = collinear(seed, noise=0.2 * (seed % 3))
        optimum = brute_force(A, problem)
        for bound in row_bounds(S, problem):
            assert bound.value >= optimum * (1 - 1e-12), bound


def full_bounds(A, problem):
    """Frobenius and row-sum bounds by trying every support: what row_bounds must not undercut."""
    forced = set(problem.features[problem.forced].tolist())
    reach = dict.fromkeys(problem.features.tolist(), 0.0)
    for chosen in combinations(problem.features.tolist(), problem.n_nonzero):
        if forced <= set(chosen):
            for i in chosen:
                entries = A[i, list(chosen)]
                entries = np.maximum(entries, 0) if problem.nonnegative else entries
                reach[i] = max(reach[i], float((entries**2).sum()))
    rows = sorted((reach[i] for i in reach if i not in forced), reverse=True)
    places = problem.n_nonzero - len(forced)
    return np.sqrt(sum(reach[i] for i in forced) + sum(rows[:places]))


@pytest.mark.parametrize("problem", PROBLEMS[:3], ids=range(3))
def test_skipped_rows_do_not_change_the_frobenius_bound(problem, monkeypatch):
    monkeypatch.setattr(bound_instant, "ROW_BLOCK", 1)
    for seed in range(6):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((12, 9)) * np.geomspace(1, 1.5, 9) + rng.standard_normal((12, 1))
        S, _ = covariance_of(X, route="data")
        found = {bound.name: bound.value for bound in row_bounds(S, problem)}
        expected = full_bounds(np.cov(X.T), problem)
        assert found["Frobenius norm"] == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("problem", PROBLEMS, ids=range(4))
def test_duals_that_know_few_features_hold_on_collinear_data(problem, monkeypatch):
    monkeypatch.setattr(bound_dual, "NEGLIGIBLE_TERM", 1e6)
    for seed in range(6):
        S, A = collinear(seed, noise=0.2 * (seed % 3))
        optimum = brute_force(A, problem)
        rng = np.random.default_rng(seed)
        known = problem.features[[1, 3, 4]]
        pairing = A[np.ix_(known, known)]
        shift = optimum / 2 - pairing.diagonal() + 0.1 * rng.random(3)
        found = evaluate(S, problem, Dual(known, pairing, shift, np.zeros((3, 1))))
        assert found.bound >= optimum * (1 - 1e-12)


@pytest.mark.parametrize("problem", PROBLEMS, ids=range(4))
def test_cheap_terms_lie_above_exact_ones(problem, monkeypatch):
    """With every outside term taken from variances, none may fall below its exact value."""
    for seed in range(6):
        S, A = collinear(seed, noise=0.2 * (seed % 3))
        known = problem.features[[1, 3, 4]]
        pairing = A[np.ix_(known, known)]
        dual = Dual(known, pairing, np.full(3, 0.3), np.zeros((3, 1)))
        monkeypatch.setattr(bound_dual, "NEGLIGIBLE_TERM", 0.0)
        exact = evaluate(S, problem, dual)
        monkeypatch.setattr(bound_dual, "NEGLIGIBLE_TERM", 1e9)
        cheap = evaluate(S, problem, dual)
        assert (cheap.terms >= exact.terms * (1 - 1e-12)).all()


def extended_by_hand(A, problem, dual):
    """M of the extended dual, with P outside = A and tau_i = top - A_ii, entry by entry."""
    n = A.shape[0]
    known = dual.features
    M = np.zeros((n, n))
    inner = A[np.ix_(known, known)] - (dual.pairing + dual.pairing.T) / 2
    inner[np.diag_indices(known.size)] = A[known, known] + dual.shift
    M[np.ix_(known, known)] = inner - dual.factor @ dual.factor.T
    return M


def test_outside_terms_are_those_of_the_extension():
    """Row i outside: p_ij = A_ij among the outside, 2 A_ij towards rows that give nothing."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((20, 6))
    S, A = covariance_of(X, route="data")[0], np.cov(X.T)
    problem = SupportProblem.of(6, 2)
    known = np.array([0, 1])
    dual = Dual(known, np.zeros((2, 2)), np.array([5.0, 6.0]), np.zeros((2, 1)))
    found = evaluate(S, problem, dual)
    top = np.linalg.eigvalsh(extended_by_hand(A, problem, dual)[:2, :2])[-1]
    for i in range(2, 6):
        row = A[i].copy()
        row[known] *= 2.0
        row[i] = 0.0
        phi = np.abs(row).max()
        tau = top - A[i, i]
        expected = (np.sqrt(phi**2 + tau**2) - tau) / 2
        assert found.terms[i] == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("room", [1, 3, 6])
def test_places_beyond_the_known_features_cost_their_limit(room):
    """phi^2 where entries up to a limit may join: known ones raised to it, the rest at it."""
    rng = np.random.default_rng(room)
    squares = rng.random((5, 4))
    limits = rng.random(5)
    forced = np.array([True, False, False, False])
    reach, ceiling = limited_squares(squares.copy(), forced, np.full(5, room), limits)
    for i in range(5):
        free = np.sort(squares[i, 1:])[::-1]
        smallest = free[room - 1] if room < 3 else 0.0
        limit = max(limits[i], smallest)
        joined = np.sort(np.concatenate([free, np.full(room, limit)]))[::-1]
        assert reach[i] == pytest.approx(squares[i, 0] + joined[:room].sum())
        assert ceiling[i] == pytest.approx(limit)
