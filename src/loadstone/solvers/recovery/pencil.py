"""One component on a few features: the largest root of a pencil over supports of a size.

Notation: ``A`` and ``B`` are ``S^2`` and ``S`` on the features looked at. A component ``w``
beside others ``O`` recovers ``w'A_j w / w'B_j w`` more than they do, with ``R = I - O (O'BO)^+
O'B``, ``A_j = R'AR`` and ``B_j = BR``. On a support T the best ``w`` is the leading vector of
the pencil ``(A_j)_TT - mu (B_j)_TT``. Loadings of given signs may do with fewer features; they
are climbed to (``cone.py``), and a place whose loading is zero is free again.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from loadstone.constraints import LoadingConstraint, Signs
from loadstone.covariance import Array, Support
from loadstone.solvers.recovery.cone import (
    ROUNDED,
    SINGULAR,
    best_in_cone,
    leading,
    singular_share,
    turned_inside,
)

#: Constraints that say how many features there may be, and which signs.
Sized = LoadingConstraint | Signs

NOBODY = np.empty(0, dtype=np.intp)
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
    """``A_j`` and ``B_j``, which features may be used, and the rounding of the data."""

    A: Array
    B: Array
    constraint: Sized
    eps: float = float(np.finfo(np.float64).eps)

    @classmethod
    def beside(
        cls, A: Array, B: Array, others: Array, constraint: Sized, eps: float = eps
    ) -> Pencil:
        """What is left to recover beside ``others``, given as columns.

        ``eps`` is the rounding of the data, which may be that of single precision.
        """
        if not others.shape[1]:
            return cls(A, B, constraint, eps)
        BO = B @ others
        inverse = np.linalg.pinv(others.T @ BO, rcond=singular_share(eps), hermitian=True)
        removed = BO @ inverse
        # R = I - O removed', multiplied out: a few columns instead of a full product.
        AR = A - (A @ others) @ removed.T
        left = AR - removed @ (others.T @ AR)
        pencil = cls((left + left.T) / 2, B - removed @ BO.T, constraint, eps)
        return pencil._without(pencil.B.diagonal() <= ROUNDED * eps * B.diagonal())

    def _without(self, said: Array) -> Pencil:
        """The same where nothing but rounding is left of the features ``said`` by others."""
        if not said.any():
            return self
        A, B = self.A.copy(), self.B.copy()
        for M in (A, B):
            M[said] = M[:, said] = 0
        return replace(self, A=A, B=B)

    @property
    def floor(self) -> float:
        """Variance below which a score counts as empty."""
        return SINGULAR * float(self.B.diagonal().max(initial=0.0))

    def best_on(
        self, supports: Support, near: Array | None = None, least: float = 0.0
    ) -> tuple[Array, Array]:
        """Largest root on each support (a row each) and its loadings, in a batch.

        Loadings of given signs are climbed to from those of any signs and from ``near``, on
        supports that could reach more than ``least`` and than the others do; nothing is found
        on the rest.
        """
        left, right = supports[:, :, None], supports[:, None, :]
        A, B = self.A[left, right], self.B[left, right]
        values, loadings = leading(A, B, self.floor, singular_share(self.eps))
        signs = self.constraint.signs
        if signs is None:
            return values, loadings
        # Where the best loadings of any signs have these signs, nothing is left to climb, and
        # supports that could not reach more are of no use.
        loadings, done = turned_inside(loadings, signs[supports])
        kept = done & (values > least)
        rows = ~done & (values > max(least, values[kept].max(initial=0.0)))
        if rows.any():
            starts = [loadings, -loadings, *([] if near is None else [near[supports]])]
            starts = [start[rows] for start in starts]
            found = best_in_cone(A[rows], B[rows], signs[supports[rows]], starts, self.floor)
            values[rows], loadings[rows] = found
        values[~(kept | rows)], loadings[~(kept | rows)] = 0.0, 0.0
        return values, loadings

    def singles(self) -> Array:
        """What each feature recovers alone; nothing for those that may not be used."""
        variance = self.B.diagonal()
        solid = variance > self.floor
        alone = np.divide(self.A.diagonal(), variance, out=np.zeros(len(variance)), where=solid)
        alone[self.constraint.forbidden] = -1
        return alone

    def prospects(self, support: Support, w: Array) -> Array:
        """Largest root on span{w, e_i}, of the given signs, for every feature i outside the support."""
        b_w, a_w = self.B[:, support] @ w, self.A[:, support] @ w
        b, a = float(w @ b_w[support]), float(w @ a_w[support])
        a_ii, b_ii, signs = self.A.diagonal(), self.B.diagonal(), self.constraint.signs
        found = largest_root(a, a_w, a_ii, b, b_w, b_ii, self.floor, signs)
        found[support] = -np.inf
        found[self.constraint.forbidden] = -np.inf
        return found

    def grow(self, support: Support, near: Array | None = None) -> tuple[Support, Array, float]:
        """Add the most promising features one at a time until every place is filled.

        Loadings of given signs need not fill them.
        """
        values, loadings = self.best_on(support[None], near)
        support, w, value = self._used(support, loadings[0], values[0])
        while support.size < self.constraint.size:
            prospect = self.prospects(support, w)
            n = min(N_FORWARD, int(np.isfinite(prospect).sum()))
            if n == 0:
                break
            entering = np.argsort(-prospect, kind="stable")[:n]
            tried = np.column_stack([np.tile(support, (n, 1)), entering])
            least = value * (1 + GAIN)
            values, loadings = self.best_on(tried, self._everywhere(support, w), least)
            best = int(np.argmax(values))
            if self.constraint.signs is not None and not values[best] > least:
                break
            support, w, value = self._used(tried[best], loadings[best], values[best])
        return support, w, value

    def climb(self, support: Support, near: Array | None = None) -> tuple[Support, Array, float]:
        """Exchange features while that recovers more."""
        support, w, value = self.grow(support, near)
        for _ in range(MAX_EXCHANGES):
            tried = self._neighbours(support, w)
            if not len(tried):
                break
            least, near = value * (1 + GAIN), self._everywhere(support, w)
            values, loadings = self.best_on(tried, near, least)
            best = int(np.argmax(values))
            if not values[best] > least:
                break
            support, w, value = self._used(tried[best], loadings[best], values[best])
            if support.size < self.constraint.size:
                support, w, value = self.grow(support, self._everywhere(support, w))
        return support, w, value

    def _used(self, support: Support, w: Array, value: float) -> tuple[Support, Array, float]:
        """Without places whose loading the signs made zero; forced features keep theirs."""
        if self.constraint.signs is None or not w.any():
            return support, w, float(value)
        stays = (w != 0) | np.isin(support, forced_of(self.constraint))
        return support[stays], w[stays], float(value)

    def _everywhere(self, support: Support, w: Array) -> Array:
        found = np.zeros(len(self.A))
        found[support] = w
        return found

    def _neighbours(self, support: Support, w: Array) -> Support:
        """Supports after the exchanges that promise most."""
        movable = np.flatnonzero(~np.isin(support, forced_of(self.constraint)))
        n_outside = len(self.A) - np.union1d(support, self.constraint.forbidden).size
        n = min(N_ENTERING, n_outside)
        if not movable.size or n == 0:
            return np.empty((0, support.size), dtype=np.intp)
        weight = np.abs(w) * np.sqrt(np.maximum(self.B.diagonal()[support], 0))
        leaving = movable[np.argsort(weight[movable], kind="stable")[:N_LEAVING]]
        entering = self._entering(support, w, leaving)[:n]
        tried = np.repeat(support[None], n * leaving.size, axis=0)
        tried[np.arange(len(tried)), np.tile(leaving, n)] = entering.ravel()
        return tried

    def _entering(self, support: Support, w: Array, leaving: Support) -> Support:
        """Features in the order of what they promise, a column for each one that leaves."""
        if self.constraint.signs is None:
            order = np.argsort(-self.prospects(support, w), kind="stable")
            return np.repeat(order[:, None], leaving.size, axis=1)
        # Signs: beside all features many promise nothing, but in the place of one they do.
        without = np.where(np.arange(support.size) == leaving[:, None], 0.0, w)
        promised = np.stack([self.prospects(support, rest) for rest in without], axis=1)
        return np.argsort(-promised, axis=0, kind="stable")


def forced_of(constraint: Sized) -> Support:
    """Features that always hold a place."""
    return constraint.forced if isinstance(constraint, LoadingConstraint) else NOBODY


def largest_root(
    a: float,
    a_w: Array,
    a_ii: Array,
    b: float,
    b_w: Array,
    b_ii: Array,
    floor: float,
    signs: Array | None = None,
) -> Array:
    """Largest root mu of ``[[a, a_w], [a_w, a_ii]] - mu [[b, b_w], [b_w, b_ii]]``, entry by entry.

    The second direction is first made uncorrelated with the first; where nothing is left of
    it, the root is that of the first alone, and the other way round. Where the mixture has
    not the signs, the better of the two is the best.
    """
    alone = np.divide(a_ii, b_ii, out=np.zeros_like(a_ii), where=b_ii > floor)
    if b <= floor:
        return alone
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
    found = np.where(solid, root, first)
    if signs is None:
        return found
    # The mixture has root - first of the second direction, which is never negative, and this of w.
    of_first = mixed / np.sqrt(b) - t * (root - first) / np.sqrt(safe)
    return np.where(signs * of_first >= 0, found, np.maximum(first, alone))
