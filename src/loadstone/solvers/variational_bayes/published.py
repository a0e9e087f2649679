"""The search of Guan & Dy (2009): all components at the start, those not needed dropped."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from loadstone.covariance import Array, Covariance, leading_eigenpairs
from loadstone.solvers.factor_models.sizes import ANY, ordered_size
from loadstone.solvers.fitted_model import FittedModel
from loadstone.solvers.variational_bayes.description import (
    ALL_NEEDED,
    MOST_COMPONENTS,
    check_n_components,
    check_rank,
    described,
    noise_alone,
)
from loadstone.solvers.variational_bayes.hyperparameters import check_hyperparameters
from loadstone.solvers.variational_bayes.latent import Observations, complete_observations
from loadstone.solvers.variational_bayes.missing import IncompleteObservations
from loadstone.solvers.variational_bayes.model import OnIteration, Posterior, VariationalBayes
from loadstone.solvers.variational_bayes.start import probabilistic_start
from loadstone.solvers.varimax import varimax


@dataclass(frozen=True, kw_only=True)
class PublishedSearch:
    """One noise variance, a scale-mixture prior, and a zero rule at the end.

    Attributes
    ----------
    prior, hyperparameters, rotation_steps, max_iter, tol
        See `VariationalBayes`.
    init : {"varimax", "pca"}
        Principal components at the start, turned or not.
    zero_threshold : float
        Standard deviations a loading has to exceed.
    component_threshold : "auto" or float
        Noise variances the squared length of a component has to exceed.
    refit : bool
        Whether to fit again on the supports.
    n_init : int
        Starts; from the second on they are turned at random.
    """

    prior: str = "inverse_gaussian"
    hyperparameters: Mapping[str, float] | None = None
    init: str = "varimax"
    rotation_steps: bool = True
    zero_threshold: float = 3.0
    component_threshold: str | float = "auto"
    refit: bool = True
    max_iter: int = 500
    tol: float = 1e-6
    n_init: int = 1

    def __call__(
        self,
        S: Covariance,
        holes: IncompleteObservations | None,
        n_components: Any,
        rng: np.random.Generator,
        on_iteration: OnIteration | None = None,
    ) -> FittedModel:
        """Search from ``n_components``; ``"auto"`` starts with as many as there may be."""
        start = _one_size(n_components)
        threshold = None if self.component_threshold == "auto" else float(self.component_threshold)
        given = check_hyperparameters(self.prior, self.hyperparameters)
        solver = VariationalBayes(self.prior, given, self.rotation_steps, self.max_iter, self.tol)
        observations: Observations = complete_observations(S) if holes is None else holes
        search = self._posterior(solver, observations, S, start, rng, on_iteration)
        selected, support = solver.select(
            observations, search, float(self.zero_threshold), threshold
        )
        if not support.any():
            return noise_alone(observations, S, search)
        many = start is None and support.any(axis=0).sum() >= MOST_COMPONENTS
        final = None
        if self.refit:
            final, support = solver.settle(observations, selected, support, threshold)
        told = (ALL_NEEDED,) if many else ()
        return described(observations, search, selected, support, final, told)

    def _posterior(
        self,
        solver: VariationalBayes,
        observations: Observations,
        S: Covariance,
        n_components: int | None,
        rng: np.random.Generator,
        on_iteration: OnIteration | None,
    ) -> Posterior:
        """The best of ``n_init`` searches."""
        q = check_n_components(n_components, S)
        values, vectors = leading_eigenpairs(S, q)
        q = check_rank(n_components, values, S)
        total = float(np.asarray(S.diagonal(), dtype=np.float64).sum()) / observations.unit**2
        values = np.asarray(values[:q], dtype=np.float64) / observations.unit**2
        W, noise = probabilistic_start(
            values, np.asarray(vectors[:, :q], dtype=np.float64), total, S.n_features
        )
        found = [
            solver(observations, self._start(W, trial, rng), noise, on_iteration)
            for trial in range(self.n_init)
        ]
        return max(found, key=lambda posterior: float(posterior.bounds[-1]))

    def _start(self, W: Array, trial: int, rng: np.random.Generator) -> Array:
        if trial > 0:
            q = W.shape[1]
            turned: Array = W @ np.linalg.qr(rng.normal(size=(q, q)))[0]
            return turned
        return varimax(W) if self.init == "varimax" else W


def _one_size(n_components: Any) -> int | None:
    """The number of components to start from; ``None`` where it is left open."""
    if isinstance(n_components, str) and n_components == ANY:
        return None
    size = ordered_size(n_components)
    if size is None:
        msg = (
            f"n_components={n_components!r}: the published model starts from one number and drops "
            "what is not needed; give a number or 'auto', or use prior='point_normal'"
        )
        raise ValueError(msg)
    return size
