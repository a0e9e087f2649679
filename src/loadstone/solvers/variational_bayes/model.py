"""Sparse probabilistic PCA by variational Bayes (Guan & Dy 2009), corrected and un-mixed.

Notation: ``t = W x + m + noise`` with ``x ~ N(0, I)``, ``w_ij ~ N(0, z_ij)`` and a prior on
``z_ij`` that makes loadings sparse. ``D = 1/<1/z>``.

The search runs in three parts: coordinate updates with rotation steps until the lower bound
settles; for priors with exact zeros, the same with loadings removed where that raises the
bound; and, after the zero rule, updates on the fixed support.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from loadstone.covariance.protocol import Array
from loadstone.loadings import Stop
from loadstone.solvers.variational_bayes.bound import BroadPriors
from loadstone.solvers.variational_bayes.gaussian_rows import point_rows
from loadstone.solvers.variational_bayes.latent import Observations
from loadstone.solvers.variational_bayes.priors import PRIORS, Prior, within_range
from loadstone.solvers.variational_bayes.state import State, rotated, start_state, update
from loadstone.solvers.variational_bayes.zeros import kept_loadings

#: Told of every round and its lower bound; returns whether to stop.
OnIteration = Callable[[int, float], bool]

#: Rounds after which the scores are rotated whatever the bound does.
ROTATION_SCHEDULE = frozenset({1, 3, 6, 10, 20, 40, 80})
#: Rounds between rotations after those; a rotation costs as much as several rounds.
ROTATION_GAP = 5
#: How far a search with another prior goes before one that would get stuck.
WARM_UP_ROUNDS = 100
WARM_UP_TOL = 1e-5
#: Largest squared loading, in noise variances, that counts as none.
VANISHED = 1e-12
#: Fall of the bound relative to its size that rounding explains.
ROUNDING = 1e-8


@dataclass(frozen=True)
class Posterior:
    """A finished search.

    Attributes
    ----------
    state : State
        Last round; in units of the observations.
    bounds : ndarray of shape (n_iter,)
        Lower bound after every round, in units of the data.
    n_iter : int
        Rounds.
    stop : Stop
        Why the search ended.
    """

    state: State
    bounds: Array
    n_iter: int
    stop: Stop


@dataclass(frozen=True)
class VariationalBayes:
    """Solver for loadings with a sparsity prior; see `priors` for the choices.

    Attributes
    ----------
    prior : {"inverse_gaussian", "laplace", "jeffreys"}
        Law of the variances of single loadings.
    hyperparameters : mapping of str to float
        Hyperparameters to keep fixed, in squared units of the data; others are learned.
    rotation_steps : bool
        Whether to maximise the bound over maps of the scores every few rounds.
    max_iter : int
        Rounds of the search, and again of the refit.
    tol : float
        Rise of the bound below which it has settled, relative to its size or the number of
        observed values, whichever is larger.
    broad : BroadPriors
        Priors of noise and mean.
    """

    prior: str = "inverse_gaussian"
    hyperparameters: Mapping[str, float] | None = None
    rotation_steps: bool = True
    max_iter: int = 500
    tol: float = 1e-6
    broad: BroadPriors = field(default_factory=BroadPriors)

    def __call__(
        self,
        observations: Observations,
        start: Array,
        noise_variance: float,
        on_iteration: OnIteration | None = None,
    ) -> Posterior:
        """Search from ``start`` (n_features, n_components), all in units of the observations."""
        warm_up = PRIORS[self.prior].warm_up
        if warm_up is not None:
            # A spike that is there from the first round on holds loadings where they start.
            first = replace(
                self,
                prior=warm_up,
                hyperparameters=None,
                max_iter=min(self.max_iter, WARM_UP_ROUNDS),
                tol=max(self.tol, WARM_UP_TOL),
            )
            state = first(observations, start, noise_variance).state
            if not _vanished(state):
                start, noise_variance = state.loadings.mean, 1.0 / state.noise_precision
        prior = self._start_prior(start, observations.unit)
        free = np.ones(start.shape, dtype=bool)
        state = start_state(observations, start, noise_variance, prior, free)
        return self._run(observations, state, refit=False, on_iteration=on_iteration)

    def refit(
        self,
        observations: Observations,
        posterior: Posterior,
        support: Array,
    ) -> Posterior:
        """Updates with all loadings outside ``support`` pinned to zero, from where a search ended.

        Components without support are dropped.
        """
        kept = support.any(axis=0)
        support = support[:, kept]
        W = np.where(support, posterior.state.loadings.mean[:, kept], 0.0)
        state = replace(
            posterior.state,
            loadings=point_rows(W, keep_moments=observations.needs_moments),
            prior_variance=np.where(support, posterior.state.prior_variance[:, kept], 0.0),
            bound=-np.inf,
        )
        return self._run(observations, state, refit=True, on_iteration=None)

    def select(
        self,
        observations: Observations,
        posterior: Posterior,
        zero_threshold: float,
        component_threshold: float | None,
    ) -> tuple[Posterior, Array]:
        """Support by the zero rule, judged in a model without the components that fall to it.

        Superfluous components fit noise, which makes the remaining noise, and with it the
        standard deviations of all loadings, look too small. They are dropped first, the rest
        is updated, and the rule is applied again until no component falls.

        Returns
        -------
        posterior : Posterior
            The last state before zeros are set, with components that stay only; the bounds
            are those of the search.
        support : ndarray of bool of shape (n_features, n_components)
            Which of its loadings stay.
        """
        while True:
            state = posterior.state
            support = kept_loadings(
                state.loadings,
                1.0 / state.noise_precision,
                observations.n_samples,
                zero_threshold,
                component_threshold,
            )
            kept = support.any(axis=0)
            if kept.all() or not kept.any():
                return posterior, support
            everything = (state.prior_variance > 0) & kept
            # The hyperparameters say how sparse loadings are, and were learned from all of them.
            keep = replace(self, hyperparameters=_in_data_units(state.prior, observations.unit))
            smaller = keep.refit(observations, posterior, everything)
            posterior = replace(posterior, state=smaller.state)

    def settle(
        self,
        observations: Observations,
        posterior: Posterior,
        support: Array,
        component_threshold: float | None,
    ) -> tuple[Posterior, Array]:
        """Refit on ``support`` until every component still stands out of the noise.

        Returns the refit and the support of the components that stayed, all of the given
        components' columns; the strongest stays whatever the rule says.
        """
        while True:
            refit = self.refit(observations, posterior, support)
            loadings = refit.state.loadings
            noise = 1.0 / refit.state.noise_precision
            n = observations.n_samples
            standing = kept_loadings(loadings, noise, n, 0.0, component_threshold)
            stays = np.asarray(standing.any(axis=0))
            stays[np.argmax((loadings.mean**2).sum(axis=0))] = True
            if stays.all():
                return refit, support
            columns = np.flatnonzero(support.any(axis=0))
            support = support.copy()
            support[:, columns[~stays]] = False

    def _start_prior(self, start: Array, unit: float) -> Prior:
        prior: Any = PRIORS[self.prior].start(start * start)
        given = {
            name: within_range(value / unit / unit)
            for name, value in (self.hyperparameters or {}).items()
        }
        fixed: Prior = replace(prior, **given)
        return fixed

    def _run(
        self,
        observations: Observations,
        state: State,
        *,
        refit: bool,
        on_iteration: OnIteration | None,
    ) -> Posterior:
        fixed = frozenset(self.hyperparameters or {})
        # A bound may cross zero; its natural size is the number of values it explains.
        size = float(observations.counts.sum())
        offset = size * float(np.log(observations.unit))
        # Rotating would fill exact zeros again.
        rotate = self.rotation_steps and bool((state.prior_variance > 0).all())
        rotate = rotate and state.loadings.mean.shape[1] > 1
        to_prune = state.prior.exact_zeros and not refit
        prune = False
        last_rotation, gain = -ROTATION_GAP, 0.0
        bounds: list[float] = []
        for n_iter in range(1, self.max_iter + 1):
            before = state
            state = update(observations, before, fixed, self.broad, prune=prune)
            bounds.append(state.bound - offset)
            self._warn_of_fall(bounds, observations, before.noise_precision)
            if on_iteration is not None and on_iteration(n_iter, bounds[-1]):
                return Posterior(state, np.array(bounds), n_iter, Stop.CALLBACK)
            if _vanished(state):
                return Posterior(state, np.array(bounds), n_iter, Stop.NOISE_ALONE)
            level = self.tol * max(abs(state.bound), size)
            settled = state.bound - before.bound <= level
            if rotate and not prune and (settled or n_iter in ROTATION_SCHEDULE):
                if n_iter in ROTATION_SCHEDULE or n_iter - last_rotation >= ROTATION_GAP:
                    state, gain = rotated(observations, state, before.prior, fixed)
                    last_rotation = n_iter
                settled = settled and gain <= level
            if settled and to_prune and not prune:
                prune = True
            elif settled:
                return Posterior(state, np.array(bounds), n_iter, Stop.CONVERGED)
        return Posterior(state, np.array(bounds), self.max_iter, Stop.MAX_ITER)

    @staticmethod
    def _warn_of_fall(bounds: list[float], observations: Observations, precision: float) -> None:
        if len(bounds) < 2:
            return
        # Where hardly any noise is left, the error is the difference of two large sums.
        slack = ROUNDING * observations.rounding_slack * abs(bounds[-2])
        slack += 2 * precision * observations.lost_square
        if bounds[-1] < bounds[-2] - slack:
            msg = (
                f"The lower bound fell from {bounds[-2]:.10g} to {bounds[-1]:.10g} in iteration "
                f"{len(bounds)}; every update should raise it. Values of very different size "
                "exceed the precision: standardize the features or use float64."
            )
            warnings.warn(msg, RuntimeWarning, stacklevel=3)


def _vanished(state: State) -> bool:
    """Whether all loadings have gone to zero, from where none returns."""
    return float(np.max(state.loadings.mean**2)) * state.noise_precision < VANISHED


def _in_data_units(prior: Prior, unit: float) -> dict[str, float]:
    """Hyperparameters of a prior, all of them squared lengths, in units of the data."""
    return {name: value * unit**2 for name, value in vars(prior).items()}
