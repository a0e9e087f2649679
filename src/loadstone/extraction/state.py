"""Components with their products: what they explain together, and what they leave for each.

Notation: ``H = (W'SW)^-1`` and ``R = S - SW H W'S``, what all components leave. Without component
j that is ``S_j = R + p_j p_j'`` with ``p_j = S W h_j / sqrt(H_jj)``: one inverse serves all of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np
from scipy.linalg.lapack import dposv, dpstrf

from loadstone.constraints import Constraint, LoadingConstraint
from loadstone.covariance import Array, Covariance, ExplicitCovariance
from loadstone.extraction.schur import without_scores
from loadstone.metrics import adjusted_from_scores
from loadstone.solvers.search.equals import remember_whole
from loadstone.solvers.search.few_places import best_features, best_pairs, pairs_of
from loadstone.solvers.search.finish import Found
from loadstone.solvers.search.restricted import FEW_FEATURES
from loadstone.solvers.search.tiny import is_tiny

#: Largest ratio of a score's variance to what others leave of it, for an inverse to have digits.
MOST_DEPENDENT = 1e6
#: Share of the largest variance below which a score adds nothing to others.
NEGLIGIBLE = 1e-12
#: Variance above nothing.
TINIEST = float(np.finfo(np.float64).tiny)


class FirstLook(NamedTuple):
    """Which components a climb may improve; where it ends and what it begins with, if known."""

    may_climb: list[bool]
    ends: list[Found] | None = None
    values: list[float] | None = None


@dataclass(frozen=True)
class State:
    """Components with their products, so that one more component costs one more product.

    Attributes
    ----------
    S : Covariance
        The data.
    W, SW, G : ndarray
        Components as columns, their products, and ``W'SW``.
    alike : bool
        Whether components may change places: they share all of their constraints.
    total : float
        What all components explain together.
    independent : bool
        Whether no component depends on others.
    """

    S: Covariance
    W: Array
    SW: Array
    G: Array
    alike: bool
    total: float
    independent: bool

    @classmethod
    def of(cls, S: Covariance, W: Array, *, alike: bool) -> State:
        """The state of components."""
        SW = S @ W
        G = W.T.astype(np.float64, copy=False) @ SW.astype(np.float64, copy=False)
        return cls._with(S, W, SW, (G + G.T) / 2, alike=alike)

    @classmethod
    def _with(cls, S: Covariance, W: Array, SW: Array, G: Array, *, alike: bool) -> State:
        total, rank = _pivots(G)
        if not alike:
            total = float(adjusted_from_scores(G).sum())
        return cls(S, W, SW, G, alike, total, rank == len(G))

    @cached_property
    def order(self) -> list[int]:
        """Components in the order in which they are best, where they may change places."""
        return _greedy_order(self.G) if self.alike else list(range(len(self.G)))

    @cached_property
    def inverse(self) -> Array | None:
        """``H``; None where components depend on one another."""
        if not self.independent:
            return None
        _, H, info = dposv(self.G, _identity(len(self.G)), lower=1)
        return None if info else H

    @cached_property
    def left_by_all(self) -> tuple[Array, Array, Array] | None:
        """R, the ``p_j`` as rows, ``w_j'S_j w_j``; None where S is no matrix, or H has no digits."""
        if not isinstance(self.S, ExplicitCovariance) or self.S.n_features > FEW_FEATURES:
            return None
        H = self.inverse
        if H is None:
            return None
        each = H.diagonal()
        if not 0 < (each * self.G.diagonal()).max() <= MOST_DEPENDENT:
            return None
        B = self.SW @ H.astype(self.SW.dtype, copy=False)
        P = (B / np.sqrt(each).astype(B.dtype, copy=False)).T
        R = self.S.matrix - B @ self.SW.T
        # Rounding below zero is cut off, as a deflated covariance does.
        variances = R.reshape(-1)[:: len(R) + 1]
        np.maximum(variances, 0, out=variances)
        return R, P, 1 / each

    def left_for(self, j: int) -> Covariance:
        """``S_j``: what the others leave for component j."""
        if self.left_by_all is not None:
            R, P, _ = self.left_by_all
            left = ExplicitCovariance(R + P[j, :, None] * P[j], self.S.n_samples)
            return remember_whole(left, self.S)
        kept = np.delete(np.arange(self.W.shape[1]), j)
        return without_scores(self.S, self.SW[:, kept], self.G[np.ix_(kept, kept)])

    @cached_property
    def blind(self) -> FirstLook:
        """Before any look each component may climb."""
        return FirstLook([True] * self.W.shape[1])

    def first_look(self, constraint: Constraint, least: float) -> FirstLook:
        """Where all climbs of one or two places end, among few features; they must gain something.

        With more places a climb that ends where it begins costs less than its share of a look.
        """
        if not isinstance(constraint, LoadingConstraint) or not self.alike or not is_tiny(self.S):
            return self.blind
        size = constraint.size
        if size > 2 or self.left_by_all is None:
            return self.blind
        assert isinstance(self.S, ExplicitCovariance)
        R, P, values = self.left_by_all
        variances = R.diagonal() + P * P
        if size == 1:
            ends = best_features(variances, constraint, self.S)
        else:
            first, second = pairs_of(len(R))
            crosses = R[first, second] + P[:, first] * P[:, second]
            ends = best_pairs(variances, crosses, constraint, self.S)
        before = values.tolist()
        gains = [end.value > value + least for end, value in zip(ends, before, strict=True)]
        return FirstLook(gains, ends, before)

    def replaced(self, j: int, w: Array) -> State:
        """The same with ``w`` in the place of component j."""
        W, SW, G = self.W.copy(), self.SW.copy(), self.G.copy()
        W[:, j], SW[:, j] = w, self.S @ w
        G[j] = G[:, j] = SW[:, j].astype(np.float64, copy=False) @ W.astype(np.float64, copy=False)
        return State._with(self.S, W, SW, G, alike=self.alike)

    def ordered(self) -> Array:
        """Those that explain most first, where the constraints do not care."""
        result: Array = self.W[:, self.order]
        return result


@lru_cache(maxsize=16)
def _identity(n: int) -> Array:
    identity = np.eye(n)
    identity.setflags(write=False)
    return identity


def _pivots(G: Array) -> tuple[float, int]:
    """What scores with covariance ``G`` add, each the most to those before it; how many do."""
    tol = NEGLIGIBLE * max(float(G.diagonal().max(initial=0.0)), TINIEST)
    factor, _, rank, _ = dpstrf(G, lower=1, tol=tol)
    added = factor.diagonal()[:rank]
    return float(added @ added), int(rank)


def _greedy_order(G: Array) -> list[int]:
    """Scores in the order in which each adds most to those before it, the first among equals.

    Those that add nothing come last.
    """
    order: list[int] = []
    left = G.copy()
    gains = left.diagonal()
    negligible = NEGLIGIBLE * max(float(gains.max(initial=0.0)), TINIEST)
    while len(order) < len(G):
        best = int(gains.argmax())
        if not gains[best] > negligible:
            break
        order.append(best)
        column = left[best] / np.sqrt(gains[best])
        left -= column[:, None] * column
        # Rounding does not let one come twice.
        left[best] = left[:, best] = 0
    if len(order) < len(G):
        order += [j for j in range(len(G)) if j not in order]
    return order
