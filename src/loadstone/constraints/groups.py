"""Loadings from few groups of features: pathways of genes, sectors of a portfolio."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import sqrt
from typing import Any, Self

import numpy as np

from loadstone.constraints.by_value import ByValue
from loadstone.constraints.columns import (
    allowed_part,
    broken_features,
    broken_norm,
    on_columns,
    top_k,
    unit_columns,
)
from loadstone.constraints.features import (
    NONE,
    as_features,
    check_length,
    check_size,
    constant_features,
    moved,
    refuse_nothing_left,
)
from loadstone.constraints.protocol import Array, Indices
from loadstone.constraints.words import counted, cut_list, kind_of


@dataclass(frozen=True, eq=False, repr=False)
class Groups(ByValue):
    """At most ``n_groups`` groups of features, and at most ``per_group`` features of each.

    Attributes
    ----------
    labels : array-like of shape (n_features,)
        The group of each feature, as text or whole numbers.
    n_groups : int
        Largest number of groups a component uses.
    per_group : int or None
        Largest number of features of a group; ``None`` allows all of them.
    nonnegative : bool
        Whether loadings are at least zero.
    forbidden : ndarray of intp
        Features that stay zero.

    Examples
    --------
    >>> import numpy as np
    >>> from loadstone.constraints import Groups
    >>> constraint = Groups(["bank", "bank", "oil", "oil", "oil"], n_groups=1)
    >>> constraint
    Groups(5 features in 2 groups, n_groups=1)
    >>> constraint.best_loading(np.array([3.0, 4.0, 2.0, 2.0, -1.0]))
    array([0.6, 0.8, 0. , 0. , 0. ])
    >>> Groups(constraint.labels, 2, per_group=1).best_loading(np.array([3.0, 4.0, 0.0, 3.0, 1.0]))
    array([0. , 0.8, 0. , 0.6, 0. ])
    """

    labels: Any
    n_groups: int
    per_group: int | None = None
    nonnegative: bool = False
    forbidden: Indices = field(default_factory=lambda: NONE)

    def __post_init__(self) -> None:
        object.__setattr__(self, "labels", _as_labels(self.labels))
        for name, value in (("n_groups", self.n_groups), ("per_group", self.per_group)):
            if value is not None:
                check_size(name, value)
        forbidden = as_features("forbidden", self.forbidden, self.n_features)
        object.__setattr__(self, "forbidden", forbidden)
        refuse_nothing_left(self.n_features, self.forbidden)

    def __repr__(self) -> str:
        parts = [f"{counted(self.n_features, 'feature')} in {counted(self._n_labels, 'group')}"]
        parts.append(f"n_groups={self.n_groups}")
        parts += [f"per_group={self.per_group}"] if self.per_group is not None else []
        parts += ["nonnegative=True"] if self.nonnegative else []
        parts += [f"forbidden={cut_list(self.forbidden.tolist())}"] if self.forbidden.size else []
        return f"Groups({', '.join(parts)})"

    @property
    def n_features(self) -> int:
        """One label per feature."""
        return int(self.labels.size)

    @cached_property
    def _codes(self) -> Indices:
        return np.unique(self.labels, return_inverse=True)[1].astype(np.intp)

    @cached_property
    def _order(self) -> Indices:
        """Features, one group after the other."""
        return np.argsort(self._codes, kind="stable")

    @cached_property
    def _starts(self) -> Indices:
        """Where each group begins in that order."""
        return np.flatnonzero(np.diff(self._codes[self._order], prepend=-1))

    @property
    def _n_labels(self) -> int:
        return int(self._starts.size)

    @property
    def _limits_within(self) -> bool:
        return self.per_group is not None and self.per_group < np.bincount(self._codes).max()

    @property
    def signs(self) -> Array | None:
        """+1 throughout where loadings are non-negative."""
        return np.ones(self.n_features, dtype=np.int8) if self.nonnegative else None

    @property
    def is_free(self) -> bool:
        """Whether any unit vector is allowed: all groups, and all features of each."""
        everything = self.n_groups >= self._n_labels and not self._limits_within
        return everything and not self.nonnegative and self.forbidden.size == 0

    @property
    def refits(self) -> bool:
        """On the features chosen only the signs still matter."""
        return True

    @property
    def largest_l1(self) -> float:
        """The square root of the largest number of features."""
        return sqrt(float(self.largest_sum(np.ones(self.n_features))))

    def best_loading(self, direction: Array) -> Array:
        """Argmax of <direction, w>: the best of each group, then the groups with most squares."""
        return on_columns(direction, self._best)

    def _best(self, block: Array) -> Array:
        part = np.array(allowed_part(block, self._side))
        part[self.forbidden] = 0
        # Squares of very small or large entries leave the range of floating point.
        largest = np.abs(part).max(axis=0)
        part = part / np.where(largest > 0, largest, 1)
        kept = np.where(self._kept(part * part), part, 0)
        return unit_columns(kept, block, self.signs, self.forbidden)

    @property
    def _side(self) -> Array | None:
        return np.ones(1, dtype=np.int8) if self.nonnegative else None

    def _kept(self, worth: Array) -> Array:
        """Which features of a block of non-negative columns make the largest sums."""
        ordered = worth[self._order]
        within = self._kept_within(ordered)
        sums = np.add.reduceat(ordered * within, self._starts, axis=0)
        used = np.zeros(sums.shape, dtype=bool)
        np.put_along_axis(used, top_k(sums, self.n_groups), values=True, axis=0)
        kept = np.empty(worth.shape, dtype=bool)
        kept[self._order] = within & used[self._codes[self._order]]
        return kept

    def _kept_within(self, ordered: Array) -> Array:
        """The ``per_group`` largest of each group, for features in the order of groups."""
        if self.per_group is None or not self._limits_within:
            return np.ones(ordered.shape, dtype=bool)
        codes = self._codes[self._order]
        by_worth = np.argsort(-ordered, axis=0, kind="stable")
        by_group = np.argsort(codes[by_worth], axis=0, kind="stable")
        ranked = np.take_along_axis(by_worth, by_group, axis=0)
        within = np.zeros(ordered.shape, dtype=bool)
        leading = np.arange(codes.size) - self._starts[codes] < self.per_group
        np.put_along_axis(within, ranked[leading], values=True, axis=0)
        return within

    def allows(self, w: Array) -> bool:
        """Whether ``w`` has unit norm, few enough groups, allowed signs and features."""
        return self.broken_rule(w) is None

    def broken_rule(self, w: Array) -> str | None:
        """The first rule ``w`` breaks, as a sentence; ``None`` where it keeps them all."""
        return (
            broken_norm(w, self.n_features)
            or self._too_many(w)
            or broken_features(w, self.signs, self.forbidden)
        )

    def _too_many(self, w: Array) -> str | None:
        names, sizes = np.unique(self.labels[w != 0], return_counts=True)
        if names.size > self.n_groups:
            return f"it uses {names.size} groups, more than n_groups={self.n_groups}"
        if self.per_group is not None and sizes.max() > self.per_group:
            full = names[np.argmax(sizes)]
            return (
                f"it uses {sizes.max()} features of group {full}, "
                f"more than per_group={self.per_group}"
            )
        return None

    def support(self, w: Array) -> Indices:
        """All features of the groups of ``w``; those of ``w`` where they are limited."""
        if self._limits_within:
            return np.flatnonzero(w)
        return self._members(np.unique(self._codes[w != 0]))

    def _members(self, groups: Indices) -> Indices:
        return np.setdiff1d(np.flatnonzero(np.isin(self._codes, groups)), self.forbidden)

    def units(self, w: Array) -> list[Indices]:
        """Whole groups; where their features are limited, also single ones."""
        groups = [self._members(group) for group in np.unique(self._codes[w != 0])[:, None]]
        return groups + (list(np.flatnonzero(w)[:, None]) if self._limits_within else [])

    def without(self, features: Indices) -> Self:
        """The same with ``features`` forbidden too."""
        return replace(self, forbidden=np.union1d(self.forbidden, features).astype(np.intp))

    def on(self, features: Indices) -> Self:
        """The same for loadings on ``features`` alone."""
        forbidden = moved(self.forbidden, features, self.n_features)
        return replace(self, labels=self.labels[features], forbidden=forbidden)

    def largest_sum(self, terms: Array) -> Array:
        """The largest terms of each group, then the groups with the largest sums."""
        return on_columns(terms, self._largest_sum)

    def _largest_sum(self, terms: Array) -> Array:
        open_terms = np.array(terms)
        open_terms[self.forbidden] = 0
        sums = np.empty((self._n_labels, open_terms.shape[1]), dtype=open_terms.dtype)
        for groups, members in self._by_size:
            # Groups of about one size are sorted together; places that are missing hold zeros.
            part = np.where((members >= 0)[..., None], open_terms[members], 0)
            n_kept = part.shape[1] if self.per_group is None else self.per_group
            if n_kept < part.shape[1]:
                part.partition(part.shape[1] - n_kept, axis=1)
                part = part[:, part.shape[1] - n_kept :]
            sums[groups] = part.sum(axis=1)
        n_used = min(self.n_groups, self._n_labels)
        sums.partition(self._n_labels - n_used, axis=0)
        total: Array = sums[self._n_labels - n_used :].sum(axis=0)
        return total

    @cached_property
    def _by_size(self) -> list[tuple[Indices, Indices]]:
        """Groups of similar sizes, and their members in rows, filled up with -1."""
        sizes = np.bincount(self._codes)
        scale = np.ceil(np.log2(np.maximum(sizes, 1))).astype(np.intp)
        found = []
        for level in np.unique(scale):
            groups = np.flatnonzero(scale == level)
            place = np.arange(sizes[groups].max())
            at = np.minimum(self._starts[groups, None] + place, self._order.size - 1)
            members = np.where(place < sizes[groups, None], self._order[at], -1)
            found.append((groups, members))
        return found

    def bound_to(
        self, n_features: int, names: Sequence[str] | None = None, constant: Array | None = None
    ) -> Self:
        """The same without features that do not vary."""
        check_length("labels", self.n_features, n_features)
        closed = constant_features(constant)
        return self if self.is_free or closed.size == 0 else self.without(closed)

    def describe(self) -> str:
        """In words."""
        words = f"{kind_of(nonnegative=self.nonnegative)} of {counted(self.n_groups, 'group')}"
        if self.per_group is None:
            return words
        return f"{words} with at most {counted(self.per_group, 'feature')} each"

    @classmethod
    def examples(cls, n_features: int) -> list[Self]:
        """Whole and limited groups of different sizes, signed and non-negative."""
        labels = np.array(["a", "b", "c", "b", "a", "c"] + ["c", "d"] * n_features)[:n_features]
        return [
            cls(labels, 2),
            cls(labels, 2, nonnegative=True),
            cls(labels, 2, per_group=1),
            cls(labels, 2, per_group=2, nonnegative=True),
            cls(labels, 1, per_group=2, forbidden=np.array([2])),
        ]


def _as_labels(labels: Any) -> Array:
    """Text or whole numbers, one per feature."""
    given = np.asarray(labels)
    if given.dtype == object and all(isinstance(label, str) for label in given.ravel()):
        given = given.astype(np.str_)
    if given.ndim != 1 or given.dtype.kind not in "biuU":
        msg = (
            f"labels of shape {given.shape} and type {given.dtype} name no groups; "
            "give one text or whole number for each feature"
        )
        raise ValueError(msg)
    return given
