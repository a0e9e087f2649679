"""Components that keep a minimum angle to others (Sigg & Buhmann 2008, Sec. 4).

The paper subtracts ``alpha w'VV'w`` from the variance, with the other components in
the columns of ``V``, and leaves ``alpha`` to the user. Here the angle is the
parameter: alpha is searched on each support until ``|v'w| <= cos(angle)`` holds, only
components that would come too close are penalised, and the constrained gradient
``Sw - alpha VV'w`` proposes the next support.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from loadstone.constraints import Constraint, filled_support
from loadstone.covariance import Array, Covariance, ExplicitCovariance
from loadstone.covariance.symmetric import leading_pair
from loadstone.extraction.linear_constraints import (
    Candidate,
    n_places,
    scattered,
    solve_on_supports,
)
from loadstone.solvers.renormalise import cone_leading

__all__ = ["climb_within_angle"]

# Between the smallest penalty that suffices and the one taken lies at most this factor.
_PENALTY_RATIO = 1.02
# Power steps for loadings of given signs, and the change of direction that ends them.
_MAX_STEPS = 1000
_TURN = 1e-7
#: What a feature that is not used yet counts for, beside the smallest loading.
PROSPECTS = 1e-3
# Penalties beyond this many times the largest variance have nothing left to change.
_LARGEST_PENALTY = 1e8


class _OnSupport(NamedTuple):
    """Loadings on a support, their variance, and the gradient of the penalty ``alpha V V'w``."""

    w: Array
    value: float
    multipliers: Array


def climb_within_angle(
    S: Covariance,
    V: Array,
    limit: float,
    constraint: Constraint,
    start: Array,
    max_iter: int = 20,
) -> Candidate | None:
    """A locally best component with ``|V'w| <= limit``, from the support of ``start``.

    The constraint has to refit: loadings are optimised on their support.
    """
    support = filled_support(constraint, _with_prospects(S, start, constraint))
    guess = start[support]
    best: Candidate | None = None
    seen: set[bytes] = set()
    for _ in range(max_iter):
        seen.add(support.tobytes())
        block = S.block(support, support).astype(np.float64)
        signs = None if constraint.signs is None else constraint.signs[support]
        found = _solve(block, V[support].astype(np.float64), limit, guess, signs)
        if found is None or (best is not None and found.value <= best.value):
            break
        w = scattered(S, support, found.w)
        best = Candidate(w, found.value)
        gradient = S @ w - (V @ found.multipliers).astype(S.dtype)
        support = filled_support(constraint, gradient)
        guess = gradient[support]
        if support.tobytes() in seen:
            break
    return best


def _with_prospects(S: Covariance, start: Array, constraint: Constraint) -> Array:
    """The start, and where it leaves places of given signs empty, what would join it, far below."""
    used = np.count_nonzero(start)
    if constraint.signs is None or used >= n_places(constraint):
        return start
    image = (S @ start).astype(np.float64)
    largest = float(np.abs(image).max())
    smallest = float(np.abs(start[start != 0]).min(initial=1.0))
    scale = PROSPECTS * smallest / largest if largest > 0 else 0.0
    return np.where(start != 0, start, scale * image)


def _solve(
    block: Array, V: Array, limit: float, guess: Array, signs: Array | None
) -> _OnSupport | None:
    """The best loadings on one support; ``None`` where no angle is wide enough."""
    active = np.zeros(V.shape[1], dtype=bool)
    while True:
        found = _penalised(block, V[:, active], limit, guess, signs)
        if found is None:
            return _beyond_penalties(block, V, limit, signs)
        crossed = (np.abs(V.T @ found.w) > limit) & ~active
        if not crossed.any():
            break
        active |= crossed
    multipliers = np.zeros(V.shape[1])
    multipliers[active] = found.multipliers
    return _OnSupport(found.w, found.value, multipliers)


def _penalised(
    block: Array, V: Array, limit: float, guess: Array, signs: Array | None
) -> _OnSupport | None:
    """Smallest penalty on the columns of ``V`` that keeps all of them within the limit."""
    scale = float(np.trace(block))
    if not scale > 0.0:
        return None
    overlap = V @ V.T
    w = _leading(block, overlap, 0.0, guess, signs)
    if V.shape[1] == 0 or np.abs(V.T @ w).max() <= limit:
        return _on_support(block, V, w, 0.0)
    low, high = 0.0, 1e-3 * scale
    while True:
        w = _leading(block, overlap, high, guess, signs)
        if np.abs(V.T @ w).max() <= limit:
            break
        low, high = high, 8.0 * high
        if high > _LARGEST_PENALTY * scale:
            return None
    best = _on_support(block, V, w, high)
    while high > _PENALTY_RATIO * max(low, 1e-6 * scale):
        middle = np.sqrt(max(low, 1e-6 * scale) * high)
        w = _leading(block, overlap, middle, best.w, signs)
        if np.abs(V.T @ w).max() <= limit:
            high = middle
            trial = _on_support(block, V, w, middle)
            best = trial if trial.value > best.value else best
        else:
            low = middle
    return best


def _on_support(block: Array, V: Array, w: Array, alpha: float) -> _OnSupport:
    return _OnSupport(w, float(w @ block @ w), alpha * (V.T @ w))


def _leading(
    block: Array, overlap: Array, alpha: float, guess: Array, signs: Array | None
) -> Array:
    """Leading unit vector of ``block - alpha VV'`` with the given signs; ``overlap`` is ``VV'``."""
    penalised = block - alpha * overlap
    if signs is None or not signs.any():
        return leading_pair(penalised)[1]
    from loadstone.extraction.quasi_orthogonal_kernels import climb_in_cone

    # Power steps need a positive semi-definite matrix; a shift does not move the maximiser.
    shift = alpha * float(np.linalg.norm(overlap, 2))
    start = np.ascontiguousarray(guess, dtype=np.float64)
    matrix = np.ascontiguousarray(penalised)
    w: Array = climb_in_cone(matrix, signs.astype(np.float64), start, shift, _MAX_STEPS, _TURN)
    return w


def _beyond_penalties(
    block: Array, V: Array, limit: float, signs: Array | None
) -> _OnSupport | None:
    """The limit of an infinite penalty: exactly orthogonal loadings, or else a single feature."""
    size = len(block)
    w, value = np.zeros(size), 0.0
    if signs is not None:
        # Features that no other component uses are orthogonal to all of them, whatever the signs.
        unused = np.flatnonzero(~V.any(axis=1))
        if unused.size:
            local = ExplicitCovariance(block[np.ix_(unused, unused)])
            w[unused], value = cone_leading(local, np.zeros(unused.size), signs[unused])
    else:
        values, loadings = solve_on_supports(ExplicitCovariance(block), V, np.arange(size)[None, :])
        w, value = loadings[0], float(values[0])
    if not value > 0.0 or np.abs(V.T @ w).max(initial=0.0) > limit:
        alone = np.where(np.abs(V).max(axis=1) <= limit, np.diagonal(block), 0.0)
        w, value = np.zeros(size), float(alone.max())
        best = int(np.argmax(alone))
        w[best] = -1.0 if signs is not None and signs[best] < 0 else 1.0
    return _OnSupport(w, value, np.zeros(V.shape[1])) if value > 0.0 else None
