"""Search for theta and the dual of theorem E: exactly by Dinkelbach's steps, or by bisection."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np

from loadstone.certificates.bound_dual import Dual
from loadstone.certificates.joint_recovery import (
    FLOOR,
    left_after,
    recovery_bound,
    recovery_form,
)
from loadstone.certificates.joint_search_supports import faces_of
from loadstone.certificates.joint_supports import blocks_of, can_try_all
from loadstone.certificates.problem import Array, SupportProblem
from loadstone.certificates.search_dual import propose_dual
from loadstone.covariance.symmetric import largest_eigenvalue

#: Halvings of the interval between what is reached and what PCA could.
N_HALVINGS = 7
LEVELS = (3e-2, 1e-2, 3e-3)
#: theta is taken this much above the largest value that was met: rounding must not exceed it.
_ABOVE = 1e-9


def propose_theta(
    matrix: Array,
    earlier: Array,
    problem: SupportProblem,
    value: float,
    *,
    n_steps: int = 60,
    deadline: float = np.inf,
) -> tuple[float, Dual | None]:
    """A recovered variance that can be proven, and the dual that does (``None``: all supports).

    ``value`` is what a known component recovers; the search ends there.
    """
    left, _ = left_after(matrix, earlier)
    at = problem.features
    place = SupportProblem(
        np.arange(at.size), problem.forced, problem.n_nonzero, problem.nonnegative
    )
    if can_try_all(problem):
        return _by_steps(left, place, at, value), None
    low, high = value, max(float(largest_eigenvalue(left)), value)
    proven: tuple[float, Dual | None] = (high * (1.0 + _ABOVE), None)
    start: Dual | None = None
    for _ in range(N_HALVINGS):
        if time.monotonic() > deadline or high - low <= 1e-6 * high:
            break
        theta = 0.5 * (low + high)
        form = recovery_form(left, 0.0, theta)[0][np.ix_(at, at)]
        levels = LEVELS if start is None else LEVELS[1:]
        start = propose_dual(
            form, place, start=start, levels=levels, n_steps=n_steps, target=0.0, deadline=deadline
        ).dual
        found = replace(start, features=at)
        if recovery_bound(matrix, earlier, problem, theta, found) <= theta * (1.0 + 1e-6):
            high, proven = theta, (theta, found)
        else:
            low = theta
    if proven[1] is None:
        # Zero proves that the largest eigenvalue is a limit.
        size = at.size
        zero = Dual(at, np.zeros((size, size)), np.zeros(size), np.zeros((size, 1)))
        proven = (proven[0], zero)
    return proven


def _by_steps(left: Array, place: SupportProblem, at: Array, value: float) -> float:
    """Max w'S_t^2 w / w'S_t w over all supports: each step solves for the last ratio."""
    theta = value
    faces = faces_of(place)
    square, part = (left @ left)[np.ix_(at, at)], left[np.ix_(at, at)]
    floor = FLOOR * max(float(left.diagonal().max()), 0.0)
    for _ in range(30):
        best = theta
        for supports in faces:
            vectors = np.linalg.eigh(blocks_of(square - theta * part, supports))[1][:, :, -1]
            if place.nonnegative:
                vectors = vectors * np.where(vectors.sum(axis=1) < 0, -1.0, 1.0)[:, None]
                vectors = vectors * (vectors >= -1e-9).all(axis=1, keepdims=True)
            above = np.einsum("ti,tij,tj->t", vectors, blocks_of(square, supports), vectors)
            below = np.einsum("ti,tij,tj->t", vectors, blocks_of(part, supports), vectors)
            ratios = np.where(below > floor, above, 0.0) / np.maximum(below, floor + 1e-300)
            best = max(best, float(ratios.max(initial=0.0)))
        if best <= theta * (1.0 + 1e-12):
            break
        theta = best
    return theta * (1.0 + _ABOVE)
