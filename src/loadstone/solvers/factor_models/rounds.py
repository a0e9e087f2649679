"""Rounds of coordinate updates: scores, scales, loadings, noise; each raises the bound.

Notation: see ``samples``, ``point_normal`` and ``noise``. Several models of the same number of
components are updated together, one along each entry of the first axis.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Protocol, Self, TypeVar

import numpy as np

from loadstone.covariance.protocol import Array
from loadstone.loadings import Stop
from loadstone.solvers.factor_models.noise import Noise
from loadstone.solvers.factor_models.samples import Samples, Scores

#: Told of every round and the best bound; returns whether to stop.
OnRound = Callable[[int, float], bool]
#: Rounds between two looks at what the features have in common in their noise.
POOL_EVERY = 5


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

    @property
    def variance(self) -> Array:
        """Variances of the loadings, shape (models, q, d)."""
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

    def error_terms(self, scores: Scores, counts: Array, precision: Array) -> tuple[Array, Array]:
        """Half the counts and half the squared errors that the noise is learned from."""
        ...

    def data_term(self, scores: Scores, noise: Noise) -> Array:
        """``-sum_i <tau_i R_i>``, shape (models,)."""
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
    counts, errors = law.error_terms(scores, samples.counts, noise.precision)
    noise = noise.update(counts, errors, samples.variance, learn=learn)
    bound = lower_bound(samples, law, noise, scores)
    return State(law, noise, scores.location, bound, scores)


def lower_bound(samples: Samples, law: Law, noise: Noise, scores: Scores) -> Array:
    """Lower bound on the log evidence, right after the update of the noise."""
    counts, q = samples.counts, law.n_components
    value = 0.5 * (noise.log_precision - np.log(2.0 * np.pi)) @ counts
    value = value + law.data_term(scores, noise) + law.bound(noise) + noise.bound
    value = value + 0.5 * (scores.log_determinant + samples.n_samples * q)
    return np.asarray(value - 0.5 * np.trace(scores.total, axis1=1, axis2=2))


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
        self, samples: Samples, state: State, on_round: OnRound | None = None
    ) -> tuple[State, Array, Stop]:
        """State at the end, best bound after every round, and why it ended."""
        level = self.tol * float(samples.counts.sum())
        bounds: list[float] = []
        for n in range(self.max_iter):
            before = state.bound
            state = update(samples, state, learn=n % POOL_EVERY == 0)
            bounds.append(float(state.bound.max()))
            if on_round is not None and on_round(len(bounds), bounds[-1]):
                return state, np.array(bounds), Stop.CALLBACK
            # A round in which the noise learned its prior may rise by that alone, and those
            # between by little: all of a cycle must be small.
            if n % POOL_EVERY == 1 and n > 1 and (state.bound - before <= level).all():
                return state, np.array(bounds), Stop.CONVERGED
        return state, np.array(bounds), Stop.MAX_ITER

    def fixed(self, samples: Samples, state: State, n_rounds: int) -> State:
        """State after ``n_rounds`` or once settled."""
        return replace(self, max_iter=min(n_rounds, self.max_iter))(samples, state)[0]
