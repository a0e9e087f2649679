"""The wide route: strips, the Gram matrix of samples, what comes from it, and who wants in."""

from itertools import pairwise

import dask.array as da
import numpy as np
import pytest
from scipy import sparse

from loadstone.covariance import (
    SampleGram,
    covariance_of,
    deflate,
    leading_eigenpairs,
    leading_eigenvalues,
    sample_gram,
    score_moments,
)
from loadstone.covariance.best_columns import BestColumns
from loadstone.covariance.strips import strips_of
from loadstone.covariance.twins import N_BITS, codes_of, near_twins
from loadstone.covariance.working_set import Prices, price


def wide(n_samples=12, n_features=90, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_samples, n_features)) * rng.uniform(0.5, 2, n_features) + 5
    X[:, 7] = 3.0
    return X


def dense(X, *, standardize=False, weights=None):
    S = np.cov(X.T, fweights=weights)
    if standardize:
        std = np.where(S.diagonal() > 0, np.sqrt(S.diagonal()), 1)
        S = S / np.outer(std, std)
    return S


def wide_covariance(X, **how):
    S, _ = covariance_of(X, route="wide", **how)
    assert isinstance(S, SampleGram)
    return S


@pytest.mark.parametrize("chunks", [(12, 90), (12, 17), (5, 40), (4, (1, 60, 29))])
@pytest.mark.parametrize("as_sparse", [False, True])
def test_strips_of_any_chunks_cover_the_matrix_in_order(chunks, as_sparse):
    X = wide()
    array = da.from_array(X, chunks=chunks)
    if as_sparse:
        array = array.map_blocks(sparse.csr_array, meta=sparse.csr_array((0, 0), dtype=X.dtype))
    largest = max(array.chunks[0]) * max(array.chunks[1])
    whole, widths = strips_of(array).fold(_whole, _joined)
    np.testing.assert_array_equal(whole, X)
    assert max(widths) * X.shape[0] <= max(largest, X.shape[0])


def _whole(strip, features):
    assert strip.shape[1] == features.stop - features.start
    return strip, [strip.shape[1]]


def _joined(left, right):
    return np.hstack([left[0], right[0]]), left[1] + right[1]


@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_gram_matrix_has_the_eigenvalues_of_the_covariance(standardize, weighted):
    X = wide()
    weights = np.random.default_rng(1).integers(0, 4, X.shape[0]) if weighted else None
    S = wide_covariance(X, standardize=standardize, sample_weight=weights)
    expected = np.linalg.eigvalsh(dense(X, standardize=standardize, weights=weights))[::-1]
    np.testing.assert_allclose(np.linalg.eigvalsh(S.gram)[::-1], expected[:12], atol=1e-10)
    np.testing.assert_allclose(leading_eigenvalues(S, 5), expected[:5], rtol=1e-10)


def test_a_large_mean_costs_no_digits():
    X = wide() - 5
    S = wide_covariance(X + 1e6)
    np.testing.assert_allclose(S.gram, wide_covariance(X).gram, atol=1e-8)


def test_the_rounding_of_a_large_mean_is_taken_out_in_single_precision():
    X = (np.random.default_rng(5).standard_normal((3, 6)) + 1e5).astype(np.float32)
    weights = np.array([0.0, 0.5, 3.0])
    S, _ = covariance_of(X, sample_weight=weights, route="wide")
    Z = X.astype(float) - weights @ X.astype(float) / weights.sum()
    exact = Z.T @ (weights[:, None] * Z) / (weights.sum() - 1)
    # Features that vary less than the rounding of their mean count as constant.
    kept = np.flatnonzero(S.diagonal())
    assert kept.size >= 2
    found = (S @ np.eye(6, dtype=np.float32))[np.ix_(kept, kept)]
    np.testing.assert_allclose(found, exact[np.ix_(kept, kept)], rtol=1e-5)


@pytest.mark.parametrize("rule", ["schur", "projection", "hotelling"])
def test_eigenpairs_of_a_deflated_covariance_come_from_the_samples(rule):
    X = wide()
    S, matrix = wide_covariance(da.from_array(X, chunks=(12, 20))), dense(X)
    rng = np.random.default_rng(3)
    left, W = S, np.empty((90, 0))
    for _ in range(2):
        w = np.zeros(90)
        w[rng.choice(90, 4, replace=False)] = rng.standard_normal(4)
        w /= np.linalg.norm(w)
        left = deflate(left, w, rule, W)
        Sw = matrix @ w
        if rule == "schur":
            matrix = matrix - np.outer(Sw, Sw) / (w @ Sw)
        elif rule == "hotelling":
            matrix = matrix - (w @ Sw) * np.outer(w, w)
        else:
            P = np.eye(90) - np.outer(w, w)
            matrix = P @ matrix @ P
        W = np.column_stack([W, w])
    values, vectors = leading_eigenpairs(left, 3)
    expected = np.linalg.eigvalsh(matrix)[::-1][:3]
    np.testing.assert_allclose(values, expected, rtol=1e-9)
    np.testing.assert_allclose(matrix @ vectors, vectors * values, atol=1e-8)


@pytest.mark.parametrize("unit", [1e-5, 1.0, 1e5])
@pytest.mark.parametrize("rule", ["schur", "projection", "hotelling"])
def test_eigenpairs_of_a_deflated_covariance_do_not_hang_on_the_unit(rule, unit):
    X = (unit * wide()).astype(np.float32)
    S, matrix = wide_covariance(X), dense(X.astype(float))
    w = np.zeros(90)
    w[[3, 9, 40, 60]] = 0.5
    Sw = matrix @ w
    P = np.eye(90) - np.outer(w, w)
    expected = {
        "schur": matrix - np.outer(Sw, Sw) / (w @ Sw),
        "hotelling": matrix - (w @ Sw) * np.outer(w, w),
        "projection": P @ matrix @ P,
    }[rule]
    values = leading_eigenpairs(deflate(S, w.astype(np.float32), rule), 3)[0]
    np.testing.assert_allclose(values, np.linalg.eigvalsh(expected)[::-1][:3], rtol=1e-4)


def test_scores_say_what_components_recover_of_all_features():
    X = wide()
    S, matrix = wide_covariance(X), dense(X)
    W = np.zeros((90, 2))
    W[[3, 9, 40], 0] = W[[9, 60], 1] = 0.5
    G, M = score_moments(S, W)
    np.testing.assert_allclose(G, W.T @ matrix @ W, atol=1e-10)
    np.testing.assert_allclose(M, W.T @ matrix @ matrix @ W, atol=1e-8)


def test_columns_are_read_once_and_refused_where_they_do_not_fit(monkeypatch):
    X = wide()
    S = wide_covariance(X)
    np.testing.assert_array_equal(S.columns(np.array([2, 5, 80])), X[:, [2, 5, 80]])
    np.testing.assert_array_equal(S.known.features, [2, 5, 80])
    monkeypatch.setattr(sample_gram, "MAX_COLUMN_BYTES", 12 * 8 * 10)
    np.testing.assert_array_equal(S.columns(np.arange(20, 29)), X[:, 20:29])
    assert S.known.features.size <= 10
    with pytest.raises(MemoryError, match="11 features of 12 samples"):
        S.columns(np.arange(11))


def test_most_features_alone_stay_out_of_core(monkeypatch):
    X = wide()
    S = wide_covariance(X)
    monkeypatch.setattr(sample_gram, "MAX_COLUMN_BYTES", 12 * 8 * 10)
    kept = np.setdiff1d(np.arange(90), [7, 11, 30])
    part = S.restrict(kept)
    assert isinstance(part, SampleGram)
    expected = dense(X)[np.ix_(kept, kept)]
    W = np.random.default_rng(0).standard_normal((87, 2))
    np.testing.assert_allclose(part @ W, expected @ W, atol=1e-9)
    np.testing.assert_allclose(part.diagonal(), expected.diagonal(), atol=1e-10)
    values = leading_eigenpairs(part, 2)[0]
    np.testing.assert_allclose(values, np.linalg.eigvalsh(expected)[::-1][:2], rtol=1e-9)


def test_the_best_columns_do_not_depend_on_the_strips():
    rng = np.random.default_rng(0)
    X, worth = rng.standard_normal((4, 60)), rng.standard_normal((3, 60)).round(1)
    asked = np.zeros(60, dtype=bool)
    asked[[11, 50]] = True
    quotas = np.array([3, 0, 5])
    expected = {11, 50}
    for row, quota in zip(worth, quotas, strict=True):
        expected |= set(sorted(range(60), key=lambda i, row=row: (-row[i], i))[:quota])
    for edges in ([0, 60], [0, 1, 60], [0, 20, 41, 60]):
        parts = [
            BestColumns.of(X[:, a:b], a, worth[:, a:b], asked[a:b], quotas)
            for a, b in pairwise(edges)
        ]
        found = parts[0]
        for part in parts[1:]:
            found = found.merged(part)
        assert set(found.features) == expected
        np.testing.assert_array_equal(found.values, X[:, found.features])


def test_pricing_brings_in_who_beats_the_weakest():
    X = wide(n_features=300, seed=4)
    S, matrix = wide_covariance(da.from_array(X, chunks=(12, 70))), dense(X)
    inside = np.arange(0, 40)
    S.columns(inside)
    w = np.zeros(300)
    w[[3, 8, 20]] = [0.6, -0.6, 0.5]
    weakest = np.abs(matrix @ w)[[3, 8, 20]].min()
    beating = set(np.flatnonzero(np.abs(matrix @ w) > weakest)) - set(inside) - {100}
    prices = Prices(S.scores(w)[:, None], np.array([weakest]), np.array([3]), np.array([False]))
    brought, wanting = price(S, prices, np.array([100]))
    assert wanting == len(beating)
    ranked = sorted(beating, key=lambda i: -abs(matrix[i] @ w))
    assert set(ranked[:8]) <= set(brought) <= set(S.known.features)
    assert 100 not in brought


def test_near_twins_are_found_and_strangers_are_not():
    rng = np.random.default_rng(0)
    Z = rng.standard_normal((80, 4000))
    twins = np.array([5, 700, 1999, 3500])
    Z[:, twins] = rng.standard_normal((80, 1)) + 0.2 * rng.standard_normal((80, 4))
    Z[:, 700] *= -1
    Z -= Z.mean(axis=0)
    found = near_twins(codes_of(Z, rng.standard_normal((80, N_BITS))), 100)
    np.testing.assert_array_equal(np.intersect1d(found, twins), twins)
    assert found.size <= twins.size + 4


def test_few_of_many_twins_are_the_closest_and_the_most():
    rng = np.random.default_rng(0)
    Z = rng.standard_normal((80, 2000))
    Z[:, :40] = rng.standard_normal((80, 1)) + 0.3 * rng.standard_normal((80, 40))
    Z[:, [100, 200]] = rng.standard_normal((80, 1)) + 0.01 * rng.standard_normal((80, 2))
    found = near_twins(codes_of(Z, rng.standard_normal((80, N_BITS))), 10)
    assert {100, 200} <= set(found.tolist())
    assert np.isin(found, np.arange(40)).sum() >= 5
