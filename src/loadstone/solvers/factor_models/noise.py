"""Noise precisions of the features: free, shared, or pooled between the two.

Notation: ``tau_i ~ Gamma(a0, b0)`` with posterior ``Gamma(c_i, e_i)``, ``c_i = a0 + n_i`` and
``e_i = b0 + E_i``, where ``n_i`` is half the number of values that speak of feature i and ``E_i``
half their expected squared error. Pooled noise learns ``a0, b0`` from all features: ``a0 -> inf``
is shared noise, ``a0 -> 0`` free noise. The floor ``ETA v_i`` keeps duplicates of a feature from
a noise of zero.

A few features may stand apart from the pool: with a learned probability a precision comes from the
law of free noise. One law for all takes the many for the whole: where hundreds of features are
noise and eight are explained to a hundredth of a per cent, it held those at four per cent.

Features that were scaled to the same variance have no unit in which their noise could be alike:
their variances are closer to each other than variances of samples can be, which the law of the
pool takes for noise that is the same. Its shape is limited there.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy.special import logit

from loadstone.covariance.protocol import Array
from loadstone.solvers.factor_models.chances import chances
from loadstone.solvers.factor_models.gamma_series import digamma, log_rising
from loadstone.solvers.factor_models.noise_prior import best_prior, log_growth

NOISES = ("pooled", "shared", "free")
#: Smallest noise as a share of the variance of its feature.
ETA = 1e-6
#: Shape of the prior where it is not learned.
SHAPE = 0.5
#: The largest shape that is learned, and where features were scaled.
LARGEST_SHAPE, SCALED_SHAPE = 1e5, 1.0
#: Probability at first that a feature stands apart, and how many of all of them do at least: a chance
#: of nothing would never rise.
APART, FEWEST_APART = 0.1, 0.1
#: Share of the variance that logarithms of sample variances have, below which they were scaled.
TOO_CLOSE = 1.0 / 3.0


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
    weight : ndarray of shape (models, d)
        ``c_i``: half the number of values that a precision is known from.
    shape, scale : ndarray of shape (models,)
        ``a0`` and ``b0/a0`` of the prior; used where noise is pooled.
    apart : ndarray of shape (models, d)
        Probability that a feature stands apart from the pool.
    largest : float
        The largest shape that may be learned.
    bound : ndarray of shape (models,)
        Expected log prior less expected log posterior.
    """

    kind: str
    precision: Array
    log_precision: Array
    variance: Array
    weight: Array
    shape: Array
    scale: Array
    apart: Array
    bound: Array
    largest: float = LARGEST_SHAPE

    @classmethod
    def start(cls, kind: str, variance: Array, largest: float = LARGEST_SHAPE) -> Noise:
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
            np.full_like(variance, np.inf),
            np.full(models, SHAPE),
            scale,
            np.full_like(variance, APART),
            np.full(models, -np.inf),
            largest,
        )

    @property
    def has_a_unit(self) -> bool:
        """Whether features are taken to have one unit: their noise is pooled, and not scaled."""
        return self.kind == "pooled" and self.largest > SCALED_SHAPE

    @property
    def chance_apart(self) -> Array:
        """Probability (models, 1) that some feature stands apart."""
        least = FEWEST_APART / max(self.apart.shape[1], 1)
        result: Array = np.clip(self.apart.mean(axis=1, keepdims=True), least, 1.0 - least)
        return result

    @property
    def prior_weight(self) -> Array:
        """What the prior of a precision is worth, (models, d): the shape of its law."""
        result: Array = self.shape[:, None] + (SHAPE - self.shape[:, None]) * self.apart
        return result

    @property
    def pool(self) -> tuple[Array, Array]:
        """``a0`` and ``b0`` of the pool, (models, 1)."""
        a0 = self.shape[:, None]
        return a0, a0 * self.scale[:, None]

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
        own = Precisions.of(*own_law_of(variance), counts, errors)
        bound = own.bound.sum(axis=1)
        return replace(self, **own.moments(self.precision.shape), bound=bound)

    def _pooled(self, counts: Array, errors: Array, variance: Array, *, learn: bool) -> Noise:
        errors = errors + ETA * variance
        own = Precisions.of(*own_law_of(variance), counts, errors)
        odds = logit(self.chance_apart) + own.log_evidence(counts, errors)
        learned, pool = self, Precisions.of(*self.pool, counts, errors)
        if learn:
            apart, _ = chances(odds - pool.log_evidence(counts, errors))
            learned = self._learned(counts, errors, 1.0 - apart)
            pool = Precisions.of(*learned.pool, counts, errors)
        apart, uncertainty = chances(odds - pool.log_evidence(counts, errors))
        found = Precisions(*((1.0 - apart) * a + apart * b for a, b in zip(pool, own, strict=True)))
        chance = self.chance_apart
        choice = uncertainty + apart * logit(chance) + np.log1p(-chance)
        # The floor acts on the precision without being part of the normalised prior.
        bound = (found.bound + choice - ETA * variance * found.precision).sum(axis=1)
        return replace(learned, **found.moments(apart.shape), apart=apart, bound=bound)

    def _learned(self, counts: Array, errors: Array, members: Array) -> Noise:
        """The same with the law that fits the features of the pool best."""
        models = zip(self.shape, self.scale, counts, errors, members, strict=True)
        # No model at all may be left to learn from.
        points = np.array([best_prior(*each, self.largest) for each in models]).reshape(-1, 2)
        return replace(self, shape=points[:, 0], scale=points[:, 1])


class Precisions(NamedTuple):
    """``Gamma(c, e)``: precisions after the data, and what they add to the bound, by feature."""

    precision: Array
    log_precision: Array
    variance: Array
    weight: Array
    bound: Array

    @classmethod
    def of(cls, a0: Array, b0: Array, counts: Array, errors: Array) -> Precisions:
        """Under the prior ``Gamma(a0, b0)``."""
        c, e = a0 + counts, b0 + errors
        log_c, log_e = np.log(c), np.log(e)
        slope = digamma(c, log_c)
        # a0 ln b0 - ln G(a0) + (a0 - c) <ln tau> - b0 <tau> - c ln e + ln G(c) + c, in a form in
        # which large shapes do not cancel: the rounding they leave would decide when a run ends.
        bound = log_rising(a0, counts, log_c) - a0 * log_growth(a0, b0, errors, log_e)
        precision = c / e
        bound = bound - counts * slope + precision * errors
        return cls(precision, slope - log_e, e / np.maximum(c - 1.0, 0.5 * c), c, bound)

    def log_evidence(self, counts: Array, errors: Array) -> Array:
        """Of every feature, with its precision integrated out."""
        result: Array = self.bound + counts * self.log_precision - errors * self.precision
        return result

    def moments(self, shape: tuple[int, ...]) -> dict[str, Any]:
        """All but the bound, for ``shape`` features."""
        named = self._asdict().items()
        return {name: np.broadcast_to(x, shape) for name, x in named if name != "bound"}


def own_law_of(variance: Array) -> tuple[Array, Array]:
    """``a0`` and ``b0`` of noise that no other feature says anything of."""
    return np.full(1, SHAPE), SHAPE * ETA * variance


def largest_shape(variance: Array, n_samples: float) -> float:
    """The largest shape for features of these sample variances: little where they were scaled.

    Logarithms of variances of normal samples vary by ``2/N`` around what they estimate.
    """
    chance = TOO_CLOSE * 2.0 / n_samples
    scaled = variance.size > 1 and float(np.var(np.log(variance), ddof=1)) < chance
    return SCALED_SHAPE if scaled else LARGEST_SHAPE
