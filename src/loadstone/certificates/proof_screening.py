"""Features that provably belong to no better component, or to every better one."""

from __future__ import annotations

import numpy as np

from loadstone.certificates.bound_dual import Evaluation
from loadstone.certificates.problem import SupportProblem


def screen(problem: SupportProblem, evaluation: Evaluation, value: float) -> SupportProblem | None:
    """The problem left for loadings of variance above ``value``; ``None`` if there are none.

    With w_i the terms of the bound, a support that contains a feature i outside the
    best ones loses at least the smallest of the best and gains w_i; one that misses
    a feature of the best loses its term and gains the next.
    """
    if evaluation.bound <= value:
        return None
    free = np.flatnonzero(~problem.forced)
    room = problem.n_free
    if room == 0 or free.size <= room or not np.isfinite(evaluation.bound):
        return problem
    terms = evaluation.terms[free]
    order = np.argsort(-terms, kind="stable")
    last, following = terms[order[room - 1]], terms[order[room]]
    # Strict inequalities with a hair of slack: sums here are rounded once more.
    slack = 1e-13 * (abs(evaluation.bound) + abs(value))
    below = evaluation.bound + slack < value + np.concatenate(
        [terms[order[:room]] - following, last - terms[order[room:]]]
    )
    fixed_in = np.zeros(problem.features.size, dtype=bool)
    fixed_in[free[order[:room][below[:room]]]] = True
    kept = np.ones(problem.features.size, dtype=bool)
    kept[free[order[room:][below[room:]]]] = False
    if kept.all() and not fixed_in.any():
        return problem
    return problem.force(fixed_in).keep(kept)
