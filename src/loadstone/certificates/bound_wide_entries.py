"""Rows of a wide covariance out of core, for bounds: one pass for the largest entries of many.

Notation: a bound asks of row i of ``A = Z'Z`` for the largest sum of ``A_ij^2`` over the other
features of a support, so that a few of its entries say everything. Strips of features send back
the largest ones they have.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from loadstone.certificates.problem import Array, Indices, SupportProblem

if TYPE_CHECKING:
    from loadstone.covariance.centring import Centring
    from loadstone.covariance.sample_gram import SampleGram

#: Operations that a pass for rows may take, unless the Gram matrix of the samples took more.
ROW_WORK = 4e11
#: Columns of a strip, and rows, that are multiplied at once.
STRIP_BLOCK, ROW_BLOCK = 1024, 512


class LargestEntries(NamedTuple):
    """Of each row: the squares of forced features summed, and the largest other ones, descending."""

    forced: Array
    free: Array


def rows_in_reach(S: SampleGram) -> int:
    """Rows whose entries one pass may compute."""
    work = max(ROW_WORK, 2.0 * S.n_rows**2 * S.n_features)
    return int(min(S.room // 2, work / (2.0 * S.n_rows * S.n_features)))


def largest_entries(
    S: SampleGram, problem: SupportProblem, inside: Array, rows: Indices
) -> LargestEntries:
    """Squares of entries of ``rows`` with features of the problem that are not ``inside``; one pass.

    Parameters
    ----------
    S : SampleGram
        The covariance.
    problem : SupportProblem
        What the bound speaks about.
    inside : ndarray of bool
        Aligned with the features of the problem: left out.
    rows : ndarray of int
        Places among the features of the problem, ascending; their own entries are left out.
    """
    features = problem.features
    asked = np.zeros(S.n_features, dtype=bool)
    asked[features[~inside]] = True
    forced = np.zeros(S.n_features, dtype=bool)
    forced[features[problem.forced & ~inside]] = True
    largest, lowest = max(1, problem.n_free), 0.0 if problem.nonnegative else -np.inf
    # A proof is replayed as soon as it is found, and asks the same again.
    sums, free = S.known.reduction(
        [asked, forced, rows, np.array([largest, lowest])],
        lambda: S.strips.fold(
            _part,
            _merge,
            S.centring,
            S.centred_columns(features[rows]),
            features[rows],
            (asked, forced),
            largest,
            lowest,
        ),
    )
    return LargestEntries(sums, free)


def _part(
    strip: Array,
    features: slice,
    centring: Centring,
    Z: Array,
    own: Indices,
    marks: tuple[Array, Array],
    largest: int,
    lowest: float,
) -> tuple[Array, Array]:
    asked, forced = (mark[features] for mark in marks)
    sums, free = np.zeros(own.size), np.zeros((own.size, largest))
    for start in range(0, strip.shape[1], STRIP_BLOCK):
        piece = slice(start, min(start + STRIP_BLOCK, strip.shape[1]))
        if not asked[piece].any():
            continue
        columns = centring.columns(strip[:, piece])
        first = features.start + start
        for row in range(0, own.size, ROW_BLOCK):
            at = slice(row, min(row + ROW_BLOCK, own.size))
            entries = np.asarray(Z[:, at].T @ columns, dtype=np.float64)
            squares = np.square(np.maximum(entries, lowest))
            squares[:, ~asked[piece]] = 0.0
            here = np.flatnonzero((own[at] >= first) & (own[at] < first + columns.shape[1]))
            squares[here, own[at][here] - first] = 0.0
            sums[at] += squares[:, forced[piece]].sum(axis=1)
            squares[:, forced[piece]] = 0.0
            free[at] = _ranked(np.hstack([free[at], squares]), largest)
    return sums, free


def _merge(left: tuple[Array, Array], right: tuple[Array, Array]) -> tuple[Array, Array]:
    both = np.hstack([left[1], right[1]])
    return left[0] + right[0], _ranked(both, left[1].shape[1])


def _ranked(squares: Array, largest: int) -> Array:
    """The largest of each row, descending."""
    n = squares.shape[1]
    best = np.partition(squares, n - largest, axis=1)[:, n - largest :]
    result: Array = np.sort(best, axis=1)[:, ::-1]
    return result
