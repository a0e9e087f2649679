"""Scatter matrices about the mean that keep their digits, can be added and taken away.

``M = sum_i w_i (x_i - m)(x_i - m)'`` in double precision, with the mean ``m`` in two numbers:
far from zero a single one cannot hold it well enough to move a scatter matrix from one mean
to another. How much rounding there may be is kept for every feature.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg.blas import ssyrk

from loadstone.covariance.containers import Rows, per_row, pieces
from loadstone.covariance.moments import shifted, sparse_sums
from loadstone.covariance.protocol import Array, Support

EPS = float(np.finfo(np.float64).eps)
#: Bytes of a piece of rows that is centred in the processor's cache.
CACHED_BYTES = 2 << 20
#: Rows of a block whose mean all of it is centred at.
N_FIRST = 256
#: Share of stored entries above which a sparse feature is moved to its mean.
NEARLY_FULL = 0.9


@dataclass(frozen=True, kw_only=True)
class Scatter:
    """Weighted rows, summed up.

    Attributes
    ----------
    n_samples : float
        Sum of the weights.
    mean : ndarray of shape (n_features,)
        Weighted mean.
    mean_rest : ndarray of shape (n_features,)
        What ``mean`` lacks of the mean, because a number has 16 digits.
    matrix : ndarray of shape (n_features, n_features)
        Scatter about the mean, without a divisor.
    rounding : ndarray of shape (n_features,)
        Size of the rounding in the diagonal of ``matrix``.
    """

    n_samples: float
    mean: Array
    mean_rest: Array
    matrix: Array
    rounding: Array

    # What overflows is infinite, and refused with a sentence by whoever keeps it.
    @np.errstate(over="ignore", invalid="ignore")
    def __add__(self, other: Scatter) -> Scatter:
        """The scatter of both sets of rows.

        With ``d`` the difference of the means, ``M = M_a + M_b + (n_a n_b / n) d d'``.
        """
        large, small = (self, other) if self.n_samples >= other.n_samples else (other, self)
        n = large.n_samples + small.n_samples
        if small.n_samples == 0:
            return large
        between = _difference(small, large)
        share = small.n_samples / n
        mean, rest = _two_sum(large.mean, large.mean_rest + share * between)
        matrix = np.outer(between, (large.n_samples * share) * between)
        matrix += large.matrix
        matrix += small.matrix
        new = 8 * EPS * matrix.diagonal()
        rounding = np.sqrt(large.rounding**2 + small.rounding**2 + new**2)
        return Scatter(n_samples=n, mean=mean, mean_rest=rest, matrix=matrix, rounding=rounding)

    def __sub__(self, part: Scatter) -> Scatter:
        """The scatter of the rows that are not in ``part``; the digits left are not checked.

        With ``d`` the mean of the part less that of all, ``M = M_a - M_b - (n_a n_b / n) d d'``.
        """
        n = self.n_samples - part.n_samples
        between = _difference(part, self)
        share = part.n_samples / n
        mean, rest = _two_sum(self.mean, self.mean_rest - share * between)
        matrix = self.matrix - part.matrix
        matrix -= np.outer(between, (self.n_samples * share) * between)
        # An error in the mean counts more, the more is taken away.
        new = (8 + 4 * np.sqrt(share)) * EPS * self.matrix.diagonal()
        rounding = np.sqrt(self.rounding**2 + part.rounding**2 + new**2)
        return Scatter(n_samples=n, mean=mean, mean_rest=rest, matrix=matrix, rounding=rounding)

    @property
    def vectors(self) -> tuple[Array, Array, Array]:
        """What there is for each feature."""
        return self.mean, self.mean_rest, self.rounding

    @property
    def unvaried(self) -> Array:
        """Features whose values differ by a few units in the last place, or not at all."""
        limit = self.n_samples * (16 * EPS * self.mean) ** 2
        result: Array = self.matrix.diagonal() <= limit
        return result


def _difference(a: Scatter, b: Scatter) -> Array:
    result: Array = (a.mean - b.mean) + (a.mean_rest - b.mean_rest)
    return result


def _two_sum(a: Array, b: Array) -> tuple[Array, Array]:
    """``a + b`` as a rounded sum and what the rounding took away (Knuth)."""
    total = a + b
    part = total - a
    rest: Array = (a - (total - part)) + (b - part)
    return total, rest


@np.errstate(over="ignore", invalid="ignore")
def accumulate_scatter(
    rows: Rows,
    weights: Array | None = None,
    parts: Array | None = None,
    n_parts: int = 1,
    *,
    exact: bool = True,
) -> tuple[Scatter, ...]:
    """One scatter for each part of the rows, in one pass.

    Every block is centred at its own mean, and blocks are added like parts: however the data
    drifts, nothing is lost.

    Parameters
    ----------
    rows : Rows
        The data.
    weights : ndarray of shape (n_samples,), optional
        How many samples each row stands for.
    parts : ndarray of int of shape (n_samples,), optional
        Which part each row belongs to, from 0; a row of part -1 belongs to none.
    n_parts : int
        Number of parts.
    exact : bool
        Form products of dense rows in double precision, or in that of the data, as fits do:
        single precision costs half the time. Sums of blocks are in double precision anyway.

    Returns
    -------
    tuple of Scatter
    """
    if weights is not None:
        weights = weights.astype(np.float64, copy=False)
    if len(rows.strips) > 1:
        return _scatters_of_pairs(rows, weights, parts, n_parts, exact=exact)
    dtype = np.dtype(np.float64) if exact else rows.dtype
    found: list[Scatter] = []
    at_once = parts_at_once(rows, n_parts)
    for first in range(0, n_parts, at_once):
        chosen = range(first, min(first + at_once, n_parts))
        found += rows.sum_over_blocks(_scatters, per_row(weights), per_row(parts), chosen, dtype)
    n_features = rows.shape[1]
    return tuple(part if part.matrix.size else _nothing(n_features) for part in found)


def parts_at_once(rows: Rows, n_parts: int) -> int:
    """Parts whose matrices the result of a block can have; the others take further passes.

    Raises
    ------
    MemoryError
        Where it is none.
    """
    n_features = rows.shape[1]
    size = 8 * n_features**2
    if size > rows.largest_result:
        msg = (
            f"a covariance of {n_features} features takes {size / 2**30:.3g} GiB, and a worker can "
            f"hold results of {rows.largest_result / 2**30:.3g} GiB for each of its threads; give "
            "workers more memory or fewer threads, or hand the data itself to SparsePCA"
        )
        raise MemoryError(msg)
    return int(min(n_parts * size, rows.largest_result)) // size


def _scatters_of_pairs(
    rows: Rows, weights: Array | None, parts: Array | None, n_parts: int, *, exact: bool
) -> tuple[Scatter, ...]:
    """The same from the columns of two strips at a time."""
    n_features = rows.shape[1]
    found = [_nothing(n_features) for _ in range(n_parts)]
    for pair in combinations(rows.strips, 2):
        at = np.r_[pair]
        narrow = rows.narrow(at, joined=True)
        joined = accumulate_scatter(narrow, weights, parts, n_parts, exact=exact)
        for i, (whole, part) in enumerate(zip(found, joined, strict=True)):
            for into, values in zip(whole.vectors, part.vectors, strict=True):
                into[at] = values
            whole.matrix[np.ix_(at, at)] = part.matrix
            found[i] = replace(whole, n_samples=part.n_samples)
    return tuple(found)


def _scatters(
    block: Any,
    rows: slice,
    w: Array | None,
    part_of: Array | None,
    parts: range,
    dtype: np.dtype[Any],
) -> tuple[Scatter, ...]:
    block = block.tocsr() if sparse.issparse(block) else block
    if part_of is None:
        return (_scatter_of(block, w, dtype),)
    chosen = [_neighbours(np.flatnonzero(part_of == part)) for part in parts]
    return tuple(_scatter_of(block[i], None if w is None else w[i], dtype) for i in chosen)


def _neighbours(rows: Support) -> Support | slice:
    """Rows that follow each other as a slice, which copies nothing."""
    if not rows.size or rows[-1] - rows[0] + 1 != rows.size:
        return rows
    return slice(int(rows[0]), int(rows[-1]) + 1)


def _scatter_of(block: Any, w: Array | None, dtype: np.dtype[Any]) -> Scatter:
    """Of one block; without rows it takes no room, because it may have to travel."""
    if not block.shape[0]:
        return _nothing(0)
    if sparse.issparse(block):
        return _sparse_scatter(block, w)
    return _single_scatter(block, w) if dtype == np.float32 else _dense_scatter(block, w)


def _dense_scatter(block: Array, w: Array | None) -> Scatter:
    total = _nothing(0)
    for piece in pieces(*block.shape):
        centred = np.array(block[piece], dtype=np.float64)
        count = centred.shape[0]
        v = np.ones(count) if w is None else w[piece]
        n = float(v.sum())
        if n == 0:
            continue
        # A mean near the exact one: what it misses is seen after centring.
        near = v @ centred / n
        centred -= near
        shift = v @ centred / n
        if w is not None:
            centred *= np.sqrt(v)[:, None]
        products = centred.T @ centred
        matrix = products - np.outer(shift, n * shift)
        total += _scatter(count, n, (near, shift), matrix, products.diagonal(), matrix.diagonal())
    return total


def _single_scatter(block: Array, w: Array | None) -> Scatter:
    """Products in single precision, about the mean of the first rows.

    They are rows of the block, so that its mean is at most ``sqrt(count / N_FIRST)`` of its
    deviations away from theirs, and products keep their digits.
    """
    count, n_features = block.shape
    v = None if w is None else np.sqrt(w).astype(np.float32)[:, None]
    n = float(count if w is None else w.sum())
    near = block[:N_FIRST].mean(axis=0, dtype=np.float64).astype(np.float32)
    step = max(1, CACHED_BYTES // (4 * n_features))
    room = np.empty((min(step, count), n_features), dtype=np.float32)
    first = np.zeros(n_features)
    triangle = np.zeros((n_features, n_features), dtype=np.float32, order="F")
    for start in range(0, count, step):
        piece = slice(start, min(start + step, count))
        centred = np.subtract(block[piece], near, out=room[: piece.stop - start])
        first += centred.sum(axis=0, dtype=np.float64) if w is None else w[piece] @ centred
        if v is not None:
            centred *= v[piece]
        triangle = ssyrk(1.0, centred.T, beta=1.0, c=triangle, overwrite_c=1)
    if n == 0:
        return _nothing(0)
    # The other triangle is zero, and the diagonal is counted twice.
    products = np.add(triangle, triangle.T, dtype=np.float64, order="C")
    squares, shift = products.diagonal() / 2, first / n
    np.fill_diagonal(products, squares)
    products -= np.outer(shift, n * shift)
    variation = products.diagonal().copy()
    mean, eps = (near.astype(np.float64), shift), float(np.finfo(np.float32).eps)
    return _scatter(count, n, mean, products, squares, variation, eps)


def _sparse_scatter(block: Any, w: Array | None) -> Scatter:
    """Centring would fill in the zeros: products are formed about zero, but for full features.

    A feature with a tenth of zeros has a mean of at most three deviations, and keeps its digits.
    The diagonal, which says what varies at all, is formed beside them about the mean.
    """
    n = float(block.shape[0] if w is None else w.sum())
    if n == 0:
        return _nothing(block.shape[1])
    block = sparse.csr_array(block, dtype=np.float64, copy=True)
    weighted = block if w is None else sparse.diags_array(w) @ block
    near = np.asarray(weighted.sum(axis=0)).ravel() / n
    first, second = sparse_sums(block, near, w)
    shift = first / n
    block.sum_duplicates()
    stored = np.bincount(block.tocoo().coords[1], minlength=block.shape[1])
    reference = np.where(stored > NEARLY_FULL * block.shape[0], near, 0.0)
    moved = shifted(block, reference)
    weighted = moved if w is None else sparse.diags_array(w) @ moved
    products = (weighted.T @ moved).toarray()
    # Exact where the feature was moved, and the mean itself where it was not.
    mean = (near - reference) + shift
    matrix = products - np.outer(mean, n * mean)
    variation = second - n * shift**2
    return _scatter(block.shape[0], n, (near, shift), matrix, products.diagonal(), variation)


def _scatter(
    count: int,
    n: float,
    mean: tuple[Array, Array],
    matrix: Array,
    squares: Array,
    variation: Array,
    eps: float = EPS,
) -> Scatter:
    """Sums of one block, with their rounding; what varies by rounding alone does not vary."""
    # Errors of a sum wander: sqrt(count) / 6 of a unit, added one by one; BLAS does better.
    rounding = eps * (8 + np.sqrt(count) / 4) * squares
    vanished = np.flatnonzero(variation <= eps * (8 + np.sqrt(count)) * n * mean[1] ** 2)
    np.fill_diagonal(matrix, variation)
    matrix[vanished] = 0.0
    matrix[:, vanished] = 0.0
    high, low = _two_sum(*mean)
    return Scatter(n_samples=n, mean=high, mean_rest=low, matrix=matrix, rounding=rounding)


def _nothing(n_features: int) -> Scatter:
    return Scatter(
        n_samples=0.0,
        mean=np.zeros(n_features),
        mean_rest=np.zeros(n_features),
        matrix=np.zeros((n_features, n_features)),
        rounding=np.zeros(n_features),
    )
