"""The evaluator: what a stored dual proves, recomputed from it and the covariance alone.

Notation: ``A`` is the covariance, ``P`` a square matrix with rows p_i and no
diagonal, ``tau`` one number per feature, ``B = LL'``. Every feasible x obeys

    x'Ax <= lambda_max(A - B - (P + P')/2 + diag tau) + best sum of w_i over a support,
    w_i = (sqrt(phi_i^2 + tau_i^2) - tau_i)/2 + B_ii,

where phi_i^2 is the largest sum of p_ij^2 (of the positive parts squared, when
loadings are non-negative) over the other features of a support containing i.
The reason: x'Ax = x'Mx + x'Bx + sum_i (x_i p_i'x - tau_i x_i^2) with M the matrix inside;
x'Bx <= sum of B_ii over the support; and x_i p_i'x <= |x_i| sqrt(1 - x_i^2) phi_i.
No optimiser is imported here, on purpose.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from loadstone.certificates.bound_eigenvalue import eigenvalue_bound, gamma
from loadstone.certificates.bound_wide_entries import largest_entries, rows_in_reach
from loadstone.certificates.problem import Array, Indices, SupportProblem, sum_of_best
from loadstone.covariance.from_data import DataCovariance
from loadstone.covariance.sample_gram import SampleGram

if TYPE_CHECKING:
    from loadstone.covariance.protocol import Covariance

#: Rows of a wide covariance handled at once: a block should stay in the processor's cache.
ROW_BLOCK = 64
#: Outside terms certainly below this share of the smallest counted one are not computed exactly.
NEGLIGIBLE_TERM = 0.25


@dataclass(frozen=True, eq=False)
class Dual:
    """Numbers that prove a bound; any finite ones do, good ones prove a good bound.

    Attributes
    ----------
    features : ndarray of int
        The features the numbers below belong to, ascending.
    pairing : ndarray of shape (m, m)
        P, how the products x_i x_j are shared out; its diagonal is ignored.
    shift : ndarray of shape (m,)
        tau.
    factor : ndarray of shape (m, r)
        L.
    limits : ndarray of shape (m,), optional
        How large p_ij may be for features j the dual does not know; only used for those.
    """

    features: Indices
    pairing: Array
    shift: Array
    factor: Array
    limits: Array | None = None

    def turned(self, flips: Array) -> Dual:
        """The dual of the covariance whose features are counted the other way round by ``flips``."""
        return Dual(
            self.features,
            flips[:, None] * self.pairing * flips,
            self.shift,
            flips[:, None] * self.factor,
        )

    def restrict_to(self, features: Indices) -> Dual:
        """The dual on those of ``features`` that it knows."""
        return self.restrict(np.intersect1d(self.features, features))

    def restrict(self, features: Indices) -> Dual:
        """The dual on fewer features; its bound can only fall."""
        at = np.searchsorted(self.features, features)
        limits = None if self.limits is None else self.limits[at]
        return Dual(features, self.pairing[np.ix_(at, at)], self.shift[at], self.factor[at], limits)


@dataclass(frozen=True, eq=False)
class Evaluation:
    """A proven bound and its parts.

    Attributes
    ----------
    bound : float
        No feasible loading vector has a larger variance.
    top : float
        The eigenvalue part, floating-point margin included.
    terms : ndarray
        w_i, aligned with ``problem.features``.
    """

    bound: float
    top: float
    terms: Array


def evaluate(S: Covariance, problem: SupportProblem, dual: Dual) -> Evaluation:
    """Upper bound proven by ``dual``, rounded upwards.

    Features of the problem the dual does not know are covered by extending it:
    their rows of P take what is left of 2A, so that M stays block diagonal.
    """
    refuse_invalid(dual)
    inside = np.isin(problem.features, dual.features, assume_unique=True)
    if not inside.any():
        msg = "the dual shares no feature with the problem; give a dual for these features"
        raise ValueError(msg)
    if inside.sum() < dual.features.size:
        dual = dual.restrict(problem.features[inside])
    block = np.asarray(S.block(dual.features, dual.features), dtype=np.float64)
    matrix = (block + block.T) / 2.0
    top = top_eigenvalue(matrix, dual)
    room = problem.free_room()[inside]
    squares = counted_squares(dual.pairing, nonnegative=problem.nonnegative)
    np.fill_diagonal(squares, 0.0)
    forced = problem.forced[inside]
    terms = np.empty(problem.features.size)
    if inside.all():
        reach, _ = best_squares(squares, forced, room)
    else:
        limits = np.zeros(room.size) if dual.limits is None else dual.limits
        reach, ceiling = limited_squares(squares, forced, room, np.square(limits))
    terms[inside] = bracket(reach, dual.shift) + np.square(dual.factor).sum(axis=1)
    if not inside.all():
        cut = NEGLIGIBLE_TERM * _smallest_counted(terms[inside], problem.n_nonzero)
        terms[~inside] = _outside_terms(S, problem, inside, ceiling, top, cut)
    terms *= 1.0 + 4.0 * problem.features.size * np.finfo(np.float64).eps
    bound = top + sum_of_best(terms, problem) + block_rounding(S, problem)
    return Evaluation(bound, top, terms)


def refuse_invalid(dual: Dual) -> None:
    """Raise unless all numbers are finite, in double precision, and fit together."""
    size = dual.features.size
    limits = np.zeros(size) if dual.limits is None else dual.limits
    parts = (dual.pairing, dual.shift, dual.factor, limits)
    # Whole numbers of few bits overflow when squared, and NaN passes many a comparison.
    if any(part.dtype != np.float64 for part in parts) or dual.features.dtype.kind not in "iu":
        msg = "invalid dual: its numbers must be in double precision, its features whole numbers"
        raise ValueError(msg)
    shapes = (dual.pairing.shape, dual.shift.shape, dual.factor.shape[:1], limits.shape)
    if shapes != ((size, size), (size,), (size,), (size,)) or dual.factor.ndim != 2:
        msg = f"invalid dual: {size} features, but its parts have shapes {shapes}"
        raise ValueError(msg)
    if dual.features.ndim != 1 or not (np.diff(dual.features.astype(np.int64)) > 0).all():
        msg = "invalid dual: its features must be ascending and distinct"
        raise ValueError(msg)
    if not all(np.isfinite(part).all() for part in parts):
        msg = "invalid dual: it contains values that are not finite"
        raise ValueError(msg)
    if not (limits >= 0).all():
        msg = f"invalid dual: it needs {size} limits, none of them negative"
        raise ValueError(msg)


def top_eigenvalue(matrix: Array, dual: Dual) -> float:
    """lambda_max(A - B - (P + P')/2 + diag tau), rounded upwards."""
    size, rank = dual.factor.shape
    pairing = np.array(dual.pairing, dtype=np.float64)
    np.fill_diagonal(pairing, 0.0)
    inner = matrix - dual.factor @ dual.factor.T - (pairing + pairing.T) / 2.0
    inner[np.diag_indices(size)] += dual.shift
    sizes = np.abs(pairing)
    sizes += sizes.T
    factor = np.abs(dual.factor)
    sizes += np.abs(matrix) + factor @ factor.T
    sizes[np.diag_indices(size)] += np.abs(dual.shift)
    return eigenvalue_bound(inner, gamma(rank + 6) * sizes)


def counted_squares(rows: Array, *, nonnegative: bool) -> Array:
    """What an entry of P may contribute to phi: its square, or that of its positive part."""
    return np.square(np.maximum(rows, 0.0) if nonnegative else rows)


def best_squares(squares: Array, forced: Array, room: Indices) -> tuple[Array, Array]:
    """phi_i^2 per row, and the largest entry that could join the row without raising it.

    The rows may be reordered in place.
    """
    if forced.any():
        reach, free = squares[:, forced].sum(axis=1), squares[:, ~forced]
    else:
        reach, free = np.zeros(squares.shape[0]), squares
    ceiling = np.full(squares.shape[0], np.inf)
    width = free.shape[1]
    for count in np.unique(room[room > 0]):
        rows = room == count
        part = free if rows.all() else free[rows]
        if count >= width:
            reach[rows] += part.sum(axis=1)
            ceiling[rows] = 0.0
            continue
        part.partition(width - count, axis=1)
        best = part[:, width - count :]
        reach[rows] += best.sum(axis=1)
        ceiling[rows] = best[:, 0]
    return reach, ceiling


def limited_squares(
    squares: Array, forced: Array, room: Indices, limits: Array
) -> tuple[Array, Array]:
    """phi_i^2 if any number of entries up to ``limits`` (squared) joined each row.

    A limit below the row's smallest counted entry costs nothing, so it is raised to it.
    """
    reach, ceiling = best_squares(squares.copy(), forced, room)
    raised = np.flatnonzero((limits > ceiling) & (room > 0))
    free = squares[np.ix_(raised, np.flatnonzero(~forced))]
    np.maximum(free, limits[raised, None], out=free)
    certain = squares[np.ix_(raised, np.flatnonzero(forced))].sum(axis=1)
    everything = np.zeros(free.shape[1], dtype=bool)
    best, _ = best_squares(free, everything, np.minimum(room[raised], free.shape[1]))
    missing = np.maximum(room[raised] - free.shape[1], 0)
    reach[raised] = certain + best + missing * limits[raised]
    ceiling[raised] = limits[raised]
    return reach, ceiling


def bracket(reach: Array, shift: Array) -> Array:
    """(sqrt(phi^2 + tau^2) - tau)/2 without cancellation."""
    root = np.hypot(np.sqrt(reach), shift)
    denominator = np.where(shift > 0, root + shift, 1.0)
    return np.where(shift > 0, reach / (2.0 * denominator), (root - shift) / 2.0)


def rows_of_covariance(S: Covariance, features: Indices, at: Indices) -> Array:
    """Rows ``features[at]`` of the covariance on ``features``, without densifying data."""
    if 4 * features.size < S.n_features:
        return np.asarray(S.block(features[at], features), dtype=np.float64)
    units = np.zeros((S.n_features, at.size), dtype=S.dtype)
    units[features[at], np.arange(at.size)] = 1.0
    return np.ascontiguousarray((S @ units)[features].T, dtype=np.float64)


def _outside_terms(
    S: Covariance,
    problem: SupportProblem,
    inside: Array,
    ceiling: Array,
    top: float,
    cut: float,
) -> Array:
    """w_i of the features beyond the dual, a block of rows at a time.

    For j in the dual, p_ji takes what the row's ceiling allows; p_ij is the rest of
    2A_ij. Among themselves the outside features take P = A, and tau_i = top - A_ii
    makes their block of M equal to ``top`` times the identity.
    """
    outside = np.flatnonzero(~inside)
    room = problem.free_room()
    limit = np.sqrt(ceiling)
    variances = np.asarray(S.diagonal(), dtype=np.float64)[problem.features]
    limits = reach_limits(S, problem, variances)[outside]
    terms = np.full(outside.size, np.inf)
    if np.isfinite(limits).all():
        # No entry of P exceeds 2|A_ij| here.
        terms = bracket(4.0 * limits, top - variances[outside])
    exact = np.flatnonzero(terms >= cut)
    if isinstance(S, SampleGram):
        exact = _in_reach(S, terms, exact)
        reach = _reach_out_of_core(S, problem, inside, outside[exact], limit)
        terms[exact] = bracket(reach, top - variances[outside[exact]])
        return terms
    for start in range(0, exact.size, ROW_BLOCK):
        at = exact[start : start + ROW_BLOCK]
        rows = outside[at]
        part = rows_of_covariance(S, problem.features, rows)
        own = part[np.arange(rows.size), rows].copy()
        part[:, inside] = _left_over(part[:, inside], problem, rows, limit)
        part[np.arange(rows.size), rows] = 0.0
        squares = counted_squares(part, nonnegative=problem.nonnegative)
        reach, _ = best_squares(squares, problem.forced, room[rows])
        terms[at] = bracket(reach, top - own)
    return terms


def _left_over(part: Array, problem: SupportProblem, rows: Indices, limit: Array) -> Array:
    """p_ij of features inside: what is left of 2A_ij after p_ji took what it may."""
    doubled = 2.0 * part
    lowest = -np.inf if problem.nonnegative else -limit
    given = np.clip(doubled, lowest, limit)
    # A forced feature outside always counts in phi_j, so the row may give it nothing.
    given[problem.forced[rows]] = np.minimum(given[problem.forced[rows]], 0.0)
    if not problem.nonnegative:
        given[problem.forced[rows]] = 0.0
    return np.asarray(doubled - given)


def _in_reach(S: SampleGram, terms: Array, exact: Indices) -> Indices:
    """Those with the largest terms, as many as one pass may compute; the others keep a limit."""
    most = rows_in_reach(S)
    if exact.size <= most:
        return exact
    order = np.argsort(-terms[exact], kind="stable")[:most]
    return np.asarray(np.sort(exact[order]))


def _reach_out_of_core(
    S: SampleGram, problem: SupportProblem, inside: Array, rows: Indices, limit: Array
) -> Array:
    """phi_i^2 of features beyond the dual, from the largest entries of their rows."""
    if not rows.size:
        return np.zeros(0)
    features = problem.features
    # One pass for all columns that are asked for below.
    S.columns(np.union1d(features[rows], features[inside]))
    entries = largest_entries(S, problem, inside, rows)
    found = np.empty(rows.size)
    forced = np.concatenate([problem.forced[inside], np.zeros(entries.free.shape[1], dtype=bool)])
    for start in range(0, rows.size, ROW_BLOCK):
        at = slice(start, start + ROW_BLOCK)
        part = np.asarray(S.block(features[rows[at]], features[inside]), dtype=np.float64)
        part = _left_over(part, problem, rows[at], limit)
        squares = counted_squares(part, nonnegative=problem.nonnegative)
        squares = np.hstack([squares, entries.free[at]])
        reach, _ = best_squares(squares, forced, problem.free_room()[rows[at]])
        found[at] = reach + entries.forced[at]
    return found


def _smallest_counted(terms: Array, count: int) -> float:
    """The ``count``-th largest term, or zero where there are fewer."""
    return float(np.partition(terms, -count)[-count]) if count <= terms.size else 0.0


def reach_limits(S: Covariance, problem: SupportProblem, variances: Array) -> Array:
    """Limits for the sum of A_ij^2 over a support, from the variances alone.

    A covariance of data obeys A_ij^2 <= A_ii A_jj; other matrices need not, and get
    no limit. The factor covers rounding, single precision included.
    """
    if not isinstance(S, DataCovariance | SampleGram):
        return np.full(variances.size, np.inf)
    return 1.001 * variances * sum_of_best(np.maximum(variances, 0.0), problem)


def block_rounding(S: Covariance, problem: SupportProblem) -> float:
    """Room for last-bit differences between two computations of the same block of S."""
    largest = float(np.abs(S.diagonal()[problem.features]).max())
    return 8.0 * problem.n_nonzero * float(np.finfo(S.dtype).eps) * largest
