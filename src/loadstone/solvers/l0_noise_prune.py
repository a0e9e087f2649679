"""Entries of an l0 model that its criterion is lower without.

Steps of the descent weigh an entry with the scores held fixed. Left out, the scores and all other
entries answer, and the deviance rises by less than the step expects: up to half where factors
overlap. An entry that is not worth its price may therefore stay. Here each of the weakest is left
out in turn, the others settle, and the penalised deviance decides.
"""

from __future__ import annotations

import numpy as np

from loadstone.covariance.protocol import Array
from loadstone.solvers.factor_models.samples import Samples
from loadstone.solvers.l0_noise_descent import Descent, L0Descent, L0Point

#: Entries a step values at less than this many prices are tried, so many of them at most.
DOUBTFUL, MOST_TRIED = 4.0, 12


def without_doubtful(
    solver: L0Descent, rough: L0Descent, samples: Samples, penalty: float, found: Descent
) -> Descent:
    """``found`` or what is left of it, settled by ``solver``; ``rough`` tries single entries."""
    fewer = pruned(rough, samples, penalty, found).point
    if fewer is found.point:
        return found
    return min(found, solver.settled(samples, penalty, fewer, rough.tol), key=lambda d: d.value)


def pruned(solver: L0Descent, samples: Samples, penalty: float, descent: Descent) -> Descent:
    """``descent`` without the entries that ``J`` is lower without, one by one."""
    while descent.point.n_components:
        rivals = [
            _without(solver, samples, penalty, descent.point, entry)
            for entry in doubtful_entries(samples, penalty, descent.point)
        ]
        best = min(rivals, key=lambda rival: rival.value, default=descent)
        if not solver.is_lower(samples, best, descent):
            return descent
        descent = best
    return descent


def doubtful_entries(samples: Samples, penalty: float, point: L0Point) -> list[tuple[int, int]]:
    """The weakest entries, component and feature; a component keeps two features."""
    own = np.diagonal(point.scores.total[0]) / samples.n_samples
    worth: Array = np.square(point.G) * own[:, None] / point.noise
    worth = worth * samples.counts / samples.n_samples
    spare = np.count_nonzero(point.G, axis=1) > 2
    tried = (point.G != 0) & spare[:, None] & (worth < DOUBTFUL * penalty)
    component, feature = np.nonzero(tried)
    first = np.argsort(worth[tried], kind="stable")[:MOST_TRIED]
    return [(int(component[k]), int(feature[k])) for k in first]


def _without(
    solver: L0Descent, samples: Samples, penalty: float, point: L0Point, entry: tuple[int, int]
) -> Descent:
    """The support of ``point`` but for one entry, settled."""
    G = point.G.copy()
    G[entry] = 0.0
    return solver(samples, penalty, G, point.noise, point.location, keep=G != 0)
