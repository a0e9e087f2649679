"""At most ``n_nonzero`` features, or only non-negative loadings, or both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import sqrt
from typing import Self

import numpy as np

from loadstone.constraints.by_value import ByValue
from loadstone.constraints.columns import (
    allowed_part,
    broken_features,
    broken_norm,
    least_loss,
    on_columns,
    top_k,
)
from loadstone.constraints.features import (
    NONE,
    as_features,
    check_length,
    check_size,
    constant_features,
    moved,
    places_of,
    refuse_nothing_left,
)
from loadstone.constraints.protocol import Array, Indices
from loadstone.constraints.words import counted, kind_of, short_repr


@dataclass(frozen=True, eq=False, repr=False)
class LoadingConstraint(ByValue):
    """Cardinality times non-negativity, with features that must or must not be used.

    Attributes
    ----------
    n_features : int
        Length of a loading vector.
    n_nonzero : int
        Largest number of non-zero loadings.
    nonnegative : bool
        Whether loadings are at least zero.
    forced : array-like of int
        Features that always hold one of the ``n_nonzero`` places. A place is not a
        promise of a non-zero value: under ``nonnegative`` the best value can be zero.
    forbidden : array-like of int
        Features that stay zero.

    Examples
    --------
    >>> import numpy as np
    >>> from loadstone.constraints import LoadingConstraint
    >>> constraint = LoadingConstraint(4, 2)
    >>> constraint.best_loading(np.array([3.0, 1.0, -4.0, 2.0]))
    array([ 0.6,  0. , -0.8,  0. ])
    >>> constraint.broken_rule(np.full(4, 0.5))
    'it uses 4 features, more than n_nonzero=2'
    """

    n_features: int
    n_nonzero: int
    nonnegative: bool = False
    forced: Indices = field(default_factory=lambda: NONE)
    forbidden: Indices = field(default_factory=lambda: NONE)

    def __post_init__(self) -> None:
        check_size("n_nonzero", self.n_nonzero)
        for name in ("forced", "forbidden"):
            given = getattr(self, name)
            if given is not NONE:
                object.__setattr__(self, name, as_features(name, given, self.n_features))
        refuse_nothing_left(self.n_features, self.forbidden)
        clash = np.intersect1d(self.forced, self.forbidden) if self.forced.size else NONE
        if clash.size:
            msg = f"feature(s) {clash.tolist()} are both forced and forbidden; choose one"
            raise ValueError(msg)
        if self.forced.size > self.n_nonzero:
            msg = (
                f"{self.forced.size} features are forced but n_nonzero={self.n_nonzero} leaves room "
                f"for fewer; raise n_nonzero to at least {self.forced.size} or force fewer features"
            )
            raise ValueError(msg)

    def __repr__(self) -> str:
        return short_repr(self)

    @property
    def n_available(self) -> int:
        """Features that may be used."""
        return self.n_features - self.forbidden.size

    @property
    def size(self) -> int:
        """Places that can be filled."""
        return min(self.n_nonzero, self.n_features - self.forbidden.size)

    @property
    def is_free(self) -> bool:
        """Whether any unit vector is allowed, as in plain PCA."""
        return not self.nonnegative and self.size >= self.n_features

    @property
    def signs(self) -> Array | None:
        """+1 throughout where loadings are non-negative."""
        return np.ones(self.n_features, dtype=np.int8) if self.nonnegative else None

    @property
    def refits(self) -> bool:
        """On the features of ``w`` and the forced ones only the signs still matter."""
        return True

    @property
    def largest_l1(self) -> float:
        """The square root of the number of places."""
        return sqrt(self.size)

    def without(self, features: Indices) -> Self:
        """The same with ``features`` used up (forced ones included)."""
        return replace(
            self,
            forced=np.setdiff1d(self.forced, features),
            forbidden=np.union1d(self.forbidden, features).astype(np.intp),
        )

    def on(self, features: Indices) -> Self:
        """The same for loadings on ``features`` (forced ones included) alone, in their order."""
        missing = self.forced[places_of(features, self.n_features)[self.forced] < 0]
        if missing.size:
            msg = f"forced feature(s) {missing.tolist()} are not among those kept; keep them"
            raise ValueError(msg)
        return replace(
            self,
            n_features=features.size,
            forced=moved(self.forced, features, self.n_features),
            forbidden=moved(self.forbidden, features, self.n_features),
        )

    def bound_to(
        self, n_features: int, names: Sequence[str] | None = None, constant: Array | None = None
    ) -> Self:
        """The same without features that do not vary; PCA needs nothing closed."""
        check_length("the constraint", self.n_features, n_features)
        closed = constant_features(constant)
        stuck = np.intersect1d(self.forced, closed)
        if stuck.size:
            msg = (
                f"forced feature(s) {stuck.tolist()} are constant and cannot be used; "
                "do not force them"
            )
            raise ValueError(msg)
        return self if self.is_free or closed.size == 0 else self.without(closed)

    def describe(self) -> str:
        """In words."""
        words = kind_of(nonnegative=self.nonnegative)
        if self.n_nonzero < self.n_features:
            words += f" of {counted(self.n_nonzero, 'feature')}"
        return words + (f", {self.forced.size} of them forced" if self.forced.size else "")

    @classmethod
    def examples(cls, n_features: int) -> list[Self]:
        """Sizes, signs, and features that must or must not be used."""
        return [
            cls(n_features, 3),
            cls(n_features, 3, nonnegative=True),
            cls(n_features, n_features, nonnegative=True),
            cls(n_features, 3, forced=np.array([1])),
            cls(n_features, 3, nonnegative=True, forbidden=np.array([0, 2])),
        ]

    def best_loading(self, direction: Array) -> Array:
        """Argmax of <direction, w> over allowed unit-norm w: keep the largest, normalise.

        Where no entry points in an allowed direction the best allowed vector is the
        single feature that loses least; the result is never zero.
        """
        return on_columns(direction, self._kept)

    def shrunken_loading(self, direction: Array) -> Array:
        """Soft threshold at the largest entry left out, normalised.

        The M-step of Sigg & Buhmann (2008), Algorithm 2. The support is the one of
        :meth:`best_loading`, so ties cannot change the cardinality; a column whose
        kept entries all tie with the threshold is not shrunken at all.
        """
        return on_columns(direction, self._shrunken)

    def candidates(self, direction: Array) -> Array:
        """How much each entry is worth keeping: ``|direction|`` or its positive part."""
        worth = np.maximum(direction, 0) if self.nonnegative else np.abs(direction)
        if self.forbidden.size:
            worth[self.forbidden] = -1
        return worth

    def support(self, w: Array) -> Indices:
        """The features of ``w`` and the forced ones."""
        used = np.flatnonzero(w)
        return np.union1d(used, self.forced).astype(np.intp) if self.forced.size else used

    def units(self, w: Array) -> list[Indices]:
        """Single features, the forced ones aside."""
        return list(np.setdiff1d(np.flatnonzero(w), self.forced)[:, None])

    def largest_sum(self, terms: Array) -> Array:
        """Forced terms and the largest others."""
        return on_columns(terms, self._largest_sum)

    def _largest_sum(self, terms: Array) -> Array:
        terms = np.array(terms)
        terms[self.forbidden] = 0
        total: Array = terms[self.forced].sum(axis=0)
        terms[self.forced] = 0
        free = self.size - self.forced.size
        if free > 0:
            total = total + np.take_along_axis(terms, top_k(terms, free), axis=0).sum(axis=0)
        return total

    def _top(self, block: Array) -> Array:
        """Row indices of the places filled, shape (size, n_columns)."""
        worth = self.candidates(block)
        if self.forced.size:
            worth[self.forced] = np.inf
        return top_k(worth, self.size)

    def _kept(self, block: Array) -> Array:
        top = self._top(block)
        values = allowed_part(block[top, np.arange(block.shape[1])], self._side)
        return self._scattered(block, top, values)

    def _shrunken(self, block: Array) -> Array:
        top = self._top(block)
        values = allowed_part(np.take_along_axis(block, top, axis=0), self._side)
        worth = self.candidates(block)
        np.put_along_axis(worth, top, 0, axis=0)
        threshold = np.maximum(worth.max(axis=0), 0)
        shrunken = np.sign(values) * np.maximum(np.abs(values) - threshold, 0)
        tied = ~shrunken.any(axis=0)
        shrunken[:, tied] = values[:, tied]
        return self._scattered(block, top, shrunken)

    @property
    def _side(self) -> Array | None:
        return np.ones(1, dtype=np.int8) if self.nonnegative else None

    def _scattered(self, block: Array, top: Array, values: Array) -> Array:
        # In single precision squares of large products overflow.
        norms = np.linalg.norm(values.astype(np.float64, copy=False), axis=0)
        empty = ~(norms > 0)
        W = np.zeros(block.shape, dtype=block.dtype, order="F")
        W[top, np.arange(block.shape[1])] = values / np.where(empty, 1, norms)
        if not empty.any():
            return W
        closed = self.forbidden
        if self.forced.size == self.size:
            # Forced features take all places, and nothing else may.
            closed = np.setdiff1d(np.arange(self.n_features), self.forced)
        for column in np.flatnonzero(empty):
            W[:, column] = least_loss(block[:, column], self.signs, closed)
        return W

    def allows(self, w: Array) -> bool:
        """Whether ``w`` has unit norm, few enough places, allowed signs and features."""
        return self.broken_rule(w) is None

    def broken_rule(self, w: Array) -> str | None:
        """The first rule ``w`` breaks, as a sentence; ``None`` where it keeps them all."""
        return (
            broken_norm(w, self.n_features)
            or self._too_many(w)
            or broken_features(w, self.signs, self.forbidden)
        )

    def _too_many(self, w: Array) -> str | None:
        used = self.support(w).size
        if used <= self.n_nonzero:
            return None
        return f"it uses {used} features, more than n_nonzero={self.n_nonzero}"
