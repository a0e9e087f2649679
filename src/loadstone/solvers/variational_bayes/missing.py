"""Posterior of scores and mean given the loadings, when values are missing.

Notation: as in ``latent``; ``O_n`` are the features observed in sample n, ``O_i`` the samples
in which feature i was observed. Every sample has its own ``Sigma_xn = (I + tau sum_{i in O_n}
<w_i w_i'>)^-1`` and every feature its own ``S_i = sum_{n in O_i} <x_n x_n'>``: two products of
the mask with packed symmetric matrices. With nothing missing this equals ``latent``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from loadstone.covariance.protocol import Array
from loadstone.solvers.variational_bayes.gaussian_rows import GaussianRows, gaussian_rows, unpack
from loadstone.solvers.variational_bayes.latent import Latent


@dataclass(frozen=True)
class IncompleteObservations:
    """Samples with holes.

    Attributes
    ----------
    values : ndarray of shape (n_samples, n_features)
        Centred by the observed means, in units of ``unit``; zero where missing.
    observed : ndarray of shape (n_samples, n_features)
        One where observed, zero where missing (floating point, it enters products).
    weights : ndarray of shape (n_samples,)
        Sample weights, counted like repetitions.
    unit : float
        Root mean observed feature variance.
    """

    values: Array
    observed: Array
    weights: Array
    unit: float
    needs_moments = True

    @property
    def n_samples(self) -> float:
        """Sum of the sample weights."""
        return float(self.weights.sum())

    @property
    def n_features(self) -> int:
        """Number of features."""
        return int(self.values.shape[1])

    @property
    def counts(self) -> Array:
        """How often every feature was observed."""
        return self.weights @ self.observed

    @property
    def rounding_slack(self) -> float:
        """All products are in double precision."""
        return 1.0

    @property
    def lost_square(self) -> float:
        """What double precision loses of the sum of all squares, ``n_values`` in these units."""
        return float(np.finfo(np.float64).eps * self.counts.sum())

    def latent(
        self, loadings: GaussianRows, noise_precision: float, location: Array, beta: float
    ) -> Latent:
        """Scores sample by sample, then the mean, then the sums over samples."""
        W = loadings.mean
        counts = self.counts
        scores = self.scores(loadings, noise_precision, location)
        weighted = self.weights[:, None] * scores.mean
        location_variance = 1.0 / (beta + counts * noise_precision)
        # Values are centred by the observed means, so their own weighted sums vanish.
        fitted = ((self.observed.T @ weighted) * W).sum(axis=1)
        location = -noise_precision * location_variance * fitted
        residual = self.values - self.observed * location
        assert scores.moments is not None
        second = (scores.moments * self.weights) @ self.observed
        return Latent(
            cross=residual.T @ weighted,
            second=second,
            total=unpack(scores.moments @ self.weights),
            log_determinant=float(self.weights @ scores.log_determinants),
            centred_square=float(self.weights @ (residual * residual).sum(axis=1)),
            location=location,
            location_variance=location_variance,
        )

    def scores(
        self, loadings: GaussianRows, noise_precision: float, location: Array
    ) -> GaussianRows:
        """Posterior of every sample's scores from its observed features."""
        assert loadings.moments is not None
        W = loadings.mean
        residual = self.values - self.observed * location
        return gaussian_rows(
            loadings.moments @ self.observed.T,
            np.ones((self.values.shape[0], W.shape[1])),
            residual @ W,
            noise_precision,
            keep_moments=True,
        )


def incomplete_observations(
    values: Array, weights: Array, scale: Array | None = None
) -> tuple[IncompleteObservations, Array]:
    """Observations behind rows with NaN, and the column means they were centred by.

    Columns are divided by ``scale`` first where it is given.
    """
    known = np.isfinite(values)
    observed = known.astype(np.float64)
    filled = np.where(known, values, 0.0).astype(np.float64)
    counts = weights @ observed
    means = (weights @ filled) / counts
    centred = (filled - means) * observed
    # A second pass removes what rounding of large means left over.
    shift = (weights @ centred) / counts
    means = means + shift
    centred -= observed * shift
    if scale is not None:
        centred /= scale
    variances = (weights @ centred**2) / np.maximum(counts - 1.0, 1.0)
    mean_variance = float(variances.mean())
    if not (np.isfinite(mean_variance) and mean_variance > 0):
        msg = (
            f"The mean variance of the observed values is {mean_variance}; it must be positive "
            "and finite. All features are constant, or the data overflows."
        )
        raise ValueError(msg)
    unit = float(np.sqrt(mean_variance))
    return IncompleteObservations(centred / unit, observed, weights, unit), means
