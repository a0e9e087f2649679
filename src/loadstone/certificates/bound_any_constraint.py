"""Bounds for any constraint, from its signs, its sums and its l1 norm.

Notation: ``L(t)`` is ``constraint.largest_sum``, the largest sum of non-negative terms
over the features of one allowed vector w. ``A`` counts the entries of S as the signs
allow: ``|S_ij|``, or ``max(s_i s_j S_ij, 0)`` where both signs are given, so that
``w'Sw <= |w|'A|w|``. Every bound below then limits ``w'Sw`` for all allowed w. None of
them assumes that S is positive semi-definite, unless it is a covariance of data.

==============================  =====================================================
trace                           ``L(diag S)``, and what negative eigenvalues may add
trace above an eigenvalue       ``c + L(diag (S - cI)_+)`` for eigenvalues c
Frobenius norm                  ``sqrt(L_i(L_j(A_ij^2)))``, also of ``(S - cI)_+``
largest row sum                 ``max_i L_j(A_ij)``
soft threshold                  ``min_t lambda_max(soft(S, t)) + t max |w|_1^2``
a stored dual                   ``lambda_max(M) + L(w_i)`` as in ``bound_dual``; phi_i^2
                                is the largest sum over vectors that use feature i
==============================  =====================================================
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from loadstone.certificates.bound_dual import Dual, refuse_invalid, top_eigenvalue
from loadstone.certificates.bound_instant import (
    SPECTRAL_LIMIT,
    NamedBound,
    gram_eigenvalue,
    spectrum_cuts,
)
from loadstone.certificates.bound_rows import ROW_BLOCK, bracket, rows_of_covariance
from loadstone.certificates.bound_sample_space import sample_space_bounds
from loadstone.certificates.problem import Array, Indices, SupportProblem
from loadstone.constraints import LoadingConstraint, Signs
from loadstone.covariance.from_data import DataCovariance
from loadstone.covariance.sample_space import lies_in_samples
from loadstone.covariance.symmetric import largest_eigenvalue

if TYPE_CHECKING:
    from loadstone.constraints import Constraint
    from loadstone.covariance.protocol import Covariance

#: Thresholds tried in each of two rounds; fewer for large matrices, whose eigenvalues cost more.
N_THRESHOLDS = 12
N_THRESHOLDS_LARGE = 4
LARGE = 400


def as_cardinality(constraint: Constraint) -> tuple[LoadingConstraint, Array] | None:
    """A cardinality with the same vectors once features are flipped, and the flips.

    ``None`` where there is none: the bounds of this file apply, and nothing stronger.
    """
    ones = np.ones(constraint.n_features, dtype=np.int8)
    if isinstance(constraint, LoadingConstraint):
        return constraint, ones
    if not isinstance(constraint, Signs):
        return None
    signs = constraint.signs
    flips = ones if signs is None else np.where(signs == 0, ones, signs)
    if signs is not None and (np.delete(signs, constraint.forbidden) == 0).any():
        return None
    rule = LoadingConstraint(
        constraint.n_features,
        constraint.size,
        nonnegative=signs is not None,
        forbidden=constraint.forbidden,
    )
    return rule, flips


def open_features(constraint: Constraint) -> Indices:
    """The features that are not forbidden."""
    return np.setdiff1d(np.arange(constraint.n_features), constraint.forbidden)


def dual_bound(S: Covariance, constraint: Constraint, dual: Dual) -> float:
    """Upper bound that ``dual`` proves for every vector ``constraint`` allows.

    The dual must know all features that are not forbidden.
    """
    features = open_features(constraint)
    refuse_invalid(dual)
    if not np.array_equal(dual.features, features):
        msg = "the dual must be about the features that the constraint leaves open"
        raise ValueError(msg)
    rule = constraint.on(features)
    block = np.asarray(S.block(features, features), dtype=np.float64)
    top = top_eigenvalue((block + block.T) / 2.0, dual)
    squares = np.square(counted_entries(dual.pairing, rule.signs, rule.signs)).T
    np.fill_diagonal(squares, 0.0)
    # A feature that must be used is one whose term outweighs all others.
    heavy = 2.0 * squares.sum(axis=0) + np.finfo(np.float64).tiny
    room = 8.0 * features.size * np.finfo(np.float64).eps
    reach = rule.largest_sum(squares + np.diag(heavy)) - heavy + room * heavy
    terms = bracket(np.maximum(reach, 0.0), dual.shift) + np.square(dual.factor).sum(axis=1)
    total = float(rule.largest_sum(terms)) * (1.0 + room)
    bound = top + total + last_bits(S, features, rule)
    # Squares beyond the range of numbers prove nothing, whatever becomes of them.
    return bound if np.isfinite(terms).all() and np.isfinite(bound) else np.inf


def constraint_bound(S: Covariance, constraint: Constraint) -> NamedBound:
    """The smallest bound for every vector ``constraint`` allows; it names itself."""
    features = open_features(constraint)
    rule = constraint.on(features)
    if features.size > SPECTRAL_LIMIT:
        bound = min(_row_bounds(S, features, rule))
    else:
        block = np.asarray(S.block(features, features), dtype=np.float64)
        bound = min(constraint_bounds((block + block.T) / 2.0, rule))
    return NamedBound(bound.value + last_bits(S, features, rule), bound.name)


def last_bits(S: Covariance, features: Indices, rule: Constraint) -> float:
    """Room for differences between two computations of the same block of S."""
    n_places = float(rule.largest_sum(np.ones(rule.n_features)))
    largest = float(np.abs(S.diagonal()[features]).max())
    return 8.0 * n_places * float(np.finfo(S.dtype).eps) * largest


def constraint_bounds(matrix: Array, rule: Constraint) -> list[NamedBound]:
    """All bounds for a covariance stored as ``matrix``."""
    values, vectors = np.linalg.eigh(matrix)
    allowed = counted_entries(matrix, rule.signs, rule.signs)
    found = [NamedBound(float(values[-1]), "largest eigenvalue")]
    if rule.signs is not None:
        top = largest_eigenvalue(allowed)
        found.append(NamedBound(top, "largest eigenvalue of the entries the signs allow"))
    found.append(NamedBound(_trace(matrix, float(values[0]), rule), "trace"))
    found.append(NamedBound(float(rule.largest_sum(allowed).max()), "largest row sum"))
    found.append(NamedBound(_frobenius(allowed, rule), "Frobenius norm"))
    found.append(NamedBound(_soft_threshold(matrix, allowed, rule), "soft threshold"))
    for count in spectrum_cuts(values):
        cut = max(float(values[-count - 1]), 0.0)
        part = (vectors[:, -count:] * (values[-count:] - cut)) @ vectors[:, -count:].T
        trace = float(rule.largest_sum(np.maximum(part.diagonal(), 0.0)))
        found.append(NamedBound(cut + trace, "trace above an eigenvalue"))
        counted = counted_entries(part, rule.signs, rule.signs)
        limit = cut + _frobenius(counted, rule)
        found.append(NamedBound(limit, "Frobenius norm above an eigenvalue"))
    return [_rounded_up(bound, matrix) for bound in found]


def _rounded_up(bound: NamedBound, matrix: Array) -> NamedBound:
    """The bound with room for the rounding of eigenvalues and of sums."""
    unit = 8.0 * matrix.shape[0] * np.finfo(np.float64).eps
    room = unit * (float(np.linalg.norm(matrix)) + abs(bound.value))
    return NamedBound(bound.value + room, bound.name)


def counted_entries(rows: Array, row_signs: Array | None, signs: Array | None) -> Array:
    """What entries may contribute: absolute values, or what is left of given signs."""
    if signs is None or row_signs is None:
        return np.abs(rows)
    product = np.outer(row_signs, signs)
    return np.where(product == 0, np.abs(rows), np.maximum(product * rows, 0.0))


def _trace(matrix: Array, smallest: float, rule: Constraint) -> float:
    """Sum of the variances, less what the other eigenvalues on a support must add up to."""
    n_places = float(rule.largest_sum(np.ones(rule.n_features)))
    below = max(0.0, -smallest) * (n_places - 1.0)
    return float(rule.largest_sum(np.maximum(matrix.diagonal(), 0.0))) + below


def _frobenius(allowed: Array, rule: Constraint) -> float:
    return float(np.sqrt(rule.largest_sum(rule.largest_sum(allowed * allowed))))


def _soft_threshold(matrix: Array, allowed: Array, rule: Constraint) -> float:
    """The best of some thresholds: S differs from soft(S, t) by at most t in every entry."""
    limit = rule.largest_l1**2
    count = N_THRESHOLDS_LARGE if matrix.shape[0] > LARGE else N_THRESHOLDS
    sources = [matrix] if rule.signs is None else [matrix, allowed]

    def bound(t: float) -> float:
        parts = (np.sign(A) * np.maximum(np.abs(A) - t, 0.0) for A in sources)
        return min(largest_eigenvalue(part) for part in parts) + t * limit

    # Quadratic steps: good thresholds are small against the largest entry.
    thresholds = float(np.abs(matrix).max()) * np.linspace(0.0, 1.0, count + 1) ** 2
    values = [bound(t) for t in thresholds]
    best = int(np.argmin(values))
    near = thresholds[max(best - 1, 0)], thresholds[min(best + 1, count)]
    return min(values + [bound(t) for t in np.linspace(*near, count)])


def _row_bounds(S: Covariance, features: Indices, rule: Constraint) -> list[NamedBound]:
    """Bounds for many features: n x n is never stored."""
    variances = np.asarray(S.diagonal(), dtype=np.float64)[features]
    if isinstance(S, DataCovariance):
        # Positive semi-definite by construction; single precision rounds the variances.
        room = 1.0 + 8.0 * features.size * float(np.finfo(S.dtype).eps)
        found = [NamedBound(float(rule.largest_sum(np.maximum(variances, 0.0))) * room, "trace")]
        if S.rows.shape[0] <= SPECTRAL_LIMIT:
            problem = SupportProblem(features, np.zeros(features.size, dtype=bool), features.size)
            found.append(NamedBound(gram_eigenvalue(S, problem), "largest eigenvalue"))
        return found
    if lies_in_samples(S):
        problem = SupportProblem(features, np.zeros(features.size, dtype=bool), features.size)
        bounds = sample_space_bounds(S, [problem])[0]
        return [NamedBound(bounds.eigenvalue, "largest eigenvalue")]
    sums, squares = np.empty(features.size), np.empty(features.size)
    for start in range(0, features.size, ROW_BLOCK):
        at = np.arange(start, min(start + ROW_BLOCK, features.size))
        rows = rows_of_covariance(S, features, at)
        signs = rule.signs
        allowed = counted_entries(rows, None if signs is None else signs[at], signs).T
        sums[at] = rule.largest_sum(allowed)
        squares[at] = rule.largest_sum(allowed * allowed)
    room = 1.0 + 8.0 * features.size * np.finfo(np.float64).eps
    frobenius = float(np.sqrt(rule.largest_sum(squares)))
    return [
        NamedBound(frobenius * room, "Frobenius norm"),
        NamedBound(float(sums.max()) * room, "largest row sum"),
    ]
