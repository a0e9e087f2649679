"""Improve components together after they were found one after another.

Block-coordinate passes: each component in turn is replaced by the best one that
relates to all the others as asked. Passes end in a local optimum, so some components
are then taken out, found again in another order and under a random handicap, and the
passes repeated. What is kept satisfies every constraint, and neither the criterion
nor the adjusted variance is ever lower than before.

The criterion is the adjusted variance; for components that are orthogonal or
uncorrelated by constraint it is the sum of their variances.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from loadstone.constraints import Constraint, LoadingConstraint
from loadstone.covariance import Array, Covariance, leading_eigenpairs
from loadstone.extraction.linear_constraints import Candidate, climb, n_places
from loadstone.extraction.orthogonality import Orthogonality, Search
from loadstone.extraction.quasi_orthogonal import climb_within_angle
from loadstone.extraction.schur import without_components
from loadstone.extraction.support_table import SupportTable
from loadstone.metrics import adjusted_variance, marginal_variance
from loadstone.solvers.coordinate_ascent import CoordinateAscent

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["refine"]

#: Rounds of taking components out where supports are enumerated, and where they are searched.
ROUNDS_ENUMERATED = 150
ROUNDS_SEARCHED = 3
# Components taken out at once where finding one again takes a search.
_MOST_SEARCHED = 3
# Steps of a pass before it is cut off; two or three passes are the rule.
_MAX_PASSES = 20
# Gains below this share are rounding.
_GAIN = 1e-10
# The handicap: supports lose up to this share of their value, features are banned this often.
_LARGEST_DISCOUNT = 0.3
_BAN_RATE = 0.3
# Penalties of the joint starts for non-negative components, in the units of coordinate ascent.
_JOINT_PENALTIES = ((3.0, 0.0), (3.0, 0.377), (1.0, 0.231))


def refine(
    S: Covariance,
    loadings: Array,
    constraints: Sequence[Constraint],
    rule: Orthogonality,
    search: Search,
    rng: np.random.Generator,
    n_rounds: int | None = None,
    *,
    keep_adjusted: bool = True,
) -> Array:
    """Components that explain at least as much as ``loadings`` under the same constraints.

    Parameters
    ----------
    S : Covariance
        The data.
    loadings : ndarray of shape (n_features, n_components)
        Unit-norm components that keep every constraint.
    constraints : sequence of Constraint
        One for each component.
    rule : Orthogonality
        How the components relate to one another.
    search : callable
        Finds the best component of a covariance under a constraint alone.
    rng : numpy.random.Generator
        Chooses what is taken out.
    n_rounds : int, optional
        How often components are taken out and found again.
    keep_adjusted : bool
        Whether the adjusted variance must not fall where the criterion is another.
    """
    if loadings.shape[1] < 2:
        return loadings

    def keeps(new: Array) -> bool:
        return not keep_adjusted or problem.keeps_adjusted(new, loadings)

    problem = _Problem(S, tuple(constraints), rule, search, rng)
    best = loadings
    for start in (loadings, *problem.joint_starts(loadings.shape[1])):
        passed = problem.passes(start)
        if problem.improves(passed, best) and keeps(passed):
            best = passed
    current = best
    rounds = n_rounds if n_rounds is not None else problem.default_rounds
    for _ in range(rounds):
        rebuilt = problem.rebuild(current)
        if rebuilt is None:
            continue
        if problem.score(rebuilt) >= problem.score(current):
            current = rebuilt
        if problem.improves(rebuilt, best) and keeps(rebuilt):
            best = rebuilt
    return best


@dataclass(frozen=True)
class _Problem:
    """What a round needs to know."""

    S: Covariance
    constraints: tuple[Constraint, ...]
    rule: Orthogonality
    search: Search
    rng: np.random.Generator
    tables: dict[int, SupportTable | None] = field(default_factory=dict)
    cache: dict[str, Array] = field(default_factory=dict)

    @property
    def is_linear(self) -> bool:
        """Whether the relation is a set of linear equations."""
        return self.rule.equations(self.constraints[0])

    @property
    def default_rounds(self) -> int:
        """Many where a round is cheap."""
        return ROUNDS_SEARCHED if self._table(0) is None else ROUNDS_ENUMERATED

    def score(self, loadings: Array) -> float:
        """The criterion."""
        if self.is_linear:
            return float(marginal_variance(self.S, loadings).sum())
        return float(adjusted_variance(self.S, loadings).sum())

    def improves(self, new: Array, old: Array) -> bool:
        """Whether ``new`` is worth more, explains no less and keeps every constraint."""
        if not self.score(new) > self.score(old) * (1 + _GAIN):
            return False
        # Components of the size asked for are not traded for smaller ones.
        sized = any(n_places(c) < c.n_features for c in self.constraints)
        if sized and np.count_nonzero(new) < np.count_nonzero(old):
            return False
        if not self._allows(new):
            return False
        return self.keeps_adjusted(new, old if not self.is_linear else new) and (
            self.rule.broken_promise(self.S, new) == 0.0
        )

    def _allows(self, loadings: Array) -> bool:
        pairs = zip(self.constraints, loadings.T, strict=True)
        return all(constraint.allows(w) for constraint, w in pairs)

    def keeps_adjusted(self, new: Array, old: Array) -> bool:
        """Whether the adjusted variance of ``new`` is at least that of ``old``."""
        return bool(adjusted_variance(self.S, new).sum() >= adjusted_variance(self.S, old).sum())

    def passes(self, loadings: Array) -> Array:
        """Replace one component after the other until none can be improved."""
        W = loadings.copy()
        r = W.shape[1]
        settled = 0
        for step in range(_MAX_PASSES * r):
            j = step % r
            found = self._find(j, np.delete(W, j, axis=1), W[:, j])
            settled += 1
            if found is not None and self._gains(W, j, found):
                W[:, j], settled = found.w, 1
            if settled >= r:
                break
        return W

    def _gains(self, W: Array, j: int, found: Candidate) -> bool:
        """Whether the criterion rises when ``found`` takes the place of component j."""
        if self.is_linear:
            return found.value > float(W[:, j] @ (self.S @ W[:, j])) * (1 + _GAIN)
        trial = W.copy()
        trial[:, j] = found.w
        return self.score(trial) > self.score(W) * (1 + _GAIN)

    def rebuild(self, loadings: Array) -> Array | None:
        """Take some components out, find them again under a handicap, and pass over all."""
        r = loadings.shape[1]
        most = r if self._table(0) is not None else min(r, _MOST_SEARCHED)
        size = int(self.rng.integers(2, most + 1))
        out = self.rng.permutation(r)[:size]
        W = loadings.copy()
        kept = np.setdiff1d(np.arange(r), out)
        for j in out:
            found = self._find_handicapped(j, W[:, kept], loadings[:, out])
            if found is None:
                return None
            W[:, j] = found.w
            kept = np.append(kept, j)
        W = self.passes(W)
        ordered = W[:, np.argsort(-marginal_variance(self.S, W), kind="stable")]
        return ordered if self._allows(ordered) else W

    def _table(self, j: int) -> SupportTable | None:
        constraint = self.constraints[j]
        if not self.is_linear or not isinstance(constraint, LoadingConstraint):
            return None
        if constraint.size not in self.tables:
            self.tables[constraint.size] = SupportTable.of(self.S, constraint, compiled=True)
        return self.tables[constraint.size]

    def _find(self, j: int, others: Array, current: Array) -> Candidate | None:
        """The best component j beside ``others``."""
        table = self._table(j)
        if table is not None:
            return table.best(self.rule.equation_columns(self.S, others))
        return self._search(self.constraints[j], others, current[:, None])

    def _find_handicapped(self, j: int, others: Array, removed: Array) -> Candidate | None:
        """A good component j, but by chance not always the same one."""
        table = self._table(j)
        if table is not None:
            largest = _LARGEST_DISCOUNT * self.rng.random()
            discount = largest * self.rng.random(len(table.supports))
            return table.best(self.rule.equation_columns(self.S, others), discount)
        return self._search(self._with_bans(self.constraints[j], removed), others, removed)

    def _search(self, constraint: Constraint, others: Array, starts: Array) -> Candidate | None:
        if self.is_linear:
            C = self.rule.equation_columns(self.S, others)
            starts = np.column_stack([starts, self._eigenvectors()])
            return climb(self.S, C, constraint, starts, n_polished=1)
        remaining = without_components(self.S, others)
        if self.rule.kind == "quasi" and starts.shape[1] == 1 and constraint.refits:
            limit = self.rule.largest_cosine
            return climb_within_angle(remaining, others, limit, constraint, starts[:, 0])
        return self.rule.find(self.S, remaining, others, constraint, self.search)

    def joint_starts(self, n_components: int) -> list[Array]:
        """Non-negative components found together, moved apart to the angle asked for.

        They share the variance more evenly than components found one after another,
        which passes alone do not undo.
        """
        signs = self.constraints[0].signs
        if self.rule.kind != "quasi" or signs is None or signs.min() < 1:
            return []
        starts = []
        for overlap_penalty, sparsity_penalty in _JOINT_PENALTIES:
            solver = CoordinateAscent(overlap_penalty, sparsity_penalty, tol=1e-5)
            try:
                found = solver(self.S, n_components, self.rng).matrix
            except MemoryError:
                return []
            apart = self._apart(found) if found.shape[1] == n_components else None
            if apart is not None:
                starts.append(apart)
        return starts

    def _apart(self, loadings: Array) -> Array | None:
        """Replace every component that breaks a constraint; after one round none is left."""
        W = loadings.copy()
        for j, constraint in enumerate(self.constraints):
            others = np.delete(W, j, axis=1)
            close = np.abs(others.T @ W[:, j]).max() > self.rule.largest_cosine
            if close or not constraint.allows(W[:, j]):
                found = self._find(j, others, W[:, j])
                if found is None:
                    return None
                W[:, j] = found.w
        return W

    def _eigenvectors(self) -> Array:
        if "V" not in self.cache:
            self.cache["V"] = leading_eigenpairs(self.S, min(8, self.S.n_features), 1e-3)[1]
        return self.cache["V"]

    def _with_bans(self, constraint: Constraint, removed: Array) -> Constraint:
        units = [unit for w in removed.T for unit in constraint.units(w)]
        movable = np.concatenate([np.empty(0, dtype=np.intp), *units])
        used = np.intersect1d(np.flatnonzero(removed.any(axis=1)), movable)
        ban = used[self.rng.random(used.size) < _BAN_RATE]
        if np.union1d(ban, constraint.forbidden).size >= constraint.n_features:
            return constraint
        fewer = constraint.without(ban)
        return fewer if n_places(fewer) == n_places(constraint) else constraint
