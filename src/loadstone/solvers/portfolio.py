"""The best primal search: many starts as one block, halved, polished, swapped.

One start from the first principal component loses up to a fifth of the variance at
small sizes. A few hundred cheap starts (eigenvectors, columns of S, random mixtures)
take one truncated power step each, the better ones go on, and the last handful is
polished to a point that no exchange of two features improves.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from loadstone.constraints import Constraint, LoadingConstraint
from loadstone.covariance import Array, Covariance, Support, variances_of
from loadstone.loadings import Loadings, Stop, distinct_supports, first_of_each_support
from loadstone.solvers.climb import Climb
from loadstone.solvers.exchange import improve_by_exchange
from loadstone.solvers.greedy import Greedy
from loadstone.solvers.polish import polish
from loadstone.solvers.power_iteration import iterate
from loadstone.solvers.starts import (
    both_signs,
    column_starts,
    combination_starts,
    eigenvector_starts,
)

#: Bytes of a block of starts; wider blocks gain nothing and cost memory.
BLOCK_BYTES = 8 << 20
#: Eigenvectors mixed into random combinations.
N_MIXED = 10


@dataclass(frozen=True, kw_only=True)
class Portfolio:
    """Successive halving over many starts, then polishing and exchanges.

    Attributes
    ----------
    n_eigenvectors : int
        Leading eigenvectors to start from, each with both signs where it matters.
    n_columns : int
        Columns of S to start from, those with the best first step among a sample.
    n_combinations : int
        Random combinations of the leading eigenvectors.
    survivors : tuple of int
        How many starts remain after each round of truncated power steps.
    n_polished : int
        Candidates polished to the end.
    n_exchanged : int
        Polished candidates that go on to exchanges of two features.
    n_exchanges : int
        Largest number of exchanges for each of them.
    n_screened : int
        Columns looked at to find the best ones; 0 takes a random sample of n_columns.
    greedy : bool
        Whether to try the greedy forward support too.
    max_iter : int
        Largest number of truncated power steps of the survivors.
    tol : float
        Change of direction at which a survivor has settled.
    """

    n_eigenvectors: int = 16
    n_columns: int = 384
    n_combinations: int = 64
    survivors: tuple[int, ...] = (128, 48, 24)
    n_polished: int = 6
    n_exchanged: int = 2
    n_exchanges: int = 20
    n_screened: int = 0
    greedy: bool = False
    max_iter: int = 100
    tol: float = 1e-6

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
        features = working_set(S, constraint)
        if features is not None:
            return self._on_working_set(S, constraint, rng, starts, features)
        survivors = self._halve(S, constraint, self._first_round(S, constraint, rng, starts))
        settled = iterate(S, constraint.best_loading, survivors, self.max_iter, self.tol)
        candidates = distinct_supports(settled.matrix)[:, : self.n_polished]
        if self.greedy and constraint.size <= MAX_GREEDY:
            seed = Greedy(rule="approximate")(S, constraint, rng).matrix
            candidates = np.column_stack([candidates, seed])
        best, value = self._finish(S, constraint, candidates)
        objective = np.append(settled.objective, value)
        return Loadings(best[:, None], objective, settled.n_iter, Stop.CONVERGED)

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
        found = self(S.restrict(features), constraint.on(features), rng, inner)
        w = np.zeros(S.n_features, dtype=S.dtype)
        w[features] = found.matrix[:, 0]
        w, value = polish(S, w, constraint)
        w, value = improve_by_exchange(S, w, value, constraint, self.n_exchanges)
        objective = np.append(found.objective, value)
        return Loadings(w[:, None], objective, found.n_iter, found.stop)

    def _first_round(
        self,
        S: Covariance,
        constraint: LoadingConstraint,
        rng: np.random.Generator,
        extra: Array | None,
    ) -> Array:
        """One truncated power step from every start, in blocks; the best survive."""
        V = eigenvector_starts(S, min(self.n_eigenvectors, S.n_features))
        mixed = combination_starts(V[:, :N_MIXED], self.n_combinations, rng)
        eigen = both_signs(V) if constraint.nonnegative else V
        keep = self.survivors[0]
        pool = Pool(S, constraint, keep)
        for block in (eigen, extra, mixed):
            if block is not None:
                pool.add(block)
        self._add_columns(pool, S, constraint, rng)
        return pool.best()

    def _add_columns(
        self, pool: Pool, S: Covariance, constraint: LoadingConstraint, rng: np.random.Generator
    ) -> None:
        """Columns of a sample of features, then of those that correlate most with the sample.

        A good small support is a tight group. Few of its members are in the sample, but
        all of them show up as neighbours of those that are.
        """
        variance = S.diagonal()
        allowed = np.setdiff1d(np.flatnonzero(variance > 0), constraint.forbidden)
        sample = self._sampled_features(variance, allowed, rng)
        density = np.zeros(S.n_features)
        width = block_width(S)
        for start in range(0, sample.size, width):
            columns = column_starts(S, sample[start : start + width])
            density += neighbour_density(columns, variance, constraint)
            pool.add(columns)
        rest = np.setdiff1d(allowed, sample, assume_unique=True)
        dense = rest[np.argsort(-density[rest], kind="stable")[: self.n_columns // 2]]
        for start in range(0, dense.size, width):
            pool.add(column_starts(S, dense[start : start + width]))

    def _sampled_features(
        self, variance: Array, allowed: Support, rng: np.random.Generator
    ) -> Support:
        wanted = self.n_screened or self.n_columns
        if allowed.size <= wanted:
            return allowed
        # Half by variance, half at random: on standardised data all variances tie.
        by_variance = allowed[np.argsort(-variance[allowed], kind="stable")[: wanted // 2]]
        rest = np.setdiff1d(allowed, by_variance)
        drawn = rng.choice(rest, size=wanted - by_variance.size, replace=False)
        return np.concatenate([by_variance, drawn])

    def _halve(self, S: Covariance, constraint: LoadingConstraint, W: Array) -> Array:
        SW = S @ W
        for keep in self.survivors[1:]:
            W = constraint.best_loading(SW)
            SW = S @ W
            value = np.einsum("ij,ij->j", W, SW)
            order = np.argsort(-value, kind="stable")
            order = order[first_of_each_support(W[:, order])][:keep]
            W, SW = W[:, order], SW[:, order]
        return W

    def _finish(
        self, S: Covariance, constraint: LoadingConstraint, candidates: Array
    ) -> tuple[Array, float]:
        polished = [polish(S, w, constraint) for w in candidates.T]
        polished.sort(key=lambda found: -found[1])
        finished = [
            improve_by_exchange(S, w, value, constraint, self.n_exchanges)
            for w, value in _distinct(polished)[: self.n_exchanged]
        ]
        return max(finished, key=lambda found: found[1])


def _distinct(found: list[tuple[Array, float]]) -> list[tuple[Array, float]]:
    """Drop loadings whose support came before."""
    seen: dict[bytes, tuple[Array, float]] = {}
    for w, value in found:
        seen.setdefault(np.packbits(w != 0).tobytes(), (w, value))
    return list(seen.values())


#: Sizes up to which the greedy support is worth its one product per feature.
MAX_GREEDY = 128


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


class Pool:
    """The best allowed loadings seen so far, one truncated power step after each start."""

    def __init__(self, S: Covariance, constraint: LoadingConstraint, keep: int) -> None:
        self.S, self.constraint, self.keep = S, constraint, keep
        self.blocks: list[Array] = []
        self.value = np.empty(0)

    def add(self, directions: Array) -> None:
        """Turn each direction into allowed loadings; keep those that may be among the best."""
        width = block_width(self.S)
        for start in range(0, directions.shape[1], width):
            W = self.constraint.best_loading(directions[:, start : start + width])
            value = variances_of(self.S, W)
            good = value > self._bar()
            self.blocks.append(W[:, good] if not good.all() else W)
            self.value = np.concatenate([self.value, value[good]])

    def _bar(self) -> float:
        if self.value.size < self.keep:
            return -np.inf
        return float(np.partition(self.value, -self.keep)[-self.keep])

    def best(self) -> Array:
        """The best loadings with distinct supports, best first."""
        order = np.argsort(-self.value, kind="stable")[: self.keep]
        owner = np.repeat(np.arange(len(self.blocks)), [b.shape[1] for b in self.blocks])
        place = np.concatenate([np.arange(b.shape[1]) for b in self.blocks])
        best = np.empty((self.S.n_features, order.size), dtype=self.S.dtype, order="F")
        for column, j in enumerate(order):
            best[:, column] = self.blocks[owner[j]][:, place[j]]
        return distinct_supports(best)


def neighbour_density(columns: Array, variance: Array, constraint: LoadingConstraint) -> Array:
    """How closely each feature is surrounded by the sampled ones whose columns are given.

    The fourth power of the explained variance ``C_ij^2 / C_ii`` counts near neighbours
    and ignores the crowd of loosely correlated ones.
    """
    near = np.maximum(columns, 0) if constraint.nonnegative else columns.copy()
    # Powers of eight leave the range of floating point in unusual units.
    unit = variance.max()
    near /= unit
    variance = variance / unit
    near *= near
    near *= near
    near *= near
    total = near.sum(axis=1)
    result: Array = np.divide(total, variance**4, out=np.zeros(total.size), where=variance > 0)
    return result


def block_width(S: Covariance) -> int:
    """Columns per block: as many as fit in :data:`BLOCK_BYTES`."""
    return max(16, BLOCK_BYTES // (S.n_features * S.dtype.itemsize))


#: What each effort means; every number is a trade of time for the last per mille.
PORTFOLIOS: dict[str, Portfolio] = {
    "fast": Portfolio(
        n_eigenvectors=6,
        n_columns=24,
        n_combinations=16,
        survivors=(24, 8, 4),
        n_polished=2,
        n_exchanged=1,
        n_exchanges=3,
    ),
    "balanced": Portfolio(),
    "thorough": Portfolio(
        n_eigenvectors=32,
        n_combinations=512,
        survivors=(384, 192, 96),
        n_polished=32,
        n_exchanged=12,
        n_exchanges=100,
        n_screened=16384,
        greedy=True,
        max_iter=300,
    ),
}
