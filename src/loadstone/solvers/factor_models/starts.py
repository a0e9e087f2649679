"""Where searches start: births from what is left unexplained, and all components jointly.

Notation: ``R = (T - X W')/sd`` is the whitened residual. Since ``X = T H``,
``R'R = D (I - W H') T'T (I - H W') D`` and only products with ``T'T`` are needed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse.linalg import ArpackError, LinearOperator, eigsh

from loadstone.covariance.protocol import Array
from loadstone.solvers.factor_models.rounds import State
from loadstone.solvers.factor_models.samples import Samples
from loadstone.solvers.varimax import varimax

#: Entries and steps of the truncated power method that finds a small group of features.
GROUP_SIZE = 6
GROUP_STEPS = 15
#: Features from which on the leading eigenvector is truncated, and to which share.
MANY_FEATURES = 20
KEPT_SHARE = 0.25
#: Rounds of principal axes of a joint start.
AXES_ROUNDS = 8
#: Columns of ``R'R`` looked at for groups; all where there are no more features.
MAX_COLUMNS = 512
#: Random directions that tell which columns are large where there are more.
N_PROBES = 32
#: Below this number of features eigenvectors come from the matrix itself.
SMALL = 64


@dataclass(frozen=True)
class Residual:
    """Correlations of what a model leaves unexplained."""

    samples: Samples
    loadings: Array
    projection: Array
    scale: Array

    @classmethod
    def of(cls, samples: Samples, state: State) -> Residual:
        """Residual of the first model of ``state``."""
        W, tau = state.law.mean[0], state.noise.precision[0]
        inner = np.eye(W.shape[0]) + (W * tau) @ W.T
        H = np.linalg.solve(inner, W * tau)
        plain = cls(samples, W, H, np.ones(samples.n_features))
        return replace(plain, scale=1.0 / np.sqrt(np.maximum(plain._squares(state), 1e-300)))

    def _squares(self, state: State) -> Array:
        cross = self.samples.products(self.projection)
        inner = self.projection @ cross.T
        explained = 2.0 * (cross * self.loadings).sum(axis=0)
        fitted = (self.loadings * (inner @ self.loadings)).sum(axis=0)
        total = self.samples.variance * self.samples.counts
        # The noise left by a model is never below its floor; nor is what whitens it.
        result: Array = np.maximum(total - explained + fitted, 1e-9 * total)
        return result

    def products(self, V: Array) -> Array:
        """``R'R V'`` as rows for rows ``V`` (k, d)."""
        V = V * self.scale
        V = V - (V @ self.loadings.T) @ self.projection
        back = self.samples.products(V)
        result: Array = (back - (back @ self.projection.T) @ self.loadings) * self.scale
        return result

    def leading(self) -> Array:
        """Leading eigenvector."""
        d = self.samples.n_features
        if self.samples.rows is not None:
            left = self.samples.rows - (self.samples.rows @ self.projection.T) @ self.loadings
            return _leading_of_rows(left * self.scale, 1)[1][:, 0]
        if d <= SMALL:
            return _largest(self.products(np.eye(d)), 1)[1][:, 0]
        return _leading(lambda V: self.products(V), d, 1)[1][:, 0]

    def groups(self, n_groups: int) -> list[Array]:
        """Truncated power from the columns with the largest few off-diagonal entries."""
        d = self.samples.n_features
        size = min(GROUP_SIZE, d)
        looked_at = np.arange(d)
        if d > MAX_COLUMNS:
            probes = np.random.default_rng(0).standard_normal((N_PROBES, d))
            energy = np.square(self.products(probes)).sum(axis=0)
            looked_at = np.argpartition(-energy, MAX_COLUMNS // 4)[: MAX_COLUMNS // 4]
        unit = np.zeros((looked_at.size, d))
        unit[np.arange(looked_at.size), looked_at] = 1.0
        columns = self.products(unit)
        squares = np.square(columns)
        squares[np.arange(looked_at.size), looked_at] = 0.0
        strength = np.partition(squares, d - size, axis=1)[:, d - size :].sum(axis=1)
        first = np.argsort(-strength, kind="stable")[:n_groups]
        V = columns[first]
        for _ in range(GROUP_STEPS):
            V = self.products(truncated(V, size))
        return list(truncated(V, size))


def truncated(V: Array, size: int) -> Array:
    """Rows cut to their ``size`` largest entries, unit norm."""
    if size < V.shape[1]:
        level = np.partition(np.abs(V), V.shape[1] - size, axis=1)[:, V.shape[1] - size]
        V = np.where(np.abs(V) >= level[:, None], V, 0.0)
    result: Array = V / np.maximum(np.linalg.norm(V, axis=1, keepdims=True), 1e-300)
    return result


def births(samples: Samples, state: State) -> list[Array]:
    """Loadings (d,) of one more component, three proposals."""
    residual = Residual.of(samples, state)
    d = samples.n_features
    leading = residual.leading()[None]
    if d >= MANY_FEATURES:
        leading = truncated(leading, int(d * KEPT_SHARE))
    directions = np.array([leading[0], *residual.groups(2 if d > 1 else 0)])
    strengths = (residual.products(directions) * directions).sum(axis=1)
    # Correlations of a group of k features beyond one: what a common factor explains.
    strengths = np.maximum(strengths - 1.0, 0.1)
    sd = 1.0 / (residual.scale * np.sqrt(samples.n_samples))
    return list(directions * np.sqrt(strengths)[:, None] * sd)


def joint_start(samples: Samples, n_components: int) -> tuple[Array, Array]:
    """Principal axes of the correlations, turned by varimax: loadings (q, d) and noise (d,)."""
    d, n = samples.n_features, samples.n_samples
    sd = np.sqrt(samples.variance)
    # Products count holes as the mean; a diagonal of one needs their own scale.
    filled = np.sqrt(samples.variance * samples.counts / n)

    def correlations(V: Array) -> Array:
        return samples.products(V / filled) / (n * filled)

    if d > 1.5 * n:
        if samples.rows is not None:
            values, vectors = _leading_of_rows(samples.rows / (np.sqrt(n) * filled), n_components)
        else:
            values, vectors = _leading(correlations, d, n_components)
        noise = max((d - float(values.sum())) / max(d - n_components, 1), 0.05)
        W = vectors * np.sqrt(np.maximum(values - noise, 0.1 * noise))
        left = np.maximum(1.0 - np.square(W).sum(axis=1), 0.05)
        return varimax(W).T * sd, left * samples.variance
    communality = np.ones(d)
    # Each correlation from the samples that show both features: holes would pull it to zero.
    pairs = np.maximum(samples.pair_counts, 1.0)
    matrix = correlations(np.eye(d)) * np.sqrt(np.multiply.outer(samples.counts, samples.counts))
    matrix /= pairs
    for _ in range(AXES_ROUNDS):
        reduced = 0.5 * (matrix + matrix.T)
        reduced[np.diag_indices(d)] = communality
        values, vectors = _largest(reduced, n_components)
        W = vectors * np.sqrt(np.maximum(values, 1e-3))
        communality = np.minimum(np.square(W).sum(axis=1), 1.0)
    noise_share = np.clip(1.0 - communality, 1e-4, 1.0)
    return varimax(W).T * sd, noise_share * samples.variance


def _largest(matrix: Array, rank: int) -> tuple[Array, Array]:
    d = matrix.shape[0]
    if d <= SMALL or rank > d // 8:
        values, vectors = np.linalg.eigh(0.5 * (matrix + matrix.T))
        return values[::-1][:rank], vectors[:, ::-1][:, :rank]
    return _leading(lambda V: V @ matrix, d, rank)


def _leading_of_rows(R: Array, rank: int) -> tuple[Array, Array]:
    """Leading eigenpairs of ``R'R`` by those of the smaller ``R R'``."""
    values, left = np.linalg.eigh(R @ R.T)
    values, left = np.maximum(values[::-1][:rank], 1e-300), left[:, ::-1][:, :rank]
    return values, (R.T @ left) / np.sqrt(values)


def _leading(products: object, d: int, rank: int) -> tuple[Array, Array]:
    """Leading eigenpairs of a symmetric operator that maps rows to rows."""
    assert callable(products)
    operator = LinearOperator(
        (d, d),
        matvec=lambda v: products(np.reshape(v, (1, -1)))[0],
        matmat=lambda V: products(V.T).T,
        dtype=np.float64,
    )
    first = np.random.default_rng(0).standard_normal(d)
    try:
        values, vectors = eigsh(operator, k=rank, which="LA", v0=first, tol=1e-8)
    except ArpackError:
        matrix = products(np.eye(d))
        values, vectors = np.linalg.eigh(0.5 * (matrix + matrix.T))
        values, vectors = values[-rank:], vectors[:, -rank:]
    order = np.argsort(-values)
    return values[order], vectors[:, order]
