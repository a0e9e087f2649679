"""Posterior of the scores given loadings and noise, for several models at once.

Notation: ``t_n = m + W x_n + e_n``, ``x_n ~ N(0, I_q)``, ``tau_i`` the noise precision of feature
i; ``Sigma_x = (I + sum_i <tau_i w_i w_i'>)^-1``, ``c = T'X``, ``S = sum_n <x_n x_n'>``. Models that
are searched side by side are stacked along the first axis; loadings are ``(models, q, d)``, so
that the numbers of one component lie together. Complete samples enter through ``T'T H`` alone,
``H = tau W Sigma_x``, since ``X = T H``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from loadstone.covariance.containers import InMemoryRows
from loadstone.covariance.explicit import ExplicitCovariance
from loadstone.covariance.from_data import DataCovariance
from loadstone.covariance.protocol import Array, Covariance
from loadstone.solvers.variational_bayes.gaussian_rows import inverted, pack, triangle, unpack
from loadstone.solvers.variational_bayes.latent import Counted
from loadstone.solvers.variational_bayes.missing import IncompleteObservations

#: Largest centred copy of dense rows that is kept for a search, in bytes.
MAX_COPY_BYTES = 256 << 20


@dataclass(frozen=True)
class Scores:
    """Sufficient statistics of the scores for everything that follows them.

    Attributes
    ----------
    cross : ndarray of shape (models, q, d)
        ``c_i = sum_n x_n (t_ni - m_i)`` over the samples where feature i was observed.
    second : ndarray of shape (models, q, q, 1) or (models, q, q, d)
        ``S_i``, the sum of ``<x_n x_n'>`` over the same samples; one where all are the same.
    total : ndarray of shape (models, q, q)
        The sum of ``<x_n x_n'>`` over all samples.
    log_determinant : ndarray of shape (models,)
        Sum of ``ln|Sigma_xn|``.
    square : ndarray of shape (models, d) or (1, d)
        ``sum_n (t_ni - m_i)^2`` over observed values.
    location : ndarray of shape (models, d)
        ``m`` relative to the column means.
    explained : ndarray of shape (models,)
        ``sum_n x_n' Sigma_xn^-1 x_n``, at the location before its update.
    """

    cross: Array
    second: Array
    total: Array
    log_determinant: Array
    square: Array
    location: Array
    explained: Array

    def rescaled(self, factors: Array, n_samples: float) -> Scores:
        """Scores divided by ``factors`` (models, q)."""
        outer = factors[:, :, None] * factors[:, None, :]
        return replace(
            self,
            cross=self.cross / factors[:, :, None],
            second=self.second / outer[..., None],
            total=self.total / outer,
            log_determinant=self.log_determinant - 2.0 * n_samples * np.log(factors).sum(axis=1),
        )

    def products(self, W: Array) -> Array:
        """``S_i w_i`` of every feature, shape (models, q, d)."""
        if self.second.shape[-1] == 1:
            return self.second[..., 0] @ W
        result: Array = np.einsum("bjkd,bkd->bjd", self.second, W)
        return result

    def products_of(self, W: Array, j: int) -> Array:
        """Entry ``j`` of ``S_i w_i``, shape (models, d)."""
        if self.second.shape[-1] == 1:
            return (self.second[:, j, None, :, 0] @ W)[:, 0]
        result: Array = np.einsum("bkd,bkd->bd", self.second[:, j], W)
        return result


class Samples(Counted, Protocol):
    """Samples as the models see them: complete (a covariance) or with holes (rows)."""

    per_feature: bool

    @property
    def rows(self) -> Array | None:
        """``T`` where it is at hand and has fewer rows than columns; holes count as the mean."""
        ...

    @property
    def variance(self) -> Array:
        """Mean squared distance of every feature from its mean, divisor the count."""
        ...

    @property
    def pair_counts(self) -> Array | float:
        """How often two features were observed together."""
        ...

    def scores(self, mean: Array, moments: Array, tau: Array, location: Array) -> Scores:
        """Update scores and location.

        ``moments`` is ``sum_i <tau_i w_i w_i'>``, shape (models, q, q), or where samples ask for
        it ``per_feature`` the packed terms of the sum, shape (models, pairs, d).
        """
        ...

    def products(self, W: Array) -> Array:
        """``T'T W'`` as rows for rows ``W`` (k, d); holes count as the mean."""
        ...

    def squares(self, location: Array) -> Array:
        """``sum_n (t_ni - m_i)^2`` over observed values, for a location (d,)."""
        ...


@dataclass(frozen=True, kw_only=True)
class CompleteSamples:
    """Samples without holes: their scatter ``T'T``, or the rows themselves where ``d > N``."""

    covariance: Covariance
    n_samples: float
    n_features: int
    counts: Array
    variance: Array
    square: Array
    matrix: Array | None
    rows: Array | None
    per_feature = False

    @property
    def pair_counts(self) -> float:
        """All features are observed together."""
        return self.n_samples

    def squares(self, location: Array) -> Array:
        """``sum_n (t_ni - m_i)^2``; the samples are centred."""
        return self.square + self.n_samples * np.square(location)

    def products(self, W: Array) -> Array:
        """``T'T W'`` as rows for rows ``W`` (k, d)."""
        if self.matrix is not None:
            return W @ self.matrix
        if self.rows is not None:
            return (W @ self.rows.T) @ self.rows
        product = self.covariance @ W.T.astype(self.covariance.dtype)
        return np.asarray(product.T, dtype=np.float64) * (self.n_samples - 1.0)

    def scores(self, mean: Array, moments: Array, tau: Array, location: Array) -> Scores:
        """Scores from one product with the scatter; centred samples leave the mean at 0."""
        models, q, d = mean.shape
        root, sigma = inverted(moments + np.eye(q))
        H = sigma @ (mean * tau[:, None])
        cross = self.products(H.reshape(-1, d)).reshape(models, q, d)
        scatter = H @ cross.swapaxes(1, 2)
        total = self.n_samples * sigma + 0.5 * (scatter + scatter.swapaxes(1, 2))
        log_root = np.log(np.diagonal(root, axis1=1, axis2=2)).sum(axis=1)
        return Scores(
            cross=cross,
            second=total[..., None],
            total=total,
            log_determinant=-2.0 * self.n_samples * log_root,
            square=self.square[None],
            location=location,
            explained=(cross * mean * tau[:, None]).sum(axis=(1, 2)),
        )


@dataclass(frozen=True, kw_only=True)
class IncompleteSamples:
    """Samples with holes: values relative to the observed means, zero where missing.

    The covariance of a sample's scores depends on what was observed alone, so that it is computed
    once for each of the distinct ``patterns``; ``pattern`` says which one a sample has.
    """

    values: Array
    observed: Array
    weights: Array
    patterns: Array
    pattern: Array
    n_samples: float
    n_features: int
    counts: Array
    variance: Array
    per_feature = True

    @property
    def rows(self) -> Array | None:
        """The values, where there are fewer samples than features."""
        n, d = self.values.shape
        return np.sqrt(self.weights)[:, None] * self.values if n < d else None

    @property
    def pair_counts(self) -> Array:
        """How often two features were observed together."""
        return (self.weights[:, None] * self.observed).T @ self.observed

    def squares(self, location: Array) -> Array:
        """``sum_n (t_ni - m_i)^2`` over observed values."""
        result: Array = self.weights @ np.square(self.values - self.observed * location)
        return result

    def products(self, W: Array) -> Array:
        """``T'T W'`` as rows for rows ``W`` (k, d); holes count as the mean."""
        return ((W @ self.values.T) * self.weights) @ self.values

    def scores(self, mean: Array, moments: Array, tau: Array, location: Array) -> Scores:
        """Scores sample by sample, then the location, then the sums over samples."""
        parts = [
            self._scores(*one)
            for one in zip(mean, moments, mean * tau[:, None], location, strict=True)
        ]
        return Scores(*(np.stack(column) for column in zip(*parts, strict=True)))

    def _scores(
        self, mean: Array, moments: Array, weighted: Array, location: Array
    ) -> tuple[Array, ...]:
        q = mean.shape[0]
        system = unpack(moments @ self.patterns.T) + np.eye(q)
        root, sigma = inverted(system)
        projected = (self.values - self.observed * location) @ weighted.T
        X = (sigma[self.pattern] @ projected[:, :, None])[:, :, 0]
        weighted_X = self.weights[:, None] * X
        rows, cols = triangle(q)
        products = X.T[rows] * weighted_X.T[cols]
        alike = np.bincount(self.pattern, self.weights)
        spread = pack(sigma) * alike
        # The mean has a flat prior: what the scores do not explain has mean zero.
        explained = ((self.observed.T @ weighted_X) * mean.T).sum(axis=1)
        location = (self.weights @ self.values - explained) / self.counts
        residual = self.values - self.observed * location
        second = unpack(products @ self.observed + spread @ self.patterns)
        log_root = np.log(np.diagonal(root, axis1=1, axis2=2)).sum(axis=1)
        return (
            (residual.T @ weighted_X).T,
            np.moveaxis(second, 0, -1),
            unpack(products.sum(axis=1) + spread.sum(axis=1)),
            np.asarray(-2.0 * alike @ log_root),
            self.weights @ np.square(residual),
            location,
            np.asarray((projected * weighted_X).sum()),
        )


def known_moments(mean: Array, precision: Array, *, per_feature: bool) -> Array:
    """``tau_i w_i w_i'`` of loadings known without doubt: their sum, or packed one by one."""
    weighted = mean * precision[:, None]
    if not per_feature:
        return weighted @ mean.swapaxes(1, 2)
    return np.moveaxis(pack(np.einsum("bjd,bkd->bdjk", weighted, mean)), 0, 1)


def samples_of(data: Covariance | IncompleteObservations) -> CompleteSamples | IncompleteSamples:
    """Samples behind a covariance, or rows with holes, both in the units they come in."""
    if isinstance(data, IncompleteObservations):
        return _with_holes(data)
    n = data.n_samples
    if not n > 1:
        msg = (
            f"The covariance stands for n_samples={n} samples; a noise model weighs data against "
            "priors and needs at least 2. Give the number of samples with the matrix, or fit on "
            "the data."
        )
        raise ValueError(msg)
    square = np.asarray(data.diagonal(), dtype=np.float64) * (n - 1.0)
    if not (np.isfinite(square).all() and (square > 0).all()):
        worst = int(np.argmin(np.where(np.isfinite(square), square, -np.inf)))
        msg = (
            f"Feature {worst} has variance {square[worst] / (n - 1.0):g}; every feature must vary, "
            "and its variance be finite. Drop constant features first."
        )
        raise ValueError(msg)
    matrix = rows = None
    if isinstance(data, ExplicitCovariance):
        matrix = np.asarray(data.matrix, dtype=np.float64) * (n - 1.0)
        if data.dtype == np.float32:
            # Rounding of its entries may leave a singular matrix directions of negative variance.
            rounding = float(np.finfo(np.float32).eps * np.linalg.norm(matrix))
            matrix[np.diag_indices_from(matrix)] += rounding
            square = square + rounding
    elif _is_small_and_dense(data):
        assert isinstance(data, DataCovariance)
        rows = data.centred_columns(np.arange(data.n_features)).astype(np.float64)
        if data.n_features <= rows.shape[0]:
            matrix, rows = rows.T @ rows, None
    return CompleteSamples(
        covariance=data,
        n_samples=float(n),
        n_features=data.n_features,
        counts=np.full(data.n_features, float(n)),
        variance=square / n,
        square=square,
        matrix=matrix,
        rows=rows,
    )


def _with_holes(data: IncompleteObservations) -> IncompleteSamples:
    values, counts = data.values * data.unit, data.counts
    patterns, pattern = np.unique(data.observed, axis=0, return_inverse=True)
    return IncompleteSamples(
        values=values,
        observed=data.observed,
        weights=data.weights,
        patterns=patterns,
        pattern=pattern.reshape(-1),
        n_samples=data.n_samples,
        n_features=data.n_features,
        counts=counts,
        variance=(data.weights @ np.square(values)) / counts,
    )


def _is_small_and_dense(data: Covariance) -> bool:
    if not isinstance(data, DataCovariance) or data.rows.is_sparse:
        return False
    n_rows, n_features = data.rows.shape
    return isinstance(data.rows, InMemoryRows) and 8 * n_rows * n_features <= MAX_COPY_BYTES
