"""The objective along the search."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from loadstone.plotting.fitted import is_of_all
from loadstone.report.facts import Facts
from loadstone.report.figures.packed import shortened

#: Steps drawn of each search.
MAX_STEPS = 400


@dataclass(frozen=True)
class Traces:
    """One trace per component, or one for all of them; steps from 1."""

    joint: bool
    steps: list[list[int]]
    values: list[list[float | None]]


def traces(facts: Facts) -> Traces | None:
    """What each search reached, step by step, where the estimator kept it."""
    known = vars(facts.estimator)
    trace = known.get("objective_", known.get("lower_bounds_"))
    if trace is None or len(trace) == 0:
        return None
    each = [trace] if np.ndim(trace[0]) == 0 else trace
    kept = [np.atleast_1d(np.asarray(t, dtype=np.float64)) for t in each]
    if max(t.size for t in kept) < 2:
        return None
    places = [
        np.unique(np.linspace(0, t.size - 1, min(t.size, MAX_STEPS)).round().astype(np.intp))
        for t in kept
    ]
    return Traces(
        is_of_all(facts.estimator, kept),
        [[int(i) + 1 for i in at] for at in places],
        [shortened(t[at]) for t, at in zip(kept, places, strict=True)],
    )
