"""Re-optimise the loadings on a fixed support.

Three cases. Any sign: an eigenproblem. Given signs: climbed to a point where no feature
of the support wants to grow in its direction (KKT). Constraints that a re-optimised
vector could break: their own power steps, as long as these gain.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from loadstone.constraints import Constraint, LoadingConstraint, allowed_part
from loadstone.covariance import Array, Covariance, deflate, leading_eigenpairs

#: Projected power steps between two attempts to finish by an eigensolve.
STEPS_PER_ATTEMPT = 25
MAX_ATTEMPTS = 200
#: Power steps of a constraint that cannot be refitted, and the gain that is worth another one.
MAX_OWN_STEPS = 200
OWN_GAIN = 1e-10


def renormalise(S: Covariance, w: Array, constraint: Constraint) -> tuple[Array, float]:
    """The best loadings on the support of ``w``, and their variance ``w'Sw``.

    Parameters
    ----------
    S : Covariance
        Where the component is sought.
    w : ndarray of shape (n_features,)
        Allowed loadings; what counts is ``constraint.support(w)``, and where signs are
        given the loadings to climb from.
    constraint : Constraint
        Where it does not refit, ``w`` takes the power steps of the constraint instead.

    Returns
    -------
    w : ndarray of shape (n_features,)
    value : float
    """
    if not constraint.refits:
        return _own_steps(S, w, constraint)
    support = constraint.support(w)
    local = S.restrict(support)
    if constraint.signs is None:
        loadings, value = signed_leading(local)
    else:
        signs = constraint.signs[support]
        loadings, value = cone_leading(local, allowed_part(w[support], signs), signs)
    result = np.zeros(S.n_features, dtype=S.dtype)
    result[support] = loadings
    return result, value


def cut_to_sizes(S: Covariance, loadings: Array, sizes: Sequence[int]) -> Array:
    """The largest non-negative loadings of each component, re-optimised on their support."""
    cut = []
    for w, size in zip(loadings.T, sizes, strict=False):
        constraint = LoadingConstraint(S.n_features, size, nonnegative=True)
        cut.append(renormalise(S, constraint.best_loading(w), constraint)[0])
    return np.column_stack(cut)


def renormalised_in_turn(S: Covariance, loadings: Array) -> Array:
    """The best loadings on each support, each component removed before the next."""
    result = np.empty_like(loadings)
    for j, w in enumerate(loadings.T):
        constraint = LoadingConstraint(S.n_features, int(np.count_nonzero(w)))
        result[:, j] = renormalise(S, w, constraint)[0]
        S = deflate(S, result[:, j], "projection")
    return result


def _own_steps(S: Covariance, w: Array, constraint: Constraint) -> tuple[Array, float]:
    """``w <- best_loading(Sw)`` while the variance grows."""
    Sw = S @ w
    value = float(w @ Sw)
    gain = max(OWN_GAIN, 2 * float(np.finfo(S.dtype).eps))
    for _ in range(MAX_OWN_STEPS):
        step = constraint.best_loading(Sw)
        S_step = S @ step
        reached = float(step @ S_step)
        if not reached > value + gain * abs(value):
            break
        w, Sw, value = step, S_step, reached
    return w, value


def variance_of(S: Covariance, w: Array) -> float:
    """``w'Sw``."""
    return float(w @ (S @ w))


def signed_leading(S: Covariance) -> tuple[Array, float]:
    """Leading eigenvector and eigenvalue."""
    if S.n_features == 1:
        return np.ones(1, dtype=S.dtype), float(S.diagonal()[0])
    values, vectors = leading_eigenpairs(S, 1)
    return vectors[:, 0], float(values[0])


def nonnegative_leading(S: Covariance, start: Array) -> tuple[Array, float]:
    """Climb ``w'Sw`` over non-negative unit ``w`` from ``start`` to a KKT point."""
    return cone_leading(S, start, np.ones(S.n_features, dtype=np.int8))


def cone_leading(S: Covariance, start: Array, signs: Array) -> tuple[Array, float]:
    """Climb ``w'Sw`` over unit ``w`` with the given ``signs`` from ``start`` to a KKT point.

    Projected power steps, ``Sw`` without the entries of a wrong sign, find the features
    that stay; an eigensolve on these then finishes at once, where a power step would
    creep. Features of sign 0 always stay.
    """
    if not signs.any():
        return signed_leading(S)
    w = start / np.linalg.norm(start) if start.any() else _uniform(S, signs)
    Sw = S @ w
    value = float(w @ Sw)
    for _ in range(MAX_ATTEMPTS):
        before = value
        w, Sw, value, settled = _climb(S, w, Sw, value, signs)
        finished = _finish_by_eigensolve(S, w, value, signs)
        if finished is not None:
            w, value = finished
            Sw = S @ w
        stuck = settled and (finished is None or value <= before)
        if is_kkt(w, Sw, value, signs) or stuck:
            break
    return w, value


def _uniform(S: Covariance, signs: Array) -> Array:
    sides: Array = np.where(signs == 0, 1, signs) / np.sqrt(S.n_features)
    return sides.astype(S.dtype)


def _climb(
    S: Covariance, w: Array, Sw: Array, value: float, signs: Array
) -> tuple[Array, Array, float, bool]:
    eps = float(np.finfo(S.dtype).eps)
    for _ in range(STEPS_PER_ATTEMPT):
        step = allowed_part(Sw, signs)
        length = np.linalg.norm(step)
        if not length > 0:
            return w, Sw, value, True
        step = step / length
        S_step = S @ step
        reached = float(step @ S_step)
        if reached <= value * (1 + 2 * eps):
            return w, Sw, value, True
        w, Sw, value = step, S_step, reached
    return w, Sw, value, False


def _finish_by_eigensolve(
    S: Covariance, w: Array, value: float, signs: Array
) -> tuple[Array, float] | None:
    """The leading eigenvector on the features that stay, where its signs fit and it is no worse.

    No worse is enough: at equal variance the eigenvector has all its digits, while the
    loadings of a power iteration have only half of them.
    """
    stays = np.flatnonzero((w != 0) | (signs == 0))
    v, reached = signed_leading(S.restrict(stays))
    if v @ w[stays] < 0:
        v = -v
    # Entries at rounding beyond zero belong to features that are about to vanish.
    eps = float(np.finfo(S.dtype).eps)
    if (signs[stays] * v).min() < -1e3 * eps or reached < value * (1 - 1e2 * eps):
        return None
    result = np.zeros_like(w)
    result[stays] = allowed_part(v, signs[stays])
    return result / np.linalg.norm(result), reached


def is_kkt(w: Array, Sw: Array, value: float, signs: Array | None = None) -> bool:
    """Stationary where entries may move both ways, and no zero entry wants to grow.

    Without ``signs`` every loading is at least zero.
    """
    signs = np.ones(w.size, dtype=np.int8) if signs is None else signs
    tol = 1e4 * float(np.finfo(w.dtype).eps) * max(value, np.finfo(w.dtype).tiny)
    moves = (w != 0) | (signs == 0)
    grows = np.max((signs * Sw)[~moves], initial=-np.inf)
    return bool(np.abs(Sw[moves] - value * w[moves]).max() <= tol and grows <= tol)
