"""EM with a penalty on what a component shares with those before it (Sigg & Buhmann 2008, Eq. 20).

Notation: ``V`` holds the earlier components, ``f = Sw`` and ``h = w'Sw`` are those of Eq. 12. The
M-step ``min h|w|^2 - 2 f'w + alpha w'VV'w`` is no longer isotropic. With ``u = V'w`` given it is:
the solution is the threshold of ``f - alpha V u``, over h, and u is found by Newton steps in as
many dimensions as there are earlier components.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from loadstone.constraints import LoadingConstraint
from loadstone.covariance import Array, Covariance
from loadstone.extraction.linear_constraints import Candidate

__all__ = ["best_penalised", "least_penalised"]

#: Steps of EM and of Newton's method, and the changes that end them.
MAX_STEPS, TURN = 500, 1e-9
MAX_NEWTON, ACCURACY = 50, 1e-12
#: Penalties over the variance that are tried: the first, the last, and how often the interval that
#: holds the smallest sufficient one is halved.
FIRST, LAST, N_HALVED = 0.1, 1e6, 14


def best_penalised(
    S: Covariance, V: Array, alpha: float, constraint: LoadingConstraint, starts: Iterable[Array]
) -> Candidate | None:
    """The component of largest ``w'Sw - alpha |V'w|^2`` that EM finds from any start."""
    best: Candidate | None = None
    largest = -np.inf
    for start in starts:
        w = _climb(S, V, alpha, constraint, start)
        if w is None:
            continue
        variance = float(w @ (S @ w))
        objective = variance - alpha * float(np.sum((V.T @ w) ** 2))
        if objective > largest:
            best, largest = Candidate(w, variance), objective
    return best


def least_penalised(
    S: Covariance,
    V: Array,
    limit: float,
    scale: float,
    constraint: LoadingConstraint,
    starts: list[Array],
) -> Candidate | None:
    """The component of the smallest alpha with ``|V'w| <= limit``, by bisection from ``scale`` on."""
    feasible: list[Candidate] = []

    def suffices(alpha: float) -> bool:
        found = best_penalised(S, V, alpha, constraint, starts)
        if found is None or np.abs(V.T @ found.w).max() > limit:
            return False
        feasible.append(found)
        return True

    if suffices(0.0):
        return feasible[0]
    low, high = FIRST * scale / 4.0, FIRST * scale
    while high <= LAST * scale and not suffices(high):
        low, high = high, 4.0 * high
    for _ in range(N_HALVED if feasible else 0):
        middle = float(np.sqrt(low * high))
        low, high = (low, middle) if suffices(middle) else (middle, high)
    return max(feasible, key=lambda candidate: candidate.value, default=None)


def _climb(
    S: Covariance, V: Array, alpha: float, constraint: LoadingConstraint, start: Array
) -> Array | None:
    """EM from one start until it settles; ``None`` where nothing is left of the loadings."""
    w = start
    for _ in range(MAX_STEPS):
        f = S @ w
        h = float(w @ f)
        new = _m_step(f, h, V, alpha, constraint) if h > 0.0 else None
        if new is None:
            return None
        settled = abs(float(new @ w)) > 1.0 - TURN
        w = new
        if settled:
            break
    return w


def _m_step(
    f: Array, h: float, V: Array, alpha: float, constraint: LoadingConstraint
) -> Array | None:
    """Argmin ``h|w|^2 - 2 f'w + alpha |V'w|^2`` of the given size and signs, normalised."""
    u = np.zeros(V.shape[1])
    identity = np.eye(V.shape[1])
    w = np.zeros_like(f)
    for _ in range(MAX_NEWTON):
        w = _shrunken(f - alpha * (V @ u).astype(f.dtype), constraint) / h
        missing = V.T @ w - u
        if np.abs(missing).max(initial=0.0) <= ACCURACY:
            break
        used = V[w != 0]
        u = u + np.linalg.solve(identity + alpha / h * (used.T @ used), missing)
    length = float(np.linalg.norm(w))
    return w / np.float64(length).astype(f.dtype) if length > 0.0 else None


def _shrunken(direction: Array, constraint: LoadingConstraint) -> Array:
    """Soft threshold at the largest entry left out, with the length it has."""
    worth = np.maximum(constraint.candidates(direction), 0.0)
    size = constraint.n_nonzero
    level = 0.0 if size >= worth.size else float(np.partition(-worth, size)[size]) * -1.0
    return np.asarray(np.sign(direction) * np.maximum(worth - level, 0.0), dtype=direction.dtype)
