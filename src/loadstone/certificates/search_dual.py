"""Search for a good dual: the smoothed bound by L-BFGS, sharper level by level.

Notation: the dual is written P = D_s Q, t = s^2 (tau = t - diag P), B = LL', with
the covariance A scaled to largest eigenvalue 1; in slices A stands for A - sum of
e^2 (gh' + hg')/2, e one further number for each. At level sigma all three maxima of

    F = lambda_max(A - LL' - (D_s Q + Q'D_s)/2 + D_s^2) + best sum of phi(q_i)^2/4 + |L_i|^2

are smoothed: soft-max of eigenvalues, regularised best sums over rows and inside
them. The result is only a proposal: what it proves is for the evaluator to say.
"""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass, field

import numpy as np
import scipy.optimize

from loadstone.certificates.bound_dual import LARGEST_NUMBER, Dual
from loadstone.certificates.bound_rows import best_squares, counted_squares
from loadstone.certificates.problem import Array, Indices, Mask, SupportProblem, sum_of_best
from loadstone.certificates.search_lbfgs import Patience, descend
from loadstone.covariance.symmetric import largest_eigenpairs, largest_eigenvalue

LEVELS = (3e-2, 1e-2, 3e-3, 1e-3)
FACTOR_RANK = 20
EIGENPAIRS = 40
#: From this smoothing on, and for as many features, steps are taken in single precision.
ROUGH_LEVEL = 9e-5
ROUGH_SIZE = 60
ROUGH_EIGENPAIRS = 20
#: Share of the gap that a few steps must close: more where much is smoothed, since what stays then
#: is smoothing, and finer levels gain sooner.
COARSE_LEVEL = 9e-3
SHARE_COARSE, SHARE_FINE = 0.02, 0.002
#: Where e of a new slice begins; at zero it would stay.
FIRST_ROOT = 0.3


@dataclass(frozen=True, eq=False)
class OutsideFeatures:
    """Features beyond the working set, seen through two numbers each.

    Attributes
    ----------
    reach : ndarray
        phi_i^2 of their extended rows.
    variances : ndarray
        A_ii.
    forced : ndarray of bool
        Must belong to the support.
    """

    reach: Array
    variances: Array
    forced: Mask

    def in_units_of(self, scale: float) -> OutsideFeatures:
        """The same features in the covariance divided by ``scale``."""
        return OutsideFeatures(self.reach / scale**2, self.variances / scale, self.forced)


class _EnoughError(Exception):
    """Raised inside the optimiser when the target is reached or time is up."""


@dataclass
class SmoothedBound:
    """F and its gradient at one smoothing level; remembers the best exact point seen."""

    matrix: Array
    problem: SupportProblem
    rank: int
    outside: OutsideFeatures | None = None
    target: float = -np.inf
    deadline: float = np.inf
    sigma: float = LEVELS[0]
    best: float = np.inf
    best_point: Array | None = None
    fractional: Array | None = None
    rough: Array = field(init=False)
    _thresholds: Array = field(init=False)

    def __post_init__(self) -> None:
        self.rough = self.matrix
        self._thresholds = np.zeros(self.matrix.shape[0])
        self._room = self.problem.free_room()
        self._whole = self.problem if self.outside is None else self._with_outside()
        at = self.problem.features
        ends = [np.stack(pair)[:, at] for pair in self.problem.slices]
        self._ends = np.reshape(ends, (len(ends), 2, at.size))

    def _with_outside(self) -> SupportProblem:
        assert self.outside is not None
        forced = np.concatenate([self.problem.forced, self.outside.forced])
        return SupportProblem(
            np.arange(forced.size), forced, self.problem.n_nonzero, self.problem.nonnegative
        )

    def split(self, point: Array) -> tuple[Array, Array, Array]:
        """Q, s and L of a flat vector, as views."""
        size = self.matrix.shape[0]
        square = size * size
        rows = point[:square].reshape(size, size)
        last = point.size - len(self._ends)
        return rows, point[square : square + size], point[square + size : last].reshape(size, -1)

    def roots(self, point: Array) -> Array:
        """The numbers e of a flat vector, as a view: one for each slice."""
        return point[point.size - len(self._ends) :]

    def __call__(self, point: Array) -> tuple[float, Array]:
        """Smoothed F and its gradient."""
        from loadstone.certificates.search_dual_kernels import fill_gradient, smooth_rows

        rows, scales, factor = self.split(point)
        size = self.matrix.shape[0]
        count = self.problem.n_nonzero
        level = self.sigma / count
        soft_top, hard_top, density = self._eigen_part(rows, scales, factor, self.roots(point))
        pull = np.empty_like(rows)
        smooth, exact = smooth_rows(
            rows,
            self.problem.nonnegative,
            self.problem.forced,
            self._room,
            4.0 * level / count,
            self._thresholds,
            pull,
        )
        inside = np.square(factor).sum(axis=1)
        soft = smooth / 4.0 + inside
        hard = exact / 4.0 + inside
        weight = 1.0
        if self.outside is not None:
            beyond, slope = self._outside_terms(soft_top)
            soft = np.concatenate([soft, beyond])
            hard = np.concatenate([hard, self._outside_terms(hard_top)[0]])
        shares, value = smooth_best_sum(soft, self._whole, level)
        if self.outside is not None:
            weight += float(shares[size:] @ slope)
        self._remember(point, hard_top + sum_of_best(hard, self._whole), shares)
        shares = shares[:size].astype(point.dtype)
        gradient = np.empty_like(point)
        d_rows, d_scales, d_factor = self.split(gradient)
        density *= density.dtype.type(weight)
        fill_gradient(rows, scales, density, pull, shares, d_rows, d_scales)
        d_factor[:] = 2.0 * (shares[:, None] * factor - density @ factor)
        for at, (g, h) in enumerate(self._ends):
            self.roots(gradient)[at] = -2.0 * self.roots(point)[at] * float(g @ (density @ h))
        return soft_top + value, gradient

    def in_precision_of(self, sigma: float) -> SmoothedBound:
        """The same at another level: single precision will do where much is smoothed."""
        dtype = np.float32 if sigma >= ROUGH_LEVEL else np.float64
        if dtype == np.float32 and self.matrix.shape[0] < ROUGH_SIZE:
            dtype = np.float64
        self.rough = self.matrix.astype(dtype)
        self.sigma = sigma
        return self

    def _eigen_part(
        self, rows: Array, scales: Array, factor: Array, roots: Array
    ) -> tuple[float, float, Array]:
        """Soft-max and maximum of the eigenvalues of M, and the soft-max's gradient."""
        from loadstone.certificates.search_dual_kernels import fill_inner

        size = self.matrix.shape[0]
        inner = np.empty_like(self.rough)
        product = factor @ factor.T
        for root, (g, h) in zip(roots, self._ends, strict=True):
            tilt = np.outer(g, (0.5 * float(root) ** 2) * h).astype(product.dtype)
            product += tilt + tilt.T
        fill_inner(self.rough, product, rows, scales, inner)
        kept = min(size, EIGENPAIRS if inner.dtype == np.float64 else ROUGH_EIGENPAIRS)
        values, vectors = largest_eigenpairs(inner, kept)
        heat = self.sigma / np.log(size + 1.0)
        largest = float(values[-1])
        powers = np.exp((values - values.dtype.type(largest)) / values.dtype.type(heat))
        total = powers.sum()
        density = (vectors * (powers / total)) @ vectors.T
        return float(largest + heat * np.log(total)), largest, density

    def _outside_terms(self, top: float) -> tuple[Array, Array]:
        """w_i of the features beyond the working set and their slope in ``top``."""
        assert self.outside is not None
        shift = top - self.outside.variances
        root = np.sqrt(self.outside.reach + np.square(shift)) + 1e-300
        return (root - shift) / 2.0, (shift / root - 1.0) / 2.0

    def _remember(self, point: Array, value: float, shares: Array) -> None:
        if value < self.best:
            self.best = value
            self.best_point = point.astype(np.float64)
            self.fractional = shares[: self.matrix.shape[0]].copy()
        if self.best <= self.target or time.monotonic() > self.deadline:
            raise _EnoughError


def smooth_best_sum(terms: Array, problem: SupportProblem, level: float) -> tuple[Array, float]:
    """Shares and value of the regularised best sum over supports."""
    from loadstone.certificates.search_dual_kernels import find_threshold

    counted = ~problem.forced
    room = problem.n_free
    mu = find_threshold(terms, counted, room, level, -1.0) if room > 0 else np.inf
    shares = np.where(counted, np.clip((terms - mu) / level, 0.0, 1.0), 1.0)
    penalty = 0.5 * level * (room - np.square(shares[counted]).sum())
    return shares, float(shares @ terms + penalty)


@dataclass(frozen=True, eq=False)
class Proposal:
    """A dual worth evaluating, and the fractional support behind it."""

    dual: Dual
    fractional: Array


def start_point(matrix: Array, problem: SupportProblem, rank: int) -> Array:
    """The cold start: P = A/2, equal t, and B a damped low-rank part of A."""
    squares = np.square(np.maximum(matrix, 0.0) if problem.nonnegative else matrix) / 4.0
    np.fill_diagonal(squares, 0.0)
    count = min(problem.n_nonzero, matrix.shape[0])
    best = np.partition(squares, matrix.shape[0] - count, axis=1)[:, -count:].sum(axis=1)
    scale = np.sqrt(max(np.sqrt(sum_of_best(best, problem)) / 2.0, 1e-3))
    size = matrix.shape[0]
    values, vectors = largest_eigenpairs(matrix, rank)
    factor = 0.3 * vectors * np.sqrt(np.maximum(values, 0.0))
    point = pack(matrix / 2.0 / scale, np.full(size, scale), factor)
    return np.concatenate([point, np.full(len(problem.slices), FIRST_ROOT)])


def pack(rows: Array, scales: Array, factor: Array) -> Array:
    """Q, s and L as one flat vector."""
    return np.concatenate([rows.ravel(), scales, factor.ravel()])


def point_of(dual: Dual, problem: SupportProblem, scale: float, rank: int) -> Array:
    """The flat vector of a dual; its diagonal of P is chosen as well as it can be."""
    pairing = dual.pairing / scale
    squares = counted_squares(pairing, nonnegative=problem.nonnegative)
    np.fill_diagonal(squares, 0.0)
    reach, _ = best_squares(squares, problem.forced, problem.free_room())
    shift = dual.shift / scale
    own = np.sqrt(np.square(shift) + reach) - shift
    scales = np.sqrt(np.maximum(shift + own, 1e-8))
    pairing = pairing.copy()
    np.fill_diagonal(pairing, np.square(scales) - shift)
    factor = np.zeros((dual.features.size, rank))
    known = min(rank, dual.factor.shape[1])
    factor[:, :known] = dual.factor[:, :known] / np.sqrt(scale)
    roots = np.full(len(problem.slices), FIRST_ROOT)
    if dual.multipliers is not None:
        roots[: dual.multipliers.size] = np.sqrt(dual.multipliers / scale)
    return np.concatenate([pack(pairing / scales[:, None], scales, factor), roots])


def dual_of(point: Array, bound: SmoothedBound, scale: float, features: Indices) -> Dual:
    """The dual of a flat vector, in the covariance's own units."""
    rows, scales, factor = bound.split(point)
    scales = np.abs(scales)
    pairing = rows * scales[:, None]
    shift = np.square(scales) - pairing.diagonal()
    np.fill_diagonal(pairing, 0.0)
    roots = bound.roots(point)
    parts = (pairing * scale, shift * scale, factor * np.sqrt(scale), np.square(roots) * scale)
    # Where nothing is left to explain a search may run away; any numbers in range prove something.
    P, tau, L, rho = (np.clip(part, -LARGEST_NUMBER, LARGEST_NUMBER) for part in parts)
    return Dual(features, P, tau, L, multipliers=rho if rho.size else None)


def _unit_of(matrix: Array) -> float:
    """The largest eigenvalue, or another positive size where it is not positive."""
    largest = largest_eigenvalue(matrix)
    return float(largest if largest > 0 else np.abs(matrix).max() or 1.0)


def _descended(bound: SmoothedBound, point: Array, n_steps: int) -> Array:
    """Where L-BFGS ends at the present smoothing level, in its precision."""
    coarse = bound.sigma >= COARSE_LEVEL
    patience = Patience(bound.target, SHARE_COARSE if coarse else SHARE_FINE)
    if bound.rough.dtype == np.float32:
        return descend(bound, point.astype(np.float32), n_steps, patience).astype(np.float64)

    def told(intermediate_result: scipy.optimize.OptimizeResult) -> None:
        if patience.ends(float(intermediate_result.fun)):
            raise StopIteration

    options = {"maxiter": n_steps, "maxcor": 10, "ftol": 0.0, "gtol": 1e-12}
    result = scipy.optimize.minimize(
        bound, point, jac=True, method="L-BFGS-B", options=options, callback=told
    )
    return np.asarray(result.x)


def propose_dual(
    matrix: Array,
    problem: SupportProblem,
    *,
    start: Dual | None = None,
    outside: OutsideFeatures | None = None,
    levels: tuple[float, ...] = LEVELS,
    n_steps: int = 60,
    target: float = -np.inf,
    deadline: float = np.inf,
) -> Proposal:
    """Best dual found for ``matrix`` (the covariance on ``problem.features``).

    Parameters
    ----------
    matrix : ndarray of shape (m, m)
        Covariance of the features of ``problem``.
    problem : SupportProblem
        What the bound speaks about.
    start : Dual, optional
        Warm start on the same features.
    outside : OutsideFeatures, optional
        Features beyond the working set, whose terms join the objective.
    levels : tuple of float
        Smoothing levels, relative to the largest eigenvalue.
    n_steps : int
        L-BFGS iterations per level.
    target : float
        Stop as soon as the bound is at most this.
    deadline : float
        Stop at this value of ``time.monotonic()``.
    """
    rank = min(matrix.shape[0], FACTOR_RANK)
    scale = _unit_of(matrix)
    scaled = matrix / scale
    beyond = None if outside is None else outside.in_units_of(scale)
    bound = SmoothedBound(scaled, problem, rank, beyond, target=target / scale, deadline=deadline)
    point = (
        start_point(scaled, problem, rank)
        if start is None
        else point_of(start, problem, scale, rank)
    )
    with suppress(_EnoughError):
        for sigma in levels:
            point = _descended(bound.in_precision_of(sigma), point, n_steps)
    assert bound.best_point is not None
    assert bound.fractional is not None
    dual = dual_of(bound.best_point, bound, scale, problem.features)
    return Proposal(dual, bound.fractional)
