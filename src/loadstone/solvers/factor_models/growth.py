"""Number of components: births, joint starts, deaths, all judged by the lower bound.

Notation: see ``rounds``. Noise alone is the first candidate. One component is added at a time;
a component on fewer than two features is noise of that feature and is dropped.

The updates of a weak component have two ends: one where it is there, and one where it has come to
nothing, which is a model of one component fewer. Between numbers of components the bound decides
and the second end does no harm. Where a number is asked for, or held-out rows compare numbers, the
best model that has them all is wanted, though its bound may be lower, unless the bound is very
sure that one is not there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from loadstone.covariance.protocol import Array
from loadstone.solvers.factor_model import FactorModel
from loadstone.solvers.factor_models.noise import Noise, largest_shape
from loadstone.solvers.factor_models.point_normal import PointNormal
from loadstone.solvers.factor_models.predictive import predictive_model
from loadstone.solvers.factor_models.rounds import (
    OnRound,
    Rounds,
    State,
    originals,
    picked,
    refuse_rounding,
    stacked,
    with_law,
    without_copies,
)
from loadstone.solvers.factor_models.samples import Samples
from loadstone.solvers.factor_models.starts import births, joint_start
from loadstone.solvers.factor_models.unmix import other_maps, unmixing_map

#: Rounds a proposal gets before it is compared with the others.
TRIAL_ROUNDS = 60
#: Rounds after which proposals, or the birth and the joint start, may turn out to be one model.
FIRST_ROUNDS = 20
#: Times the factors of one model are un-mixed at most.
MAX_UNMIXINGS = 3
#: How far behind a model may be for un-mixing to bring it to the front.
REACH = 25.0
#: Gain of the bound below which un-mixing once more is not tried.
NOTABLE_GAIN = 0.5
#: Variance over noise from which on a feature has hardly any, and values up to which incomplete
#: data with such features is searched with free noise as well.
NEARLY_NONE, FEW_VALUES = 25.0, 1e4
#: How much lower the bound of a model may be that has all components: odds of 150 to one are very
#: strong evidence against one of them.
VERY_STRONG = 5.0
#: Expected number of features below which a component is none.
FEWEST_FEATURES = 1.5


def is_small_with_holes(samples: Samples) -> bool:
    """Whether starts are blurred by holes, and the data is small enough for more of them."""
    has_holes = bool((samples.counts < samples.n_samples).any())
    return has_holes and float(samples.counts.sum()) <= FEW_VALUES


@dataclass(frozen=True)
class Growth:
    """Models of ever more components.

    Attributes
    ----------
    noise : {"pooled", "shared", "free"}
    rounds : Rounds
    insists : bool
        Whether models of which all components are there go before those with bounds that are a
        little higher.
    """

    noise: str = "pooled"
    rounds: Rounds = field(default_factory=Rounds)
    insists: bool = False

    def there(self, samples: Samples, state: State) -> Array:
        """Which components of every model are more than noise of one feature, (models, q).

        Where that decides between models, a component must also be one that samples can tell:
        its loadings on k features have a squared length of ``sqrt(k/N)`` in noise units.
        """
        sizes = state.law.inclusion.sum(axis=2)
        found = sizes >= FEWEST_FEATURES
        if self.insists:
            found &= state.law.scale * np.sqrt(sizes * samples.n_samples) >= 1.0
        return np.asarray(found)

    def rank(self, samples: Samples, state: State) -> float:
        """What makes one model go before another of as many components: the bound, or more."""
        whole = self.insists and bool(self.there(samples, state)[0].all())
        return float(state.bound[0]) + VERY_STRONG * whole

    def _first(self, samples: Samples, *states: State) -> State:
        return max(states, key=lambda state: self.rank(samples, state))

    def empty(self, samples: Samples) -> State:
        """Noise alone."""
        nothing = np.zeros((1, 0, samples.n_features))
        start = self.started(samples, nothing, samples.variance[None])
        return self.rounds(samples, start)[0]

    def started(self, samples: Samples, mean: Array, variance: Array) -> State:
        """State of loadings (models, q, d) and noise variances known without doubt."""
        largest = largest_shape(samples.variance, samples.n_samples)
        noise = Noise.start(self.noise, variance, largest)
        law = PointNormal.start(mean, noise.precision)
        models, _, d = mean.shape
        return State(law, noise, np.zeros((models, d)), np.full(models, -np.inf))

    def sequence(
        self, samples: Samples, on_round: OnRound | None = None, smallest: int = 0
    ) -> Iterator[State]:
        """The best model found with 0, 1, 2, ... components.

        Models of fewer than ``smallest`` components are steps on the way, not searched in full.
        """
        state = self.empty(samples)
        yield state
        freed: Iterator[State] | None = None
        while True:
            if state.n_components + 1 < smallest:
                state = self.rounds(samples, self._birth(samples, state), on_round)[0]
            else:
                state = self.grown(samples, state, on_round)
            if freed is None and self.holds_back(samples, state):
                freed = self._freed(samples, on_round, state.n_components)
            if freed is not None:
                rival = self._pooled(samples, next(freed), on_round)
                state = self._first(samples, state, rival)
            yield state

    def holds_back(self, samples: Samples, state: State) -> bool:
        """Whether the pool may keep features of incomplete data from noise that hardly is one.

        Holes blur the correlations that searches start from, and noises that are learned
        together stay together: free noise finds its way to such features. It takes a second
        search, which only small data is worth.
        """
        if self.noise != "pooled" or not is_small_with_holes(samples):
            return False
        return bool((samples.variance * state.noise.precision[0]).max() > NEARLY_NONE)

    def from_above(
        self, samples: Samples, most: int, on_round: OnRound | None = None
    ) -> Iterator[State]:
        """Models of ``most``, ``most - 1``, ... components, all started at once, then cleaned.

        Parts that add up to a whole have next to no noise once enough components are there, and
        gain little before: one component at a time does not get there.
        """
        for q in range(most, 0, -1):
            W, variance = joint_start(samples, q)
            start = self.started(samples, W[None], variance[None])
            state = self.unmixed(samples, self.rounds(samples, start, on_round)[0], on_round)
            yield self.cleaned(samples, state)

    def _freed(self, samples: Samples, on_round: OnRound | None, size: int) -> Iterator[State]:
        """Models of ``size``, ``size + 1``, ... components, found with free noise."""
        states = replace(self, noise="free").sequence(samples, on_round, size)
        return (state for state in states if state.n_components >= size)

    def _pooled(self, samples: Samples, state: State, on_round: OnRound | None) -> State:
        """A model that was found with free noise, with the noise pooled."""
        largest = largest_shape(samples.variance, samples.n_samples)
        noise = replace(state.noise, kind="pooled", largest=largest)
        start = replace(with_law(state, state.law), noise=noise)
        return self.rounds(samples, start, on_round)[0]

    def models(self, samples: Samples) -> Iterator[tuple[FactorModel, Array]]:
        """Models of 0, 1, 2, ... components that are all there, if any are, and their locations."""
        growth = replace(self, insists=True)
        for state in growth.sequence(samples):
            clean = growth.cleaned(samples, state)
            yield predictive_model(samples, clean), clean.location[0]

    def grown(self, samples: Samples, state: State, on_round: OnRound | None = None) -> State:
        """The best model with one more component than ``state``."""
        lines = [self._birth(samples, state)]
        q = state.n_components + 1
        if q > 1:
            W, variance = joint_start(samples, q)
            lines.append(self.started(samples, W[None], variance[None]))
        begun = self._some_rounds(FIRST_ROUNDS)(samples, stacked(lines), on_round)[0]
        together = self._without_copies(samples, begun)
        together = self.rounds(samples, together, on_round)[0]
        together = self._without_copies(samples, together)
        lines = [picked(together, [m]) for m in range(together.n_models)]
        lines.sort(key=lambda line: self.rank(samples, line), reverse=True)
        best = self.unmixed(samples, lines[0], on_round)
        for line in lines[1:]:
            if line.bound[0] > best.bound[0] - REACH:
                best = self._first(samples, best, self.unmixed(samples, line, on_round))
        return best

    def _without_copies(self, samples: Samples, state: State) -> State:
        """Models that are no copy of a better one; what has come to nothing keeps its direction."""
        if not self.insists:
            return without_copies(samples, state)
        whole = self.there(samples, state).all(axis=1)
        kinds = [np.flatnonzero(whole), np.flatnonzero(~whole)]
        kept = [kind[originals(samples, picked(state, kind))] for kind in kinds if kind.size]
        return picked(state, np.concatenate(kept))

    def _birth(self, samples: Samples, state: State) -> State:
        """The best of a few proposals for one more component, after some rounds."""
        together = stacked([self._with(state, w) for w in births(samples, state)])
        if not self.insists:
            return self.rounds.race(samples, together, TRIAL_ROUNDS)
        begun = refuse_rounding(self._some_rounds(FIRST_ROUNDS)(samples, together)[0])
        together = self._without_copies(samples, begun)
        rest = self._some_rounds(TRIAL_ROUNDS - FIRST_ROUNDS)
        ended = refuse_rounding(rest(samples, together)[0])
        return self._first(samples, *(picked(ended, [m]) for m in range(ended.n_models)))

    def _some_rounds(self, n_rounds: int) -> Rounds:
        """Rounds of a run that is looked at before it has settled."""
        return replace(self.rounds, max_iter=min(n_rounds, self.rounds.max_iter))

    def _with(self, state: State, loading: Array) -> State:
        """``state`` and one more component."""
        new = PointNormal.start(loading[None, None], state.noise.precision)
        return with_law(state, state.law.joined(new))

    def unmixed(self, samples: Samples, state: State, on_round: OnRound | None = None) -> State:
        """``state`` after maps that raised its converged bound."""
        for _ in range(MAX_UNMIXINGS if state.n_components > 1 else 0):
            assert state.scores is not None
            W, tau = _least_squares(state), state.noise.precision[0]
            U = (W * np.sqrt(tau)).T
            A = unmixing_map(U, state.scores.total[0], samples.n_samples)
            if np.allclose(A, np.eye(A.shape[0])):
                return state
            bound = float(state.bound[0])
            rival = self._from(samples, state, A.T @ W, on_round)
            gain = float(rival.bound[0]) - bound
            best = self._first(samples, state, rival)
            if gain < NOTABLE_GAIN or best is state:
                return best
            state = best
        return state

    def turned(self, samples: Samples, state: State, on_round: OnRound | None = None) -> State:
        """``state``, or what a rotation of two components leads to where the bound is higher."""
        for _ in range(MAX_UNMIXINGS if state.n_components > 1 else 0):
            W, tau = _least_squares(state), state.noise.precision[0]
            maps = other_maps((W * np.sqrt(tau)).T, samples.n_samples)
            rivals = (self._from(samples, state, A.T @ W, on_round) for A in maps)
            least = float(state.bound[0]) + NOTABLE_GAIN
            higher = (rival for rival in rivals if rival.bound[0] > least)
            better = next((one for one in higher if self.there(samples, one).all()), None)
            if better is None:
                return state
            state = self.unmixed(samples, better, on_round)
        return state

    def _from(self, samples: Samples, state: State, W: Array, on_round: OnRound | None) -> State:
        """Where the rounds lead from loadings ``W``, unless they hardly reach ``state``."""
        law = PointNormal.start(W[None], state.noise.precision)
        return self.rounds(samples, with_law(state, law), on_round, float(state.bound[0]))[0]

    def restricted(self, state: State, kept: Array) -> State:
        """``state`` with the components ``kept`` alone."""
        return with_law(state, state.law.restricted(kept))

    def cleaned(self, samples: Samples, state: State) -> State:
        """``state`` without components that are not there."""
        while True:
            kept = self.there(samples, state)[0]
            if kept.all():
                return state
            state = self.rounds(samples, self.restricted(state, kept))[0]

    def pruned(self, samples: Samples, state: State) -> State:
        """``state`` without components whose death raises the bound."""
        while state.n_components:
            q = state.n_components
            deaths = [self.restricted(state, np.arange(q) != j) for j in range(q)]
            best = self.rounds.race(samples, stacked(deaths), TRIAL_ROUNDS)
            if best.bound[0] <= state.bound[0]:
                return state
            state = self.cleaned(samples, self.rounds(samples, best)[0])
        return state


def _least_squares(state: State) -> Array:
    """Loadings (q, d) of the first model by least squares."""
    assert state.scores is not None
    return np.asarray(np.linalg.solve(state.scores.total[0], state.scores.cross[0]))
