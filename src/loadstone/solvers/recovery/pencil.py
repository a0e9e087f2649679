"""One component on a few features: the largest root of a pencil over supports of a size.

Notation: ``A`` and ``B`` are ``S^2`` and ``S`` on the features looked at. A component ``w``
beside others ``O`` recovers ``w'A_j w / w'B_j w`` more than they do, with ``R = I - O (O'BO)^+
O'B``, ``A_j = R'AR`` and ``B_j = BR``. On a support T the best ``w`` is the leading vector of
the pencil ``(A_j)_TT - mu (B_j)_TT``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from loadstone.constraints import LoadingConstraint
from loadstone.covariance import Array, Support

#: Eigenvalues of a score covariance below this share of the largest count as zero.
SINGULAR = 1e-8
#: Features tried in one exchange, and features each of them may replace.
N_ENTERING, N_LEAVING = 8, 3
#: Features tried in one step of a forward search.
N_FORWARD = 4
#: Exchanges of one climb.
MAX_EXCHANGES = 200
#: Gains below this share are rounding.
GAIN = 1e-9


@dataclass(frozen=True)
class Pencil:
    """``A_j`` and ``B_j``, and which features may be used."""

    A: Array
    B: Array
    constraint: LoadingConstraint

    @classmethod
    def beside(cls, A: Array, B: Array, others: Array, constraint: LoadingConstraint) -> Pencil:
        """What is left to recover beside ``others``, given as columns."""
        if not others.shape[1]:
            return cls(A, B, constraint)
        BO = B @ others
        inverse = np.linalg.pinv(others.T @ BO, rcond=SINGULAR, hermitian=True)
        removed = BO @ inverse
        # R = I - O removed', multiplied out: a few columns instead of a full product.
        AR = A - (A @ others) @ removed.T
        left = AR - removed @ (others.T @ AR)
        return cls((left + left.T) / 2, B - removed @ BO.T, constraint)

    @property
    def floor(self) -> float:
        """Variance below which a score counts as empty."""
        return SINGULAR * float(self.B.diagonal().max(initial=0.0))

    def best_on(self, supports: Support) -> tuple[Array, Array]:
        """Largest root on each support (a row each) and its loadings, in a batch."""
        left, right = supports[:, :, None], supports[:, None, :]
        lengths, Q = np.linalg.eigh(self.B[left, right])
        limit = np.maximum(SINGULAR * lengths[:, -1:], self.floor)
        # Directions without variance are left out: they recover nothing, at any price.
        solid = lengths > limit
        root = np.divide(solid, np.sqrt(np.where(solid, lengths, 1.0)))
        white = Q * root[:, None, :]
        values, vectors = np.linalg.eigh(white.transpose(0, 2, 1) @ self.A[left, right] @ white)
        return values[:, -1], (white @ vectors[:, :, -1:])[:, :, 0]

    def singles(self) -> Array:
        """What each feature recovers alone; nothing for those that may not be used."""
        variance = self.B.diagonal()
        solid = variance > self.floor
        alone = np.divide(self.A.diagonal(), variance, out=np.zeros(len(variance)), where=solid)
        alone[self.constraint.forbidden] = -1
        return alone

    def prospects(self, support: Support, w: Array) -> Array:
        """Largest root on span{w, e_i} for every feature i outside the support."""
        b_w, a_w = self.B[:, support] @ w, self.A[:, support] @ w
        b, a = float(w @ b_w[support]), float(w @ a_w[support])
        found = largest_root(a, a_w, self.A.diagonal(), b, b_w, self.B.diagonal(), self.floor)
        found[support] = -np.inf
        found[self.constraint.forbidden] = -np.inf
        return found

    def grow(self, support: Support) -> tuple[Support, Array, float]:
        """Add the most promising features one at a time until every place is filled."""
        values, loadings = self.best_on(support[None])
        while support.size < self.constraint.size:
            prospect = self.prospects(support, loadings[0])
            n = min(N_FORWARD, int(np.isfinite(prospect).sum()))
            if n == 0:
                break
            entering = np.argsort(-prospect, kind="stable")[:n]
            tried = np.column_stack([np.tile(support, (n, 1)), entering])
            values, loadings = self.best_on(tried)
            best = int(np.argmax(values))
            support = tried[best]
            values, loadings = values[[best]], loadings[[best]]
        return support, loadings[0], float(values[0])

    def climb(self, support: Support) -> tuple[Support, Array, float]:
        """Exchange features while that recovers more."""
        support, w, value = self.grow(support)
        for _ in range(MAX_EXCHANGES):
            tried = self._neighbours(support, w)
            if not len(tried):
                break
            values, loadings = self.best_on(tried)
            best = int(np.argmax(values))
            if not values[best] > value * (1 + GAIN):
                break
            support, w, value = tried[best], loadings[best], float(values[best])
        return support, w, value

    def _neighbours(self, support: Support, w: Array) -> Support:
        """Supports after the exchanges that promise most."""
        movable = np.flatnonzero(~np.isin(support, self.constraint.forced))
        prospect = self.prospects(support, w)
        n = min(N_ENTERING, int(np.isfinite(prospect).sum()))
        if not movable.size or n == 0:
            return np.empty((0, support.size), dtype=np.intp)
        weight = np.abs(w) * np.sqrt(np.maximum(self.B.diagonal()[support], 0))
        leaving = movable[np.argsort(weight[movable], kind="stable")[:N_LEAVING]]
        entering = np.argsort(-prospect, kind="stable")[:n]
        tried = np.repeat(support[None], n * leaving.size, axis=0)
        places = np.tile(leaving, n)
        tried[np.arange(len(tried)), places] = np.repeat(entering, leaving.size)
        return tried


def largest_root(
    a: float, a_w: Array, a_ii: Array, b: float, b_w: Array, b_ii: Array, floor: float
) -> Array:
    """Largest root mu of ``[[a, a_w], [a_w, a_ii]] - mu [[b, b_w], [b_w, b_ii]]``, entry by entry.

    The second direction is first made uncorrelated with the first; where nothing is left of
    it, the root is that of the first alone, and the other way round.
    """
    if b <= floor:
        return np.divide(a_ii, b_ii, out=np.zeros_like(a_ii), where=b_ii > floor)
    t = b_w / b
    rest = b_ii - t * b_w
    cross = a_w - t * a
    own = a_ii - 2 * t * a_w + t * t * a
    first = a / b
    solid = rest > max(floor, 1e-12 * b)
    safe = np.where(solid, rest, 1.0)
    second = own / safe
    # Fourth powers of the data in tiny units are zero: roots are taken before squares.
    mixed = cross / (np.sqrt(b) * np.sqrt(safe))
    root = (first + second) / 2 + np.hypot((first - second) / 2, mixed)
    return np.where(solid, root, first)
