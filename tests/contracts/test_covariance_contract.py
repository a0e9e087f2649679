"""Containers x routes x scaling x weights x deflations x members, against dense formulas."""

import numpy as np
import pytest

from loadstone.covariance import (
    DEFLATION_NAMES,
    ROUTES,
    Covariance,
    LowRankCovariance,
    covariance_of,
    deflate,
    leading_eigenpairs,
    variances_of,
)
from loadstone.covariance.deflated import ORTHOGONALISED
from registry import containers

SHAPES = {"tall": (40, 12), "wide": (12, 40)}
CONTAINERS = containers()


def dense_covariance(X, weights, *, standardize):
    S = np.cov(X.T, fweights=weights)
    if standardize:
        std = np.sqrt(S.diagonal())
        S = S / np.outer(std, std)
    return S


def make_data(shape, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal(shape) + 2 * rng.standard_normal((shape[0], 1))
    X += 3.0
    X[rng.random(shape) < 0.3] = 0
    return X


def unit(rng, p):
    w = rng.standard_normal(p)
    return w / np.linalg.norm(w)


def assert_members_agree(S, expected, tol):
    assert isinstance(S, Covariance)
    p = expected.shape[0]
    rng = np.random.default_rng(1)
    W = rng.standard_normal((p, 3))
    few = np.zeros((p, 2))
    few[[1, 3]] = rng.standard_normal((2, 2))
    rows, cols = np.array([0, 4, 5]), np.array([1, 4, 6, 7])
    scale = tol * np.abs(expected).max() * p
    np.testing.assert_allclose(S @ W, expected @ W, atol=scale)
    np.testing.assert_allclose(S @ few, expected @ few, atol=scale)
    np.testing.assert_allclose(S @ W[:, 0], expected @ W[:, 0], atol=scale)
    np.testing.assert_allclose(S.diagonal(), expected.diagonal(), atol=scale)
    np.testing.assert_allclose(S.block(rows, cols), expected[np.ix_(rows, cols)], atol=scale)
    part = S.restrict(cols)
    assert part.n_features == cols.size
    np.testing.assert_allclose(part @ W[:4], expected[np.ix_(cols, cols)] @ W[:4], atol=scale)
    np.testing.assert_allclose(
        variances_of(S, W), np.einsum("ij,ij->j", W, expected @ W), atol=10 * scale
    )
    assert S.n_features == p


@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("route", [r for r in ROUTES if r != "auto"])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("container", CONTAINERS)
def test_members_agree_with_dense_formulas(
    container, shape, route, weighted, standardize, tmp_path
):
    X = make_data(SHAPES[shape])
    weights = np.random.default_rng(2).integers(0, 4, X.shape[0]) if weighted else None
    expected = dense_covariance(X, weights, standardize=standardize)
    S, moments = covariance_of(
        CONTAINERS[container](X, tmp_path),
        route=route,
        standardize=standardize,
        sample_weight=None if weights is None else weights.astype(float),
    )
    assert_members_agree(S, expected, 1e-12)
    np.testing.assert_allclose(moments.mean, np.average(X, axis=0, weights=weights), rtol=1e-12)
    assert S.n_samples == pytest.approx(X.shape[0] if weights is None else weights.sum())


@pytest.mark.parametrize("route", [r for r in ROUTES if r != "auto"])
@pytest.mark.parametrize("container", CONTAINERS)
def test_float32_stays_float32(container, route, tmp_path):
    X = make_data(SHAPES["tall"]).astype(np.float32)
    S, _ = covariance_of(CONTAINERS[container](X, tmp_path), route=route)
    expected = dense_covariance(X.astype(float), None, standardize=False)
    assert S.dtype == np.float32
    assert (S @ np.ones((12, 2), dtype=np.float32)).dtype == np.float32
    assert S.diagonal().dtype == np.float32
    assert_members_agree(S, expected, 1e-6)


def deflated_by_hand(S, w, rule, earlier):
    if rule in ORTHOGONALISED:
        Q = np.linalg.qr(np.column_stack(earlier))[0] if earlier else np.zeros((w.size, 0))
        w = w - Q @ (Q.T @ w)
        w = w / np.linalg.norm(w)
        rule = ORTHOGONALISED[rule]
    if rule == "projection":
        P = np.eye(w.size) - np.outer(w, w)
        return P @ S @ P
    if rule == "hotelling":
        return S - (w @ S @ w) * np.outer(w, w)
    return S - np.outer(S @ w, S @ w) / (w @ S @ w)


@pytest.mark.parametrize("rule", DEFLATION_NAMES)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("route", ["gram", "data"])
@pytest.mark.parametrize("container", CONTAINERS)
def test_deflations_agree_with_dense_formulas(container, route, shape, rule, tmp_path):
    X = make_data(SHAPES[shape])
    expected = dense_covariance(X, None, standardize=False)
    S, _ = covariance_of(CONTAINERS[container](X, tmp_path), route=route)
    rng = np.random.default_rng(3)
    removed = []
    for _ in range(2):
        w = unit(rng, X.shape[1])
        expected = deflated_by_hand(expected, w, rule, removed)
        S = deflate(S, w, rule, np.column_stack(removed) if removed else None)
        removed.append(w)
    assert_members_agree(S, expected, 1e-11)


@pytest.mark.parametrize("rank", [1, 3])
@pytest.mark.parametrize("deflated", [False, True])
@pytest.mark.parametrize("shape", ["tall", "wide", "larger"])
@pytest.mark.parametrize("route", ["gram", "data"])
@pytest.mark.parametrize("container", CONTAINERS)
def test_leading_eigenpairs(container, route, shape, deflated, rank, tmp_path):
    X = make_data(SHAPES.get(shape, (150, 130)))
    expected = dense_covariance(X, None, standardize=False)
    S, _ = covariance_of(CONTAINERS[container](X, tmp_path), route=route)
    if deflated:
        w = unit(np.random.default_rng(4), X.shape[1])
        S, expected = deflate(S, w), deflated_by_hand(expected, w, "projection", [])
    values, vectors = leading_eigenpairs(S, rank)
    top = np.linalg.eigvalsh(expected)[::-1]
    np.testing.assert_allclose(values, top[:rank], atol=1e-9 * top[0])
    np.testing.assert_allclose(expected @ vectors, vectors * values, atol=1e-6 * top[0])
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(rank), atol=1e-8)


def test_low_rank_members():
    rng = np.random.default_rng(5)
    V = np.linalg.qr(rng.standard_normal((15, 3)))[0]
    values = np.array([3.0, 2.0, 0.5])
    S = LowRankCovariance(V, values, 10.0)
    assert_members_agree(S, (V * values) @ V.T, 1e-12)
    found, vectors = leading_eigenpairs(S, 5)
    np.testing.assert_allclose(found, [3, 2, 0.5, 0, 0], atol=1e-12)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(5), atol=1e-10)
