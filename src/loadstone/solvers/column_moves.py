"""Moves of whole columns for non-negative sparse PCA, where single entries get stuck.

With a large overlap penalty alpha every column has nearly unit norm. An entry that moves
alone changes that norm, pays alpha for it, and so moves by about 1/alpha; a column that turns
with its norm held pays nothing. With the other columns ``O`` fixed and the norm of u held,
Eq. 3 is, up to a constant,

    1/2 u'(A - alpha O O')u - beta 1'u.

``A`` is convex, so its tangent lies below it. ``D = diag(alpha O O'1)`` lies above
``alpha O O'``, whose entries are non-negative, so a parabola with curvature D lies below the
rest. Their sum is maximised on the sphere in closed form up to one root: features that no
other column uses have D = 0 and move freely, as in a power step. The norm is then set by
the quartic of a single entry. Neither can lower the objective.
"""

from __future__ import annotations

import numpy as np

from loadstone.covariance import Array
from loadstone.solvers.coordinate_ascent_caches import Products

#: Steps of one column before the next has its turn.
STEPS = 3
#: Halvings of the interval that holds the multiplier of the norm.
_HALVINGS = 60


def move_columns(
    products: Products, U: Array, alpha: float, beta: float, price: float = 0.0
) -> Array:
    """``U`` after each column has been turned and scaled with the others held.

    Where every entry has a ``price`` a column turns on its support: what it pays cannot rise.
    """
    U = U.copy()
    for r in np.flatnonzero(U.any(axis=0)):
        others = np.delete(U, r, axis=1)
        for _ in range(STEPS):
            moved = _moved(products, U[:, r], others, alpha, beta, price)
            if moved is None:
                break
            U[:, r] = moved
    return U


def _moved(
    products: Products, u: Array, others: Array, alpha: float, beta: float, price: float
) -> Array | None:
    """One column, turned and scaled; nothing where no direction is left to it."""
    from loadstone.solvers.coordinate_ascent_kernels import quartic_maximiser

    norm = float(np.linalg.norm(u))
    curvature = alpha * (others @ others.sum(axis=0))
    slope = products.times(u[:, None])[:, 0] - alpha * (others @ (others.T @ u)) - beta
    slope += curvature * u
    if price > 0.0:
        slope[u == 0] = 0.0
    turned = largest_on_sphere(slope, curvature, norm) if norm else None
    # Entries without a positive slope are given up; where that costs more, nothing moves.
    if turned is None or _lower_bound(slope, curvature, turned) < _lower_bound(slope, curvature, u):
        return None
    v = turned / np.linalg.norm(turned)
    overlap = float(np.sum((others.T @ v) ** 2))
    c2 = float(v @ products.times(v[:, None])[:, 0]) + alpha * (1.0 - overlap)
    length = quartic_maximiser(c2, -beta * float(v.sum()), alpha)
    scaled: Array = v * u.dtype.type(length)
    return scaled


def _lower_bound(slope: Array, curvature: Array, w: Array) -> float:
    """What lies below the objective and touches it at u, up to a constant."""
    return float(slope @ w - 0.5 * (curvature @ w**2))


def largest_on_sphere(slope: Array, curvature: Array, norm: float) -> Array | None:
    """Argmax of ``slope'w - w'Dw/2`` over ``w >= 0`` with the given norm, zero without a slope.

    The multiplier m of the norm gives ``w = slope+ / (D + m)``, whose norm falls in m. Where
    no slope is positive there is nothing to gain.
    """
    up = slope > 0
    if not up.any():
        return None
    rise, bend = slope[up], curvature[up]
    # At ``high`` no entry exceeds its share of the norm, so the root lies below it.
    low, high = -float(bend.min()), float(np.linalg.norm(rise)) / norm - float(bend.min())
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        with np.errstate(divide="ignore", over="ignore"):
            longer = np.linalg.norm(rise / (bend + middle)) > norm
        low, high = (middle, high) if longer else (low, middle)
    w = np.zeros_like(slope)
    w[up] = rise / (bend + high)
    w *= norm / np.linalg.norm(w)
    return w
