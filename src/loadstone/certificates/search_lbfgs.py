"""L-BFGS for large smooth problems whose numbers need few digits: plain, and in their precision.

Notation of Nocedal and Wright (2006), chapter 7: s and y are differences of points and of
gradients, H the inverse Hessian they stand for. Steps are shortened until Armijo's rule holds.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import get_blas_funcs

from loadstone.certificates.problem import Array

#: Pairs that are remembered.
MEMORY = 30
#: By how much a step that is too long is shortened, and how often.
SHORTER = 0.4
_TRIES = 12
#: Share of the promised decrease that a step must bring.
_ARMIJO = 1e-4
#: Steps that must together bring a share of what is left to gain.
STEPS_TO_GAIN = 8


@dataclass
class Patience:
    """Whether a few steps still bring a ``share`` of what lies above ``floor``."""

    floor: float
    share: float
    before: float = np.inf
    n_steps: int = 0

    def ends(self, value: float) -> bool:
        """Told the value after each step: whether to stop."""
        self.n_steps += 1
        if self.n_steps % STEPS_TO_GAIN:
            return False
        gained, self.before = self.before - value, value
        return gained < self.share * (value - self.floor) < np.inf


def descend(
    objective: Callable[[Array], tuple[float, Array]],
    point: Array,
    n_steps: int,
    patience: Patience,
) -> Array:
    """Where at most ``n_steps`` of L-BFGS lead from ``point``; fewer where they do not pay."""
    value, gradient = objective(point)
    pairs: deque[tuple[Array, Array, float]] = deque(maxlen=MEMORY)
    for step in range(n_steps):
        direction = _direction(gradient, pairs)
        slope = float(np.vdot(gradient, direction))
        if not slope < 0.0:
            pairs.clear()
            direction, slope = -gradient, -float(np.vdot(gradient, gradient))
            if not slope < 0.0:
                break
        length = 1.0 if pairs else min(1.0, 1.0 / float(np.sqrt(-slope)))
        for _ in range(_TRIES):
            moved = point + point.dtype.type(length) * direction
            found, turned = objective(moved)
            if found <= value + _ARMIJO * length * slope:
                break
            length *= SHORTER
        else:
            if step == 0 or not pairs:
                break
            pairs.clear()
            continue
        _remember(pairs, moved - point, turned - gradient)
        point, value, gradient = moved, found, turned
        if patience.ends(value):
            break
    return point


def _direction(gradient: Array, pairs: deque[tuple[Array, Array, float]]) -> Array:
    """``-H g`` by the two loops, in place: vectors are long, and copies of them cost most."""
    q = -gradient
    (add,) = get_blas_funcs(("axpy",), (q,))
    weights = []
    for s, y, inverse in reversed(pairs):
        weight = inverse * float(np.vdot(s, q))
        weights.append(weight)
        q = add(y, q, a=-weight)
    if pairs:
        s, y, inverse = pairs[-1]
        q *= q.dtype.type(1.0 / (inverse * float(np.vdot(y, y))))
    for (s, y, inverse), weight in zip(pairs, reversed(weights), strict=True):
        q = add(s, q, a=weight - inverse * float(np.vdot(y, q)))
    return np.asarray(q)


def _remember(pairs: deque[tuple[Array, Array, float]], s: Array, y: Array) -> None:
    """Keep a pair along which the objective curves upwards."""
    product = float(np.vdot(s, y))
    if product > 1e-10 * float(np.vdot(y, y)):
        pairs.append((s, y, 1.0 / product))
