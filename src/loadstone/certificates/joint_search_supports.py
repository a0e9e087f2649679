"""Search for the matrices of theorems B and D where every support can be tried.

Notation: ``sigma(N)`` is the largest ``x'Nx`` over sparse x: over all supports, the largest
eigenvalue of the block. B minimises ``KF_r(S - N) + r sigma(N)`` over symmetric N, D minimises
``log sigma(K) + log KF_r(S, K)`` over positive definite K; both maxima are smoothed. A dual
gives N and K of one form only and an upper limit of sigma, so this is stronger. Where there
are many supports the descent sees those with the largest eigenvalues, chosen anew each round.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np
import scipy.optimize

from loadstone.certificates.joint_search import _EnoughError, largest_of_pencil, soft_sum
from loadstone.certificates.joint_supports import blocks_of, supports_of
from loadstone.certificates.problem import Array, Indices, SupportProblem
from loadstone.covariance.symmetric import largest_eigenvalue

LEVELS = (1e-2, 3e-3, 1e-3)
#: Supports that one step looks at.
ACTIVE = 800
_FAR = 1e3


@dataclass
class SupportBound:
    """One of the two bounds as a function of a symmetric matrix, with its gradient."""

    matrix: Array
    count: int
    theorem: str
    faces: list[Indices]
    nonnegative: bool
    deadline: float = np.inf
    sigma: float = LEVELS[0]
    best: float = np.inf
    best_matrix: Array | None = None
    active: list[Indices] = field(default_factory=list)
    units: tuple[float, float] = (1.0, 1.0)

    @property
    def sees_all(self) -> bool:
        """Whether every support is looked at in each step."""
        return sum(len(part) for part in self.faces) <= ACTIVE

    def choose(self, inner: Array) -> None:
        """Let the steps to come look at the supports with the largest values."""
        values = [self._values(inner, part)[0] for part in self.faces]
        if self.theorem == "D":
            # Heats are measured in what is smoothed, and stay the same for a round.
            pairs = largest_of_pencil(self.matrix, inner, 1)
            largest = 1.0 if pairs is None else float(pairs[0][-1])
            self.units = (abs(max(float(v.max()) for v in values)), largest)
        if self.sees_all:
            self.active = self.faces
            return
        cut = max(float(np.partition(np.concatenate(values), -ACTIVE)[-ACTIVE]), -1e300)
        self.active = [part[v >= cut] for part, v in zip(self.faces, values, strict=True)]
        self._remember(inner, max(float(v.max()) for v in values))

    def __call__(self, point: Array) -> tuple[float, Array]:
        """The smoothed bound and its gradient."""
        if time.monotonic() > self.deadline:
            raise _EnoughError
        size = self.matrix.shape[0]
        inner = point.reshape(size, size)
        inner = (inner + inner.T) / 2.0
        top, soft, pull = self._soft_largest(inner)
        heat = self.sigma / np.log(size + 1.0)
        if self.theorem == "B":
            values, vectors = np.linalg.eigh(self.matrix - inner)
            shares, total = soft_sum(values, self.count, heat)
            if self.sees_all:
                self._remember(inner, top)
            gradient = self.count * pull - (vectors * shares) @ vectors.T
            return total + self.count * soft, gradient.ravel()
        pairs = largest_of_pencil(self.matrix, inner, size)
        if pairs is None or not soft > 0.0:
            return _FAR, np.zeros_like(point)
        values, vectors = pairs
        shares, total = soft_sum(values, self.count, heat * self.units[1])
        if self.sees_all:
            self._remember(inner, top)
        gradient = pull / soft - (vectors * (shares * values / total)) @ vectors.T
        return float(np.log(soft) + np.log(total)), gradient.ravel()

    def _soft_largest(self, inner: Array) -> tuple[float, float, Array]:
        """sigma, its smoothed value over the active supports, and the gradient of that."""
        found = [self._values(inner, part) for part in self.active if len(part)]
        values = np.concatenate([part[0] for part in found])
        top = float(values.max())
        heat = self.sigma * self.units[0] / np.log(values.size + 1.0)
        total = float(np.exp((values - top) / heat).sum())
        pull = np.zeros_like(inner)
        active = [part for part in self.active if len(part)]
        for (part, vectors), supports in zip(found, active, strict=True):
            shares = np.exp((part - top) / heat) / total
            kept = np.flatnonzero(shares > 1e-12)
            rows = np.zeros((kept.size, inner.shape[0]))
            np.put_along_axis(rows, supports[kept], vectors[kept], axis=1)
            pull += (rows * shares[kept, None]).T @ rows
        return top, top + heat * float(np.log(total)), pull

    def _values(self, inner: Array, supports: Indices) -> tuple[Array, Array]:
        """The largest eigenvalue of each block with its vector; -inf where signs forbid it."""
        values, vectors = np.linalg.eigh(blocks_of(inner, supports))
        top, leading = values[:, -1], vectors[:, :, -1]
        if self.nonnegative:
            leading = leading * np.where(leading.sum(axis=1) < 0, -1.0, 1.0)[:, None]
            # On the face of its positive entries the best vector is the leading eigenvector.
            top = np.where((leading >= -1e-9).all(axis=1), top, -np.inf)
        return top, leading

    def _remember(self, inner: Array, top: float) -> None:
        if self.theorem == "B":
            kept = np.linalg.eigvalsh(self.matrix - inner)[-self.count :]
            value = float(kept.sum()) + self.count * top
        else:
            pairs = largest_of_pencil(self.matrix, inner, min(self.count, inner.shape[0]))
            value = np.inf if pairs is None else top * float(pairs[0].sum())
        if value < self.best:
            self.best, self.best_matrix = value, inner.copy()


def faces_of(problem: SupportProblem) -> list[Indices]:
    """Supports worth a look: the largest ones, or all faces for non-negative loadings."""
    if not problem.nonnegative or problem.forced.any():
        return [np.concatenate(list(supports_of(problem)))]
    features = problem.features.tolist()
    return [
        np.array(list(combinations(features, size)), dtype=np.intp)
        for size in range(1, problem.n_nonzero + 1)
    ]


def propose_matrix(
    matrix: Array,
    problem: SupportProblem,
    count: int,
    theorem: str,
    start: Array,
    *,
    levels: Sequence[float] = LEVELS,
    n_rounds: int = 2,
    n_steps: int = 30,
    deadline: float = np.inf,
) -> Array:
    """The best N of theorem B, or K of theorem D, that was found.

    Parameters
    ----------
    matrix : ndarray of shape (m, m)
        The covariance.
    problem : SupportProblem
        The component with the most features, in positions.
    count : int
        Number of components.
    theorem : {"B", "D"}
        The bound to make small.
    start : ndarray of shape (m, m)
        Where to begin, such as N or K of a dual.
    levels, n_rounds, n_steps
        Smoothing levels, rounds at each, and L-BFGS iterations of each round.
    deadline : float
        Stop at this value of ``time.monotonic()``.
    """
    scale = largest_eigenvalue(matrix)
    faces = faces_of(problem)
    signs = problem.nonnegative and not problem.forced.any()
    bound = SupportBound(matrix / scale, count, theorem, faces, signs, deadline=deadline)
    point = start / scale
    bound.choose(point)
    bound.best_matrix = point if bound.best_matrix is None else bound.best_matrix
    options = {"maxiter": n_steps, "maxcor": 10, "ftol": 0.0, "gtol": 1e-12}
    with suppress(_EnoughError):
        for sigma in levels:
            bound.sigma = sigma
            for _ in range(n_rounds):
                found = scipy.optimize.minimize(
                    bound, point.ravel(), jac=True, method="L-BFGS-B", options=options
                )
                point = found.x.reshape(point.shape)
                point = (point + point.T) / 2.0
                bound.choose(point)
    return np.asarray(bound.best_matrix) * scale
