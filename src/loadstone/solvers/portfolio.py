"""The best primal search: many starts as one block, halved, polished, swapped.

One start from the first principal component loses up to a fifth of the variance at small
sizes. Eigenvectors, mixtures of them and the columns of S around which the densest groups
of features lie take one truncated power step each, the better ones go on, and the last
handful is polished to a point that no exchange of two features improves. All draws are
fixed: the answer depends neither on a seed nor on how the data lies in memory.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from loadstone.constraints import Constraint, LoadingConstraint
from loadstone.covariance import (
    Array,
    Covariance,
    DeflatedCovariance,
    ExplicitCovariance,
    Support,
    materialise,
)
from loadstone.loadings import Loadings, Stop
from loadstone.solvers.climb import Climb
from loadstone.solvers.exchange import improve_by_exchange
from loadstone.solvers.polish import polish
from loadstone.solvers.search.equals import remember_whole
from loadstone.solvers.search.few_places import best_feature, best_pair
from loadstone.solvers.search.restricted import formed_where_few, restricted
from loadstone.solvers.search.search import Search
from loadstone.solvers.search.tiny import is_tiny

#: Told of a stage of a search and the best variance so far; answers whether to stop.
Progress = Callable[[str, float], bool]

__all__ = ["PORTFOLIOS", "Portfolio", "working_set"]


@dataclass(frozen=True, kw_only=True)
class Portfolio:
    """Successive halving over many starts, then polishing and exchanges.

    Attributes
    ----------
    n_eigenvectors : int
        Leading eigenvectors to start from, each with both signs where it matters.
    n_columns : int
        Columns of S to start from: a quarter each the densest and those densest that are
        far from each other, at two thresholds. Among few features, all columns.
    n_combinations : int
        Combinations of the leading eigenvectors, drawn once and for all.
    start_budget : float
        Operations for a step of all starts: where these allow more columns, there are more.
    n_climbed : int
        Starts that remain when they have been halved again and again; they climb by exchanges.
    n_rugged : int
        The same where hardly two of them end alike; no more than before where it is smaller.
    rugged_budget : float
        The start budget there: among many hills the highest may begin at any column.
    n_times : int
        How many times more again, of starts and of parents, where nearly none end alike.
    n_rounds : int
        Largest number of exchanges of each of them.
    n_parents, n_generations : int
        The best and most different after that are crossed with each other, so many times at
        most.
    n_polished : int
        Candidates polished to the end.
    n_exchanged : int
        Polished candidates that go on to exchanges of two features.
    n_exchanges : int
        Largest number of exchanges for each of them.
    n_screened : int
        Largest number of columns looked at to find the densest; 0 for no such limit.
    screen_budget : float
        Multiplications for that look.
    greedy : bool
        Whether to try the greedy forward support too.
    max_iter : int
        Largest number of truncated power steps of the survivors.
    tol : float
        Change of direction at which a survivor has settled.
    below : Portfolio or None
        A smaller effort, whose answer is among the candidates where the data is in memory.
    progress : callable or None
        Told of each stage of a search and the best variance so far; answers whether to stop.
    """

    n_eigenvectors: int = 10
    n_columns: int = 160
    n_combinations: int = 64
    start_budget: float = 6e8
    n_climbed: int = 48
    n_rugged: int = 384
    rugged_budget: float = 2.4e9
    n_times: int = 3
    n_rounds: int = 100
    n_parents: int = 20
    n_generations: int = 20
    n_polished: int = 16
    n_exchanged: int = 8
    n_exchanges: int = 20
    n_screened: int = 0
    screen_budget: float = 2.6e10
    greedy: bool = False
    max_iter: int = 100
    tol: float = 1e-6
    below: Portfolio | None = None
    progress: Progress | None = field(default=None, compare=False, repr=False)

    def limited(self, max_iter: int, tol: float, progress: Progress | None = None) -> Portfolio:
        """The same with limits of its power steps, on every effort it contains."""
        below = None if self.below is None else self.below.limited(max_iter, tol, progress)
        return replace(self, max_iter=max_iter, tol=tol, below=below, progress=progress)

    @property
    def n_below(self) -> int:
        """Number of smaller efforts it contains."""
        return 0 if self.below is None else 1 + self.below.n_below

    def is_least(self, S: Covariance) -> bool:
        """Whether no smaller effort would answer anything else."""
        return self.below is None or (is_tiny(S) and not self.greedy)

    def refuses(self, constraint: Constraint) -> str | None:
        """Serves every constraint; those without a cardinality are left to Climb."""
        return None

    def __call__(
        self,
        S: Covariance,
        constraint: Constraint,
        rng: np.random.Generator,
        starts: Array | None = None,
    ) -> Loadings:
        """See :class:`loadstone.solvers.protocol.Solver`; ``starts`` join the others."""
        if not isinstance(constraint, LoadingConstraint):
            return Climb(max_iter=self.max_iter, tol=self.tol)(S, constraint, rng, starts)
        if constraint.size == 1 or (constraint.size == 2 and is_tiny(S)):
            one = constraint.size == 1
            exact = best_feature(S, constraint) if one else best_pair(_formed(S), constraint)
            below = {"below": [exact.w] * self.n_below}
            return Loadings(exact.w[:, None], np.array([exact.value]), 1, Stop.EXACT, below)
        features = working_set(S, constraint)
        if features is not None:
            return self._on_working_set(S, constraint, rng, starts, features)
        search = Search(formed_where_few(S), constraint, starts, self.progress)
        best = search.run(self)
        return Loadings(
            best.w[:, None],
            np.array([best.value]),
            search.n_iter,
            Stop.CALLBACK if search.stopped else Stop.CONVERGED,
            # What the efforts below would have answered: more components may follow from there.
            {"below": search.below(self)},
        )

    def _on_working_set(
        self,
        S: Covariance,
        constraint: LoadingConstraint,
        rng: np.random.Generator,
        starts: Array | None,
        features: Support,
    ) -> Loadings:
        """Search among the features with variance to offer; finish among all of them."""
        inner = None if starts is None else starts[features]
        found = self(restricted(S, features), constraint.on(features), rng, inner)
        w, value = self._among_all(S, constraint, features, found.matrix[:, 0])
        below, effort = [], self.below
        for inside in found.details["below"]:
            assert effort is not None
            below.append(effort._among_all(S, constraint, features, inside)[0])
            effort = effort.below
        objective = np.append(found.objective, value)
        return Loadings(w[:, None], objective, found.n_iter, found.stop, {"below": below})

    def _among_all(
        self, S: Covariance, constraint: LoadingConstraint, features: Support, inside: Array
    ) -> tuple[Array, float]:
        """Loadings on some features, finished among all of them."""
        w = np.zeros(S.n_features, dtype=S.dtype)
        w[features] = inside
        w, value = polish(S, w, constraint)
        return improve_by_exchange(S, w, value, constraint, self.n_exchanges)


def _formed(S: Covariance) -> ExplicitCovariance:
    """The matrix of a few features."""
    formed = materialise(S)
    return remember_whole(formed, S.base) if isinstance(S, DeflatedCovariance) else formed


def working_set(S: Covariance, constraint: LoadingConstraint) -> Support | None:
    """The features with the largest variances, where the others hardly matter.

    A feature adds at most about its own variance. Where the ``n_nonzero`` largest
    variances outside the set are small against those inside it, hundreds of starts need
    not look at the rest: on raw counts of 32738 genes, or out of core, that is most of
    the work. Standardised features all matter alike, and nothing is left out.
    """
    size = max(WORKING_SET, 8 * constraint.size)
    if S.n_features < 4 * size:
        return None
    variance = S.diagonal().astype(np.float64)
    variance[constraint.forbidden] = 0
    variance[constraint.forced] = np.inf
    order = np.argsort(-variance, kind="stable")
    inside, outside = order[:size], order[size : size + constraint.size]
    largest = variance[inside[constraint.forced.size :]][: constraint.size]
    if variance[outside].sum() > NEGLIGIBLE_SHARE * largest.sum():
        return None
    return np.sort(inside)


#: Features searched first where the variances fall off.
WORKING_SET = 1024
#: Variance of the best features left out, relative to the best ones kept.
NEGLIGIBLE_SHARE = 0.1


_FAST = Portfolio(
    n_columns=64,
    start_budget=1e8,
    n_climbed=12,
    n_rugged=48,
    rugged_budget=2e8,
    n_times=1,
    n_parents=10,
    n_generations=6,
    n_polished=6,
    n_exchanged=4,
    n_exchanges=5,
    screen_budget=4e9,
)
_BALANCED = Portfolio(below=_FAST)
_THOROUGH = Portfolio(
    n_eigenvectors=32,
    n_columns=384,
    n_combinations=256,
    start_budget=5e9,
    n_climbed=192,
    n_rugged=768,
    rugged_budget=1e10,
    n_parents=30,
    n_generations=40,
    n_polished=48,
    n_exchanged=16,
    n_exchanges=100,
    screen_budget=1e11,
    greedy=True,
    max_iter=300,
    below=_BALANCED,
)
#: What each effort means. Each contains the one before it, so more effort never finds less.
PORTFOLIOS: dict[str, Portfolio] = {
    "fast": _FAST,
    "balanced": _BALANCED,
    "thorough": _THOROUGH,
}
