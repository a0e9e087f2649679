"""Epsilon net (Alg. 3): many random directions, each one a rank-one problem.

A direction at angle theta from the best one keeps ``cos^2 theta`` of its value,
because the best loading is still allowed there. So it is enough that one
direction falls into the double cap ``sin^2 theta <= epsilon``.

Notation as in :mod:`loadstone.solvers.spannogram.rank_one`.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import betainc

from loadstone.covariance.protocol import Array
from loadstone.solvers.spannogram.direction import Direction
from loadstone.solvers.spannogram.rank_one import climb, direction_values

# Directions that climb to their own local optimum; the others only seed the choice.
N_CLIMBERS = 6


def n_directions(n_features: int, rank: int, epsilon: float) -> int:
    """Directions so that one lies in the cap with probability ``1 - 1/n_features``.

    ``ceil(log n / -log(1 - p))`` with p the share of the sphere in the double
    cap, ``I_epsilon((rank - 1)/2, 1/2)``: of the order ``epsilon^{-(rank-1)/2} log n``,
    inside the ``epsilon^{-rank} log n`` of Theorem 2.
    """
    if rank == 1:
        return 1
    share = float(betainc((rank - 1) / 2, 0.5, epsilon))
    if share >= 1.0:
        return 1
    return max(1, math.ceil(math.log(max(n_features, 2)) / -math.log1p(-share)))


def sample_directions(rng: np.random.Generator, rank: int, count: int) -> Array:
    """Uniform unit directions as columns."""
    C = rng.standard_normal((rank, count))
    result: Array = C / np.linalg.norm(C, axis=0)
    return result


def leaders(V: Array, C: Array, n_nonzero: int, *, nonnegative: bool) -> tuple[Array, Array]:
    """Directions of C, both sides where it matters, best first, with their values."""
    if nonnegative:
        C = np.hstack([C, -C])
    values = direction_values(V, C, n_nonzero, nonnegative=nonnegative)
    order = np.argsort(-values, kind="stable")
    return C[:, order], values[order]


def net(
    V: Array, n_nonzero: int, *, nonnegative: bool, epsilon: float, rng: np.random.Generator
) -> Direction:
    """Best of the random directions, each side of each, after a climb from the leaders."""
    n, d = V.shape
    C = sample_directions(rng, d, n_directions(n, d, epsilon))
    C, values = leaders(V, C, n_nonzero, nonnegative=nonnegative)
    tops = [climb(V, c, n_nonzero, nonnegative=nonnegative) for c in C[:, :N_CLIMBERS].T]
    c, value = max(tops, key=lambda top: top[1])
    # The best sample alone proves its bound; climbing only moves the value up.
    proven = value if d == 1 else max(value, float(values[0]) / (1.0 - epsilon))
    return Direction(
        c=c,
        value=value,
        upper_bound=proven,
        deterministic=d == 1,
        n_candidates=C.shape[1],
        others=C,
    )
