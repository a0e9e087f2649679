"""Re-optimise the loadings on a fixed support.

On a fixed support the signed problem is an eigenproblem; the non-negative one is
climbed to a point where no feature of the support wants to grow (KKT).
"""

from __future__ import annotations

import numpy as np

from loadstone.constraints import Constraint
from loadstone.covariance import Array, Covariance, leading_eigenpairs
from loadstone.loadings import support_of

#: Projected power steps between two attempts to finish by an eigensolve.
STEPS_PER_ATTEMPT = 25
MAX_ATTEMPTS = 200


def renormalise(S: Covariance, w: Array, constraint: Constraint) -> tuple[Array, float]:
    """The best loadings on the support of ``w``, and their variance ``w'Sw``.

    Parameters
    ----------
    S : Covariance
        Where the component is sought.
    w : ndarray of shape (n_features,)
        Allowed loadings; only their support (and forced features) counts.
    constraint : Constraint
        Where ``constraint.relaxed()`` is ``None`` the loadings are left as they are.

    Returns
    -------
    w : ndarray of shape (n_features,)
    value : float
    """
    if constraint.relaxed() is None:
        return w, variance_of(S, w)
    forced = getattr(constraint, "forced", np.empty(0, dtype=np.intp))
    support = np.union1d(support_of(w), forced).astype(np.intp)
    local = S.restrict(support)
    if getattr(constraint, "nonnegative", False):
        loadings, value = nonnegative_leading(local, np.maximum(w[support], 0))
    else:
        loadings, value = signed_leading(local)
    result = np.zeros(S.n_features, dtype=S.dtype)
    result[support] = loadings
    return result, value


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
    """Climb ``w'Sw`` over non-negative unit ``w`` from ``start`` to a KKT point.

    Projected power steps ``w <- (Sw)_+`` find the positive set; an eigensolve on that
    set then finishes at once, where a power step would creep.
    """
    w = start / np.linalg.norm(start) if start.any() else _uniform(S)
    Sw = S @ w
    value = float(w @ Sw)
    for _ in range(MAX_ATTEMPTS):
        before = value
        w, Sw, value, settled = _climb(S, w, Sw, value)
        finished = _finish_by_eigensolve(S, w, value)
        if finished is not None:
            w, value = finished
            Sw = S @ w
        stuck = settled and (finished is None or value <= before)
        if is_kkt(w, Sw, value) or stuck:
            break
    return w, value


def _uniform(S: Covariance) -> Array:
    return np.full(S.n_features, 1 / np.sqrt(S.n_features), dtype=S.dtype)


def _climb(S: Covariance, w: Array, Sw: Array, value: float) -> tuple[Array, Array, float, bool]:
    eps = float(np.finfo(S.dtype).eps)
    for _ in range(STEPS_PER_ATTEMPT):
        step = np.maximum(Sw, 0)
        length = np.linalg.norm(step)
        if not length > 0:
            return w, Sw, value, True
        step /= length
        S_step = S @ step
        reached = float(step @ S_step)
        if reached <= value * (1 + 2 * eps):
            return w, Sw, value, True
        w, Sw, value = step, S_step, reached
    return w, Sw, value, False


def _finish_by_eigensolve(S: Covariance, w: Array, value: float) -> tuple[Array, float] | None:
    """The leading eigenvector on the positive set, where it is positive and no worse.

    No worse is enough: at equal variance the eigenvector has all its digits, while the
    loadings of a power iteration have only half of them.
    """
    positive = support_of(w)
    v, reached = signed_leading(S.restrict(positive))
    v = v * np.sign(v[np.argmax(np.abs(v))])
    # Entries at rounding below zero belong to features that are about to vanish.
    eps = float(np.finfo(S.dtype).eps)
    if v.min() < -1e3 * eps or reached < value * (1 - 1e2 * eps):
        return None
    result = np.zeros_like(w)
    result[positive] = np.maximum(v, 0)
    return result / np.linalg.norm(result), reached


def is_kkt(w: Array, Sw: Array, value: float) -> bool:
    """Stationary on the positive set, and no zero entry wants to grow."""
    tol = 1e4 * float(np.finfo(w.dtype).eps) * max(value, np.finfo(w.dtype).tiny)
    positive = w > 0
    grows = np.max(Sw[~positive], initial=-np.inf)
    return bool(np.abs(Sw[positive] - value * w[positive]).max() <= tol and grows <= tol)
