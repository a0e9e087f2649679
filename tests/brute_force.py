"""The best component of a small problem, asked of nothing but ``broken_rule``.

The best allowed vector is an eigenvector of the covariance on its own support, so all
eigenvectors of all principal submatrices are tried, largest eigenvalue first.
"""

from itertools import combinations

import numpy as np


def optimum(matrix, constraint):
    """Largest ``w'Aw`` over allowed w, for constraints on supports and signs."""
    p = len(matrix)
    values, supports, vectors = [], [], []
    for size in range(1, p + 1):
        T = np.array(list(combinations(range(p), size)))
        found, V = np.linalg.eigh(matrix[T[:, :, None], T[:, None, :]])
        values.append(found.ravel())
        supports.append(np.repeat(T, size, axis=0))
        vectors.append(V.transpose(0, 2, 1).reshape(-1, size))
    sizes = np.repeat(np.arange(p), [v.size for v in values])
    places = np.concatenate([np.arange(v.size) for v in values])
    flat = np.concatenate(values)
    for i in np.argsort(-flat, kind="stable"):
        w = np.zeros(p)
        v = vectors[sizes[i]][places[i]]
        w[supports[sizes[i]][places[i]]] = np.where(np.abs(v) < 1e-12, 0, v)
        if constraint.broken_rule(w) is None or constraint.broken_rule(-w) is None:
            return flat[i]
    raise AssertionError


def random_covariance(rng, p):
    """Of noise or factors, standardised or not, of full rank or not."""
    n = int(rng.integers(3, 40))
    X = rng.standard_normal((n, p)) * rng.uniform(0.3, 2.0, p)
    if rng.random() < 0.6:
        X += rng.standard_normal((n, 2)) @ rng.standard_normal((2, p))
    return np.corrcoef(X.T) if rng.random() < 0.3 else np.cov(X.T)


def best_beside(A, B, T, others):
    """Largest root on a support beside one other component, and its vector, by definition."""
    R = np.eye(len(B))
    if others is not None:
        R -= np.outer(others, others @ B) / (others @ B @ others)
    T = list(T)
    lengths, Q = np.linalg.eigh((B @ R)[np.ix_(T, T)])
    solid = lengths > 1e-8 * np.trace(B)
    if not solid.any():
        return 0.0, np.zeros(len(B))
    white = Q[:, solid] / np.sqrt(lengths[solid])
    values, vectors = np.linalg.eigh(white.T @ (R.T @ A @ R)[np.ix_(T, T)] @ white)
    w = np.zeros(len(B))
    w[T] = white @ vectors[:, -1]
    return values[-1], w


def best_of_one_sign_beside(A, B, T, others):
    """The same among loadings >= 0: the best is a leading vector on the features it uses."""
    best, w = 0.0, np.zeros(len(B))
    for size in range(1, len(T) + 1):
        for face in combinations(T, size):
            value, v = best_beside(A, B, face, others)
            v = v if v.sum() > 0 else -v
            if value > best and (v >= -1e-12).all():
                best, w = value, np.maximum(v, 0)
    return best, w
