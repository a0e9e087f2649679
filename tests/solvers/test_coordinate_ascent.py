"""Coordinate ascent: the sweeps, and the objective as a whole."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from loadstone.covariance import ExplicitCovariance, LowRankCovariance, covariance_of
from loadstone.loadings import Stop
from loadstone.solvers import coordinate_ascent
from loadstone.solvers.coordinate_ascent import (
    CoordinateAscent,
    ascend,
    largest_sparsity_penalty,
    reseed_dead,
    scaled_penalties,
)
from loadstone.solvers.coordinate_ascent_caches import (
    Carried,
    FactorProducts,
    GramProducts,
    Penalties,
    SparseProducts,
    products_of,
)
from loadstone.solvers.coordinate_ascent_kernels import quartic_maximiser
from loadstone.solvers.coordinate_ascent_size import of_total_size
from solvers.ascent_oracle import objective


def rng_of(seed=0):
    return np.random.default_rng(seed)


def sweep_twin(A, U, alpha, beta):
    """One sweep straight from the definition of c1 and c2 (Eq. 4), nothing cached."""
    U = U.copy()
    d, k = U.shape
    for r in range(k):
        for s in range(d):
            i = np.delete(np.arange(k), r)
            j = np.delete(np.arange(d), s)
            c2 = A[s, s] + alpha * (1 - (U[j, r] ** 2).sum() - (U[s, i] ** 2).sum())
            c1 = A[s, j] @ U[j, r] - alpha * (U[s, i] * (U[j, r] @ U[np.ix_(j, i)])).sum() - beta
            U[s, r] = quartic_maximiser(c2, c1, alpha)
    return U


def wide_sparse(seed=3, n=9, d=14):
    return sparse.random(n, d, 0.4, random_state=seed, format="csr")


@pytest.mark.parametrize("kind", ["gram", "factor", "sparse"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("standardize", [False, True])
def test_sweep_equals_the_definition(kind, weighted, standardize):
    X = wide_sparse()
    weights = rng_of(1).uniform(0.5, 2.0, X.shape[0]) if weighted else None
    dense, _ = covariance_of(
        X.toarray(), route="gram", standardize=standardize, sample_weight=weights
    )
    S, _ = covariance_of(
        X if kind == "sparse" else X.toarray(),
        route="gram" if kind == "gram" else "data",
        standardize=standardize,
        sample_weight=weights,
    )
    products = products_of(S, 1.7)
    expected_type = {"gram": GramProducts, "factor": FactorProducts, "sparse": SparseProducts}
    assert isinstance(products, expected_type[kind])
    A = dense.matrix / 1.7
    U = np.abs(rng_of(2).normal(size=(14, 3)))
    np.testing.assert_allclose(products.times(U), A @ U, atol=1e-12)
    assert products.captured(U, products.cache(U)) == pytest.approx(np.trace(U.T @ A @ U))
    expected = sweep_twin(A, sweep_twin(A, U, 0.6, 0.02), 0.6, 0.02)
    cache, M, R = products.cache(U), U.T @ U, (U * U).sum(axis=1)
    for _ in range(2):
        products.sweep(Carried(U, cache, M, R), Penalties(0.6, 0.02))
    np.testing.assert_allclose(U, expected, atol=1e-12)
    np.testing.assert_allclose(M, U.T @ U, atol=1e-12)
    np.testing.assert_allclose(R, (U * U).sum(axis=1), atol=1e-12)
    np.testing.assert_allclose(cache, products.cache(U), atol=1e-11)


def test_low_rank_covariance_is_its_own_factor():
    V = np.linalg.qr(rng_of(0).normal(size=(12, 3)))[0]
    products = products_of(LowRankCovariance(V, np.array([3.0, 2.0, 1.0])), 3.0)
    assert isinstance(products, FactorProducts)
    W = rng_of(1).normal(size=(12, 2))
    np.testing.assert_allclose(products.times(W), V @ (np.diag([1, 2 / 3, 1 / 3]) @ (V.T @ W)))


def test_sparse_data_smaller_than_its_covariance_is_not_made_one(monkeypatch):
    rng = np.random.default_rng(0)
    X = sparse.csr_array(rng.poisson(0.3, (40, 8)).astype(float))
    S, _ = covariance_of(X, route="data")
    expected = CoordinateAscent()(S, 2, np.random.default_rng(1)).matrix
    monkeypatch.setattr("loadstone.solvers.coordinate_ascent_caches.MAX_FACTOR_BYTES", 100)
    assert isinstance(products_of(S, 1.0), SparseProducts)
    found = CoordinateAscent()(S, 2, np.random.default_rng(1)).matrix
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_wide_data_larger_than_allowed_is_refused(monkeypatch):
    monkeypatch.setattr("loadstone.solvers.coordinate_ascent_caches.MAX_FACTOR_BYTES", 10)
    S, _ = covariance_of(rng_of(0).normal(size=(5, 9)))
    with pytest.raises(MemoryError, match="SparsePCA"):
        products_of(S, 1.0)


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    alpha=st.floats(0.01, 20),
    beta=st.floats(0, 1.2),
    shape=st.sampled_from([(30, 6), (6, 9), (12, 12)]),
    twins=st.booleans(),
)
def test_ascent_is_monotone_stationary_and_honest(seed, alpha, beta, shape, twins):
    X = rng_of(seed).normal(size=shape) * rng_of(seed + 1).uniform(0.1, 3, shape[1])
    if twins:
        X[:, 1] = X[:, 0]
    S, _ = covariance_of(X)
    solver = CoordinateAscent(alpha, beta, max_iter=3000, tol=1e-13)
    found = solver(S, 3, rng_of(seed))
    assert np.isfinite(found.matrix).all()
    assert (found.matrix >= 0).all()
    assert (np.diff(found.objective) >= -1e-12 * np.abs(found.objective[1:])).all()
    A = np.cov(X.T) / found.details["eigenvalue"]
    U = np.zeros((shape[1], 3))
    raw = found.details["raw"]
    U[:, : raw.shape[1]] = raw
    alpha, beta = solver.penalties(shape[1])
    value = objective(A, U, alpha, beta)
    assert value == pytest.approx(found.objective[-1], rel=1e-9, abs=1e-12)
    if found.stop is Stop.CONVERGED:
        # No single entry can raise the objective any more.
        rng = rng_of(seed + 2)
        for s, r in zip(rng.integers(0, shape[1], 30), rng.integers(0, 3, 30), strict=True):
            moved = U.copy()
            moved[s, r] = abs(moved[s, r] + rng.normal() * 10.0 ** rng.uniform(-4, 0))
            assert objective(A, moved, alpha, beta) <= value + 1e-6 * max(1, abs(value))


@pytest.mark.parametrize("scale", [1e-3, 255.0])
def test_nothing_depends_on_the_scale_of_the_data(scale):
    X = rng_of(5).normal(size=(40, 8)) @ rng_of(6).normal(size=(8, 8))
    solver = CoordinateAscent(0.7, 0.2, n_init=3)
    one = solver(covariance_of(X)[0], 3, rng_of())
    other = solver(covariance_of(X * scale)[0], 3, rng_of())
    np.testing.assert_allclose(other.objective, one.objective, rtol=1e-9)
    np.testing.assert_allclose(other.matrix, one.matrix, atol=1e-7)


def test_strong_penalty_gives_disjoint_unit_components():
    X = rng_of(7).normal(size=(60, 10))
    found = CoordinateAscent(1e4, 0.0, tol=1e-12, max_iter=5000)(covariance_of(X)[0], 3, rng_of())
    raw = found.details["raw"]
    np.testing.assert_allclose(raw.T @ raw, np.eye(3), atol=1e-3)


def test_one_component_of_a_positive_matrix_is_its_leading_eigenvector():
    X = rng_of(8).uniform(size=(50, 1)) * rng_of(9).uniform(0.5, 1, 6)
    X = X + 0.05 * rng_of(10).normal(size=X.shape)
    S, _ = covariance_of(X)
    found = CoordinateAscent(1.0, tol=1e-14, max_iter=5000)(S, 1, rng_of())
    leading = np.abs(np.linalg.eigh(S.matrix)[1][:, -1])
    np.testing.assert_allclose(found.matrix[:, 0], leading, atol=1e-6)
    # Along the leading eigenvector u = t v the quartic is maximal at t^2 = 1 + 1/alpha.
    assert np.linalg.norm(found.details["raw"]) == pytest.approx(np.sqrt(2.0), rel=1e-6)


def test_more_starts_never_lower_the_objective():
    S, _ = covariance_of(rng_of(11).normal(size=(30, 12)))
    values = [CoordinateAscent(2.0, n_init=n)(S, 4, rng_of()).objective[-1] for n in (1, 4, 8)]
    assert values[0] <= values[1] <= values[2]


def test_given_starts_are_used():
    S, _ = covariance_of(rng_of(12).normal(size=(30, 6)))
    found = CoordinateAscent(1.0)(S, 2, rng_of())
    again = CoordinateAscent(1.0)(S, 2, rng_of(), init=found.details["raw"])
    assert again.n_iter <= 2
    assert again.objective[0] == pytest.approx(found.objective[-1])


def test_a_dead_column_is_seeded_again():
    A = np.zeros((8, 8))
    A[:4, :4] = 1.0
    A[4:, 4:] = 0.9
    A += 0.01 * np.eye(8)
    values, vectors = np.linalg.eigh(A)
    A, vectors = A / values[-1], vectors[:, ::-1][:, :2]
    # Between what a single entry can overcome and what four together can.
    alpha, beta = 0.1, 0.3
    start = np.zeros((8, 2))
    start[:4, 0] = 0.5
    run = ascend(GramProducts(A, np.arange(len(A))), start, alpha, beta, 500, 1e-12)
    assert not run.U[:, 1].any()
    seeded = reseed_dead(GramProducts(A, np.arange(len(A))), run.U, vectors, alpha, beta)
    assert seeded is not None
    assert objective(A, seeded, alpha, beta) > objective(A, run.U, alpha, beta)
    whole = CoordinateAscent(alpha, beta * np.sqrt(8))
    found = whole(ExplicitCovariance(A), 2, rng_of(), init=start)
    np.testing.assert_array_equal(found.matrix > 0, np.repeat(np.eye(2, dtype=bool), 4, axis=0))


def test_columns_beyond_rescue_are_left_out():
    S = ExplicitCovariance(np.diag([4.0, 1.0, 1e-3, 1e-3]))
    limit = largest_sparsity_penalty(0.1, 0.05)
    found = CoordinateAscent(0.05, limit * 2, n_init=2)(S, 4, rng_of())
    assert found.matrix.shape[1] < 4
    np.testing.assert_allclose(np.linalg.norm(found.matrix, axis=0), 1.0)


def test_zero_covariance_is_refused():
    with pytest.raises(ValueError, match="constant"):
        CoordinateAscent()(ExplicitCovariance(np.zeros((3, 3))), 1, rng_of())


def test_more_components_than_rank_start_at_random():
    S, _ = covariance_of(rng_of(13).normal(size=(3, 9)))
    found = CoordinateAscent(1.0)(S, 5, rng_of())
    assert found.matrix.shape[1] == 5


def test_float32_stays_float32():
    S, _ = covariance_of(rng_of(14).normal(size=(30, 6)).astype(np.float32))
    found = CoordinateAscent(1.0, tol=1e-5)(S, 2, rng_of())
    assert found.matrix.dtype == np.float32


def test_paper_units_convert_there_and_back():
    overlap, sparsity = scaled_penalties(2e7, 2e6, 3e8, 361)
    solver = CoordinateAscent(overlap, sparsity)
    alpha, beta = solver.penalties(361)
    assert alpha * 3e8 == pytest.approx(2e7)
    assert beta * 3e8 == pytest.approx(2e6)


def test_iterations_run_out_honestly():
    S, _ = covariance_of(rng_of(15).normal(size=(30, 6)))
    found = CoordinateAscent(1.0, max_iter=2, tol=0.0)(S, 2, rng_of())
    assert found.stop is Stop.MAX_ITER
    assert found.n_iter == 2


def test_module_names_what_it_exports():
    assert all(hasattr(coordinate_ascent, name) for name in coordinate_ascent.__all__)


@pytest.mark.parametrize("alpha", [0.5, 30.0])
def test_entries_with_a_price_reach_a_point_no_entry_can_improve(alpha):
    S, _ = covariance_of(rng_of(20).normal(size=(40, 9)) * np.linspace(0.5, 2, 9))
    solver = CoordinateAscent(alpha, 0.9, max_iter=5000, tol=1e-13, sparsity_norm="l0")
    found = solver(S, 3, rng_of())
    assert found.stop is Stop.CONVERGED
    assert (np.diff(found.objective) >= -1e-12 * np.abs(found.objective[1:])).all()
    U, price = found.details["raw"], solver.price(9)
    A = S.matrix / found.details["eigenvalue"]
    value = objective(A, U, alpha, 0.0, 0.1)
    assert price == pytest.approx(0.1)
    assert found.objective[-1] == pytest.approx(value)
    for s in range(9):
        for r in range(U.shape[1]):
            for entry in (0.0, 0.5 * U[s, r], 1.2 * U[s, r], 0.05, 0.4, 0.9):
                moved = U.copy()
                moved[s, r] = entry
                assert objective(A, moved, alpha, 0.0, price) <= value + 1e-7


@pytest.mark.parametrize("norm", ["l1", "l0"])
def test_a_total_size_is_kept_by_the_penalty_that_is_found(norm):
    S, _ = covariance_of(rng_of(21).normal(size=(50, 3)) @ rng_of(22).normal(size=(3, 14)))
    solver = CoordinateAscent(1.0, sparsity_norm=norm)
    dense = np.count_nonzero(solver(S, 3, rng_of()).matrix)
    for total in (6, 11, dense, 100):
        found = of_total_size(solver, S, 3, total, rng_of())
        assert total - 4 <= np.count_nonzero(found.matrix) <= total or total == 100
        penalty = found.details["sparsity_penalty"]
        again = replace(solver, sparsity_penalty=penalty)(S, 3, rng_of())
        np.testing.assert_array_equal(again.matrix, found.matrix)
        assert (penalty == 0.0) == (total >= dense)
