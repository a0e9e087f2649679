"""Maps ``G -> G A`` that lower the l0-penalised deviance; exact for any r x r matrix ``A``.

Notation: see ``l0_noise_descent``; with ``H = G'Psi^-1 G`` and ``K = G'Psi^-1 S Psi^-1 G``,
``deviance(G A) = const + ln|I + A'HA| - tr((I + A'HA)^-1 A'KA)``. A rotation leaves it as it is. A
shear does not, but the sample correlation of true scores has to be paid for by one. Tried are
the finitely many maps that zero an entry. What is lowered is ``deviance + sum_ij min(ln(1 +
u_ij^2), h)`` with ``u_ij = g_ij/sqrt(psi_i)``.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from loadstone.covariance.protocol import Array
from loadstone.solvers.factor_models.samples import Samples
from loadstone.solvers.l0_noise_descent import Descent, L0Descent, L0Point, evaluated

#: Sweeps over pairs of columns, candidates of one pair, and the largest shear in 1/sqrt(N).
N_SWEEPS = 2
MAX_CANDIDATES = 150
MAX_SHEAR = 8.0
#: Rounds of maps and descents at most.
MAX_MAPS = 4


def mapped(samples: Samples, point: L0Point, penalty: float) -> Array:
    """``A'G`` (r, d) after two sweeps of rotations and shears."""
    r = point.n_components
    V = point.G / point.noise
    H = point.G @ V.T
    K = V @ samples.products(V).T / samples.n_samples
    U = point.G / np.sqrt(point.noise)
    U[np.abs(U) < 1e-12 * np.abs(U).max(initial=0.0)] = 0.0
    A = np.eye(r)
    for _ in range(N_SWEEPS):
        moved = False
        for j in range(r):
            for k in range(r):
                if k < j:
                    moved |= _rotate(U, A, j, k, penalty)
                if k != j:
                    moved |= _shear(U, A, (H, K), j, k, penalty, samples.n_samples)
        if not moved:
            break
    return U * np.sqrt(point.noise)


def on_canonical_axes(samples: Samples, descent: Descent) -> Descent:
    """``descent`` without zeros, turned until ``G'Psi^-1 G`` is diagonal.

    Where entries have no price, a rotation is as good as any other, and where the descent began
    would decide. These are the axes of classical factor analysis, which only the data decides.
    """
    point = descent.point
    if not point.G.all():
        return descent
    _, axes = np.linalg.eigh((point.G / point.noise) @ point.G.T)
    turned = evaluated(samples, axes.T @ point.G, point.noise, point.location)
    return replace(descent, point=turned)


def _price(U: Array, penalty: float) -> Array:
    """``sum min(ln(1 + u^2), h)`` over the last axis."""
    result: Array = np.minimum(np.log1p(np.square(U)), penalty).sum(axis=-1)
    return result


def _with_midpoints(values: Array) -> Array:
    """Sorted candidates and the points between them, not too many."""
    values = np.unique(values)
    if values.size > MAX_CANDIDATES // 2:
        values = values[np.linspace(0, values.size - 1, MAX_CANDIDATES // 2).astype(int)]
    return np.concatenate([values, 0.5 * (values[1:] + values[:-1])])


def _rotate(U: Array, A: Array, j: int, k: int, penalty: float) -> bool:
    rows = (U[j] != 0) | (U[k] != 0)
    a, b = U[j, rows], U[k, rows]
    # A quarter turn changes order and signs only: the nearest of the four turns is taken, so that
    # rounding does not choose between them, and the descent does not go on in another order.
    angles = _with_midpoints((np.arctan2(-a, b) + np.pi / 4) % (np.pi / 2) - np.pi / 4)
    if not angles.size:
        return False
    c, s = np.cos(angles)[:, None], np.sin(angles)[:, None]
    values = _price(c * a + s * b, penalty) + _price(c * b - s * a, penalty)
    now = float(_price(a, penalty) + _price(b, penalty))
    best = int(np.argmin(values))
    if values[best] >= now - 1e-9 * (1.0 + now):
        return False
    c, s = np.cos(angles[best]), np.sin(angles[best])
    turn = np.array([[c, s], [-s, c]])
    U[[j, k]] = _zeroed(turn @ U[[j, k]])
    A[:, [j, k]] = A[:, [j, k]] @ turn.T
    return True


def _shear(
    U: Array, A: Array, known: tuple[Array, Array], j: int, k: int, penalty: float, n: float
) -> bool:
    """``u_j += t u_k``."""
    both = (U[j] != 0) & (U[k] != 0)
    shears = -U[j, both] / U[k, both]
    shears = _with_midpoints(shears[np.abs(shears) < MAX_SHEAR / np.sqrt(n)])
    if not shears.size:
        return False
    rows = U[k] != 0
    a, b = U[j, rows], U[k, rows]
    trials = np.concatenate([[0.0], shears])
    maps = np.repeat(A[None], trials.size, axis=0)
    maps[:, :, j] += trials[:, None] * A[:, k]
    values = _map_deviance(maps, *known) + _price(a + trials[:, None] * b, penalty)
    best = int(np.argmin(values))
    if values[best] >= values[0] - 1e-9 * (1.0 + abs(values[0])):
        return False
    sheared = U[j] + trials[best] * U[k]
    sheared[np.abs(sheared) < 1e-12 * np.abs(U[j]).max()] = 0.0
    U[j] = sheared
    A[:] = maps[best]
    return True


def _zeroed(U: Array) -> Array:
    """What rounding leaves of an entry that a map zeroes."""
    return np.where(np.abs(U) < 1e-12 * np.abs(U).max(axis=1, keepdims=True), 0.0, U)


def _map_deviance(maps: Array, H: Array, K: Array) -> Array:
    """``ln|I + A'HA| - tr((I + A'HA)^-1 A'KA)`` for a stack of maps."""
    turned = maps.swapaxes(1, 2)
    W = np.eye(H.shape[0]) + turned @ H @ maps
    projected = turned @ K @ maps
    explained = np.trace(np.linalg.solve(W, projected), axis1=1, axis2=2)
    result: Array = np.linalg.slogdet(W)[1] - explained
    return result


def with_maps(solver: L0Descent, samples: Samples, penalty: float, descent: Descent) -> Descent:
    """``descent`` continued from maps of its end as long as ``J`` falls."""
    for _ in range(MAX_MAPS):
        point = descent.point
        if point.n_components < 2:
            return descent
        G = mapped(samples, point, penalty)
        rival = solver(samples, penalty, G, point.noise, point.location)
        if not solver.is_lower(samples, rival, descent) and np.count_nonzero(G) < point.n_nonzero:
            # Steps with the scores held fixed may let an entry in again that a turn had saved.
            rival = solver(samples, penalty, G, point.noise, point.location, keep=G != 0)
        if not solver.is_lower(samples, rival, descent):
            return descent
        descent = rival
    return descent
