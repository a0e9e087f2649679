"""A small primal search inside the proofs: truncated power and a renormalised support."""

from __future__ import annotations

import numpy as np

from loadstone.certificates.problem import Array, SupportProblem


def improve(
    matrix: Array, problem: SupportProblem, directions: Array, n_steps: int = 40
) -> tuple[float, Array]:
    """Best variance and loadings reached from a few directions (as columns).

    ``matrix`` is the covariance on ``problem.features``; the loadings are aligned
    with it. Each direction is climbed by truncated power, then renormalised.
    """
    best, winner = -np.inf, np.zeros(matrix.shape[0])
    for direction in directions.T:
        support = _support(direction, problem)
        value, loading = renormalised(matrix, support, direction, nonnegative=problem.nonnegative)
        for _ in range(n_steps):
            following = _support(matrix @ loading, problem)
            candidate, moved = renormalised(
                matrix, following, matrix @ loading, nonnegative=problem.nonnegative
            )
            if candidate <= value * (1.0 + 1e-10) if value > 0 else candidate <= value:
                break
            value, loading = candidate, moved
        if value > best:
            best, winner = value, loading
    return best, winner


def _support(direction: Array, problem: SupportProblem) -> Array:
    """Forced features and the free ones with the largest allowed entries."""
    worth = np.maximum(direction, 0.0) if problem.nonnegative else np.abs(direction)
    worth = np.where(problem.forced, np.inf, worth)
    return np.sort(np.argsort(-worth, kind="stable")[: problem.n_nonzero])


def renormalised(
    matrix: Array, support: Array, direction: Array, *, nonnegative: bool
) -> tuple[float, Array]:
    """Best loadings on a fixed support: exact when signed, a KKT point when not."""
    block = matrix[np.ix_(support, support)]
    values, vectors = np.linalg.eigh(block)
    top = vectors[:, -1] * np.sign(vectors[:, -1].sum() or 1.0)
    if nonnegative and top.min() < 0:
        top = _climb_nonnegative(block, direction[support], values)
    loading = np.zeros(matrix.shape[0])
    loading[support] = top
    return float(top @ block @ top), loading


def _climb_nonnegative(block: Array, direction: Array, values: Array) -> Array:
    """Projected power on ``block``; leading eigenvectors of positive sets where they fit."""
    start = np.maximum(direction, 0.0)
    if not start.any():
        start = np.eye(block.shape[0])[int(np.argmax(block.diagonal()))]
    w = start / np.linalg.norm(start)
    shift = max(0.0, -float(values[0]))
    for step in range(200):
        moved = np.maximum(block @ w + shift * w, 0.0)
        length = np.linalg.norm(moved)
        if length == 0:
            break
        moved /= length
        settled = np.abs(moved - w).max() < 1e-13
        w = moved
        if step % 10 == 9 or settled:
            positive = np.flatnonzero(w > 1e-9)
            face = np.linalg.eigh(block[np.ix_(positive, positive)])[1][:, -1]
            face = face * np.sign(face.sum() or 1.0)
            if face.min() >= 0:
                w = np.zeros_like(w)
                w[positive] = face
                if ((block @ w)[w == 0] <= 1e-12 * abs(values).max()).all():
                    break
        if settled:
            break
    return np.asarray(w)
