"""Probabilistic PCA by expectation maximisation, with or without missing values.

Notation: ``W`` (n_features, n_components), ``sigma^2`` and ``M = W'W + sigma^2 I`` as in
Eqs. 5-9 of Sigg & Buhmann 2008. Complete data enters through ``S @ W``; the covariance has
divisor n_samples - 1, as everywhere in the package, so that the model equals the one
scikit-learn reads off its principal components.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from loadstone.covariance.protocol import Array, Covariance
from loadstone.loadings import Stop
from loadstone.solvers.factor_model import FactorModel
from loadstone.solvers.variational_bayes.gaussian_rows import unpack
from loadstone.solvers.variational_bayes.missing import IncompleteObservations

#: Told of every iteration and its log-likelihood; returns whether to stop.
OnIteration = Callable[[int, float], bool]


@dataclass(frozen=True)
class Fit:
    """A fitted factor model, its mean relative to the column means, and the search behind it."""

    model: FactorModel
    location: Array
    log_likelihoods: Array
    n_iter: int
    stop: Stop


@dataclass(frozen=True)
class ProbabilisticEM:
    """EM for probabilistic PCA.

    Attributes
    ----------
    max_iter : int
        Most iterations.
    tol : float
        Rise of the log-likelihood, relative to its size, at which to stop.
    """

    max_iter: int = 1000
    tol: float = 1e-10

    def __call__(
        self,
        S: Covariance,
        start: FactorModel,
        on_iteration: OnIteration | None = None,
    ) -> Fit:
        """Fit complete data from their covariance."""
        trace = float(np.asarray(S.diagonal(), dtype=np.float64).sum())

        return self._iterate(
            lambda model, location: _complete_round(S, model, trace, location),
            start,
            np.zeros(S.n_features),
            on_iteration,
        )

    def fit_incomplete(
        self,
        observations: IncompleteObservations,
        start: FactorModel,
        on_iteration: OnIteration | None = None,
    ) -> Fit:
        """Fit samples with missing values."""
        fit = self._iterate(
            lambda model, location: _incomplete_round(observations, model, location),
            start,
            np.zeros(observations.n_features),
            on_iteration,
        )
        n = observations.n_samples
        # Maximum likelihood divides by n; the package by n - 1.
        model = FactorModel(
            fit.model.loadings * np.sqrt(n / (n - 1.0)), fit.model.noise_variance * n / (n - 1.0)
        )
        return Fit(model, fit.location, fit.log_likelihoods, fit.n_iter, fit.stop)

    def _iterate(
        self,
        one_round: Callable[[FactorModel, Array], tuple[FactorModel, Array, float]],
        model: FactorModel,
        location: Array,
        on_iteration: OnIteration | None,
    ) -> Fit:
        values: list[float] = []
        for n_iter in range(1, self.max_iter + 1):
            # Turning the scores changes nothing but rounding: on the principal axes directions of
            # little variance do not drown in those of much.
            turned = FactorModel(principal_axes(model.loadings), model.noise_variance)
            updated, moved, value = one_round(turned, location)
            values.append(value)
            model, location = updated, moved
            if on_iteration is not None and on_iteration(n_iter, value):
                return Fit(model, location, np.array(values), n_iter, Stop.CALLBACK)
            if n_iter > 1 and values[-1] - values[-2] <= self.tol * abs(values[-1]):
                return Fit(model, location, np.array(values), n_iter, Stop.CONVERGED)
        return Fit(model, location, np.array(values), self.max_iter, Stop.MAX_ITER)


def _complete_round(
    S: Covariance, model: FactorModel, trace: float, location: Array
) -> tuple[FactorModel, Array, float]:
    """One EM step on complete data (Eqs. 5-9), and the log-likelihood before it."""
    W, noise = model.loadings, model.noise_variance
    d, q = W.shape
    SW = np.asarray(S @ W.astype(S.dtype), dtype=np.float64)
    inner = W.T @ W + noise * np.eye(q)
    projected = np.linalg.solve(inner, W.T @ SW)
    log_det = (d - q) * np.log(noise) + np.linalg.slogdet(inner)[1]
    distance = (trace - np.trace(projected)) / noise
    value = -0.5 * S.n_samples * (d * np.log(2.0 * np.pi) + log_det + distance)
    updated = np.linalg.solve((noise * np.eye(q) + projected).T, SW.T).T
    left = trace - np.trace(np.linalg.solve(inner, updated.T @ SW))
    # All variance explained: the likelihood grows without bound as the noise vanishes.
    new_noise = max(left / d, 1e-12 * trace / d)
    return FactorModel(updated, float(new_noise)), location, float(value)


def _incomplete_round(
    observations: IncompleteObservations, model: FactorModel, location: Array
) -> tuple[FactorModel, Array, float]:
    """One EM step on samples with holes; loadings and mean of a feature are solved jointly."""
    weights, observed = observations.weights, observations.observed
    residual = observations.values - observed * location
    scores = model.observed_scores(residual, observed)
    value = float(weights @ model.observed_log_likelihood(residual, observed, scores))
    assert scores.moments is not None
    q = model.loadings.shape[1]
    counts = observations.counts
    weighted = weights[:, None] * scores.mean
    normal = np.empty((observations.n_features, q + 1, q + 1))
    normal[:, :q, :q] = unpack((scores.moments * weights) @ observed)
    normal[:, :q, q] = normal[:, q, :q] = observed.T @ weighted
    normal[:, q, q] = counts
    right = np.empty((observations.n_features, q + 1))
    right[:, :q] = observations.values.T @ weighted
    right[:, q] = weights @ observations.values
    solution = np.linalg.solve(normal, right[:, :, None])[:, :, 0]
    square = float(weights @ (observations.values**2).sum(axis=1))
    # At the solution the expected squared error is what the regression leaves unexplained.
    error = square - float((solution * right).sum())
    total = float(counts.sum())
    noise = max(error, 1e-12 * square) / total
    return FactorModel(solution[:, :q], noise), solution[:, q], value


def principal_axes(loadings: Array) -> Array:
    """Rotate the columns of ``W`` to the principal axes of the model, largest first."""
    axes, lengths, _ = np.linalg.svd(loadings, full_matrices=False)
    result: Array = axes * lengths
    return result
