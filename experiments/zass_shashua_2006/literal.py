"""The paper's formulas coded straight from the print, and brute force where it can be had.

Notation: ``U`` (features x components), ``A`` the covariance, as in Eqs. 1 to 5.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def coefficients(
    A: Array, U: Array, s: int, r: int, alpha: float, beta: float
) -> tuple[float, float]:
    """c2 and c1 of Eq. 4 for the entry (s, r), nothing cached."""
    i = np.delete(np.arange(U.shape[1]), r)
    j = np.delete(np.arange(U.shape[0]), s)
    c2 = A[s, s] + alpha * (1 - np.sum(U[j, r] ** 2) - np.sum(U[s, i] ** 2))
    c1 = A[s, j] @ U[j, r] - alpha * np.sum(U[s, i] * (U[j, r] @ U[np.ix_(j, i)])) - beta
    return float(c2), float(c1)


def best_entry(c2: float, c1: float, alpha: float) -> float:
    """The maximiser of Eq. 4 over the non-negative roots of Eq. 5 and zero."""
    roots = np.roots([-alpha, 0.0, c2, c1])
    real = roots[np.abs(roots.imag) < 1e-9 * (1 + np.abs(roots))].real
    candidates = np.append(real[real > 0], 0.0)
    values = -alpha / 4 * candidates**4 + c2 / 2 * candidates**2 + c1 * candidates
    return float(candidates[np.argmax(values)])


def objective(A: Array, U: Array, alpha: float, beta: float) -> float:
    """Eq. 3."""
    apart = np.sum((np.eye(U.shape[1]) - U.T @ U) ** 2)
    return float(0.5 * np.trace(U.T @ A @ U) - alpha / 4 * apart - beta * U.sum())


def sweeps(A: Array, U: Array, alpha: float, beta: float, n: int) -> tuple[Array, list[float]]:
    """Algorithm 1: ``n`` times over all entries; the objective after each time."""
    U = U.copy()
    trace = [objective(A, U, alpha, beta)]
    for _ in range(n):
        for r in range(U.shape[1]):
            for s in range(U.shape[0]):
                U[s, r] = best_entry(*coefficients(A, U, s, r, alpha, beta), alpha)
        trace.append(objective(A, U, alpha, beta))
    return U, trace


def values_of_supports(A: Array) -> dict[tuple[int, ...], float]:
    """The largest ``v'Av`` of non-negative unit vectors on every set of features."""
    value: dict[tuple[int, ...], float] = {(): 0.0}
    for size in range(1, len(A) + 1):
        for support in combinations(range(len(A)), size):
            eigenvalues, vectors = np.linalg.eigh(A[np.ix_(support, support)])
            v = vectors[:, -1]
            alone = float(eigenvalues[-1]) if v.min() >= 0 or v.max() <= 0 else -np.inf
            smaller = max(value[tuple(f for f in support if f != out)] for out in support)
            value[support] = max(alone, smaller)
    return value


def best_parts(value: dict[tuple[int, ...], float]) -> float:
    """The optimum of Eq. 1 for two components, by going through all pairs of disjoint supports."""
    every = frozenset(feature for support in value for feature in support)
    return max(v + value[tuple(sorted(every - set(s)))] for s, v in value.items())


def value_of_parts(value: dict[tuple[int, ...], float], W: Array) -> float:
    """What the parts are worth that ``W`` divides the features into, each left to its largest."""
    owner = np.where(W.max(axis=1) > 0, W.argmax(axis=1), -1)
    return sum(value[tuple(int(f) for f in np.flatnonzero(owner == r))] for r in range(W.shape[1]))


def random_covariance(rng: np.random.Generator, n_features: int, n_samples: int = 30) -> Array:
    """A covariance whose largest eigenvalue is 1."""
    X = rng.standard_normal((n_samples, n_features)) @ rng.standard_normal((n_features, n_features))
    S = np.cov(X.T)
    return np.asarray(S / np.linalg.eigvalsh(S)[-1])


def polynomial(alpha: float, c2: float, c1: float) -> tuple[Any, Any]:
    """F of Eq. 4 and its derivative, Eq. 5."""
    f = np.polynomial.Polynomial([0.0, c1, c2 / 2, 0.0, -alpha / 4])
    return f, f.deriv()
