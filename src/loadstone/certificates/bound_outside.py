"""Features a dual does not know: what an extension of it proves of them.

For j in the dual, p_ji takes what its row can bear of 2A_ij, and p_ij the rest; among themselves
the other features take P = A. Rows of the covariance are formed a few at a time, and only those
of which cheaper limits do not say enough.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from loadstone.certificates.bound_rows import (
    ROW_BLOCK,
    best_squares,
    bracket,
    counted_squares,
    reach_limits,
    rows_of_covariance,
)
from loadstone.certificates.bound_wide_entries import largest_entries, rows_in_reach
from loadstone.certificates.problem import Array, Indices, SupportProblem, sum_of_best
from loadstone.covariance.from_data import DataCovariance
from loadstone.covariance.sample_gram import SampleGram

if TYPE_CHECKING:
    from loadstone.covariance.protocol import Covariance

#: Rows of which only entries with features of the dual are formed, at once.
COLUMN_BLOCK = 1024


def outside_terms(
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
    if isinstance(S, DataCovariance):
        closer = _reach_by_halves(S, problem, inside, outside[exact], limit)
        terms[exact] = bracket(closer, top - variances[outside[exact]])
        exact = exact[terms[exact] >= cut]
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


def _reach_by_halves(
    S: DataCovariance, problem: SupportProblem, inside: Array, rows: Indices, limit: Array
) -> Array:
    """Limits of phi_i^2: entries with features inside as they are, the others from the variances.

    Few columns are needed for it, and few rows are left of which it does not say enough.
    """
    features, forced = problem.features, problem.forced
    variances = np.maximum(np.asarray(S.diagonal(), dtype=np.float64)[features], 0.0)
    beyond = SupportProblem(
        features[~inside], forced[~inside], problem.n_nonzero, problem.nonnegative
    )
    # Outside P = A, and a covariance of data obeys A_ij^2 <= A_ii A_jj; see reach_limits.
    found = 1.001 * variances[rows] * sum_of_best(variances[~inside], beyond)
    for start in range(0, rows.size, COLUMN_BLOCK):
        at = slice(start, start + COLUMN_BLOCK)
        part = np.asarray(S.block(features[rows[at]], features[inside]), dtype=np.float64)
        part = _left_over(part, problem, rows[at], limit)
        squares = counted_squares(part, nonnegative=problem.nonnegative)
        found[at] += best_squares(squares, forced[inside], problem.free_room()[rows[at]])[0]
    return found


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


def smallest_counted(terms: Array, count: int) -> float:
    """The ``count``-th largest term, or zero where there are fewer."""
    return float(np.partition(terms, -count)[-count]) if count <= terms.size else 0.0
