"""Noise precisions of the features: free, shared, or pooled between the two.

Notation: ``tau_i ~ Gamma(a0, b0)`` with posterior ``Gamma(c_i, e_i)``, ``c_i = a0 + n_i`` and
``e_i = b0 + E_i``, where ``n_i`` is half the number of values that speak of feature i and ``E_i``
half their expected squared error. Pooled noise learns ``a0, b0`` from all features: ``a0 -> inf``
is shared noise, ``a0 -> 0`` free noise. The floor ``ETA v_i`` keeps duplicates of a feature from
a noise of zero.

Features that were scaled to the same variance have no unit in which their noise could be alike:
their variances are closer to each other than variances of samples can be, which the law of the
pool takes for noise that is the same. Its shape is limited there.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import digamma, gammaln

from loadstone.covariance.protocol import Array

NOISES = ("pooled", "shared", "free")
#: Smallest noise as a share of the variance of its feature.
ETA = 1e-6
#: Shape of the prior where it is not learned.
SHAPE = 0.5
#: Learned shape from which on one feature can hardly leave the others.
HELD = 10.0
#: Range of the learned shape, and its end where features were scaled.
SHAPES = (0.05, 1e5)
SCALED_SHAPE = 1.0
#: Share of the variance that logarithms of sample variances have, below which they were scaled.
TOO_CLOSE = 1.0 / 3.0
#: Steps of the pattern search in the logarithms of shape and scale, first to last.
STEPS = (1.0, 0.2, 0.04)
#: Steps that follow for the scale alone.
NEWTON_STEPS = 6
#: Numbers from which on four terms of Stirling's series are exact.
STIRLING = 20.0
_MOVES = np.array([[0.0, 0.0], [1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])


@dataclass(frozen=True)
class ErrorTerms:
    """What loadings and scores tell about the noise.

    Attributes
    ----------
    counts, errors : ndarray of shape (models, d)
        ``n_i`` and ``E_i``.
    slope, offset : ndarray of shape (models, d) and (models,)
        The data adds ``-tau @ slope - offset`` to the bound.
    """

    counts: Array
    errors: Array
    slope: Array
    offset: Array

    def data_term(self, noise: Noise) -> Array:
        """Expected squared error of the data over the noise, negative, shape (models,)."""
        result: Array = -(noise.precision * self.slope).sum(axis=1) - self.offset
        return result


@dataclass(frozen=True)
class Noise:
    """Posterior of the noise precisions of several models, and its share of their bounds.

    Attributes
    ----------
    kind : {"pooled", "shared", "free"}
    precision, log_precision : ndarray of shape (models, d)
        ``<tau_i>`` and ``<ln tau_i>``.
    variance : ndarray of shape (models, d)
        ``<1/tau_i> = e_i/(c_i - 1)``, at most ``2 e_i/c_i``: of very few values it is infinite.
    shape, scale : ndarray of shape (models,)
        ``a0`` and ``b0/a0`` of the prior; used where noise is pooled.
    largest : float
        The largest shape that may be learned.
    bound : ndarray of shape (models,)
        Expected log prior less expected log posterior.
    """

    kind: str
    precision: Array
    log_precision: Array
    variance: Array
    shape: Array
    scale: Array
    bound: Array
    largest: float = SHAPES[1]

    @classmethod
    def start(cls, kind: str, variance: Array, largest: float = SHAPES[1]) -> Noise:
        """Noise known without doubt, ``variance`` of shape (models, d)."""
        models = variance.shape[0]
        variance = (
            variance
            if kind != "shared"
            else np.broadcast_to(variance.mean(axis=1, keepdims=True), variance.shape)
        )
        scale = np.exp(np.log(variance).mean(axis=1))
        precision = 1.0 / variance
        return cls(
            kind,
            precision,
            np.log(precision),
            variance,
            np.full(models, SHAPE),
            scale,
            np.full(models, -np.inf),
            largest,
        )

    def freed(self) -> Noise:
        """The same precisions with a prior that holds none of them."""
        return replace(self, shape=np.full_like(self.shape, SHAPE))

    @property
    def is_held(self) -> bool:
        """Whether a learned prior keeps features from a noise of their own."""
        return self.kind == "pooled" and bool((self.shape > HELD).any())

    @property
    def has_a_unit(self) -> bool:
        """Whether features are taken to have one unit: their noise is pooled, and not scaled."""
        return self.kind == "pooled" and self.largest > SCALED_SHAPE

    def update(self, terms: ErrorTerms, variance: Array, *, learn: bool) -> Noise:
        """Posterior for ``n_i`` and ``E_i``; ``variance`` is ``v_i``."""
        # Squares, of which rounding can leave less than nothing where the fit is exact.
        counts, errors = terms.counts, np.maximum(terms.errors, 0.0)
        if self.kind == "pooled":
            return self._pooled(counts, errors, variance, learn=learn)
        if self.kind == "shared":
            errors = errors.sum(axis=1, keepdims=True)
            counts = counts.sum(axis=1, keepdims=True)
            variance = variance.mean(keepdims=True)
        floor = np.broadcast_to(SHAPE * ETA * variance, errors.shape)
        return self._posterior(np.full_like(floor, SHAPE), floor, counts, errors)

    def _pooled(self, counts: Array, errors: Array, variance: Array, *, learn: bool) -> Noise:
        errors = errors + ETA * variance
        learned = self
        if learn:
            pairs = zip(self.shape, self.scale, counts, errors, strict=True)
            # No model at all may be left to learn from.
            points = np.array([_best_prior(*pair, self.largest) for pair in pairs]).reshape(-1, 2)
            learned = replace(self, shape=points[:, 0], scale=points[:, 1])
        a0 = np.broadcast_to(learned.shape[:, None], errors.shape)
        b0 = a0 * learned.scale[:, None]
        found = learned._posterior(a0, b0, counts, errors)
        # The floor acts on the precision without being part of the normalised prior.
        return replace(found, bound=found.bound - ETA * (found.precision @ variance))

    def _posterior(self, a0: Array, b0: Array, counts: Array, errors: Array) -> Noise:
        c, e = a0 + counts, b0 + errors
        precision = c / e
        log_precision = digamma(c) - np.log(e)
        # a0 ln b0 - ln G(a0) + (a0 - c) <ln tau> - b0 <tau> - c ln e + ln G(c) + c, in a form in
        # which large shapes do not cancel: the rounding they leave would decide when a run ends.
        terms = _log_rising(a0, counts) - a0 * np.log1p(errors / b0)
        terms = terms - counts * digamma(c) + c * errors / e
        full = self.precision.shape
        return replace(
            self,
            precision=np.broadcast_to(precision, full),
            log_precision=np.broadcast_to(log_precision, full),
            variance=np.broadcast_to(e / np.maximum(c - 1.0, 0.5 * c), full),
            bound=terms.sum(axis=1),
        )


def largest_shape(variance: Array, n_samples: float) -> float:
    """The largest shape for features of these sample variances: little where they were scaled.

    Logarithms of variances of normal samples vary by ``2/N`` around what they estimate.
    """
    chance = TOO_CLOSE * 2.0 / n_samples
    scaled = variance.size > 1 and float(np.var(np.log(variance), ddof=1)) < chance
    return SCALED_SHAPE if scaled else SHAPES[1]


def _best_prior(
    shape: float, scale: float, counts: Array, errors: Array, largest: float
) -> tuple[float, float]:
    """``a0`` and ``b0/a0`` that raise the marginal likelihood, by pattern search.

    ``sum_i a0 ln b0 - ln G(a0) + ln G(a0 + n_i) - (a0 + n_i) ln(b0 + E_i)``.
    """
    point = np.array([np.log(shape), np.log(scale)])
    low, high = np.log([SHAPES[0], largest])
    for step in STEPS:
        for _ in range(20):
            trials = point + step * _MOVES
            trials[:, 0] = np.clip(trials[:, 0], low, high)
            best = int(np.argmax(_marginal(trials, counts, errors)))
            if best == 0:
                break
            point = trials[best]
    shape = float(np.exp(point[0]))
    return shape, _best_scale(shape, float(np.exp(point[1])), counts, errors)


def _best_scale(shape: float, scale: float, counts: Array, errors: Array) -> float:
    """``b0/a0`` for a given shape, by Newton's method in ``ln b0``, where the marginal is concave.

    A strong prior holds the noise at its scale, so that no grid is fine enough for it.
    """
    log_b = np.log(shape * scale)
    for _ in range(NEWTON_STEPS):
        share = 1.0 / (1.0 + errors * np.exp(-log_b))
        slope = shape * counts.size - ((shape + counts) * share).sum()
        curvature = ((shape + counts) * share * (1.0 - share)).sum()
        log_b += float(np.clip(slope / max(curvature, 1e-300), -1.0, 1.0))
    return float(np.exp(log_b) / shape)


def _marginal(points: Array, counts: Array, errors: Array) -> Array:
    a0 = np.exp(points[:, :1])
    b0 = a0 * np.exp(points[:, 1:])
    result: Array = (
        _log_rising(a0, counts) - a0 * np.log1p(errors / b0) - counts * np.log(b0 + errors)
    ).sum(axis=1)
    return result


def _log_rising(a: Array, n: Array) -> Array:
    """``ln G(a + n) - ln G(a)``; of a large ``a`` by Stirling's series, of which nothing cancels."""
    large = np.maximum(a, STIRLING)
    end = large + n
    series = (large - 0.5) * np.log1p(n / large) + n * (np.log(end) - 1.0)
    series = series + _stirling_rest(end) - _stirling_rest(large)
    result: Array = np.where(a < STIRLING, gammaln(a + n) - gammaln(a), series)
    return result


def _stirling_rest(x: Array) -> Array:
    """``ln G(x)`` less ``(x - 1/2) ln x - x + ln(2 pi)/2``."""
    square = 1.0 / np.square(x)
    result: Array = (1 / 12 - square * (1 / 360 - square * (1 / 1260 - square / 1680))) / x
    return result
