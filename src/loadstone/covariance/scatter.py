"""Scatter matrices about the mean that keep their digits, can be added and taken away.

``M = sum_i w_i (x_i - m)(x_i - m)'`` in double precision, with the mean ``m`` in two numbers:
far from zero a single one cannot hold it well enough to move a scatter matrix from one mean
to another. How much rounding there may be is kept for every feature.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from loadstone.covariance.containers import Rows, pieces
from loadstone.covariance.moments import _sparse_sums, reference_point
from loadstone.covariance.protocol import Array

EPS = float(np.finfo(np.float64).eps)


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
        new = 4 * EPS * matrix.diagonal()
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
        new = (4 + 2 * np.sqrt(share)) * EPS * self.matrix.diagonal()
        rounding = np.sqrt(self.rounding**2 + part.rounding**2 + new**2)
        return Scatter(n_samples=n, mean=mean, mean_rest=rest, matrix=matrix, rounding=rounding)

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


def accumulate_scatter(
    rows: Rows, weights: Array | None = None, parts: Array | None = None, n_parts: int = 1
) -> list[Scatter]:
    """One scatter for each part of the rows; one pass and a look at the first block.

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

    Returns
    -------
    list of Scatter
    """
    reference = reference_point(rows).astype(np.float64)
    if weights is not None:
        weights = weights.astype(np.float64, copy=False)
    sums = rows.sum_over_blocks(_sums_of_parts, reference, weights, parts, n_parts)
    parted: list[tuple[Array, ...]] = list(zip(*sums, strict=True))
    return [_finish(part, reference, about_zero=rows.is_sparse) for part in parted]


def _sums_of_parts(
    block: Any, rows: slice, reference: Array, weights: Array | None, parts: Array | None, n: int
) -> tuple[Array, ...]:
    w = None if weights is None else weights[rows]
    if parts is None:
        return tuple(value[None] for value in _sums(block, reference, w))
    block = block.tocsr() if sparse.issparse(block) else block
    chosen = [np.flatnonzero(parts[rows] == part) for part in range(n)]
    sums = [_sums(block[i], reference, None if w is None else w[i]) for i in chosen]
    return tuple(np.stack(values) for values in zip(*sums, strict=True))


def _sums(block: Any, reference: Array, w: Array | None) -> tuple[Array, ...]:
    """Rows, weights, first and second moments about the reference, products of features."""
    total = np.asarray(block.shape[0] if w is None else w.sum(), dtype=np.float64)
    count = np.asarray(block.shape[0], dtype=np.float64)
    if sparse.issparse(block):
        # Centring would fill in the zeros: products are formed about zero, and their
        # diagonal, which says what varies, beside them about the reference.
        block = block.astype(np.float64)
        weighted = block if w is None else sparse.diags_array(w) @ block
        first, second = _sparse_sums(block, reference, w, float(total))
        return count, total, first, second, (weighted.T @ block).toarray()
    n_features = block.shape[1]
    first, products = np.zeros(n_features), np.zeros((n_features, n_features))
    for piece in pieces(block.shape[0], n_features):
        centred = np.asarray(block[piece], dtype=np.float64) - reference
        if w is None:
            first += centred.sum(axis=0)
        else:
            first += w[piece] @ centred
            centred *= np.sqrt(w[piece])[:, None]
        products += centred.T @ centred
    return count, total, first, products.diagonal().copy(), products


def _finish(sums: tuple[Array, ...], reference: Array, *, about_zero: bool) -> Scatter:
    count, total, first, second, products = sums
    n = float(total)
    shift = first / n if n > 0 else np.zeros_like(first)
    mean, rest = _two_sum(reference, shift)
    # Errors of a sum wander: sqrt(count) / 6 of a unit, added one by one; blocks do better.
    unit = EPS * (8 + np.sqrt(float(count)) / 4)
    rounding = unit * products.diagonal()
    centre = mean if about_zero else shift
    matrix = products - np.outer(centre, n * centre)
    variation = second - n * shift**2
    # What is left of a difference of equal numbers is rounding, not variance.
    vanished = np.flatnonzero(variation <= unit * second)
    np.fill_diagonal(matrix, variation)
    matrix[vanished] = 0.0
    matrix[:, vanished] = 0.0
    return Scatter(n_samples=n, mean=mean, mean_rest=rest, matrix=matrix, rounding=rounding)
