"""Bounds for wide data out of core: one reduction over all features, for all sizes at once.

Notation: with eigenpairs ``(l_m, v_m)`` of ``S`` and a cut ``c >= 0``,
``S <= c I + sum_m (l_m - c)_+ v_m v_m'``, so that on every support T

    lambda_max(S_TT) <= c + sum of d_i(c) over T,   d_i(c) = sum_m (l_m - c)_+ v_mi^2.

The eigenvalues come from the Gram matrix of the samples, the ``d_i`` from a pass over strips of
features, each of which sends back its largest ones only. Nobody is left out, whatever a search
looked at.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from loadstone.certificates.problem import Array, Indices, SupportProblem
from loadstone.covariance.centring import Centring
from loadstone.covariance.sample_space import SampleSpace, sample_space

if TYPE_CHECKING:
    from loadstone.covariance.protocol import Covariance

#: Numbers of leading eigenvalues that are treated apart.
CUTS = (1, 2, 3, 5, 8, 13, 21, 34, 55, 89)


class SpaceBounds(NamedTuple):
    """The bounds of one size."""

    eigenvalue: float
    trace: float
    above_an_eigenvalue: float


def sample_space_bounds(S: Covariance, problems: Sequence[SupportProblem]) -> list[SpaceBounds]:
    """Bounds of problems that differ in their size alone; one pass for all of them.

    Parameters
    ----------
    S : Covariance
        A SampleGram, deflated or not.
    problems : sequence of SupportProblem
        On the same features, the same of them forced.
    """
    first = problems[0]
    space = sample_space(S)
    largest = max(problem.n_free for problem in problems)
    counts = [count for count in CUTS if count < space.values.size and space.values[count - 1] > 0]
    cuts = np.maximum(space.values[counts], 0.0)
    sums, top = _largest_terms(space, counts, cuts, first, largest)
    variances = np.maximum(np.asarray(S.diagonal(), dtype=np.float64)[first.features], 0.0)
    own = variances[first.forced].sum()
    ranked = np.sort(variances[~first.forced])[::-1][:largest]
    # Rounding of the Gram matrix and of what is made of it is a share of the trace.
    eps = float(np.finfo(S.dtype).eps)
    room = 8.0 * (space.base.n_rows * np.finfo(np.float64).eps + eps)
    room *= float(np.abs(space.values).sum())
    below = max(0.0, -float(space.values[-1]))
    found = []
    for problem in problems:
        free = min(problem.n_free, ranked.size)
        trace = float(own + ranked[:free].sum()) + below * (problem.n_nonzero - 1)
        above = cuts + sums + top[:, :free].sum(axis=1)
        found.append(
            SpaceBounds(
                float(space.values[0]) + room, trace + room, float(above.min(initial=np.inf)) + room
            )
        )
    return found


def _largest_terms(
    space: SampleSpace, counts: list[int], cuts: Array, problem: SupportProblem, largest: int
) -> tuple[Array, Array]:
    """For every cut the sum of forced ``d_i``, and the largest of the others, descending."""
    if not counts:
        return np.zeros(0), np.zeros((0, largest))
    leading = space.leading(counts[-1])
    excess = np.maximum(leading.values - cuts[:, None], 0.0)
    n_features = space.base.n_features
    closed = np.setdiff1d(np.arange(n_features), problem.features)
    forced = problem.features[problem.forced]
    base = space.base
    weights = leading.scores.astype(base.dtype)
    return base.strips.fold(
        _terms_part,
        _merge_terms,
        base.centring,
        (weights, leading.U, leading.shares, excess),
        (closed, forced),
        largest,
    )


def _terms_part(
    strip: Array,
    features: slice,
    centring: Centring,
    vectors: tuple[Array, Array, Array, Array],
    apart: tuple[Indices, Indices],
    largest: int,
) -> tuple[Array, Array]:
    scores, U, shares, excess = vectors
    V = np.asarray(centring.columns(strip).T @ scores, dtype=np.float64)
    if U.shape[1]:
        V += U[features] @ shares
    terms = excess @ np.square(V).T
    closed, forced = (_inside(part, features) for part in apart)
    sums = terms[:, forced].sum(axis=1)
    terms[:, closed] = terms[:, forced] = 0.0
    return sums, _ranked(terms, largest)


def _merge_terms(left: tuple[Array, Array], right: tuple[Array, Array]) -> tuple[Array, Array]:
    both = np.hstack([left[1], right[1]])
    return left[0] + right[0], _ranked(both, left[1].shape[1])


def _ranked(terms: Array, largest: int) -> Array:
    """The largest terms of each row, descending, filled up with zeros."""
    n = terms.shape[1]
    if n > largest:
        terms = np.partition(terms, n - largest, axis=1)[:, n - largest :]
    ranked = np.zeros((terms.shape[0], largest))
    ranked[:, : terms.shape[1]] = np.sort(terms, axis=1)[:, ::-1]
    return ranked


def _inside(features: Indices, strip: slice) -> Indices:
    inside: Indices = features[(features >= strip.start) & (features < strip.stop)] - strip.start
    return inside
