"""Which numbers of components are tried, and which of the models found is taken.

Notation: see ``growth``. The lower bound decides between numbers of components. What is said of
new samples goes by the number with the highest evidence, see ``evidence``, and by all larger ones
that were found: a component that is not worth its parameters for normal data is worth something.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np

from loadstone.covariance.protocol import Array
from loadstone.solvers.factor_models.evidence import log_evidence
from loadstone.solvers.factor_models.growth import FEWEST_FEATURES, Growth, is_small_with_holes
from loadstone.solvers.factor_models.rounds import OnRound, State
from loadstone.solvers.factor_models.samples import Samples
from loadstone.solvers.factor_models.sizes import (
    MAX_COMPONENTS,
    PATIENCE,
    most_components,
    refuse_sizes,
)

SIZE_ROW = np.dtype([("n_components", np.intp), ("lower_bound", np.float64)])


@dataclass
class Counter:
    """Counts the rounds of a search and passes them on."""

    on_round: OnRound | None = None
    n_rounds: int = 0
    stopped: bool = False

    def __call__(self, _: int, bound: float) -> bool:
        """Tell ``on_round`` of one more round; once it asked to stop, all runs stop."""
        self.n_rounds += 1
        if self.on_round is not None and self.on_round(self.n_rounds, bound):
            self.stopped = True
        return self.stopped


@dataclass(frozen=True)
class Found:
    """The chosen state, the best one of every size, and those that new samples go by.

    ``predictors`` is empty where new samples go by the chosen one.
    """

    state: State
    states: dict[int, State]
    predictors: tuple[State, ...] = ()

    @property
    def table(self) -> Array:
        """The best bound of every size."""
        rows = [(q, float(s.bound[0])) for q, s in sorted(self.states.items())]
        return np.array(rows, dtype=SIZE_ROW)


def search_any(growth: Growth, samples: Samples, counter: Counter) -> Found:
    """Grow while the bound rises, then let components die."""
    best: dict[int, State] = {}
    falls, top = 0, -np.inf
    limit = min(MAX_COMPONENTS, most_components(samples))
    for state in growth.sequence(samples, counter):
        clean = growth.cleaned(samples, state)
        _keep(best, clean)
        rose = clean.bound[0] > top and clean.n_components == state.n_components
        falls = 0 if rose else falls + 1
        top = max(top, float(clean.bound[0]))
        vain = not rose and newest_is_null(state)
        if counter.stopped or vain or falls == PATIENCE or state.n_components == limit:
            break
    if is_small_with_holes(samples) and limit < MAX_COMPONENTS and not counter.stopped:
        _search_from_above(growth, samples, limit, best, counter)
    chosen = max(best.values(), key=_bound)
    chosen = growth.pruned(samples, chosen)
    _keep(best, chosen)
    return Found(
        chosen, best, from_likeliest(samples, best.values()) if chosen.n_components else ()
    )


def from_likeliest(samples: Samples, states: Iterable[State]) -> tuple[State, ...]:
    """The model with the highest evidence, and those of more components.

    None where the evidence of one of them is not known. Noise alone is not among them: the bound
    decides whether there is any component.
    """
    rivals = [state for state in states if state.n_components]
    known = [log_evidence(samples, state) for state in rivals]
    values = [value for value in known if value is not None]
    if not values or len(values) < len(known):
        return ()
    fewest = rivals[int(np.argmax(values))].n_components
    return tuple(state for state in rivals if state.n_components >= fewest)


def _search_from_above(
    growth: Growth, samples: Samples, limit: int, best: dict[int, State], counter: Counter
) -> None:
    """Add models that were started with all components, until two do not raise the bound."""
    in_vain, smallest = 0, max(best.values(), key=_bound).n_components
    for state in islice(growth.from_above(samples, limit, counter), limit - smallest):
        rose = _bound(state) > max(map(_bound, best.values()))
        in_vain = 0 if rose else in_vain + 1
        _keep(best, state)
        if counter.stopped or in_vain == PATIENCE:
            return


def _bound(state: State) -> float:
    return float(state.bound[0])


def search_sizes(growth: Growth, samples: Samples, wanted: set[int], counter: Counter) -> Found:
    """The best of the models with a wanted number of components.

    Components on fewer than two features are none, so that a model may have fewer than asked.
    """
    refuse_sizes(samples, wanted)
    growth = replace(growth, insists=True)
    best: dict[int, State] = {}
    smallest = min((q for q in wanted if q), default=0)
    for state in growth.sequence(samples, counter, smallest=smallest):
        clean = growth.cleaned(samples, state)
        _keep(best, clean)
        if counter.stopped or state.n_components == max(wanted) or newest_is_null(state):
            break
    # A number that was not reached stands for the closest below it: the others came to nothing.
    reached = {max(found for found in best if found <= q) for q in wanted}
    candidates = [best[found] for found in sorted(reached)]
    chosen = max(candidates, key=_bound)
    several = len(candidates) > 1 and chosen.n_components
    return Found(chosen, best, from_likeliest(samples, candidates) if several else ())


def search_held_out(growth: Growth, samples: Samples, size: int, counter: Counter) -> Found:
    """The model of the size that held-out rows chose, or noise alone.

    Rows can hardly tell noise from a component; the bound decides whether there is any.
    """
    if not size:
        return search_any(growth, samples, counter)
    found = search_sizes(growth, samples, set(range(1, size + 1)), counter)
    empty = float(found.states[0].bound[0])
    some = any(q and s.bound[0] > empty for q, s in found.states.items())
    closest = max(q for q in found.states if q <= size)
    return replace(found, state=found.states[closest if some else 0], predictors=())


def _keep(best: dict[int, State], state: State) -> None:
    rival = best.get(state.n_components)
    if rival is None or state.bound[0] > rival.bound[0]:
        best[state.n_components] = state


def newest_is_null(state: State) -> bool:
    """Whether the last component that was added has come to nothing."""
    return bool(state.n_components and state.law.inclusion[0, -1].sum() < FEWEST_FEATURES)
