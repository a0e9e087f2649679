"""The search itself: pilot, screen of all columns, halving, finish.

What several efforts need is computed once, so that each begins with the answer of the one below.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from loadstone.constraints import LoadingConstraint
from loadstone.covariance import Array, Covariance, ExplicitCovariance, Support
from loadstone.solvers.greedy import Greedy
from loadstone.solvers.search.climb import best_rows, settle, step, values_of
from loadstone.solvers.search.crossing import apart, new_rows, unknown
from loadstone.solvers.search.eigenvectors import search_eigenvectors
from loadstone.solvers.search.em_support import em_support
from loadstone.solvers.search.exchange_block import climb_by_exchange
from loadstone.solvers.search.finish import (
    EQUAL,
    Found,
    any_feature,
    best_of,
    exchange_best,
    polish_block,
)
from loadstone.solvers.search.restricted import FEW_FEATURES, in_memory
from loadstone.solvers.search.running_top import top_of
from loadstone.solvers.search.screen import (
    Thresholds,
    best_and_leaders,
    densities,
    thresholds,
)
from loadstone.solvers.search.spaces import Space, by_columns, space_of
from loadstone.solvers.search.sparse_block import SparseBlock, block_of, joined, unit_block
from loadstone.solvers.search.tiles import Tiles, tiles_of
from loadstone.solvers.search.tiny import N_STEPS, is_tiny, tiny_search

if TYPE_CHECKING:
    from loadstone.solvers.portfolio import Portfolio

#: Columns of the pilot, drawn without a look at the values.
PILOT_COLUMNS = 24
#: Rows of the pilot that go on, and their steps.
PILOT_KEPT, PILOT_STEPS = 8, 2
#: Steps of all starts together where every column is one.
STEPS_OF_ALL = 4
#: What it takes to compare an entry with others, in multiplications.
COMPARISON = 50
#: Rows that climb at least, where a step of each takes long.
FEW_CLIMBED = 4
#: Share of climbs that end on hills of their own, from which on there are many hills.
RUGGED = 1 / 3
#: Share from which on there may be any number of them.
ALL_HILLS = 0.75
#: Generations without a better one after which there is no other.
IDLE_GENERATIONS = 2
#: Sizes up to which the greedy support is worth its one product per feature.
MAX_GREEDY = 128


class Search:
    """One covariance, one constraint, any number of efforts."""

    def __init__(
        self,
        S: Covariance,
        constraint: LoadingConstraint,
        starts: Array | None = None,
        progress: Callable[[str, float], bool] | None = None,
    ) -> None:
        self.S, self.constraint = by_columns(S), constraint
        self.n_iter = 0
        self.stopped = False
        self._progress = progress
        self._given = starts
        self._eigenvectors: Array | None = None
        self._pilots: dict[tuple[int, int], tuple[SparseBlock, Thresholds]] = {}
        self._columns: dict[tuple[float, ...], Support] = {}
        self._ranked: dict[tuple[float, ...], tuple[Tiles, tuple[Array, Array]]] = {}
        self._climbed: dict[tuple[int, int], SparseBlock] = {}
        self._answers: dict[Portfolio, Found] = {}

    def run(self, effort: Portfolio) -> Found:
        """The answer of ``effort``, never below that of the efforts it contains."""
        self._answers[effort] = self._run(effort)
        return self._answers[effort]

    def _tell(self, stage: str, found: list[Found]) -> None:
        """Say how far the search is, and hear whether that is far enough."""
        if self._progress is not None:
            best = max((each.value for each in found), default=0.0)
            self.stopped = self._progress(stage, best) or self.stopped

    def below(self, effort: Portfolio) -> list[Array]:
        """Loadings that the efforts below ended with on the way, the largest effort first."""
        if effort.below is None or effort.below not in self._answers:
            return []
        return [self._answers[effort.below].w, *self.below(effort.below)]

    def _run(self, effort: Portfolio) -> Found:
        """Search, polish, exchange.

        Out of core every step is a pass over the data: there the effort runs alone, without
        EM, and few candidates are exchanged.
        """
        scarce = not in_memory(self.S)
        below = None if scarce else self._below(effort)
        if below is not None and is_tiny(self.S) and not effort.greedy:
            return below
        if below is not None and self.stopped:
            return below
        if not self.allowed.size:
            return any_feature(self.S, self.constraint)
        candidates = [self._settled(effort)] if scarce else [self._settled(effort), self.em]
        if below is not None:
            candidates.append(block_of(below.w, self.constraint.size))
        if effort.greedy and self.constraint.size <= MAX_GREEDY:
            greedy = Greedy(rule="approximate")(self.S, self.constraint, np.random.default_rng(0))
            candidates.append(block_of(greedy.matrix[:, 0], self.constraint.size))
        self._tell("starts have settled", [] if below is None else [below])
        polished = polish_block(self.S, self.space, joined(candidates), self.constraint)
        self._tell("candidates are polished", polished)
        if self.stopped:
            return best_of(polished)
        # An exchange costs passes out of core, next to nothing among few features.
        n = effort.n_exchanged // 4 if self._is_costly(effort) else effort.n_exchanged
        n = 2 * n if self.has_few_features else max(1, n)
        best = exchange_best(self.S, polished, self.constraint, n, effort.n_exchanges)
        self._tell("features are exchanged", [best])
        return best_of([best, *polished] + ([] if below is None else [below]))

    def _below(self, effort: Portfolio) -> Found | None:
        """The answer of the effort below, or that of the tiny search for all of them."""
        if isinstance(self.S, ExplicitCovariance) and is_tiny(self.S):
            self.n_iter = N_STEPS
            found = tiny_search(self.S, self.constraint, self._given)
            below = effort.below
            while below is not None:
                self._answers[below], below = found, below.below
            return found
        return None if effort.below is None else self.run(effort.below)

    def _settled(self, effort: Portfolio) -> SparseBlock:
        """The last candidates: halved, at rest, climbed, and crossed with each other."""
        costly = self._is_costly(effort)
        n = max(FEW_CLIMBED, effort.n_polished // 2) if costly else effort.n_climbed
        block = self._halved(effort, n)
        if in_memory(self.S):
            block = self._climbed_and_crossed(block, effort, n)
        return best_rows(self.space, block, effort.n_polished)[0]

    def _halved(self, effort: Portfolio, n: int) -> SparseBlock:
        """The ``n`` best starts, by a step between two halvings, at rest."""
        costly = self._is_costly(effort)
        block = self._all_starts(effort)
        if not costly and not self.has_few_features and len(block) > n:
            # The first step says the least about where the others will lead.
            block = step(self.space, block, self.constraint)
        while len(block) > n:
            block, _ = best_rows(self.space, block, max(n, len(block) // (4 if costly else 2)))
            if len(block) > n:
                block = step(self.space, block, self.constraint)
        block, n_iter = settle(self.space, block, self.constraint, effort.max_iter)
        self.n_iter = max(self.n_iter, n_iter)
        return block

    def _is_costly(self, effort: Portfolio) -> bool:
        """Whether starts must be few: out of core, or where a step of each takes long."""
        return not in_memory(self.S) or self._row_cost * effort.n_columns > effort.start_budget

    @property
    def _row_cost(self) -> float:
        """Operations for a power step of one row; a comparison costs as much as several of them."""
        if isinstance(self.S, ExplicitCovariance):
            depth = min(self.constraint.size, self.S.n_features)
        else:
            depth = min(self.space.n_scores, self.S.n_features)
        return float(self.S.n_features * (depth + COMPARISON))

    def _climbed_and_crossed(self, block: SparseBlock, effort: Portfolio, n: int) -> SparseBlock:
        """Exchanges from every row; then again from between the best, as long as that gains.

        Where hardly two rows end on one hill, as in noise, the first may have missed the highest,
        and many more climb; where nearly none do, more again.
        """
        pool, values = best_rows(self.space, self._exchanged(block, effort), n)
        if self._is_costly(effort):
            return pool
        n_parents, own_hills = effort.n_parents, len(apart(pool, n)) / n
        if effort.n_rugged > n and own_hills > RUGGED:
            n, times = effort.n_rugged, effort.n_times if own_hills > ALL_HILLS else 1
            n_parents *= times
            wider = replace(effort, start_budget=times**2 * effort.rugged_budget)
            if len(more := unknown(self._halved(wider, times * n), block)):
                more = self._exchanged(more, effort)
                pool, values = best_rows(self.space, joined([pool, more]), n)
        best, n_idle, tried = values[0], 0, set[bytes]()
        for _ in range(effort.n_generations):
            children = new_rows(self.space, pool, n_parents, self.constraint, n, tried)
            if not len(children):
                break
            grown = self._exchanged(children, effort)
            pool, values = best_rows(self.space, joined([pool, grown]), n)
            n_idle = 0 if values[0] > best * (1 + EQUAL[self.S.dtype]) else n_idle + 1
            if n_idle == IDLE_GENERATIONS:
                break
            best = values[0]
        return pool

    def _exchanged(self, block: SparseBlock, effort: Portfolio) -> SparseBlock:
        variance = self.S.diagonal()
        return climb_by_exchange(self.space, block, self.constraint, variance, effort.n_rounds)

    def _all_starts(self, effort: Portfolio) -> SparseBlock:
        """Pilot and columns, one step after each; where all columns are few, several steps.

        A good end may have a poor first step, so that none is dropped before it settles.
        """
        starts, _ = self._pilot(effort)
        if not self.has_few_features:
            return joined([starts, *self._column_starts(effort)])
        key = (effort.n_eigenvectors, effort.n_combinations)
        if key not in self._climbed:
            block = joined([starts, *self._column_starts(effort)])
            for _ in range(STEPS_OF_ALL):
                block = step(self.space, block.take(block.distinct()), self.constraint)
            self._climbed[key] = block
        return self._climbed[key]

    @property
    def has_few_features(self) -> bool:
        """Whether every column is a start."""
        return self.allowed.size <= FEW_FEATURES

    @cached_property
    def space(self) -> Space:
        """Scores and images of few features at a time."""
        return space_of(self.S)

    @cached_property
    def allowed(self) -> Support:
        """Features that vary and may be used."""
        variance = self.S.diagonal()
        solid = np.flatnonzero(variance > float(np.finfo(self.S.dtype).eps) * variance.max())
        return np.setdiff1d(solid, self.constraint.forbidden)

    @cached_property
    def em(self) -> SparseBlock:
        """Where EM ends that starts from the first principal component."""
        v = self.eigenvectors(1)[:, 0]
        rows = np.stack([v, -v]) if self.constraint.nonnegative else v[None]
        starts = self._top(rows, soft=True)
        ends = [
            em_support(self.S, self.space, starts.take([row]), self.constraint)
            for row in range(len(starts))
        ]
        return joined(ends)

    def eigenvectors(self, n: int) -> Array:
        """At least the ``n`` leading ones, computed once."""
        if self._eigenvectors is None or self._eigenvectors.shape[1] < min(n, self.S.n_features):
            self._eigenvectors = search_eigenvectors(self.S, n)
        return self._eigenvectors[:, :n]

    def _top(self, rows: Array, *, soft: bool = False) -> SparseBlock:
        """Allowed loadings for directions of full length, one row each."""
        source = lambda lo, hi: rows[:, lo:hi]  # noqa: E731
        return top_of(source, self.S.n_features, self.constraint, soft=soft)

    def _pilot(self, effort: Portfolio) -> tuple[SparseBlock, Thresholds]:
        """Starts from eigenvectors, mixtures and a few columns; what they say of thresholds."""
        key = (effort.n_eigenvectors, effort.n_combinations)
        if key not in self._pilots:
            starts = joined(self._first_starts(*key))
            block, _ = best_rows(self.space, starts, PILOT_KEPT)
            for _ in range(PILOT_STEPS):
                block = step(self.space, block, self.constraint)
            self._pilots[key] = (joined([starts, block]), self._thresholds(block))
        return self._pilots[key]

    def _first_starts(self, n_eigenvectors: int, n_combinations: int) -> list[SparseBlock]:
        V = self.eigenvectors(n_eigenvectors)
        # One stream for the mixtures of all efforts, and none that depends on the data.
        mix = np.random.default_rng(0).standard_normal((n_combinations, V.shape[1]))
        mixed = mix.astype(V.dtype)
        signs = (V.T, -V.T) if self.constraint.nonnegative else (V.T,)
        blocks = [self._top(rows) for rows in signs]
        blocks.append(top_of(lambda lo, hi: mixed @ V[lo:hi].T, self.S.n_features, self.constraint))
        shuffled = np.random.default_rng(0).permutation(self.S.n_features)
        drawn = shuffled[np.isin(shuffled, self.allowed)][:PILOT_COLUMNS]
        drawn = np.union1d(drawn, self.constraint.forced[:PILOT_COLUMNS]).astype(np.intp)
        blocks.append(step(self.space, unit_block(drawn, self.S.dtype), self.constraint))
        if self._given is not None:
            blocks.append(self._top(self._given.T.astype(self.S.dtype, copy=False)))
        return blocks

    def _thresholds(self, block: SparseBlock) -> Thresholds:
        row = int(np.argmax(values_of(self.space, block)))
        feature = int(block.indices[row][np.argmax(np.abs(block.values[row]))])
        unit = unit_block(np.array([feature]), self.S.dtype)
        Y = self.space.scores(unit)
        column = self.space.images(Y, 0, self.S.n_features)[0]
        if self.constraint.nonnegative:
            column = np.maximum(column, 0)
        column[self.constraint.forbidden] = 0
        variance = float(self.space.values(unit, Y)[0])
        return thresholds(column, variance, feature, self.constraint.size)

    def _column_starts(self, effort: Portfolio) -> list[SparseBlock]:
        """Columns of S around which the densest groups lie; all of them where they are few."""
        features = self.allowed
        n = max(effort.n_columns, int(effort.start_budget / self._row_cost))
        if not self.has_few_features and n < features.size:
            at = self._pilot(effort)[1]
            key = (effort.screen_budget, effort.n_screened, at.low, at.high, n)
            if key not in self._columns:
                self._columns[key] = self._screened(effort, at, n)
            features = self._columns[key]
        if not features.size:
            return []
        return [step(self.space, unit_block(features, self.S.dtype), self.constraint)]

    def _screened(self, effort: Portfolio, at: Thresholds, n: int) -> Support:
        tiles, found = self._densities(effort, at)
        chosen: list[Support] = []
        for density in found:
            chosen += best_and_leaders(
                tiles,
                density,
                n // 4,
                effort.n_columns // 4,
                nonnegative=self.constraint.nonnegative,
            )
        return tiles.features[np.unique(np.concatenate(chosen))]

    def _densities(self, effort: Portfolio, at: Thresholds) -> tuple[Tiles, tuple[Array, Array]]:
        """What the columns are ranked by; the last ones are kept, whatever number is asked for."""
        key = (effort.screen_budget, effort.n_screened, at.low, at.high)
        if key not in self._ranked:
            tiles = tiles_of(self.S, self.allowed, effort.screen_budget, effort.n_screened)
            relative = Thresholds(at.low / tiles.unit, at.high / tiles.unit)
            ranked = densities(tiles, relative, nonnegative=self.constraint.nonnegative)
            self._ranked = {key: (tiles, ranked)}
        return self._ranked[key]
