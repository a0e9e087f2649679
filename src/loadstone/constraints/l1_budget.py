"""Loadings whose absolute values sum to at most a budget."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from numbers import Integral, Real
from typing import Self

import numpy as np

from loadstone.constraints.by_value import ByValue
from loadstone.constraints.columns import (
    allowed_part,
    broken_features,
    broken_norm,
    on_columns,
    rounding,
    unit_columns,
)
from loadstone.constraints.features import (
    NONE,
    as_features,
    check_length,
    constant_features,
    moved,
    refuse_nothing_left,
)
from loadstone.constraints.protocol import Array, Indices
from loadstone.constraints.words import kind_of, short_repr


@dataclass(frozen=True, eq=False, repr=False)
class L1Budget(ByValue):
    """Unit vectors with ``sum |w_i| <= budget``, signed or non-negative.

    Small loadings go before large ones are cut off, as in the lasso: a budget of
    ``sqrt(k)`` leaves about ``k`` loadings of similar size, or more of which some are
    small. Loadings that were re-optimised on their support could exceed the budget, so
    they never are.

    Attributes
    ----------
    n_features : int
        Length of a loading vector; 0, the default, leaves that to the data.
    budget : float
        Between 1 (a single feature) and sqrt(n_features) (no constraint).
    nonnegative : bool
        Whether loadings are at least zero.
    forbidden : ndarray of intp
        Features that stay zero.

    Examples
    --------
    >>> import numpy as np
    >>> from loadstone.constraints import L1Budget
    >>> constraint = L1Budget(budget=1.4).bound_to(3)
    >>> constraint.best_loading(np.array([7.0, -6.0, 1.0])).round(3)
    array([ 0.8, -0.6,  0. ])
    """

    n_features: int = 0
    budget: float = float("nan")
    nonnegative: bool = False
    forbidden: Indices = field(default_factory=lambda: NONE)

    def __post_init__(self) -> None:
        if not isinstance(self.n_features, Integral):
            msg = (
                f"n_features={self.n_features} must be a whole number of features; the budget goes "
                f"by name: L1Budget(budget={self.n_features})"
            )
            raise ValueError(msg)
        if not isinstance(self.budget, Real) or not self.budget >= 1:
            msg = f"budget={self.budget!r} must be at least 1, the budget of a single feature"
            raise ValueError(msg)
        forbidden = as_features("forbidden", self.forbidden, self.n_features)
        object.__setattr__(self, "forbidden", forbidden)
        refuse_nothing_left(self.n_features, self.forbidden)

    def __repr__(self) -> str:
        return short_repr(self)

    @property
    def signs(self) -> Array | None:
        """+1 throughout where loadings are non-negative."""
        return np.ones(self.n_features, dtype=np.int8) if self.nonnegative else None

    @property
    def is_free(self) -> bool:
        """Whether any unit vector is allowed: the budget is never used up."""
        unused = self.budget**2 >= self.n_features > 0
        return unused and not self.nonnegative and self.forbidden.size == 0

    @property
    def refits(self) -> bool:
        """Never: a re-optimised vector could exceed the budget (2.00 became 2.35 in one case)."""
        return False

    @property
    def largest_l1(self) -> float:
        """The budget."""
        return self.budget

    def best_loading(self, direction: Array) -> Array:
        """Argmax of <direction, w>: the soft threshold whose norm ratio meets the budget."""
        return on_columns(direction, self._best)

    def _best(self, block: Array) -> Array:
        part = np.array(allowed_part(block, self._side), dtype=np.float64)
        part[self.forbidden] = 0
        shrunken = within_budget(np.abs(part), self.budget)
        signed = np.where(part < 0, -shrunken, shrunken)
        W = unit_columns(signed, block, self.signs, self.forbidden)
        return W.astype(block.dtype, copy=False)

    @property
    def _side(self) -> Array | None:
        return np.ones(1, dtype=np.int8) if self.nonnegative else None

    def allows(self, w: Array) -> bool:
        """Whether ``w`` has unit norm, fits the budget and has allowed signs and features."""
        return self.broken_rule(w) is None

    def broken_rule(self, w: Array) -> str | None:
        """The first rule ``w`` breaks, as a sentence; ``None`` where it keeps them all."""
        return (
            broken_norm(w, self.n_features)
            or self._too_much(w)
            or broken_features(w, self.signs, self.forbidden)
        )

    def _too_much(self, w: Array) -> str | None:
        spent = float(np.abs(w).sum())
        if spent <= self.budget * (1 + rounding(w)):
            return None
        return f"its absolute loadings sum to {spent:.6g}, more than budget={self.budget}"

    def support(self, w: Array) -> Indices:
        """The features of ``w``."""
        return np.flatnonzero(w)

    def units(self, w: Array) -> list[Indices]:
        """Single features."""
        return list(np.flatnonzero(w)[:, None])

    def without(self, features: Indices) -> Self:
        """The same with ``features`` forbidden too."""
        return replace(self, forbidden=np.union1d(self.forbidden, features).astype(np.intp))

    def on(self, features: Indices) -> Self:
        """The same for loadings on ``features`` alone."""
        forbidden = moved(self.forbidden, features, self.n_features)
        return replace(self, n_features=features.size, forbidden=forbidden)

    def largest_sum(self, terms: Array) -> Array:
        """The sum of all terms: a budget keeps no set of features from being used together."""
        return on_columns(terms, lambda block: np.delete(block, self.forbidden, axis=0).sum(axis=0))

    def bound_to(
        self, n_features: int, names: Sequence[str] | None = None, constant: Array | None = None
    ) -> Self:
        """The same for ``n_features`` features, without those that do not vary."""
        check_length("the constraint", self.n_features, n_features)
        bound = replace(self, n_features=n_features)
        closed = constant_features(constant)
        return bound if bound.is_free or closed.size == 0 else bound.without(closed)

    def describe(self) -> str:
        """In words."""
        kind = kind_of(nonnegative=self.nonnegative)
        return f"{kind} whose absolute loadings sum to at most {self.budget:g}"

    @classmethod
    def examples(cls, n_features: int) -> list[Self]:
        """Both kinds of signs."""
        return [
            cls(n_features, 1.5),
            cls(n_features, 1.5, nonnegative=True),
            cls(n_features, 2.0, forbidden=np.array([1])),
        ]


def within_budget(worth: Array, budget: float) -> Array:
    """``(worth - t)_+`` for each column, with the smallest t whose norm ratio fits the budget.

    With u the sorted column, ``P_j = sum_i<j (u_i - u_j)`` and ``Q_j = sum_i<j (u_i - u_j)^2``
    are sums of non-negative steps, so that nearly equal entries lose no digits. m entries
    stay, the last with ``P_m <= budget sqrt(Q_m)``; how far the threshold lies below u_m
    solves a quadratic equation.
    """
    u = -np.sort(-worth, axis=0)
    place = np.arange(1, u.shape[0])[:, None]
    gap = u[:-1] - u[1:]
    start = np.zeros((1, u.shape[1]))
    P = np.vstack([start, np.cumsum(place * gap, axis=0)])
    Q = np.vstack([start, np.cumsum(gap * (2 * P[:-1] + place * gap), axis=0)])
    m = np.cumprod(budget**2 * Q >= P**2, axis=0, dtype=np.intp).sum(axis=0)
    columns = np.arange(u.shape[1])
    lowest, P_m, Q_m = u[m - 1, columns], P[m - 1, columns], Q[m - 1, columns]
    excess = m - budget**2
    spare = np.maximum(budget**2 * Q_m - P_m**2, 0) / np.where(excess > 0, excess, np.inf)
    root = P_m + np.sqrt(P_m**2 + m * spare)
    # A budget that holds for all entries stops at a threshold of zero, not below it.
    following = np.append(u, np.zeros((1, u.shape[1])), axis=0)[m, columns]
    below = np.where(excess > 0, spare / np.where(root > 0, root, 1), lowest - following)
    below = np.minimum(below, lowest - following)
    shrunken: Array = np.maximum(worth - lowest + below, 0)
    for column in np.flatnonzero(~shrunken.any(axis=0) & (u[0] > 0)):
        shrunken[:, column] = _share_tied_top(worth[:, column], budget)
    return shrunken


def _share_tied_top(worth: Array, budget: float) -> Array:
    """Several equal largest entries: any split within the budget is optimal."""
    tied = np.flatnonzero(worth == worth.max())
    m = tied.size
    shrunken = np.zeros_like(worth)
    # One entry a, the m - 1 others c: a + (m-1) c = b and a^2 + (m-1) c^2 = 1.
    root = np.sqrt(max(0.0, (m - budget**2) / (m - 1))) if m > 1 else 1.0
    shrunken[tied] = (budget - root) / m
    shrunken[tied[0]] = (budget + (m - 1) * root) / m
    return shrunken
