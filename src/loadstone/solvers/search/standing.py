"""Which of several loadings a climb could leave at all, asked of all of them at once.

Components that are refined together stand still most of the time. Among a few dozen features
a climb that goes nowhere costs as many calls as one that gains, so one look at all components
says for which of them the first step of a climb is worth taking.

Notation: component j with loadings ``w_j`` competes for ``A_j = R + p_j p_j'``, the rows of
``P`` being ``p_j``.
"""

from __future__ import annotations

import numpy as np

from loadstone.constraints import LoadingConstraint
from loadstone.covariance import Array, Support

#: Share by which an entry outside the support must be the larger one for a power step.
LARGER = 1e-7


def may_climb(
    R: Array, P: Array, W: Array, constraint: LoadingConstraint, least: float = 0.0
) -> Array:
    """Rows of ``W`` that other loadings on their support, a power step or an exchange improve.

    Parameters
    ----------
    R : ndarray of shape (n_features, n_features)
        What all components leave.
    P : ndarray of shape (n_components, n_features)
        What each of them takes: ``A_j = R + p_j p_j'``.
    W : ndarray of shape (n_components, n_features)
        Unit-norm loadings.
    constraint : LoadingConstraint
        Of all of them, with two places at least.
    least : float
        What other loadings or an exchange must gain at once.

    Returns
    -------
    ndarray of bool
        Also true where places are empty, because nothing is known then.
    """
    images = W @ R + np.einsum("ij,ij->i", W, P)[:, None] * P
    values = np.einsum("ij,ij->i", W, images)
    enough = values + np.maximum(least, LARGER * values)
    inside = W != 0
    moves: Array = inside.sum(axis=1) != constraint.size
    full = np.flatnonzero(~moves)
    if not full.size:
        return moves
    support = np.nonzero(inside[full])[1].reshape(full.size, constraint.size)
    rows = _Rows(R, P[full], W[full], images[full], support)
    moves[full] = (
        rows.would_refit(enough[full])
        | rows.would_step(constraint)
        | rows.would_exchange(values[full], enough[full], constraint)
    )
    return moves


class _Rows:
    """Loadings that fill all their places."""

    def __init__(self, R: Array, P: Array, W: Array, images: Array, support: Support) -> None:
        self.R, self.P, self.images, self.variances = R, P, images, R.diagonal() + P * P
        self.support, self.at = support, np.arange(len(W))[:, None]
        self.w = W[self.at, support]

    def would_refit(self, enough: Array) -> Array:
        """Whether the leading eigenvalue on the support is larger."""
        pulls = self.P[self.at, self.support]
        blocks = self.R[self.support[:, :, None], self.support[:, None, :]]
        blocks = blocks + pulls[:, :, None] * pulls[:, None, :]
        result: Array = np.linalg.eigvalsh(blocks)[:, -1] > enough
        return result

    def would_step(self, constraint: LoadingConstraint) -> Array:
        """Whether a power step takes a feature in."""
        worth = np.maximum(self.images, 0) if constraint.nonnegative else np.abs(self.images)
        least = worth[self.at, self.support]
        if constraint.forced.size:
            least = np.where(np.isin(self.support, constraint.forced), np.inf, least)
        worth[self.at, self.support] = -1
        worth[:, constraint.forbidden] = -1
        result: Array = worth.max(axis=1) > least.min(axis=1) * (1 + LARGER)
        return result

    def would_exchange(self, values: Array, enough: Array, constraint: LoadingConstraint) -> Array:
        """Whether span{w without i, e_j} has a larger eigenvalue for a pair of features."""
        w, pulls = self.w, self.P[self.at, self.support]
        rest = np.maximum(1 - w * w, np.finfo(w.dtype).eps)
        variance, image = self.variances[self.at, self.support], self.images[self.at, self.support]
        kept = (values[:, None] - 2 * w * image + w * w * variance) / rest
        # (rows, entering, leaving)
        shared = self.R[self.support].swapaxes(1, 2) + self.P[:, :, None] * pulls[:, None, :]
        cross = self.images[:, :, None] - shared * w[:, None, :]
        if constraint.nonnegative:
            cross = np.maximum(cross, 0)
        half = (kept[:, None, :] - self.variances[:, :, None]) / 2
        bound = kept[:, None, :] - half + np.sqrt(half * half + cross * cross / rest[:, None, :])
        bound[self.at, self.support] = -np.inf
        bound[:, constraint.forbidden] = -np.inf
        if constraint.forced.size:
            bound.swapaxes(1, 2)[np.isin(self.support, constraint.forced)] = -np.inf
        result: Array = bound.max(axis=(1, 2)) > enough
        return result
