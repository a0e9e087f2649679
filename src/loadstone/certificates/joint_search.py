"""Search for the numbers of theorems A, B and D: smoothed bounds by L-BFGS, level by level.

Notation: the dual is ``P = D_s Q``, ``tau = s^2 - diag P``, ``B = LL'`` as in ``search_dual``, the
covariance S scaled to largest eigenvalue 1, and ``N = LL' + (D_s Q + Q'D_s)/2 - D_s^2``. The
soft-max of one eigenvalue becomes that of the sum of r of them: Fermi weights
``theta_j = 1/(1 + exp((m - lambda_j)/h))`` with sum r, value ``theta'lambda + h H(theta)``. A and B
minimise ``KF_r(S - N)`` plus best sums; D minimises ``log(c + top_k) + log KF_r(S, cI + N)`` with
``c = exp gamma`` one unknown more. The result is a proposal: what it proves is for the
evaluator to say.
"""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass, field

import numpy as np
import scipy.optimize
from scipy.linalg import LinAlgError, eigh
from scipy.special import expit

from loadstone.certificates.bound_dual import Dual
from loadstone.certificates.problem import Array, Indices, SupportProblem, sum_of_best
from loadstone.certificates.search_dual import FACTOR_RANK, smooth_best_sum, start_point
from loadstone.covariance.symmetric import largest_eigenpairs, largest_eigenvalue

LEVELS = (3e-2, 1e-2, 3e-3, 1e-3, 3e-4)
#: Eigenpairs beyond the r largest that the smoothing sees.
MORE_PAIRS = 40
#: Returned where K is not positive definite: a line search turns back.
_FAR = 1e3


class _EnoughError(Exception):
    """Raised inside the optimiser when the target is reached or time is up."""


@dataclass
class SmoothedJointBound:
    """One of the three bounds and its gradient; remembers the best exact point seen.

    Attributes
    ----------
    matrix : ndarray of shape (m, m)
        S over its largest eigenvalue.
    problem : SupportProblem
        The largest component, in positions.
    count : int
        r.
    theorem : {"A", "B", "D"}
        Which bound.
    """

    matrix: Array
    problem: SupportProblem
    count: int
    theorem: str
    target: float = -np.inf
    deadline: float = np.inf
    sigma: float = LEVELS[0]
    unit: float = 1.0
    best: float = np.inf
    best_point: Array | None = None
    _thresholds: Array = field(init=False)

    def __post_init__(self) -> None:
        size = self.matrix.shape[0]
        self._thresholds = np.zeros(size)
        self._room = self.problem.free_room()
        self._kept = min(size, self.count + MORE_PAIRS)
        self._rank = min(size, FACTOR_RANK)
        self._places = self.problem
        if self.theorem == "A":
            places = min(size, self.count * self.problem.n_nonzero)
            free = np.zeros(size, dtype=bool)
            self._places = SupportProblem(self.problem.features, free, places)

    def split(self, point: Array) -> tuple[Array, Array, Array]:
        """Q, s and L of a flat vector, as views."""
        size = self.matrix.shape[0]
        square, end = size * size, size * (size + 1 + self._rank)
        rows = point[:square].reshape(size, size)
        return rows, point[square : square + size], point[square + size : end].reshape(size, -1)

    def part(self, point: Array) -> Array:
        """N."""
        rows, scales, factor = self.split(point)
        # The sign of s must not turn that of P, whose positive part counts.
        paired = np.abs(scales)[:, None] * rows
        inner = factor @ factor.T + 0.5 * (paired + paired.T)
        inner[np.diag_indices(scales.size)] -= np.square(scales)
        return np.asarray(inner)

    def __call__(self, point: Array) -> tuple[float, Array]:
        """The smoothed bound and its gradient."""
        from loadstone.certificates.search_dual_kernels import smooth_rows

        rows, scales, factor = self.split(point)
        n_places = self.problem.n_nonzero
        level = self.sigma / n_places
        pull = np.empty_like(rows)
        smooth, exact = smooth_rows(
            rows,
            self.problem.nonnegative,
            self.problem.forced,
            self._room,
            4.0 * level / n_places,
            self._thresholds,
            pull,
        )
        own = np.square(factor).sum(axis=1)
        shares, soft = smooth_best_sum(smooth / 4.0 + own, self._places, level)
        hard = sum_of_best(exact / 4.0 + own, self._places)
        found = self._pencil(point, soft, hard) if self.theorem == "D" else self._sum(point)
        if found is None:
            return _FAR, np.zeros_like(point)
        value, exact_value, density, weight = found
        if self.theorem != "D":
            value, exact_value = value + weight * soft, exact_value + weight * hard
        self._remember(point, exact_value)
        shares = weight * shares
        gradient = np.empty_like(point)
        d_rows, d_scales, d_factor = self.split(gradient)
        np.multiply(pull, (0.5 * shares)[:, None], out=d_rows)
        d_rows -= np.abs(scales)[:, None] * density
        d_scales[:] = 2.0 * scales * density.diagonal()
        d_scales -= np.where(scales < 0, -1.0, 1.0) * np.einsum("ij,ij->i", rows, density)
        d_factor[:] = 2.0 * (shares[:, None] * factor - density @ factor)
        if self.theorem == "D":
            gradient[-1] = _level(point) * (weight - float(np.trace(density)))
        return value, gradient

    def _sum(self, point: Array) -> tuple[float, float, Array, float]:
        """Soft and hard ``KF_r(S - N)``, the density, and the weight of the best sum."""
        values, vectors = largest_eigenpairs(self.matrix - self.part(point), self._kept)
        heat = self.sigma / np.log(self.matrix.shape[0] + 1.0)
        shares, soft = soft_sum(values, self.count, heat)
        density = (vectors * shares) @ vectors.T
        weight = 1.0 if self.theorem == "A" else float(self.count)
        return soft, float(values[-self.count :].sum()), density, weight

    def _pencil(
        self, point: Array, soft: float, hard: float
    ) -> tuple[float, float, Array, float] | None:
        """The logarithm of ``mu KF_r(S, K)``, its exact value, the density, and ``1/mu``."""
        size = self.matrix.shape[0]
        level = _level(point)
        K = self.part(point)
        K[np.diag_indices(size)] += level
        pairs = largest_of_pencil(self.matrix, K, self._kept)
        if pairs is None:
            return None
        values, vectors = pairs
        heat = self.sigma * self.unit / np.log(size + 1.0)
        shares, total = soft_sum(values, self.count, heat)
        density = (vectors * (shares * values / total)) @ vectors.T
        exact = (level + hard) * float(values[-self.count :].sum())
        return float(np.log(level + soft) + np.log(total)), exact, density, 1.0 / (level + soft)

    def _remember(self, point: Array, value: float) -> None:
        if value < self.best:
            self.best = value
            self.best_point = point.copy()
        if self.best <= self.target or time.monotonic() > self.deadline:
            raise _EnoughError

    def dual(self, scale: float, features: Indices) -> Dual:
        """The best dual seen, in the units of the covariance."""
        assert self.best_point is not None
        rows, scales, factor = self.split(self.best_point)
        pairing = rows * np.abs(scales)[:, None]
        shift = np.square(scales) - pairing.diagonal()
        np.fill_diagonal(pairing, 0.0)
        return Dual(features, pairing * scale, shift * scale, factor * np.sqrt(scale))


def largest_of_pencil(matrix: Array, K: Array, count: int) -> tuple[Array, Array] | None:
    """The largest eigenpairs of ``S g = lambda K g``; ``None`` where K is not definite.

    Values below zero come of the rounding of S and grow as K shrinks, until sums of them have no
    logarithm: they count as zero.
    """
    size = matrix.shape[0]
    try:
        found = eigh(matrix, K, subset_by_index=(size - count, size - 1), check_finite=False)
    except (LinAlgError, ValueError):
        return None
    values, vectors = found[0], found[1]
    # Of a matrix with NaN, where a step went astray, none are found and nothing is raised.
    whole = values.size == count and np.isfinite(values).all() and np.isfinite(vectors).all()
    return (np.maximum(values, 0.0), vectors) if whole and values[-1] > 0 else None


def soft_sum(values: Array, count: int, heat: float) -> tuple[Array, float]:
    """Fermi weights with sum ``count``, and the smoothed sum of the largest values."""
    if count >= values.size:
        return np.ones(values.size), float(values.sum())
    low, high = float(values.min()) - 50.0 * heat, float(values.max()) + 50.0 * heat
    for _ in range(60):
        middle = 0.5 * (low + high)
        if expit((values - middle) / heat).sum() > count:
            low = middle
        else:
            high = middle
    shares = expit((values - high) / heat)
    inside = shares[(shares > 0.0) & (shares < 1.0)]
    entropy = -float((inside * np.log(inside) + (1.0 - inside) * np.log1p(-inside)).sum())
    return shares, float(shares @ values) + heat * entropy


@dataclass(frozen=True, eq=False)
class JointDual:
    """A dual, the level c of theorem D, and the point to begin other searches at."""

    dual: Dual
    level: float
    point: Array


def propose_joint_dual(
    matrix: Array,
    problem: SupportProblem,
    features: Indices,
    count: int,
    theorem: str,
    *,
    start: Array | None = None,
    levels: tuple[float, ...] = LEVELS,
    n_steps: int = 60,
    target: float = -np.inf,
    deadline: float = np.inf,
) -> JointDual:
    """Best dual found for a theorem.

    Parameters
    ----------
    matrix : ndarray of shape (m, m)
        The covariance on ``features``.
    problem : SupportProblem
        The component with the most features, in positions.
    features : ndarray of int
        What the dual is about.
    count : int
        Number of components.
    theorem : {"A", "B", "D"}
        The bound to make small.
    start : ndarray, optional
        ``point`` of an earlier search for A or B.
    levels : tuple of float
        Smoothing levels.
    n_steps : int
        L-BFGS iterations per level.
    target, deadline : float
        Stop at this bound, or at this value of ``time.monotonic()``.
    """
    scale = largest_eigenvalue(matrix)
    scaled = matrix / scale
    bound = SmoothedJointBound(
        scaled, problem, count, theorem, target=target / scale, deadline=deadline
    )
    if start is None:
        start = start_point(scaled, problem, min(problem.features.size, FACTOR_RANK))
    point = _with_level(bound, start) if theorem == "D" else start
    with suppress(_EnoughError):
        for sigma in levels:
            bound.sigma = sigma
            point = _descended(bound, point, n_steps)
    assert bound.best_point is not None
    level = _level(bound.best_point) if theorem == "D" else 0.0
    return JointDual(bound.dual(scale, features), level * scale, bound.best_point)


def _level(point: Array) -> float:
    """The level c of theorem D, whose logarithm is searched; a step too long must not overflow."""
    return float(np.exp(min(point[-1], 50.0)))


def _with_level(bound: SmoothedJointBound, start: Array) -> Array:
    """The point with a c that makes K positive definite."""
    part = bound.part(start)
    largest = largest_eigenvalue(bound.matrix - part)
    needed = largest_eigenvalue(-part)
    # Where N alone is definite any c > 0 will do, and its logarithm is what is searched.
    level = max(1.02 * max(largest, needed), 0.0) + 0.02
    return np.append(start, np.log(level))


def _descended(bound: SmoothedJointBound, point: Array, n_steps: int) -> Array:
    """Where L-BFGS ends at the present smoothing level."""
    if bound.theorem == "D":
        # Eigenvalues of the pencil have their own unit, which the heat is measured in.
        K = bound.part(point)
        K[np.diag_indices(K.shape[0])] += _level(point)
        pairs = largest_of_pencil(bound.matrix, K, 1)
        bound.unit = 1.0 if pairs is None else float(pairs[0][-1])
    options = {"maxiter": n_steps, "maxcor": 10, "ftol": 0.0, "gtol": 1e-12}
    result = scipy.optimize.minimize(bound, point, jac=True, method="L-BFGS-B", options=options)
    return np.asarray(result.x)
