"""Sparse factor analysis by variational Bayes: loadings, noise and number of components learned.

Notation: ``t = m + W x + e``, ``x ~ N(0, I_q)``, ``e_i ~ N(0, psi_i)``. The search grows the model
one component at a time (``growth``); a round of updates is in ``rounds``, the law of the loadings
in ``point_normal``, the noise in ``noise``.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from loadstone.covariance.protocol import Array, Covariance
from loadstone.loadings import Stop
from loadstone.solvers.factor_model import FactorModel
from loadstone.solvers.factor_models.growth import Growth
from loadstone.solvers.factor_models.inclusion import inclusion_probabilities
from loadstone.solvers.factor_models.point_normal import PointNormal
from loadstone.solvers.factor_models.predictive import averaged, predictive_model
from loadstone.solvers.factor_models.rounds import POOL_EVERY, OnRound, Rounds, State, with_law
from loadstone.solvers.factor_models.samples import IncompleteSamples, Samples, samples_of
from loadstone.solvers.factor_models.scale_mixture import ScaleMixture
from loadstone.solvers.factor_models.size_search import (
    Counter,
    Found,
    search_any,
    search_held_out,
    search_sizes,
)
from loadstone.solvers.factor_models.sizes import most_components
from loadstone.solvers.variational_bayes.missing import IncompleteObservations
from loadstone.solvers.variational_bayes.priors import PRIORS

POINT_NORMAL = "point_normal"
LOADING_PRIORS = (POINT_NORMAL, *PRIORS)

#: Rounds of one run at most before a model is chosen.
SEARCH_ROUNDS = 300
#: How much closer the chosen model is settled than its rivals.
SETTLED = 1e-3
#: Values from which on it is not: a round is dear, and more digits are noise.
MANY_VALUES = 1e5
#: Values below which a run has settled that rises as slowly as one of so many.
FEW_VALUES = 1e4

#: Squared length of loadings in noise units that is rounding.
NOTHING = 1e-12


@dataclass(frozen=True, kw_only=True)
class FactorFit:
    """A fitted sparse factor model, components by decreasing strength.

    Attributes
    ----------
    model : FactorModel
        Loadings, zero outside the support, and noise; no component at all where noise alone
        has the highest bound.
    predictive : FactorModel
        What the posterior says of new samples, before zeros are set: the mean of the models with
        the highest evidence and with more components.
    location : ndarray of shape (n_features,)
        Mean relative to the column means; zero where no value is missing.
    inclusion : ndarray of shape (n_features, n_components) or None
        Probability that a loading is not zero; ``None`` for priors that cannot tell.
    loadings_std : ndarray of shape (n_features, n_components)
        Posterior standard deviations, zero outside the support.
    lower_bound : float
        Bound on the log evidence of the search; with the point-normal prior comparable between
        numbers of components.
    sizes : structured ndarray
        ``n_components`` and the best point-normal ``lower_bound`` found with them.
    bounds, refit_bounds : ndarray
        Bound after every round of the last run of the search, and of the refit; never fall.
    hyperparameters : dict
        Those of the prior in noise units, ``noise_shape``, ``noise_scale``; of pooled noise ``noise_apart``.
    n_iter : int
        Rounds of the whole search.
    stop : Stop
        Why the last run of the search ended.
    most : int
        How many components the data can have.
    hidden : int
        Components of the search none of whose loadings are kept.
    """

    model: FactorModel
    predictive: FactorModel
    location: Array
    inclusion: Array | None
    loadings_std: Array
    lower_bound: float
    sizes: Array
    bounds: Array
    refit_bounds: Array
    hyperparameters: dict[str, Any]
    n_iter: int
    stop: Stop
    most: int
    hidden: int = 0


@dataclass(frozen=True, kw_only=True)
class SparseFactors:
    """Solver for sparse loadings with noise per feature.

    Attributes
    ----------
    prior : {"point_normal", "inverse_gaussian", "laplace", "jeffreys"}
        Law of the loadings. The number of components is always found with the first, whose
        bounds compare; the others start from its loadings.
    noise : {"pooled", "shared", "free"}
        Noise variances drawn from one learned law, all the same, or each on its own.
    hyperparameters : mapping of str to float or None
        Hyperparameters of a scale mixture to keep fixed, in noise units.
    inclusion_threshold : float
        Loadings are kept where they are not zero with more than this probability.
    zero_threshold : float
        Loadings of a scale mixture are kept beyond this many standard deviations.
    refit : bool
        Whether to update loadings and noise once more with the others held at zero.
    max_iter : int
        Rounds of one run at most.
    tol : float
        Rise of the bound in a round, per observed value, at which a run has settled.
    """

    prior: str = "point_normal"
    noise: str = "pooled"
    hyperparameters: Mapping[str, float] | None = None
    inclusion_threshold: float = 0.9
    zero_threshold: float = 3.0
    refit: bool = True
    max_iter: int = 1000
    tol: float = 1e-7

    def __call__(
        self,
        data: Covariance | IncompleteObservations,
        n_components: int | Collection[int] | None = None,
        on_round: OnRound | None = None,
        held_out: int | None = None,
    ) -> FactorFit:
        """Fit a number of components, the best of several numbers, or (``None``) any.

        ``held_out`` is the number that rows left out have chosen, unless noise alone is better.
        """
        samples = samples_of(data)
        counter = Counter(on_round)
        growth = self.growth()
        if held_out is not None:
            found = search_held_out(growth, samples, held_out, counter)
        elif n_components is None:
            found = search_any(growth, samples, counter)
        else:
            wanted = {n_components} if isinstance(n_components, int) else set(n_components)
            found = search_sizes(growth, samples, wanted, counter)
        return self.finished(samples, found, counter)

    def growth(self) -> Growth:
        """The search for numbers of components."""
        return Growth(self.noise, Rounds(min(self.max_iter, SEARCH_ROUNDS), self.tol))

    def finished(self, samples: Samples, found: Found, counter: Counter) -> FactorFit:
        """Prior, support, refit and description of the model that was chosen."""
        # Where values are missing the bound creeps in digits that nobody reads.
        coarse = samples.counts.sum() > MANY_VALUES or isinstance(samples, IncompleteSamples)
        rounds = Rounds(self.max_iter, (1.0 if coarse else SETTLED) * self.tol)
        begun = self.growth().turned(samples, found.state, counter)
        state, bounds, stop = rounds(samples, begun, counter)
        sizes = replace(found, states={**found.states, state.n_components: state}).table
        if self.prior != POINT_NORMAL and state.n_components:
            given = dict(self.hyperparameters or {})
            law = ScaleMixture.start(self.prior, state.law.mean, state.noise.precision, given)
            state, bounds, stop = rounds(samples, with_law(state, law), counter)
            predictors: tuple[State, ...] = (state,)
        else:
            predictors = self._predictors(samples, found, state, rounds, counter)
        inclusion = inclusion_probabilities(samples, state) if _tells_zeros(state.law) else None
        support = self._support(state, inclusion)
        kept = support.any(axis=1)
        last = with_law(state, state.law.restricted(kept))
        refit_bounds = np.empty(0)
        if self.refit and kept.any():
            fixed = with_law(state, last.law.on_support(support[None, kept]))
            last, refit_bounds, _ = rounds(samples, fixed, counter)
        mean = last.law.mean[0] * support[kept]
        strength = np.square(mean) @ last.noise.precision[0]
        order = np.argsort(-strength, kind="stable")
        # The noise of a single feature may take over its component in the last rounds.
        order = order[strength[order] > NOTHING]
        std = np.sqrt(last.law.variances(last.noise)[0]) * support[kept]
        return FactorFit(
            model=FactorModel(mean[order].T, _described_noise(self.noise, last.noise.precision[0])),
            predictive=averaged([predictive_model(samples, one) for one in predictors]),
            location=np.mean([one.location[0] for one in predictors], axis=0),
            inclusion=None if inclusion is None else inclusion[kept][order].T,
            loadings_std=std[order].T,
            lower_bound=float(state.bound[0]),
            sizes=sizes,
            bounds=bounds,
            refit_bounds=refit_bounds,
            hyperparameters=_hyperparameters(state, np.flatnonzero(kept)[order]),
            n_iter=counter.n_rounds,
            stop=self._judged(samples, bounds, stop),
            most=most_components(samples),
            hidden=int(np.count_nonzero(~kept)),
        )

    def _predictors(
        self, samples: Samples, found: Found, state: State, rounds: Rounds, counter: Counter
    ) -> tuple[State, ...]:
        """The models that new samples go by, settled as well as the chosen ``state`` is."""
        return tuple(
            state if one.n_components == state.n_components else rounds(samples, one, counter)[0]
            for one in found.predictors or (state,)
        )

    def _judged(self, samples: Samples, bounds: Array, stop: Stop) -> Stop:
        """``stop``, where the digits beyond ``tol`` that settling asks for do not count."""
        rises = np.diff(bounds[-POOL_EVERY - 1 :])
        level = self.tol * max(float(samples.counts.sum()), FEW_VALUES)
        settled = stop is Stop.MAX_ITER and rises.size == POOL_EVERY and rises.max() <= level
        return Stop.CONVERGED if settled else stop

    def _support(self, state: State, inclusion: Array | None) -> Array:
        """Loadings that are kept, shape (q, d)."""
        if inclusion is not None:
            return np.asarray(inclusion > self.inclusion_threshold)
        std = np.sqrt(state.law.variances(state.noise)[0])
        return np.asarray(np.abs(state.law.mean[0]) > self.zero_threshold * std)


def _tells_zeros(law: Any) -> bool:
    return isinstance(law, PointNormal)


def _hyperparameters(state: State, order: Array) -> dict[str, Any]:
    law, noise = state.law, state.noise
    if isinstance(law, PointNormal):
        own: dict[str, Any] = {"share": law.share[0, order], "scale": law.scale[0, order]}
    else:
        own = dict(vars(law.prior))
    shape, scale = float(noise.shape[0]), float(noise.scale[0])
    own |= {"noise_shape": shape, "noise_scale": scale}
    return own | (
        {"noise_apart": float(noise.chance_apart[0, 0])} if noise.kind == "pooled" else {}
    )


def _described_noise(kind: str, precision: Array) -> float | Array:
    return float(1.0 / precision[0]) if kind == "shared" else 1.0 / precision
