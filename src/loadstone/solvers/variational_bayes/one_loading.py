"""One loading and one observation of it: what a prior does to it, without anything else.

Notation: ``t = w + e`` with ``e ~ N(0, 1)`` and ``w`` from a scale-mixture prior of Guan & Dy
(2009). Their Table 1 is the penalty, Fig. 5 its contours, Fig. 6 the estimate against t.
"""

from __future__ import annotations

import numpy as np

from loadstone.covariance.protocol import Array
from loadstone.solvers.variational_bayes.priors import Prior

#: Points of the grid that a penalised estimate is searched on, before it is refined.
_GRID = 2001
_REFINEMENTS = 3
#: Rounds of the variational updates; near a threshold they are slow.
_ROUNDS = 4000


def penalty(prior: Prior, w: Array) -> Array:
    """``-ln p(w)``: the corrected Table 1, up to a constant for Jeffreys' improper prior."""
    result: Array = -prior.bound_term(np.asarray(w, dtype=np.float64) ** 2)
    return result


def penalised_estimate(prior: Prior, t: Array) -> Array:
    """The largest local minimiser of ``(t - w)^2/2 + penalty(w)`` over ``0 <= w <= t``, else 0.

    A penalty that is not bounded below, as Jeffreys', is lowest at zero for every t; what is
    drawn, and what a search from t finds, is the local minimum next to t where there is one.
    """
    return np.array([_from_above(prior, float(value)) for value in np.atleast_1d(t)])


def _from_above(prior: Prior, t: float) -> float:
    low, high = 0.0, t
    for _ in range(_REFINEMENTS):
        grid = np.linspace(low, high, _GRID)
        value = 0.5 * (t - grid) ** 2 + penalty(prior, grid)
        # Downhill from t: the first place where the next step to the left would rise.
        rises = np.flatnonzero(value[:-1] > value[1:])
        place = int(rises[-1]) + 1 if rises.size else 0
        if place == 0 and low == 0.0:
            return 0.0
        low, high = float(grid[max(place - 1, 0)]), float(grid[min(place + 1, _GRID - 1)])
    return 0.5 * (low + high)


def variational_estimate(prior: Prior, t: Array) -> Array:
    """Posterior mean of ``w`` by the updates of the model, until they settle.

    ``<w> = s t`` and ``<w^2> = <w>^2 + s`` with ``s = 1/(1 + <1/z>)``.
    """
    t = np.atleast_1d(np.asarray(t, dtype=np.float64))
    second = t**2 + 1.0
    for _ in range(_ROUNDS):
        _, precision = prior.expectations(second)
        variance = 1.0 / (1.0 + precision)
        mean = variance * t
        second = mean**2 + variance
    result: Array = mean
    return result
