"""Every support tried: what no sparse vector exceeds, where few supports are possible.

Signed loadings: the largest eigenvalue of each block, proven by a Cholesky factor of
``tI - B`` and its residual (see ``bound_eigenvalue``), all blocks at once. Non-negative
ones: the same for those blocks whose limit is small enough, faces for the others.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, combinations, islice
from math import comb

import numpy as np

from loadstone.certificates.bound_eigenvalue import UNIT, gamma
from loadstone.certificates.bound_single_support import support_optimum
from loadstone.certificates.problem import Array, Indices, SupportProblem

#: Supports that are tried at most, and numbers that their blocks may take in all.
MOST_SUPPORTS = 60_000
MOST_NUMBERS = 3_000_000
#: Largest support whose faces are enumerated for non-negative loadings.
MOST_PLACES = 8
#: Blocks handled at once.
CHUNK = 4096


def n_supports(problem: SupportProblem) -> int:
    """How many largest supports there are."""
    free = int((~problem.forced).sum())
    return comb(free, min(problem.n_free, free))


def can_try_all(problem: SupportProblem) -> bool:
    """Whether all supports can be tried."""
    size = problem.n_nonzero
    if problem.nonnegative and size > MOST_PLACES:
        return False
    count = n_supports(problem)
    return count <= MOST_SUPPORTS and count * size * size <= MOST_NUMBERS


def supports_of(problem: SupportProblem) -> Iterator[Indices]:
    """All largest supports, one per row, some thousands at a time."""
    forced = problem.features[problem.forced]
    free = problem.features[~problem.forced]
    count = min(problem.n_free, free.size)
    found = combinations(free.tolist(), count)
    while True:
        part = list(islice(found, CHUNK))
        if not part:
            return
        rows = np.fromiter(chain.from_iterable(part), dtype=np.intp).reshape(len(part), count)
        yield np.hstack([np.tile(forced, (len(part), 1)), rows])


def blocks_of(matrix: Array, supports: Indices) -> Array:
    """The principal blocks of ``matrix``, one per support."""
    return np.asarray(matrix[supports[:, :, None], supports[:, None, :]])


def largest_on_supports(matrix: Array, error: float, problem: SupportProblem) -> float:
    """No admissible unit x has a larger ``x'Ax``, for all A within ``error`` of ``matrix``.

    ``error`` is a limit for the spectral norm; ``matrix`` is indexed by ``problem.features``.
    """
    best = -np.inf
    for supports in supports_of(problem):
        blocks = blocks_of(matrix, supports)
        found = signed_limits(blocks)
        if problem.nonnegative and found.max() > best:
            found = nonnegative_limits(blocks, found, best)
        best = max(best, float(found.max()))
    return float(np.nextafter(best + error, np.inf))


def nonnegative_limits(blocks: Array, signed: Array, value: float | None = None) -> Array:
    """A limit of x'Bx over x >= 0 for each block B, given those without the sign.

    With a ``value`` only the largest of them matters, and only where it exceeds it.
    """
    limits = np.minimum(signed, signed_limits(np.maximum(blocks, 0.0)))
    best = -np.inf if value is None else value
    for i in np.argsort(-limits, kind="stable"):
        if limits[i] <= best:
            break
        exact, _ = support_optimum(blocks[i], nonnegative=True)
        limits[i] = min(limits[i], exact)
        if value is not None:
            best = max(best, float(limits[i]))
    return np.asarray(limits)


def signed_limits(blocks: Array) -> Array:
    """A proven limit of the largest eigenvalue of each block."""
    size = blocks.shape[1]
    tops = np.linalg.eigvalsh(blocks)[:, -1]
    spread = np.abs(blocks).sum(axis=2).max(axis=1)
    shift = 8.0 * size * UNIT * spread + np.finfo(np.float64).tiny
    for _ in range(30):
        limits = tops + shift
        inner = limits[:, None, None] * np.eye(size) - blocks
        try:
            root = np.linalg.cholesky(inner)
        except np.linalg.LinAlgError:
            shift *= 4.0
            continue
        absolute = np.abs(root)
        rest = np.abs(inner - root @ root.transpose(0, 2, 1))
        rest += gamma(size + 2) * (np.abs(inner) + absolute @ absolute.transpose(0, 2, 1))
        found = limits + rest.sum(axis=2).max(axis=1) * (1.0 + 4.0 * gamma(size))
        return _finite_or_infinite(np.nextafter(found, np.inf))
    return _finite_or_infinite(np.nextafter(spread * (1.0 + 4.0 * gamma(size)), np.inf))


def _finite_or_infinite(limits: Array) -> Array:
    """Limits that left the range of numbers on the way say nothing."""
    return np.where(np.isfinite(limits), limits, np.inf)
