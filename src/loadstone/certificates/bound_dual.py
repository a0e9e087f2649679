"""The evaluator: what a stored dual proves, recomputed from it and the covariance alone.

Notation: ``A`` is the covariance, ``P`` a square matrix with rows p_i and no
diagonal, ``tau`` one number per feature, ``B = LL'``. Every feasible x obeys

    x'Ax <= lambda_max(A - B - (P + P')/2 + diag tau) + best sum of w_i over a support,
    w_i = (sqrt(phi_i^2 + tau_i^2) - tau_i)/2 + B_ii,

where phi_i^2 is the largest sum of p_ij^2 (of the positive parts squared, when
loadings are non-negative) over the other features of a support containing i.
The reason: x'Ax = x'Mx + x'Bx + sum_i (x_i p_i'x - tau_i x_i^2) with M the matrix inside;
x'Bx <= sum of B_ii over the support; and x_i p_i'x <= |x_i| sqrt(1 - x_i^2) phi_i.
In a slice, where (g'x)(h'x) <= 0, A may be replaced by A - rho (gh' + hg')/2 for any rho >= 0:
x'Ax can only grow by that.
No optimiser is imported here, on purpose.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from loadstone.certificates.bound_eigenvalue import eigenvalue_bound, gamma
from loadstone.certificates.bound_outside import outside_terms, smallest_counted
from loadstone.certificates.bound_rows import (
    best_squares,
    bracket,
    counted_squares,
    limited_squares,
)
from loadstone.certificates.problem import Array, Indices, Mask, SupportProblem, sum_of_best

if TYPE_CHECKING:
    from loadstone.covariance.protocol import Covariance

#: Numbers of a proof are squared and multiplied; beyond this they would leave their range, and
#: products of very large with very small ones would be anything.
LARGEST_NUMBER = 1e150
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
    multipliers : ndarray, optional
        rho, one for each of the slices the case lies in; those that are missing are zero.
    """

    features: Indices
    pairing: Array
    shift: Array
    factor: Array
    limits: Array | None = None
    multipliers: Array | None = None

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
        pairing = self.pairing[np.ix_(at, at)]
        return Dual(features, pairing, self.shift[at], self.factor[at], limits, self.multipliers)


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
    top = top_eigenvalue(matrix, dual, tilts(problem, inside, dual))
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
        cut = NEGLIGIBLE_TERM * smallest_counted(terms[inside], problem.n_nonzero)
        terms[~inside] = outside_terms(S, problem, inside, ceiling, top, cut)
    terms *= 1.0 + 4.0 * problem.features.size * np.finfo(np.float64).eps
    bound = top + sum_of_best(terms, problem) + block_rounding(S, problem)
    # Squares beyond the range of numbers prove nothing, whatever becomes of them.
    return Evaluation(bound if np.isfinite(bound) else np.inf, top, terms)


def refuse_invalid(dual: Dual) -> None:
    """Raise unless all numbers are finite, in double precision, and fit together."""
    size = dual.features.size
    limits = np.zeros(size) if dual.limits is None else dual.limits
    multipliers = np.zeros(0) if dual.multipliers is None else dual.multipliers
    parts = (dual.pairing, dual.shift, dual.factor, limits, multipliers)
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
    if not all(in_range(part) for part in parts):
        msg = f"invalid dual: it contains values that are not finite or beyond {LARGEST_NUMBER:g}"
        raise ValueError(msg)
    if not (limits >= 0).all():
        msg = f"invalid dual: it needs {size} limits, none of them negative"
        raise ValueError(msg)
    if multipliers.ndim != 1 or not (multipliers >= 0).all():
        msg = "invalid dual: a multiplier of a slice is negative"
        raise ValueError(msg)


def in_range(part: Array) -> bool:
    """Whether numbers of a proof are finite, and small enough to be calculated with."""
    return bool((np.abs(part) <= LARGEST_NUMBER).all())


def tilts(problem: SupportProblem, inside: Mask, dual: Dual) -> list[tuple[Array, Array]]:
    """Vectors rho g and h of each slice the case lies in, on the features inside.

    A slice counts only where the dual knows every feature that it is about: the extension to
    other features rests on their rows of A.
    """
    rho = np.zeros(0) if dual.multipliers is None else dual.multipliers
    if rho.size > len(problem.slices):
        msg = f"invalid dual: {rho.size} multipliers for {len(problem.slices)} slices"
        raise ValueError(msg)
    beyond, within = problem.features[~inside], problem.features[inside]
    return [
        (multiplier * g[within], h[within])
        for multiplier, (g, h) in zip(rho, problem.slices, strict=False)
        if multiplier > 0 and not g[beyond].any() and not h[beyond].any()
    ]


def top_eigenvalue(matrix: Array, dual: Dual, tilt: Sequence[tuple[Array, Array]] = ()) -> float:
    """lambda_max(A - B - (P + P')/2 + diag tau), rounded upwards.

    With a tilt, of A - sum of (gh' + hg')/2 over its pairs.
    """
    size, rank = dual.factor.shape
    pairing = np.array(dual.pairing, dtype=np.float64)
    np.fill_diagonal(pairing, 0.0)
    sizes = np.abs(pairing)
    for g, h in tilt:
        pairing += np.outer(g, h)
        sizes += np.outer(np.abs(g), np.abs(h))
    inner = matrix - dual.factor @ dual.factor.T - (pairing + pairing.T) / 2.0
    inner[np.diag_indices(size)] += dual.shift
    sizes += sizes.T
    factor = np.abs(dual.factor)
    sizes += np.abs(matrix) + factor @ factor.T
    sizes[np.diag_indices(size)] += np.abs(dual.shift)
    return eigenvalue_bound(inner, gamma(rank + 6 + 3 * len(tilt)) * sizes)


def block_rounding(S: Covariance, problem: SupportProblem) -> float:
    """Room for last-bit differences between two computations of the same block of S."""
    largest = float(np.abs(S.diagonal()[problem.features]).max())
    return 8.0 * problem.n_nonzero * float(np.finfo(S.dtype).eps) * largest
