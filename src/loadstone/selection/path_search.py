"""All sizes of a path searched in memory: starts, sweeps between sizes, exchanges at each."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from loadstone.constraints import LoadingConstraint
from loadstone.covariance import Array, Covariance
from loadstone.selection.path_starts import StartEffort, search_size, start_directions
from loadstone.selection.path_sweep import GAIN, BestKnown, sweep
from loadstone.solvers.exchange import improve_by_exchange
from loadstone.solvers.renormalise import renormalise
from loadstone.solvers.support_spectrum import SupportSpectrum

#: Sweeps after the first two; they only visit what the one before has improved.
MAX_SWEEPS = 8


def search_sizes(
    S: Covariance,
    constraints: Sequence[LoadingConstraint],
    known: BestKnown | None = None,
    *,
    effort: StartEffort,
) -> BestKnown:
    """The best support of every size, beginning with what is ``known``.

    Parameters
    ----------
    S : Covariance
        Of the data.
    constraints : sequence of LoadingConstraint
        One per size, ascending.
    known : BestKnown, optional
        What an earlier search found; improved in place.
    effort : StartEffort
        How much is tried where a path begins.
    """
    spectrum = SupportSpectrum(S, coarse=True)
    sizes = np.array([constraint.n_nonzero for constraint in constraints])
    known = BestKnown(sizes, S.n_features) if known is None else known
    starts = start_directions(S, spectrum, effort, constraints[0])
    for index in effort.sizes(sizes, S.n_features, nonnegative=constraints[0].nonnegative):
        known.offer(index, *search_size(S, spectrum, constraints[index], starts, effort))
    news = np.ones(sizes.size, dtype=bool)
    sweep(spectrum, constraints, known, news, upwards=False)
    _spread(spectrum, constraints, known, sweep(spectrum, constraints, known, news, upwards=True))
    _spread(spectrum, constraints, known, _exchanged(S, constraints, known, effort))
    _keep_smaller_components(known)
    return known


def _spread(
    spectrum: SupportSpectrum,
    constraints: Sequence[LoadingConstraint],
    known: BestKnown,
    news: Array,
) -> None:
    """Carry news down and up until there are none."""
    for turn in range(MAX_SWEEPS):
        if not news.any():
            break
        news = sweep(spectrum, constraints, known, news, upwards=turn % 2 == 1)


def _exchanged(
    S: Covariance, constraints: Sequence[LoadingConstraint], known: BestKnown, effort: StartEffort
) -> Array:
    """Exchange two features at a time at every small size; where that gained.

    A sweep drops and adds what its neighbour left; it never takes one feature for another.
    """
    improved = np.zeros(len(constraints), dtype=bool)
    for index, constraint in enumerate(constraints):
        if constraint.size > effort.max_size:
            break
        w = known.support(index).astype(S.dtype)
        w, before = renormalise(S, w / np.linalg.norm(w), constraint)
        w, value = improve_by_exchange(S, w, before, constraint, effort.n_exchanges)
        gained = value > max(before, known.values[index]) * (1 + GAIN)
        improved[index] = gained and known.offer(index, w != 0, value)
    return improved


def _keep_smaller_components(known: BestKnown) -> None:
    """Where a smaller component is better than a larger one, it serves both sizes."""
    for index in range(1, known.values.size):
        if known.values[index] < known.values[index - 1]:
            known.values[index] = known.values[index - 1]
            known.packed[index] = known.packed[index - 1]
