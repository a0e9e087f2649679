"""Un-mix factors: rotations and shears of loadings that make them sparser.

Notation: ``W -> W A``, ``x -> A^-1 x`` leaves the fit as it is. Principal axes mix factors of
similar variance, and updates of single loadings un-mix them at the rate noise/signal, that is
never. For least-squares loadings in noise units ``U = sqrt(tau) c S^-1`` the sum of
``-ln(u^2 + 3/N)/2`` stands for the bound. A map is only a proposal: the rounds start again from
it, and the converged bound decides.
"""

from __future__ import annotations

import numpy as np

from loadstone.covariance.protocol import Array

#: Angles of a quarter turn, points of a refinement, refinements and sweeps.
N_ANGLES = 16
N_POINTS = 7
N_REFINEMENTS = 4
N_SWEEPS = 3
#: Angles at which pairs are looked at again, and how much less sparse they may be there, in nats:
#: the sum of logarithms is that far from the bound.
N_OTHER_ANGLES, NEARLY = 64, 5.0
#: Largest shear and smallest loading worth a look, in standard errors ``1/sqrt(N)``.
MAX_SHEAR = 8.0
NOTABLE = 3.0


def unmixing_map(U: Array, S: Array, n_samples: float) -> Array:
    """The map ``A`` (q, q) that makes ``U A`` sparser, for least-squares loadings (d, q).

    ``S`` is ``sum_n <x_n x_n'>``; a shear changes its trace, which the bound pays for.
    """
    q = U.shape[1]
    U, S, A = U.T.copy(), S.copy(), np.eye(q)
    for _ in range(N_SWEEPS):
        moved = False
        for j in range(q):
            for k in range(j):
                moved |= _rotate(U, S, A, j, k, n_samples)
        for j in range(q):
            for k in range(q):
                if j != k:
                    moved |= _shear(U, S, A, j, k, n_samples)
        if not moved:
            break
    return A


def other_maps(U: Array, n_samples: float) -> list[Array]:
    """Rotations of two columns to where they are sparse too, hardly less than they are.

    Which of two such places the bound prefers the sum of logarithms does not know.
    """
    q, U = U.shape[1], U.T
    maps = []
    for j in range(q):
        for k in range(j):
            for turn in _other_turns(U, j, k, n_samples):
                A = np.eye(q)
                A[np.ix_([j, k], [j, k])] = turn.T
                maps.append(A)
    return maps


def _other_turns(U: Array, j: int, k: int, n_samples: float) -> list[Array]:
    rows = _worth_a_look(U[j], U[k], n_samples)
    if rows is None:
        return []
    angles = np.arange(N_OTHER_ANGLES) * np.pi / 2 / N_OTHER_ANGLES
    gain = _of_rotations(U[j, rows], U[k, rows], angles, n_samples)
    # A quarter turn exchanges the two.
    peak = (gain >= np.roll(gain, 1)) & (gain >= np.roll(gain, -1))
    peak &= gain >= gain[0] - NEARLY
    peak[[0, 1, 2, -2, -1]] = False
    return [_turn(angle) for angle in angles[peak]]


def _worth_a_look(a: Array, b: Array, n_samples: float) -> Array | None:
    """Rows that are more than noise, where some row has both columns at once."""
    level = NOTABLE**2 / n_samples
    both = np.minimum(np.square(a), np.square(b))
    if both.max() < level:
        return None
    return np.square(a) + np.square(b) >= level


def _sparsity(values: Array, n_samples: float) -> Array:
    """``-sum ln(u^2 + 3/N)/2`` over the last axis."""
    result: Array = -0.5 * np.log(np.square(values) + 3.0 / n_samples).sum(axis=-1)
    return result


def _of_rotations(a: Array, b: Array, angles: Array, n_samples: float) -> Array:
    """How sparse two columns are after rotations."""
    c, s = np.cos(angles)[:, None], np.sin(angles)[:, None]
    return _sparsity(c * a + s * b, n_samples) + _sparsity(c * b - s * a, n_samples)


def _turn(angle: float) -> Array:
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, s], [-s, c]])


def _rotate(U: Array, S: Array, A: Array, j: int, k: int, n_samples: float) -> bool:
    rows = _worth_a_look(U[j], U[k], n_samples)
    if rows is None:
        return False
    a, b = U[j, rows], U[k, rows]

    def gain(angles: Array) -> Array:
        return _of_rotations(a, b, angles, n_samples)

    step = np.pi / 2 / N_ANGLES
    angle = _refined(gain, np.arange(N_ANGLES) * step, step)
    if angle == 0.0:
        return False
    turn, pair = _turn(angle), [j, k]
    U[pair] = turn @ U[pair]
    A[:, pair] = A[:, pair] @ turn.T
    S[pair] = turn @ S[pair]
    S[:, pair] = S[:, pair] @ turn.T
    return True


def _shear(U: Array, S: Array, A: Array, j: int, k: int, n_samples: float) -> bool:
    """``u_j += t u_k``, ``x_k -= t x_j``."""
    rows = _worth_a_look(U[j], U[k], n_samples)
    if rows is None:
        return False
    a, b = U[j, rows], U[k, rows]

    def gain(shears: Array) -> Array:
        price = 0.5 * (shears**2 * S[j, j] - 2.0 * shears * S[j, k])
        result: Array = _sparsity(a + shears[:, None] * b, n_samples) - price
        return result

    limit = MAX_SHEAR / np.sqrt(n_samples)
    step = limit / (N_ANGLES // 2)
    shear = _refined(gain, np.arange(-(N_ANGLES // 2), N_ANGLES // 2 + 1) * step, step)
    if shear == 0.0:
        return False
    U[j] += shear * U[k]
    A[:, j] += shear * A[:, k]
    S[k] -= shear * S[j]
    S[:, k] -= shear * S[:, j]
    return True


def _refined(gain: object, grid: Array, step: float) -> float:
    """Best point of a grid after refinements around it; zero unless it is better than zero."""
    assert callable(gain)
    base = float(gain(np.zeros(1))[0])
    for _ in range(N_REFINEMENTS + 1):
        values = gain(grid)
        best = float(grid[np.argmax(values)])
        top = float(values.max())
        step = 2.0 * step / (N_POINTS - 1)
        grid = best + step * np.arange(-(N_POINTS // 2), N_POINTS // 2 + 1)
    return best if top > base + 1e-9 * (1.0 + abs(base)) else 0.0
