"""Larger sets of components never give less: each is offered what the smaller ones find.

Disjoint components are orthogonal, orthogonal ones keep every angle, and those are among all
components; what a smaller effort finds is open to a larger one. So the answer of a relation
and an effort is refined from the best of three: its own components, the answer of the next
smaller relation, and its answer at the next smaller effort.

Own components of ``strict`` and ``quasi`` are the free ones, with those that come too close
replaced by where a climb from them ends. Chains of searches are shared (``chain.py``), so most
of this costs only climbs. Who asks for one of these relations itself also gets a search under it;
larger sets are spared that, so what it finds is taken only up to what free components explain.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from loadstone.constraints import Constraint, LoadingConstraint
from loadstone.covariance import Array, Covariance, ExplicitCovariance, leading_eigenpairs
from loadstone.extraction.chain import Chains, key_of
from loadstone.extraction.linear_constraints import LARGE, Candidate, climb, climb_from, n_places
from loadstone.extraction.orthogonality import Orthogonality
from loadstone.extraction.quasi_orthogonal import climb_within_angle
from loadstone.extraction.schur import without_components
from loadstone.extraction.support_table import SupportTable
from loadstone.extraction.together import together_starts
from loadstone.extraction.warm import GAIN, Refined, warm_refine
from loadstone.metrics import adjusted_variance

#: The next smaller set of components.
SMALLER = {"none": "quasi", "quasi": "strict", "strict": "disjoint"}
#: Margin of an eigenvalue that is known to three digits.
MARGIN = 1e-3


@dataclass(frozen=True)
class Nested:
    """Answers by relation and level; level 0 is the effort asked for, 1 that below it."""

    chains: Chains
    answers: dict[tuple[str, int], Array] = field(default_factory=dict)
    owned: dict[tuple[str, int], Array] = field(default_factory=dict)
    totals: dict[bytes, float] = field(default_factory=dict)
    settled: set[bytes] = field(default_factory=set)

    def answer(self, kind: str, level: int = 0) -> Array:
        """The best components known under a relation."""
        if self._rule(kind).means_disjoint(self.chains.constraints[0]):
            kind = "disjoint"
        if (kind, level) not in self.answers:
            found = self._answer(self._rule(kind), level)
            least = level + 1 == len(self.chains.solvers)
            self.answers[kind, level] = (
                self.or_together(found) if least and kind == "none" else found
            )
        return self.answers[kind, level]

    def asked_for(self, kind: str, level: int = 0) -> Array:
        """The best components of a relation that somebody wants, searched for under it as well."""
        best = self.answer(kind, level)
        rule = self._rule(kind)
        if kind in {"none", "disjoint"} or rule.means_disjoint(self.chains.constraints[0]):
            return best
        tried = [self.chains.follow(rule, level).matrix]
        if level + 1 < len(self.chains.solvers):
            tried.append(self.asked_for(kind, level + 1))
        if kind == "quasi":
            tried.append(self.asked_for("strict", level))
        tried.append(self._refined(max(tried, key=self._total), rule))
        better = [W for W in tried if self._total(W) > self._total(best)]
        if not better:
            return best
        most = self._total(self.answer("none", level))
        return max((W for W in (best, *better) if self._total(W) <= most), key=self._total)

    def _rule(self, kind: str) -> Orthogonality:
        return Orthogonality(kind, self.chains.plan.orthogonality.min_angle)

    def _answer(self, rule: Orthogonality, level: int) -> Array:
        starts = self._starts(rule, level)
        if level + 1 < len(self.chains.solvers):
            lower = self.answer(rule.kind, level + 1)
            known = {key_of(W) for W in self._starts(rule, level + 1)}
            starts = [W for W in starts if key_of(W) not in known]
            if not starts:
                return lower
            starts.append(lower)
        best = max(starts, key=self._total)
        if best.shape[1] < len(self.chains.constraints):
            best = self.chains.follow(rule, level, begin=best).matrix
        return self._refined(best, rule)

    def _refined(self, W: Array, rule: Orthogonality) -> Array:
        """Where climbs from the components end."""
        if key_of(W) in self.settled:
            return W
        refined = warm_refine(self.chains.S, W, self.chains.constraints[: W.shape[1]], rule)
        return W if self.loses(W, refined) else self._kept(refined)

    def loses(self, W: Array, refined: Refined) -> bool:
        """Whether another order of the components, of which some are equal at first, takes more away."""
        return refined.total is not None and refined.total < self._total(W)

    def _kept(self, refined: Refined) -> Array:
        key = key_of(refined.loadings)
        if refined.settled:
            self.settled.add(key)
        if refined.total is not None:
            self.totals[key] = refined.total
        return refined.loadings

    def or_together(self, W: Array, total: float | None = None) -> Array:
        """Free components, or those that a climb from principal ones cut to size ends with.

        ``total`` is what the components explain, where that is known.
        """
        if W.shape[1] < 2:
            return W
        S, kept = self.chains.S, self.chains.constraints[: W.shape[1]]
        total, rule = self._total(W) if total is None else total, self._rule("none")
        for start in together_starts(S, kept):
            tried = warm_refine(S, start, kept, rule, total)
            assert tried.total is not None
            if tried.total > total * (1 + GAIN):
                W, total = tried.loadings, tried.total
        return W

    def _starts(self, rule: Orthogonality, level: int) -> list[Array]:
        """Its own components, and the answer of the next smaller relation."""
        own = self._own(rule, level)
        if rule.kind not in SMALLER:
            return [own]
        smaller = self._rule(SMALLER[rule.kind])
        if smaller.means_disjoint(self.chains.constraints[0]) and self._too_few_features(own):
            return [own]
        fewer = self.answer(smaller.kind, level)
        # Components without a common feature leave out what is forced on all of them.
        first = self.chains.constraints[0]
        if isinstance(first, LoadingConstraint) and not first.forced.size:
            return [own, fewer]
        allowed = all(c.allows(w) for c, w in zip(self.chains.constraints, fewer.T, strict=False))
        return [own, fewer] if allowed else [own]

    def _own(self, rule: Orthogonality, level: int) -> Array:
        """Components of the relation before any other is asked."""
        if (rule.kind, level) not in self.owned:
            self.owned[rule.kind, level] = self._found(rule, level)
        return self.owned[rule.kind, level]

    def _found(self, rule: Orthogonality, level: int) -> Array:
        if rule.kind in {"none", "disjoint"}:
            return self.chains.follow(rule, level).matrix
        free = self._own(self._rule("none"), level)
        for other in range(len(self.chains.solvers)):
            known = self.owned.get((rule.kind, other))
            if known is not None and np.array_equal(self._own(self._rule("none"), other), free):
                return known
        return moved_apart(self.chains.S, free, self.chains.constraints, rule)

    def _total(self, W: Array) -> float:
        key = key_of(W)
        if key not in self.totals:
            self.totals[key] = float(adjusted_variance(self.chains.S, W).sum())
        return self.totals[key]

    def _too_few_features(self, W: Array) -> bool:
        """Whether disjoint components run out of features before they could explain as much."""
        constraints = self.chains.constraints
        if constraints[0].signs is not None:
            # Loadings of given signs may leave places empty, and features to more components.
            return False
        places = np.cumsum([n_places(constraint) for constraint in constraints])
        n_free = self.chains.S.n_features - constraints[0].forbidden.size
        most = int(np.searchsorted(places, n_free)) + 1
        if most >= len(constraints):
            return False
        largest = leading_eigenpairs(self.chains.S, most, MARGIN)[0]
        return float(largest.sum()) * (1 + MARGIN) <= self._total(W)


def moved_apart(
    S: Covariance, W: Array, constraints: Sequence[Constraint], rule: Orthogonality
) -> Array:
    """Components that relate as asked: where one does not, a climb from it that does.

    Fewer components where a climb ends nowhere.
    """
    if rule.broken_promise(S, W) == 0.0:
        return W
    kept = W[:, :1]
    for j in range(1, W.shape[1]):
        w = W[:, j]
        if not rule.allows_beside(S, kept, w):
            left = without_components(S, kept)
            found = _beside(left, w[:, None], kept, constraints[j], rule)
            if found is None:
                break
            w = found.w
        kept = np.column_stack([kept, w])
    return kept


def _beside(
    left: Covariance, starts: Array, others: Array, constraint: Constraint, rule: Orthogonality
) -> Candidate | None:
    """Where a climb beside the others ends that begins at the first of the starts."""
    if rule.kind == "quasi":
        if not constraint.refits:
            return None
        return climb_within_angle(left, others, rule.largest_cosine, constraint, starts[:, 0])
    C = rule.equation_columns(left, others)
    table = SupportTable.of(left, constraint)
    if table is not None:
        return table.best(C)
    if (
        isinstance(left, ExplicitCovariance)
        and isinstance(constraint, LoadingConstraint)
        and constraint.size <= LARGE
    ):
        return climb_from(left, C, constraint, starts[:, 0])
    return climb(left, C, constraint, starts, n_polished=0)
