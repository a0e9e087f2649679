"""Instant bounds: limits read off the matrix in milliseconds, each with a name.

Notation: A_TT is the covariance on an admissible support T; every bound below
limits lambda_max(A_TT), or the same over non-negative vectors, for all T at once.
None of them assumes that A is positive semi-definite.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from loadstone.certificates.bound_eigenvalue import eigenvalue_bound
from loadstone.certificates.bound_rows import (
    ROW_BLOCK,
    best_squares,
    reach_limits,
    rows_of_covariance,
)
from loadstone.certificates.bound_sample_space import SpaceBounds, sample_space_bounds
from loadstone.certificates.problem import Array, SupportProblem, sum_of_best
from loadstone.covariance.from_data import DataCovariance
from loadstone.covariance.sample_gram import SampleGram
from loadstone.covariance.sample_space import lies_in_samples
from loadstone.covariance.symmetric import largest_eigenvalue

if TYPE_CHECKING:
    from loadstone.covariance.protocol import Covariance

#: From this many features on, only bounds that need one pass over the rows are tried.
SPECTRAL_LIMIT = 1500


class NamedBound(NamedTuple):
    """A proven upper bound and the argument behind it."""

    value: float
    name: str


def instant_bound(S: Covariance, problem: SupportProblem) -> NamedBound:
    """The smallest of the instant bounds; it names itself."""
    if problem.features.size <= SPECTRAL_LIMIT:
        block = np.asarray(S.block(problem.features, problem.features), dtype=np.float64)
        return min(instant_bounds((block + block.T) / 2.0, problem))
    if lies_in_samples(S):
        return named(sample_space_bounds(S, [problem])[0])
    return min(row_bounds(S, problem))


def named(bounds: SpaceBounds) -> NamedBound:
    """The smallest bound of wide data out of core."""
    names = ("largest eigenvalue", "trace", "trace above an eigenvalue")
    return min(NamedBound(value, name) for value, name in zip(bounds, names, strict=True))


def instant_bounds(matrix: Array, problem: SupportProblem) -> list[NamedBound]:
    """All instant bounds for the covariance ``matrix`` on ``problem.features``."""
    size = matrix.shape[0]
    margin = 8.0 * size * np.finfo(np.float64).eps * float(np.linalg.norm(matrix))
    values, vectors = np.linalg.eigh(matrix)
    exact = [NamedBound(eigenvalue_bound(matrix), "largest eigenvalue")]
    if problem.nonnegative:
        clipped = eigenvalue_bound(np.maximum(matrix, 0.0))
        exact.append(NamedBound(clipped, "largest eigenvalue of the positive part"))
    found = []
    found.append(NamedBound(_trace(matrix.diagonal(), values[0], problem), "trace"))
    found.append(NamedBound(_row_sum(matrix, problem), "largest row sum"))
    found.append(NamedBound(_frobenius(matrix, problem), "Frobenius norm"))
    for count in spectrum_cuts(values):
        cut = max(values[-count - 1], 0.0)
        excess = values[-count:] - cut
        part = (vectors[:, -count:] * excess) @ vectors[:, -count:].T
        limit = cut + sum_of_best(np.maximum(part.diagonal(), 0.0), problem)
        found.append(NamedBound(float(limit), "trace above an eigenvalue"))
        limit = cut + _frobenius(part, problem)
        found.append(NamedBound(float(limit), "Frobenius norm above an eigenvalue"))
    return exact + [NamedBound(bound.value + margin, bound.name) for bound in found]


def row_bounds(S: Covariance, problem: SupportProblem) -> list[NamedBound]:
    """Bounds that need single rows of the covariance only; n x n is never stored."""
    size = problem.features.size
    variances = np.asarray(S.diagonal(), dtype=np.float64)[problem.features]
    squares = reach_limits(S, problem, variances)
    sums = np.sqrt(problem.n_nonzero * squares)
    found = np.where(problem.forced, np.inf, 0.0)
    # Forced rows come first: they count whatever their limits.
    order = np.lexsort((-squares, ~problem.forced))
    for start in range(0, size, ROW_BLOCK):
        at = order[start : start + ROW_BLOCK]
        smallest = np.partition(found, -problem.n_nonzero)[-problem.n_nonzero]
        if not problem.forced[at[0]] and squares[at[0]] <= smallest:
            # The rows that follow cannot be among the best, nor their limits.
            break
        part = rows_of_covariance(S, problem.features, at)
        sums[at] = _reach(part, at, problem, power=1)
        squares[at] = found[at] = _reach(part, at, problem, power=2)
    frobenius = float(np.sqrt(sum_of_best(squares, problem)))
    inflated = 1.0 + 8.0 * size * np.finfo(np.float64).eps
    bounds = [
        NamedBound(frobenius * inflated, "Frobenius norm"),
        NamedBound(_largest(sums, problem) * inflated, "largest row sum"),
    ]
    if isinstance(S, DataCovariance) and S.rows.shape[0] <= SPECTRAL_LIMIT:
        bounds.append(NamedBound(gram_eigenvalue(S, problem), "largest eigenvalue"))
        if S.rows.in_memory and size == S.n_features:
            # What is proven out of core must be provable in memory.
            bounds.append(named(sample_space_bounds(SampleGram.of_rows(S), [problem])[0]))
    return bounds


def gram_eigenvalue(S: DataCovariance, problem: SupportProblem) -> float:
    """Largest eigenvalue of a wide covariance, from the Gram matrix of the samples."""
    n_rows = S.rows.shape[0]
    gram = np.zeros((n_rows, n_rows))
    for start in range(0, problem.features.size, SPECTRAL_LIMIT):
        part = S.centred_columns(problem.features[start : start + SPECTRAL_LIMIT])
        gram += np.asarray(part @ part.T, dtype=np.float64)
    gram /= S.n_samples - 1.0
    largest = largest_eigenvalue(gram)
    # The trace bounds the norm of the Gram matrix and what each of its sums can be off by.
    eps = float(np.finfo(S.dtype).eps)
    return float(largest + 8.0 * (n_rows * np.finfo(np.float64).eps + eps) * np.trace(gram))


def spectrum_cuts(values: Array) -> list[int]:
    """How many leading eigenvalues to treat separately: 1, 2, 3, 5, 8, ... of those above zero."""
    positive = int((values > 0).sum())
    counts = [count for count in (1, 2, 3, 5, 8, 13, 21, 34, 55, 89) if count <= positive]
    return [count for count in counts if count < values.size]


def _trace(variances: Array, smallest: float, problem: SupportProblem) -> float:
    """Sum of the variances, less what the other eigenvalues of A_TT must add up to."""
    below = max(0.0, -float(smallest)) * (problem.n_nonzero - 1)
    return sum_of_best(np.maximum(variances, 0.0), problem) + below


def _reach(part: Array, at: Array, problem: SupportProblem, *, power: int) -> Array:
    """Largest sum of |A_ij|^power over supports containing i; signs as the loadings allow."""
    counted = np.maximum(part, 0.0) if problem.nonnegative else np.abs(part)
    if power == 2:
        counted *= counted
    index = np.arange(at.size)
    own = counted[index, at].copy()
    # The own entry of a feature always counts, and must not use up one of the free places.
    counted[index, at] = 0.0
    reach, _ = best_squares(counted, problem.forced, problem.free_room()[at])
    return np.asarray(reach + own)


def _frobenius(matrix: Array, problem: SupportProblem) -> float:
    reach = _reach(matrix, np.arange(matrix.shape[0]), problem, power=2)
    return float(np.sqrt(sum_of_best(reach, problem)))


def _row_sum(matrix: Array, problem: SupportProblem) -> float:
    return _largest(_reach(matrix, np.arange(matrix.shape[0]), problem, power=1), problem)


def _largest(sums: Array, problem: SupportProblem) -> float:
    """Largest row sum over the rows a support can have."""
    return float(sums[problem.forced].max() if problem.n_free == 0 else sums.max())
