"""Moves of whole columns: never downhill, and the limit of disjoint parts is reached."""

from itertools import combinations, product

import numpy as np
import pytest

from loadstone import NSPCA
from loadstone.solvers.column_moves import largest_on_sphere, move_columns
from loadstone.solvers.coordinate_ascent_caches import GramProducts
from solvers.ascent_oracle import objective


def unit_covariance(seed, n_features):
    X = np.random.default_rng(seed).standard_normal((20, n_features))
    A = X.T @ X
    return A / np.linalg.eigvalsh(A)[-1]


@pytest.mark.parametrize("alpha", [0.1, 2.0, 1e3, 1e6])
@pytest.mark.parametrize("beta", [0.0, 0.05])
@pytest.mark.parametrize("seed", range(5))
def test_no_move_lowers_the_objective(seed, alpha, beta):
    A = unit_covariance(seed, 8)
    products = GramProducts(A, np.arange(8))
    U = np.abs(np.random.default_rng(seed).standard_normal((8, 3)))
    value = objective(A, U, alpha, beta)
    for _ in range(10):
        U = move_columns(products, U, alpha, beta)
        assert U.min() >= 0
        moved = objective(A, U, alpha, beta)
        assert moved >= value - 1e-12 * abs(value)
        value = moved


@pytest.mark.parametrize("seed", range(10))
def test_the_sphere_against_many_directions(seed):
    rng = np.random.default_rng(seed)
    slope, curvature = rng.standard_normal(4), rng.random(4) * 10.0 ** rng.uniform(-3, 3)
    curvature[0] = 0.0
    w = largest_on_sphere(slope, curvature, 0.7)
    if w is None:
        assert slope.max() <= 0
        return
    assert np.linalg.norm(w) == pytest.approx(0.7)
    others = (
        (slope > 0) * np.abs(rng.standard_normal((20_000, 4))) * rng.integers(0, 2, (20_000, 4))
    )
    others = others[others.any(axis=1)]
    others *= 0.7 / np.linalg.norm(others, axis=1, keepdims=True)
    values = others @ slope - 0.5 * others**2 @ curvature
    assert slope @ w - 0.5 * curvature @ w**2 >= values.max() - 1e-9


def largest_nonnegative(A):
    """``max v'Av`` over unit ``v >= 0``: the largest eigenvalue with a vector of one sign."""
    best = 0.0
    for size in range(1, len(A) + 1):
        for inside in combinations(range(len(A)), size):
            values, vectors = np.linalg.eigh(A[np.ix_(inside, inside)])
            if abs(np.sign(vectors[:, -1]).sum()) == size:
                best = max(best, float(values[-1]))
    return best


def value_of(A, labels):
    parts = [np.flatnonzero(labels == r) for r in np.unique(labels[labels >= 0])]
    return sum(largest_nonnegative(A[np.ix_(part, part)]) for part in parts)


@pytest.mark.parametrize("overlap_penalty", [10.0, 1e3, 1e6])
@pytest.mark.parametrize("seed", range(3))
def test_strong_orthogonality_finds_the_best_parts(seed, overlap_penalty):
    A = unit_covariance(40 + seed, 6)
    best = max(value_of(A, np.array(labels)) for labels in product(range(2), repeat=6))
    model = NSPCA(2, overlap_penalty=overlap_penalty, n_init=10).fit_covariance(A)
    assert model.stop_reason_[0].startswith("converged")
    owner = np.where(model.components_.any(axis=0), model.components_.argmax(axis=0), -1)
    assert value_of(A, owner) == pytest.approx(best, rel=1e-6)
