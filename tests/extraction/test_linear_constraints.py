"""Components under linear equations: against brute force, and on awkward data."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loadstone.constraints import LoadingConstraint
from loadstone.covariance import ExplicitCovariance, covariance_of, leading_eigenpairs
from loadstone.extraction.linear_constraints import climb, climb_from, solve_on_supports
from loadstone.extraction.linear_constraints_kernels import scan_supports
from loadstone.extraction.support_table import SupportTable


def random_covariance(seed, n=8):
    A = np.random.default_rng(seed).normal(size=(n, n))
    return ExplicitCovariance(A @ A.T)


def random_equations(seed, n=8, m=2):
    return np.linalg.qr(np.random.default_rng(seed).normal(size=(n, m)))[0]


def null_space(C):
    left, singular, _ = np.linalg.svd(C, full_matrices=True)
    rank = int((singular > 1e-11).sum())
    return left[:, rank:]


def brute_force(S, C, size):
    """The best value over all supports, each by an explicit null space."""
    best = -np.inf
    for support in combinations(range(S.n_features), size):
        support = np.array(support)
        N = null_space(C[support])
        if N.shape[1]:
            block = S.matrix[np.ix_(support, support)]
            best = max(best, np.linalg.eigvalsh(N.T @ block @ N)[-1])
    return best


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    size=st.integers(1, 5),
    m=st.integers(0, 4),
    sparse=st.booleans(),
    twins=st.booleans(),
    compiled=st.booleans(),
)
def test_enumeration_finds_the_optimum(seed, size, m, sparse, twins, compiled):
    S = random_covariance(seed)
    C = random_equations(seed + 1, m=max(m, 1))[:, :m]
    if sparse:
        C = np.where(np.abs(C) > 0.3, C, 0.0)
    if twins and m > 1:
        C[:, 1] = C[:, 0]
    best = SupportTable.of(S, LoadingConstraint(8, size), compiled=compiled).best(C)
    expected = brute_force(S, C, size)
    if expected == -np.inf:
        assert best is None
        return
    assert best.value == pytest.approx(expected, rel=1e-9)
    assert best.w @ S.matrix @ best.w == pytest.approx(best.value, rel=1e-9)
    assert np.abs(C.T @ best.w).max(initial=0.0) <= 1e-10
    assert np.linalg.norm(best.w) == pytest.approx(1.0)
    assert np.count_nonzero(best.w) <= size


def test_scan_equals_its_twin():
    S, C = random_covariance(0), random_equations(1)
    supports = np.array(list(combinations(range(8), 4)))
    values, _ = solve_on_supports(S, C, supports)
    factor = np.random.default_rng(2).uniform(0.5, 1.0, len(supports))
    bounds = solve_on_supports(S, C[:, :0], supports)[0] * factor
    winner, score = scan_supports(S.matrix, C, supports, np.argsort(-bounds), bounds, factor, 1e-11)
    assert winner == int(np.argmax(values * factor))
    assert score == pytest.approx((values * factor).max(), rel=1e-10)


def test_a_discount_changes_the_choice_but_keeps_the_equations():
    S, C = random_covariance(3), random_equations(4)
    for compiled in (False, True):
        table = SupportTable.of(S, LoadingConstraint(8, 3), compiled=compiled)
        best = table.best(C)
        discount = np.where((table.supports == np.flatnonzero(best.w)).all(axis=1), 0.9, 0.0)
        other = table.best(C, discount)
        assert other.value < best.value
        assert np.abs(C.T @ other.w).max() <= 1e-10


def test_forced_and_forbidden_features_are_respected():
    S, C = random_covariance(5), random_equations(6, m=1)
    constraint = LoadingConstraint(8, 3, forced=np.array([2]), forbidden=np.array([0, 7]))
    table = SupportTable.of(S, constraint)
    assert (table.supports == 2).any(axis=1).all()
    assert not np.isin(table.supports, [0, 7]).any()
    assert len(table.supports) == 10
    assert constraint.allows(table.best(C).w)


def test_too_many_supports_are_not_enumerated():
    S = ExplicitCovariance(np.eye(200))
    assert SupportTable.of(S, LoadingConstraint(200, 10)) is None


@pytest.mark.parametrize("seed", range(6))
def test_climbing_comes_close_to_the_optimum(seed):
    S = random_covariance(seed, n=12)
    C = random_equations(seed + 50, n=12)
    constraint = LoadingConstraint(12, 4)
    found = climb(S, C, constraint, leading_eigenpairs(S, 8)[1])
    assert constraint.allows(found.w)
    assert np.abs(C.T @ found.w).max() <= 1e-10
    assert found.value == pytest.approx(found.w @ S.matrix @ found.w)
    assert found.value >= 0.93 * brute_force(S, C, 4)


def test_climbing_reads_data_without_its_covariance_matrix():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 60))
    X[:, :6] += 3 * rng.normal(size=(20, 1))
    S, _ = covariance_of(X)
    C = np.zeros((60, 1))
    C[:6, 0] = 1 / np.sqrt(6)
    found = climb(S, C, LoadingConstraint(60, 5), leading_eigenpairs(S, 8)[1])
    explicit = ExplicitCovariance(np.cov(X.T))
    same = climb(explicit, C, LoadingConstraint(60, 5), leading_eigenpairs(explicit, 8)[1])
    assert found.value == pytest.approx(same.value, rel=1e-9)


def test_no_solution_where_the_equations_leave_only_zero():
    S = random_covariance(7)
    assert climb(S, np.eye(8), LoadingConstraint(8, 3), np.eye(8)) is None
    assert SupportTable.of(S, LoadingConstraint(8, 3)).best(np.eye(8)) is None


def test_what_rounding_leaves_of_a_zero_is_no_loading():
    # Two equations about two of the features leave nothing of either.
    S, C = random_covariance(0), np.zeros((8, 2))
    C[[4, 5], 0], C[[4, 5, 6], 1] = [0.6, 0.8], [0.36, -0.48, 0.8]
    start = np.r_[np.full(6, 1e3), 0, 0][:, None]
    found = climb(S, C, LoadingConstraint(8, 6, forbidden=np.array([6, 7])), start, n_polished=0)
    np.testing.assert_array_equal(np.flatnonzero(found.w), [0, 1, 2, 3])
    assert found.value == pytest.approx(np.linalg.eigvalsh(S.matrix[:4, :4])[-1])


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    size=st.integers(2, 5),
    m=st.integers(1, 4),
    sparse=st.booleans(),
    forced=st.booleans(),
)
def test_a_climb_from_one_start_keeps_the_equations_and_never_falls(seed, size, m, sparse, forced):
    S, C = random_covariance(seed), random_equations(seed + 1, m=m)
    if sparse:
        C = np.where(np.abs(C) > 0.3, C, 0.0)
    must = np.array([6] if forced else [], dtype=int)
    constraint = LoadingConstraint(8, size, forced=must, forbidden=np.array([3]))
    start = constraint.best_loading(np.random.default_rng(seed).normal(size=8))
    support = np.flatnonzero(start)
    N = null_space(C[support])
    found = climb_from(S, C, constraint, start)
    if not N.shape[1]:
        assert found is None
        return
    assert found is not None
    assert np.abs(C.T @ found.w).max() < 1e-12
    assert constraint.allows(found.w)
    assert found.value == pytest.approx(found.w @ S.matrix @ found.w)
    begun = np.linalg.eigvalsh(N.T @ S.matrix[np.ix_(support, support)] @ N)[-1]
    assert begun * (1 - 1e-9) <= found.value <= brute_force(S, C, size) * (1 + 1e-9)
    # Support of the gradient, exact loadings on it, repeat: the same in blocks of starts.
    block = climb(S, C, constraint, start[:, None], n_polished=0)
    assert found.value == pytest.approx(block.value)
