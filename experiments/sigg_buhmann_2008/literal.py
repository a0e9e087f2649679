"""The paper's formulas as they are printed, without a line of the package.

Notation: ``f = X'Xw`` (Eq. 12), ``s`` its absolute entries in descending order, ``K`` the size.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from experiments.data import Matrix


def m_step(f: Matrix, size: int, *, nonnegative: bool = False) -> Matrix:
    """Algorithm 2: add ``s_k - s_{K+1}`` to the K largest, give the signs back, normalise."""
    magnitude = np.maximum(f, 0.0) if nonnegative else np.abs(f)
    order = np.argsort(-magnitude, kind="stable")
    beyond = magnitude[order[size]] if size < f.size else 0.0
    w = np.zeros_like(f)
    w[order[:size]] = magnitude[order[:size]] - beyond
    return np.asarray(w * np.sign(f) / np.linalg.norm(w))


def iterates(
    X: Matrix, start: Matrix, size: int, eps: float, *, nonnegative: bool = False, most: int = 500
) -> Iterator[Matrix]:
    """All iterates of Algorithm 2, the start left out, until ``|w'w_old| > 1 - eps``."""
    w = start
    for _ in range(most):
        new = m_step(X.T @ (X @ w), size, nonnegative=nonnegative)
        yield new
        if abs(float(new @ w)) > 1.0 - eps:
            return
        w = new


def first_component(X: Matrix) -> Matrix:
    """The first principal component, through the smaller of the two Gram matrices."""
    if X.shape[0] >= X.shape[1]:
        return np.asarray(np.linalg.eigh(X.T @ X)[1][:, -1])
    v = X.T @ np.linalg.eigh(X @ X.T)[1][:, -1]
    return np.asarray(v / np.linalg.norm(v))


def axis_walk(f: Matrix, size: int, step: float, *, nonnegative: bool = False) -> list[Matrix]:
    """Prop. 3.1 step by step: always along the largest entry of ``f - w``, in the orthant of f.

    Ends where one more step would bring in an entry beyond ``size``.
    """
    goal = np.maximum(f, 0.0) if nonnegative else np.abs(f)
    w = np.zeros_like(goal)
    path = [w.copy()]
    while True:
        i = int(np.argmax(goal - w))
        if goal[i] - w[i] < step or (w[i] == 0 and np.count_nonzero(w) == size):
            return path
        w[i] += step
        path.append(w.copy())
