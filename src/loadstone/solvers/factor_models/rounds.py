"""Rounds of coordinate updates: scores, scales, loadings, noise; each raises the bound.

Notation: see ``samples``, ``point_normal`` and ``noise``. Several models of the same number of
components are updated together, one along each entry of the first axis.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any, Protocol, Self, TypeVar

import numpy as np

from loadstone.covariance.protocol import Array
from loadstone.loadings import Stop
from loadstone.solvers.factor_models.noise import ErrorTerms, Noise
from loadstone.solvers.factor_models.samples import Samples, Scores

#: Told of every round and the best bound; returns whether to stop.
OnRound = Callable[[int, float], bool]
#: Rounds between two looks at what the features have in common in their noise.
POOL_EVERY = 5
#: Cycles of rounds before a run may be given up.
FAIR_CHANCE = 3
#: Cosine of components from which on they are the same.
SAME = 0.995


class Law(Protocol):
    """What a round asks of a law of the loadings and its posterior."""

    @property
    def n_components(self) -> int:
        """Number of components."""
        ...

    @property
    def mean(self) -> Array:
        """Expected loadings, shape (models, q, d)."""
        ...

    def variances(self, noise: Noise) -> Array:
        """Variances of the loadings, shape (models, q, d)."""
        ...

    def restricted(self, kept: Array) -> Self:
        """The components ``kept`` alone."""
        ...

    def on_support(self, support: Array) -> Self:
        """The same with loadings outside ``support`` (models, q, d) held at zero."""
        ...

    def moments(self, precision: Array, *, per_feature: bool) -> Array:
        """``<tau_i w_i w_i'>``: summed over features, or packed and one for each."""
        ...

    def best_factors(self, scores: Array, n_samples: float) -> Array:
        """Factors (models, q) of the loadings that raise the bound most; ones where unknown."""
        ...

    def rescaled(self, factors: Array) -> Self:
        """Loadings times ``factors`` (models, q)."""
        ...

    def update(self, scores: Scores, noise: Noise) -> Self:
        """Posterior given scores and noise, and hyperparameters given the posterior."""
        ...

    def error_terms(self, scores: Scores, counts: Array) -> ErrorTerms:
        """What the noise is learned from."""
        ...

    def bound(self, noise: Noise) -> Array:
        """Expected log prior less expected log posterior, shape (models,)."""
        ...


@dataclass(frozen=True)
class State:
    """Several models between two rounds.

    Attributes
    ----------
    law : Law
        Posterior of the loadings.
    noise : Noise
    location : ndarray of shape (models, d)
        Means relative to the column means.
    bound : ndarray of shape (models,)
        Lower bound after the last round.
    scores : Scores or None
        Scores the loadings were computed with.
    """

    law: Any
    noise: Noise
    location: Array
    bound: Array
    scores: Scores | None = None

    @property
    def n_components(self) -> int:
        """Number of components."""
        return int(self.law.n_components)

    @property
    def n_models(self) -> int:
        """Number of models side by side."""
        return int(self.bound.size)


def with_law(state: State, law: Any) -> State:
    """``state`` with another posterior of the loadings, before its first round."""
    return State(law, state.noise, state.location, np.full(state.n_models, -np.inf))


T = TypeVar("T")


def picked(value: T, models: Any) -> T:
    """The entries ``models`` of a dataclass of stacked arrays."""
    found: Any = value
    changes = {f.name: _pick(getattr(found, f.name), models) for f in fields(found)}
    return type(value)(**changes)


def _pick(value: Any, models: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value if value.shape[:1] == (1,) else value[models]
    return picked(value, models) if hasattr(value, "__dataclass_fields__") else value


def stacked(states: Sequence[State]) -> State:
    """Models of the same number of components side by side."""
    if len(states) == 1:
        return states[0]
    return State(
        law=_stack([s.law for s in states]),
        noise=_stack([s.noise for s in states]),
        location=np.concatenate([s.location for s in states]),
        bound=np.concatenate([s.bound for s in states]),
    )


def _stack(values: Sequence[Any]) -> Any:
    first = values[0]
    changes = {}
    for f in fields(first):
        columns = [getattr(v, f.name) for v in values]
        arrays = isinstance(columns[0], np.ndarray)
        changes[f.name] = np.concatenate(columns) if arrays else columns[0]
    return type(first)(**changes)


def update(samples: Samples, state: State, *, learn: bool) -> State:
    """One round; ``learn`` also the prior of pooled noise."""
    law, noise = state.law, state.noise
    moments = law.moments(noise.precision, per_feature=samples.per_feature)
    scores = samples.scores(law.mean, moments, noise.precision, state.location)
    n = samples.n_samples
    # Exact and in closed form: the scores get unit mean square, the loadings take the rest.
    factors = law.best_factors(np.diagonal(scores.total, axis1=1, axis2=2), n)
    scores, law = scores.rescaled(factors, n), law.rescaled(factors)
    law = law.update(scores, noise)
    terms = law.error_terms(scores, samples.counts)
    noise = noise.update(terms, samples.variance, learn=learn)
    # The lower bound on the log evidence, right after the update of the noise.
    bound = 0.5 * (noise.log_precision - np.log(2.0 * np.pi)) @ samples.counts
    bound = bound + terms.data_term(noise) + law.bound(noise) + noise.bound
    bound = bound + 0.5 * (scores.log_determinant + n * law.n_components)
    bound = bound - 0.5 * np.trace(scores.total, axis1=1, axis2=2)
    return State(law, noise, scores.location, bound, scores)


@dataclass(frozen=True)
class Rounds:
    """Rounds until the bounds settle.

    Attributes
    ----------
    max_iter : int
        Most rounds.
    tol : float
        Rise of a bound in one round, as a share of the number of observed values, below
        which it has settled.
    """

    max_iter: int = 1000
    tol: float = 1e-7

    def __call__(
        self,
        samples: Samples,
        state: State,
        on_round: OnRound | None = None,
        rival: float = -np.inf,
    ) -> tuple[State, Array, Stop]:
        """State at the end, best bound after every round, and why it ended.

        A run that will hardly reach the bound ``rival`` is given up.
        """
        level = self.tol * float(samples.counts.sum())
        bounds: list[float] = []
        cycles: list[Array] = []
        for n in range(self.max_iter):
            before = state.bound
            state = update(samples, state, learn=n % POOL_EVERY == POOL_EVERY - 1)
            bounds.append(float(state.bound.max()))
            if on_round is not None and on_round(len(bounds), bounds[-1]):
                return state, np.array(bounds), Stop.CALLBACK
            # Rises are compared between the same rounds of a cycle: in some the noise learns.
            if n % POOL_EVERY != 1:
                continue
            cycles.append(state.bound)
            settled = n > POOL_EVERY and bool((state.bound - before <= level).all())
            if settled or bool((expected_end(cycles) < rival).all()):
                return state, np.array(bounds), Stop.CONVERGED
        return state, np.array(bounds), Stop.MAX_ITER

    def race(self, samples: Samples, state: State, n_rounds: int) -> State:
        """The model with the highest bound after ``n_rounds``; stragglers fall out on the way."""
        cycles: list[Array] = []
        for n in range(min(n_rounds, self.max_iter)):
            state = update(samples, state, learn=n % POOL_EVERY == POOL_EVERY - 1)
            if n % POOL_EVERY != 1:
                continue
            cycles.append(refuse_rounding(state).bound)
            hopeful = expected_end(cycles) >= state.bound.max()
            if len(cycles) > FAIR_CHANCE:
                hopeful &= originals(samples, state)
            kept = np.flatnonzero(hopeful)
            if kept.size == 1:
                return picked(state, kept)
            if kept.size < state.n_models:
                state = picked(state, kept)
                cycles = [bounds[kept] for bounds in cycles]
        return picked(state, [int(np.argmax(state.bound))])


def refuse_rounding(state: State) -> State:
    """``state``, unless what its components leave is no noise."""
    if np.isfinite(state.bound).all():
        return state
    msg = (
        "the data leaves no noise to model in its precision: what components leave is "
        "rounding; convert X to float64, or use SparsePCA, which needs no noise"
    )
    raise ValueError(msg)


def expected_end(cycles: list[Array]) -> Array:
    """Where bounds will end, taking the rise of the last cycles for twice as slow as it is."""
    if len(cycles) < FAIR_CHANCE:
        return np.full(cycles[-1].shape, np.inf)
    rise, earlier = np.diff(cycles[-3:], axis=0)[::-1]
    ratio = np.clip(rise / np.maximum(earlier, 1e-300), 0.0, 0.97)
    return np.asarray(cycles[-1] + 2.0 * np.maximum(rise, 0.0) * ratio / (1.0 - ratio))


def originals(samples: Samples, state: State) -> Array:
    """Models that are no copy, up to order and signs, of one with a higher bound."""
    # In one unit: components would look alike that share the feature with the largest numbers.
    W = state.law.mean / np.sqrt(samples.variance)
    W = W / np.maximum(np.linalg.norm(W, axis=2, keepdims=True), 1e-300)
    marked = np.zeros(state.n_models, dtype=bool)
    for m in np.argsort(-state.bound, kind="stable"):
        marked[m] = not any(_same(W[m], W[k]) for k in np.flatnonzero(marked))
    return marked


def _same(one: Array, two: Array) -> bool:
    cosines = np.abs(one @ two.T)
    return bool((cosines.max(axis=0) > SAME).all() and (cosines.max(axis=1) > SAME).all())


def without_copies(samples: Samples, state: State) -> State:
    """Models that are no copy of one with a higher bound."""
    return picked(state, np.flatnonzero(originals(samples, state)))
