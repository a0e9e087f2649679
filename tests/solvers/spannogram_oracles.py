"""Slow and simple twins of the spannogram, for the tests."""

from __future__ import annotations

import itertools

import numpy as np


def all_masks(n):
    return np.array(list(itertools.product([False, True], repeat=n)))[1:]


def brute_force(V, n_nonzero, nonnegative):
    """Best variance under V V' over all supports and all stationary points on them."""
    n, d = V.shape
    masks = all_masks(n)
    masks = masks[masks.sum(axis=1) <= n_nonzero]
    grams = (masks.astype(float) @ (V[:, :, None] * V[:, None, :]).reshape(n, -1)).reshape(-1, d, d)
    values, vectors = np.linalg.eigh(grams)
    if not nonnegative:
        return values[:, -1].max()
    best = 0.0
    scale = np.linalg.norm(V, axis=1).max()
    for a in range(d):
        heights = np.where(masks, vectors[:, :, a] @ V.T, 0.0)
        one_sided = (heights >= -1e-11 * scale).all(axis=1) | (heights <= 1e-11 * scale).all(axis=1)
        best = max(best, values[one_sided, a].max(initial=0.0))
    return best


def inner_problem(R):
    """(P_d) by the plain recursion of Section 5: value and direction, (0, None) if infeasible."""
    k, d = R.shape
    if d == 0:
        return 0.0, None
    values, vectors = np.linalg.eigh(R.T @ R)
    u = vectors[:, -1]
    limit = 1e-9 * np.linalg.norm(R, axis=1)
    for side in (1.0, -1.0):
        if (side * (R @ u) >= -limit).all():
            return float(values[-1]), side * u
    best, direction = 0.0, None
    if d == 1:
        return best, direction
    for i in range(k):
        if not R[i].any():
            continue
        basis = np.linalg.svd(R[i][None, :])[2][1:].T
        value, c = inner_problem(np.delete(R, i, axis=0) @ basis)
        if c is not None and value > best:
            best, direction = value, basis @ c
    return best, direction


def g_squared(V, c, n_nonzero, nonnegative):
    heights = np.maximum(V @ c, 0.0) if nonnegative else np.abs(V @ c)
    return float(np.sum(np.sort(heights)[::-1][:n_nonzero] ** 2))


def selected_support(V, c, n_nonzero, nonnegative):
    heights = np.maximum(V @ c, 0.0) if nonnegative else np.abs(V @ c)
    top = np.argsort(-heights, kind="stable")[:n_nonzero]
    return frozenset(top[heights[top] > 0].tolist())


KINDS = ("generic", "decaying", "duplicates", "parallel", "zero rows", "lattice")


def make_rows(kind, n, d, rng):
    """A matrix of full column rank with the peculiarity in its name."""
    while True:
        V = rng.standard_normal((n, d))
        half = n // 2
        if kind == "decaying":
            V *= 3.0 ** -np.arange(d)
        elif kind == "duplicates":
            V[half:] = V[: n - half]
        elif kind == "parallel":
            V[half:] = V[: n - half] * rng.choice([-1.0, 2.0, -0.5], size=(n - half, 1))
        elif kind == "zero rows":
            V[rng.permutation(n)[: n // 3]] = 0.0
        elif kind == "lattice":
            V = rng.integers(-1, 2, size=(n, d)).astype(float)
        if np.linalg.matrix_rank(V) == d:
            return V
