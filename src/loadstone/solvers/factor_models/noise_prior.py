"""The law that noise precisions of several features come from, learned from all of them.

Notation: see ``noise``. With ``tau_i ~ Gamma(a0, b0)`` integrated out a feature has the evidence
``a0 ln b0 - ln G(a0) + ln G(a0 + n_i) - (a0 + n_i) ln(b0 + E_i)``.
"""

from __future__ import annotations

import numpy as np

from loadstone.covariance.protocol import Array
from loadstone.solvers.factor_models.gamma_series import STIRLING, log_rising

#: Smallest shape that is learned.
SMALLEST_SHAPE = 0.05
#: Steps of the pattern search in the logarithms of shape and scale, first to last.
STEPS = (1.0, 0.2, 0.04)
#: Steps that follow for the scale alone.
NEWTON_STEPS = 6
_MOVES = np.array([[0.0, 0.0], [1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])


def log_evidence(a0: Array, b0: Array, counts: Array, errors: Array) -> Array:
    """Of every feature, under ``Gamma(a0, b0)``."""
    log_error = np.log(b0 + errors)
    rising = log_rising(a0, counts, np.log(a0 + counts))
    result: Array = rising - a0 * log_growth(a0, b0, errors, log_error) - counts * log_error
    return result


def log_growth(a0: Array, b0: Array, errors: Array, log_error: Array) -> Array:
    """``ln(1 + E/b0)``, of a large ``a0`` to all digits; ``log_error`` is ``ln(b0 + E)``."""
    if (a0 < STIRLING).all():
        return np.asarray(log_error - np.log(b0))
    return np.asarray(np.log1p(errors / b0))


def best_prior(
    shape: float, scale: float, counts: Array, errors: Array, members: Array, largest: float
) -> tuple[float, float]:
    """``a0`` and ``b0/a0`` that raise the evidence, each feature with a weight of ``members``.

    By pattern search from ``shape`` and ``scale``; ``largest`` is the largest shape.
    """
    point = np.array([np.log(shape), np.log(scale)])
    low, high = np.log([SMALLEST_SHAPE, largest])
    for step in STEPS:
        for _ in range(20):
            trials = point + step * _MOVES
            trials[:, 0] = np.clip(trials[:, 0], low, high)
            a0 = np.exp(trials[:, :1])
            b0 = a0 * np.exp(trials[:, 1:])
            best = int(np.argmax(log_evidence(a0, b0, counts, errors) @ members))
            if best == 0:
                break
            point = trials[best]
    shape = float(np.exp(point[0]))
    return shape, _best_scale(shape, float(np.exp(point[1])), counts, errors, members)


def _best_scale(shape: float, scale: float, counts: Array, errors: Array, members: Array) -> float:
    """``b0/a0`` for a given shape, by Newton's method in ``ln b0``, where the evidence is concave.

    A strong prior holds the noise at its scale, so that no grid is fine enough for it.
    """
    log_b = np.log(shape * scale)
    for _ in range(NEWTON_STEPS):
        share = 1.0 / (1.0 + errors * np.exp(-log_b))
        slope = members @ (shape - (shape + counts) * share)
        curvature = members @ ((shape + counts) * share * (1.0 - share))
        log_b += float(np.clip(slope / max(curvature, 1e-300), -1.0, 1.0))
    return float(np.exp(log_b) / shape)
