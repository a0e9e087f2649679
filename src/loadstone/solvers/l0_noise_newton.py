"""Newton's method for the likelihood on a fixed support, where steps of EM creep.

Notation: see ``l0_noise_descent``. The gradient of the deviance is that of the expected deviance
of the E-step at the same point (Fisher's identity): ``2 (A g_i - b_i)/psi_i`` for the loadings of
feature i and ``1 - residual_i/psi_i`` for ``ln psi_i``. Its differences give the matrix of second
derivatives. Features that are nearly free of noise have curvatures many orders above the others',
which the method does not feel. No value may be missing.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from loadstone.covariance.protocol import Array

#: Steps at most, and dampings of one step, in parts of the curvature of each parameter.
MAX_STEPS = 20
DAMPINGS = (0.0, 1e-8, 1e-6, 1e-4, 1e-2, 1.0)
#: Step of the differences, in what a parameter feels as one by its curvature.
DIFFERENCE = 1e-4
#: Length of a step and of the gradient, in the same units, at rest; steps go on from there as
#: long as each is shorter than the last by this factor, until rounding keeps them from it.
AT_REST = 1e-6
SHORTER = 0.25

#: Share of the value that rounding takes where noise is small; the gradient knows more then.
ROUNDING = 1e-10

#: Value and gradient at a point.
Function = Callable[[Array], tuple[float, Array]]


def newton(function: Function, x: Array, scale: Array) -> tuple[Array, bool]:
    """A minimum of ``function`` near ``x``, and whether it was reached.

    A step that lowers neither the function nor, at equal value, the gradient is not taken.
    ``scale`` is how far a parameter moves before its own curvature is felt.
    """
    value, slope = function(x)
    last = np.inf
    for _ in range(MAX_STEPS):
        curvature = _second_derivatives(function, x, scale)
        diagonal = np.abs(np.diagonal(curvature))
        for damping in DAMPINGS:
            matrix = curvature + np.diag(damping * np.maximum(diagonal, 1.0))
            step = _solved(matrix, -scale * slope)
            if step is None:
                continue
            # A step far too long ends where numbers do, and is not taken.
            with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
                rival, rival_slope = function(x + scale * step)
            flatter = np.abs(scale * rival_slope).max() < np.abs(scale * slope).max()
            if rival < value or (flatter and rival < value + ROUNDING * (1.0 + abs(value))):
                break
        else:
            return x, float(np.abs(scale * slope).max()) <= AT_REST
        x, value, slope = x + scale * step, rival, rival_slope
        length = float(np.abs(step).max())
        if length <= AT_REST and length >= SHORTER * last:
            return x, True
        last = length
    return x, last <= AT_REST


def _second_derivatives(function: Function, x: Array, scale: Array) -> Array:
    """Second derivatives in units of ``scale``, by central differences of the gradient."""
    rows = []
    for i in range(x.size):
        apart = np.zeros_like(x)
        apart[i] = DIFFERENCE * scale[i]
        rows.append((function(x + apart)[1] - function(x - apart)[1]) * scale)
    matrix = np.array(rows) / (2.0 * DIFFERENCE)
    symmetric: Array = 0.5 * (matrix + matrix.T)
    return symmetric


def _solved(matrix: Array, right: Array) -> Array | None:
    """The step of a positive definite matrix."""
    try:
        root = np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError:
        return None
    return np.linalg.solve(root.T, np.linalg.solve(root, right))
