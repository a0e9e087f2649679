"""Every part of the search against a formula or a dense computation."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loadstone.constraints import LoadingConstraint
from loadstone.covariance import covariance_of
from loadstone.solvers.em import EM
from loadstone.solvers.search import em_support as em_module
from loadstone.solvers.search import running_top, spaces, tiles
from loadstone.solvers.search.eigenvectors import search_eigenvectors
from loadstone.solvers.search.running_top import top_of
from loadstone.solvers.search.screen import Thresholds, best_and_leaders, densities, thresholds
from loadstone.solvers.search.search import Search
from loadstone.solvers.search.spaces import by_columns, space_of
from loadstone.solvers.search.tiles import tiles_of
from solvers.search.blocks import dense_rows, random_block
from solvers.search.covariances import data, deflated, kinds, matrix_of

RNG = np.random.default_rng
KINDS = ["C", "F", "csr", "csc", "mapped", "gram", "low rank"]


@given(
    seed=st.integers(0, 10_000),
    k=st.integers(1, 12),
    nonnegative=st.booleans(),
    width=st.integers(1, 40),
    tied=st.booleans(),
    soft=st.booleans(),
)
@settings(max_examples=150, deadline=None)
def test_running_top_is_the_step_of_the_constraint(seed, k, nonnegative, width, tied, soft):
    rng, p = RNG(seed), 30
    R = rng.integers(-3, 3, (5, p)).astype(float) if tied else rng.standard_normal((5, p))
    R[0] = -np.abs(R[0]) - 1
    forced = rng.permutation(p)[: rng.integers(0, min(k, 3) + 1)]
    forbidden = np.setdiff1d(rng.permutation(p)[: rng.integers(0, 5)], forced)
    constraint = LoadingConstraint(p, k, nonnegative, np.sort(forced), forbidden)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(running_top, "FEATURES_PER_BLOCK", width)
        block = top_of(lambda lo, hi: R[:, lo:hi], p, constraint, soft=soft)
    step = constraint.shrunken_loading if soft else constraint.best_loading
    expected = step(R.T).T
    # Where forced features fill every place and none may grow, the constraint's own step
    # takes a feature beyond them.
    rows = [row for row, w in enumerate(expected) if constraint.allows(w)]
    np.testing.assert_allclose(dense_rows(block, p)[rows], expected[rows], atol=1e-14)
    assert all(constraint.allows(w) for w in dense_rows(block, p))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("copied", [False, True])
@pytest.mark.parametrize("rule", [None, "schur", "projection", "hotelling"])
@pytest.mark.parametrize("kind", KINDS)
def test_scores_values_and_images(kind, rule, copied, weighted, tmp_path, monkeypatch):
    X = data()
    weights = RNG(1).integers(1, 4, len(X)).astype(float) if weighted else None
    S = kinds(X, tmp_path, weights)[kind]
    S = S if rule is None else deflated(S, rule)
    if not copied:
        monkeypatch.setattr(spaces, "CENTRED_BYTES", 0)
    A, space = matrix_of(S), space_of(by_columns(S))
    block = random_block(RNG(2), 6, S.n_features, 5)
    W = dense_rows(block, S.n_features)
    Y = space.scores(block)
    np.testing.assert_allclose(
        space.values(block, Y), np.einsum("ij,jk,ik->i", W, A, W), atol=1e-10
    )
    np.testing.assert_allclose(space.images(Y, 7, 31), (W @ A)[:, 7:31], atol=1e-10)
    some = np.stack([RNG(row).permutation(S.n_features)[:9] for row in range(6)])
    at = np.take_along_axis(W @ A, some, axis=1)
    np.testing.assert_allclose(space.images_at(Y, some), at, atol=1e-10)
    entries = np.stack(
        [A[np.ix_(left, right)] for left, right in zip(some, block.indices, strict=True)]
    )
    np.testing.assert_allclose(space.entries(some, block.indices), entries, atol=1e-10)


@pytest.mark.parametrize("rule", [None, "schur", "projection"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_eigenvectors(kind, weighted, rule, tmp_path):
    X = data(p=120)
    weights = RNG(1).integers(1, 4, len(X)).astype(float) if weighted else None
    S = kinds(X, tmp_path, weights)[kind]
    S = S if rule is None else deflated(S, rule)
    V = search_eigenvectors(S, 4)
    expected = np.linalg.eigh(matrix_of(S))[1][:, ::-1][:, :4]
    np.testing.assert_allclose(np.linalg.norm(V, axis=0), 1)
    cosines = np.abs(np.einsum("ij,ij->j", V, expected))
    assert cosines[0] > 1 - (1e-10 if kind != "mapped" else 1e-4)
    assert (cosines > 0.99).all()
    assert (np.sum(V**3, axis=0) > 0).all()


@pytest.mark.parametrize("nonnegative", [False, True])
@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("rule", [None, "schur"])
@pytest.mark.parametrize("kind", ["C", "csr", "gram", "low rank", "mapped"])
def test_densities_are_the_sums_above_the_thresholds(
    kind, rule, standardize, nonnegative, tmp_path, monkeypatch
):
    monkeypatch.setattr("loadstone.solvers.search.screen.TILE", 16)
    S = kinds(data(), tmp_path, standardize=standardize)[kind]
    S = S if rule is None else deflated(S, rule)
    A = matrix_of(S)
    features = np.setdiff1d(np.arange(S.n_features), [3, 20])
    found = tiles_of(S, features, 1e12)
    A = A[np.ix_(features, features)] / A.diagonal()[features].max()
    signed = np.maximum(A, 0) if nonnegative else A
    x = signed**2 / A.diagonal()
    found_densities = densities(found, Thresholds(0.1, 0.3), nonnegative=nonnegative)
    for threshold, q in zip((0.1, 0.3), found_densities, strict=True):
        expected = np.maximum(x - threshold, 0).sum(axis=0)
        np.testing.assert_allclose(q, expected, rtol=2e-4, atol=2e-5)


def test_a_threshold_makes_the_sum_of_the_largest():
    x = RNG(0).random(30)
    for k in (1, 4, 30):
        largest = np.sort(x)[-k:]
        at = [k * t + np.maximum(x - t, 0).sum() for t in x]
        assert min(at) == pytest.approx(largest.sum())
        assert k * largest[0] + np.maximum(x - largest[0], 0).sum() == pytest.approx(largest.sum())


def test_thresholds_of_a_column():
    column, k = np.array([0.9, -0.8, 0.1, 2.0, 0.5]), 3
    at = thresholds(column, 2.0, 3, k)
    x = column**2 / 2
    assert at.low == pytest.approx(x[1])
    assert at.high == pytest.approx((x[0] + x[1] + x[4]) / 3) or at.high == pytest.approx(x[1])
    assert at.high >= at.low


@pytest.mark.parametrize("kind", ["C", "csr", "mapped"])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_sketch_keeps_lengths_and_roughly_angles(kind, weighted, tmp_path, monkeypatch):
    X = data(n=3000, p=30)
    weights = RNG(1).integers(1, 4, len(X)).astype(float) if weighted else None
    S = kinds(X, tmp_path, weights)[kind]
    monkeypatch.setattr(tiles, "SKETCH_ROWS", 128)
    found = tiles_of(S, np.arange(30), 30**2 * 3000.0)
    assert found.factor.shape == (30, 128)
    everything = slice(0, 30)
    entries, A = found.tile(everything, everything), matrix_of(S)
    np.testing.assert_allclose(entries.diagonal(), 1, atol=1e-5)
    assert np.abs(entries - A).max() < 5 / np.sqrt(128)


def test_a_small_budget_looks_at_the_largest_variances_first():
    X = RNG(0).standard_normal((20, 600)) * np.linspace(1, 5, 600)
    S, _ = covariance_of(X, route="data")
    found = tiles_of(S, np.arange(600), 100.0**2 * 20)
    assert found.n_features == 100
    variance = S.diagonal()
    left_out = np.setdiff1d(np.arange(600), found.features)
    assert variance[left_out].max() <= 1.03 * variance[found.features].min()
    assert tiles_of(S, np.arange(600), 1e12, 50).n_features == 50


def test_leaders_are_apart_and_the_best_are_not():
    rng = RNG(0)
    groups = np.repeat(rng.standard_normal((50, 5)), 8, axis=1)
    S, _ = covariance_of(groups + 0.1 * rng.standard_normal(groups.shape), standardize=True)
    found = tiles_of(S, np.arange(40), 1e12)
    density = densities(found, Thresholds(0.2, 0.5), nonnegative=False)[0]
    best, leaders = best_and_leaders(found, density, 5, 5, nonnegative=False)
    assert sorted(leaders // 8) == [0, 1, 2, 3, 4]
    assert density[best].min() >= np.sort(density)[-5]


@pytest.mark.parametrize("nonnegative", [False, True])
@pytest.mark.parametrize("k", [1, 3, 17])
@pytest.mark.parametrize("rule", [None, "schur"])
def test_em_ends_where_em_ends(k, nonnegative, rule, monkeypatch):
    monkeypatch.setattr(em_module, "NEAR", 24)
    monkeypatch.setattr(em_module, "NEAR_PER_PLACE", 2)
    S, _ = covariance_of(data(n=30, p=200), route="data", standardize=True)
    S = S if rule is None else deflated(S, rule)
    constraint = LoadingConstraint(200, k, nonnegative)
    expected = EM()(S, constraint, RNG(0)).matrix
    found = Search(S, constraint).em
    supports = {found.support(row).tobytes() for row in range(len(found))}
    assert supports == {np.flatnonzero(w).tobytes() for w in expected.T}
