"""Centring and scaling of a strip of columns that holds all rows: nothing need be sent to it.

Notation: ``Z = diag(sqrt(weights)) (X - mean) / scale / sqrt(n - 1)``, so that ``S = Z'Z``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from loadstone.covariance.containers import PIECE_BYTES
from loadstone.covariance.moments import constant_features
from loadstone.covariance.protocol import Array


@dataclass(frozen=True)
class Centring:
    """How columns become columns of ``Z``; the same on every worker.

    Attributes
    ----------
    n_samples : float
        Sum of the sample weights.
    weights : ndarray of shape (n_rows,) or None
        How many samples each row stands for.
    standardize : bool
        Whether columns are scaled to unit variance.
    """

    n_samples: float
    weights: Array | None
    standardize: bool

    def moments(self, strip: Array) -> tuple[Array, Array]:
        """Mean and variance of each column, in double precision."""
        parts = [self._moments(strip[:, piece]) for piece in column_pieces(strip)]
        mean, variance = zip(*parts, strict=True)
        return np.concatenate(mean), np.concatenate(variance)

    def _moments(self, strip: Array) -> tuple[Array, Array]:
        # What overflows is infinite, and refused with a sentence afterwards.
        with np.errstate(over="ignore", invalid="ignore"):
            mean = self._sums(strip) / self.n_samples
            centred = strip - mean.astype(strip.dtype)
            # The mean is rounded to the precision of the data; what that leaves is taken out.
            left = self._sums(centred) / self.n_samples
            squares = self._sums(np.square(centred)) - self.n_samples * left**2
        return mean, np.maximum(squares, 0.0) / (self.n_samples - 1.0)

    def _sums(self, strip: Array) -> Array:
        if self.weights is None:
            return np.asarray(strip.sum(axis=0, dtype=np.float64))
        return np.asarray(self.weights.astype(np.float64) @ strip)

    def covariances(self, strip: Array, Y: Array) -> Array:
        """``Z'Y`` for scores ``Y``, with copies of a few columns at a time."""
        parts = [self.columns(strip[:, piece]).T @ Y for piece in column_pieces(strip)]
        return np.concatenate(parts)

    def columns(self, strip: Array) -> Array:
        """The columns of ``Z``; zero for features that do not vary."""
        mean, variance = self.moments(strip)
        constant = constant_features(mean, variance, strip.dtype)
        unit = np.sqrt(variance) if self.standardize else np.ones_like(variance)
        factor = np.where(constant, 0.0, 1.0 / np.where(constant, 1.0, unit))
        factor /= np.sqrt(self.n_samples - 1.0)
        rounded = mean.astype(strip.dtype)
        Z: Array = strip - rounded
        left = mean - rounded
        if left.any():
            # Of a mean far from zero as much is lost to rounding as some features vary.
            Z -= left.astype(strip.dtype)
        Z *= factor.astype(strip.dtype)
        if self.weights is not None:
            Z *= np.sqrt(self.weights)[:, None].astype(strip.dtype)
        return Z


def column_pieces(strip: Array) -> list[slice]:
    """Slices of columns whose copies stay below :data:`PIECE_BYTES`; one where there is none."""
    n_rows, n_columns = strip.shape
    step = max(1, PIECE_BYTES // max(1, n_rows * strip.itemsize))
    return [slice(i, min(i + step, n_columns)) for i in range(0, max(1, n_columns), step)]


def as_weights(sample_weight: Any, dtype: np.dtype[Any]) -> Array | None:
    """Weights in the precision of the data."""
    return None if sample_weight is None else np.asarray(sample_weight).astype(dtype, copy=False)
