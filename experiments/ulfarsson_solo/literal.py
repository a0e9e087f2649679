"""The paper's algorithms coded line by line, and a fit on known supports.

Notation: ``Y`` (T x M), ``G`` (M x r), ``s2`` the noise variance, ``h`` the penalty.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def penalised_likelihood(Y: Array, G: Array, s2: float, h: float) -> float:
    """J = -l + h/2 ||G||_0 with l straight from its definition."""
    S = Y.T @ Y / len(Y)
    Omega = G @ G.T + s2 * np.eye(len(G))
    likelihood = -0.5 * np.trace(S @ np.linalg.inv(Omega)) - 0.5 * np.linalg.slogdet(Omega)[1]
    return float(-likelihood + h / 2 * np.count_nonzero(G))


def thresholded(A: Array, B: Array, s2: float, h: float, G: Array) -> Array:
    """Algorithm 2: cyclic hard thresholding until nothing changes."""
    G = G.copy()
    for _ in range(500):
        before = G.copy()
        for i in range(G.shape[1]):
            rest = B[:, i] - G @ A[:, i] + G[:, i] * A[i, i]
            G[:, i] = np.where(rest**2 / A[i, i] > h * s2, rest / A[i, i], 0.0)
        if np.abs(G - before).max() <= 1e-14 * (1 + np.abs(G).max()):
            break
    return G


def generalised_em(
    Y: Array, G: Array, s2: float, h: float, n_steps: int
) -> tuple[Array, list[float]]:
    """Algorithm 1 from a start; J after every step. Columns that die are dropped."""
    T, M = Y.shape
    S_trace = float(np.sum(Y**2) / T)
    trace = [penalised_likelihood(Y, G, s2, h)]
    for _ in range(n_steps):
        W = np.linalg.inv(G.T @ G + s2 * np.eye(G.shape[1]))
        U = Y @ G @ W
        A, B = s2 * W + U.T @ U / T, Y.T @ U / T
        G = thresholded(A, B, s2, h, G)
        s2 = float(np.trace(A @ G.T @ G) - 2 * np.sum(B * G) + S_trace) / M
        G = G[:, G.any(axis=0)]
        trace.append(penalised_likelihood(Y, G, s2, h))
        if not G.size or trace[-2] - trace[-1] < 1e-13:
            break
    return G, trace


def closed_form(Y: Array, r: int) -> tuple[Array, float]:
    """Maximum likelihood of noisy PCA (Section 2)."""
    values, vectors = np.linalg.eigh(Y.T @ Y / len(Y))
    s2 = float(values[:-r].mean())
    return vectors[:, ::-1][:, :r] * np.sqrt(values[::-1][:r] - s2), s2


def on_true_supports(X: Array, support: NDArray[np.bool_], n_steps: int = 300) -> Array:
    """EM with the supports given: the best any choice of supports could lead to."""
    Y = X - X.mean(axis=0)
    S = Y.T @ Y / len(Y)
    n_components = support.shape[1]
    G: Array = np.zeros((len(S), n_components))
    # From PCA within each support, so that no truth but the support goes in.
    for j, rows in enumerate(support.T):
        values, vectors = np.linalg.eigh(S[np.ix_(rows, rows)])
        G[rows, j] = vectors[:, -1] * np.sqrt(values[-1])
    noise = float(np.mean(np.linalg.eigvalsh(S)[:-n_components]))
    for _ in range(n_steps):
        W = np.linalg.inv(G.T @ G + noise * np.eye(n_components))
        B = S @ G @ W
        A = noise * W + W @ (G.T @ S @ G) @ W
        for kept in np.unique(support, axis=0):
            rows = np.flatnonzero((support == kept).all(axis=1))
            if kept.any():
                inner = A[np.ix_(kept, kept)]
                G[np.ix_(rows, kept)] = np.linalg.solve(inner, B[np.ix_(rows, kept)].T).T
        noise = float((np.trace(S) - 2 * np.sum(B * G) + np.sum((G.T @ G) * A)) / len(S))
    return G
