"""Point-normal loadings: ``w_ij ~ (1 - pi_j) delta_0 + pi_j N(0, s_j/tau_i)``.

Notation: ``q(w_ij) = P N(M, V) + (1 - P) delta_0``, factorised; ``P`` is the probability that a
loading is not zero. Scale ``s_j`` (in noise units) and sparsity ``pi_j`` belong to a component and
are learned. ``ln s_j`` is uniform over ten decades, so that bounds of models with different
numbers of components compare; ``d H(pi_j)`` inside the bound is the price of choosing a support.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cached_property

import numpy as np

from loadstone.covariance.protocol import Array
from loadstone.solvers.factor_models.chances import chances
from loadstone.solvers.factor_models.noise import ErrorTerms, Noise
from loadstone.solvers.factor_models.samples import Scores, known_moments

#: Range of the scales ``s_j``, and what their uniform law costs a component.
SCALES = (1e-4, 1e6)
SCALE_PRICE = float(np.log(np.log(SCALES[1] / SCALES[0])))


@dataclass(frozen=True)
class PointNormal:
    """Posterior of the loadings of several models; arrays are (models, q, d) or (models, q).

    Attributes
    ----------
    slab_mean, slab_variance : ndarray of shape (models, q, d)
        ``M`` and ``V``, of a loading that is not zero.
    inclusion : ndarray of shape (models, q, d)
        ``P``.
    share, scale : ndarray of shape (models, q)
        ``pi_j`` and ``s_j``.
    entropy : ndarray of shape (models, q)
        ``sum_i P ln(V)/2 - P ln P - (1 - P) ln(1 - P)``.
    support : ndarray of bool of shape (models, q, d) or None
        Where given, ``P`` is one there and zero elsewhere.
    """

    slab_mean: Array
    slab_variance: Array
    inclusion: Array
    share: Array
    scale: Array
    entropy: Array
    support: Array | None = None

    @classmethod
    def start(cls, mean: Array, precision: Array) -> PointNormal:
        """Loadings known without doubt; what is zero may become non-zero."""
        weighted = np.square(mean) * precision[:, None]
        used = np.maximum(np.count_nonzero(mean, axis=2), 1)
        scale = np.clip(weighted.sum(axis=2) / used, *SCALES)
        shape = scale.shape
        return cls(
            slab_mean=mean,
            slab_variance=np.zeros_like(mean),
            inclusion=np.ones_like(mean),
            share=np.full(shape, 0.5),
            scale=scale,
            entropy=np.full(shape, -np.inf),
        )

    def joined(self, other: PointNormal) -> PointNormal:
        """The components of both."""
        return PointNormal(
            *(np.concatenate([getattr(p, f) for p in (self, other)], axis=1) for f in _ARRAYS)
        )

    def restricted(self, kept: Array) -> PointNormal:
        """The components ``kept`` alone."""
        return PointNormal(*(getattr(self, f)[:, kept] for f in _ARRAYS))

    def on_support(self, support: Array) -> PointNormal:
        """The same with loadings outside ``support`` held at zero."""
        return replace(self, support=support)

    @property
    def n_components(self) -> int:
        """Number of components."""
        return int(self.slab_mean.shape[1])

    @cached_property
    def mean(self) -> Array:
        """``<w> = P M``."""
        return self.inclusion * self.slab_mean

    @cached_property
    def variance(self) -> Array:
        """``P (M^2 + V) - (P M)^2``, in a form that cannot cancel."""
        P, M = self.inclusion, self.slab_mean
        return P * (self.slab_variance + (1.0 - P) * np.square(M))

    def variances(self, noise: Noise) -> Array:
        """Variances of the loadings, shape (models, q, d)."""
        return self.variance

    @cached_property
    def second(self) -> Array:
        """``<w^2>``."""
        result: Array = self.inclusion * (np.square(self.slab_mean) + self.slab_variance)
        return result

    def moments(self, precision: Array, *, per_feature: bool) -> Array:
        """``<tau_i w_i w_i'>``: summed over features, or packed and one for each."""
        total = known_moments(self.mean, precision, per_feature=per_feature)
        spread = self.variance * precision[:, None]
        own = np.arange(self.n_components)
        if per_feature:
            # The place of the diagonal in a packed matrix.
            total[:, own * (own + 3) // 2] += spread
        else:
            total[:, own, own] += spread.sum(axis=2)
        return total

    def best_factors(self, scores: Array, n_samples: float) -> Array:
        """Factors that give scores of squared length ``scores`` (models, q) unit variance."""
        low, high = np.sqrt(SCALES[0] / self.scale), np.sqrt(SCALES[1] / self.scale)
        return np.clip(np.sqrt(scores / n_samples), low, high)

    def rescaled(self, factors: Array) -> PointNormal:
        """Loadings times ``factors`` (models, q), and their scales with them."""
        wide = factors[:, :, None]
        return replace(
            self,
            slab_mean=self.slab_mean * wide,
            slab_variance=self.slab_variance * wide**2,
            scale=self.scale * factors**2,
            entropy=self.entropy + self.inclusion.sum(axis=2) * np.log(factors),
        )

    def update(self, scores: Scores, noise: Noise) -> PointNormal:
        """One sweep over the components: loadings, then share and scale of each."""
        M, V, P = (np.empty_like(self.slab_mean) for _ in range(3))
        share, scale, entropy = (np.empty_like(self.share) for _ in range(3))
        mean = self.mean.copy()
        log_tau = np.log(noise.precision)
        gap = noise.log_precision - log_tau
        for j in range(self.n_components):
            own = scores.second[:, j, j]
            weight = own + 1.0 / self.scale[:, j, None]
            slab = (scores.cross[:, j] - scores.products_of(mean, j) + mean[:, j] * own) / weight
            evidence = np.square(slab) * noise.precision * weight
            log_weight = np.log(weight)
            if self.support is None:
                occam = gap - log_weight - np.log(self.scale[:, j, None])
                prior = np.log(self.share[:, j]) - np.log1p(-self.share[:, j])
                chance, uncertainty = chances(prior[:, None] + 0.5 * (occam + evidence))
            else:
                chance, uncertainty = self.support[:, j].astype(np.float64), np.zeros((1, 1))
            M[:, j], V[:, j], P[:, j] = slab, 1.0 / (noise.precision * weight), chance
            mean[:, j] = chance * slab
            share[:, j], scale[:, j] = _hyperparameters(chance, (evidence + 1.0) / weight)
            entropy[:, j] = (uncertainty - 0.5 * chance * (log_tau + log_weight)).sum(axis=1)
        return PointNormal(M, V, P, share, scale, entropy, self.support)

    def error_terms(self, scores: Scores, counts: Array) -> ErrorTerms:
        """The data, and loadings, whose scale is the noise."""
        mean = self.mean
        own = np.diagonal(scores.second, axis1=1, axis2=2).swapaxes(1, 2)
        left = (mean * (scores.products(mean) - 2.0 * scores.cross)).sum(axis=1)
        data = 0.5 * (scores.square + left + (self.variance * own).sum(axis=1))
        slabs = 0.5 * (self.second / self.scale[:, :, None]).sum(axis=1)
        return ErrorTerms(
            counts=0.5 * (counts + self.inclusion.sum(axis=1)),
            errors=data + slabs,
            slope=data,
            offset=np.zeros(mean.shape[0]),
        )

    def bound(self, noise: Noise) -> Array:
        """Expected log prior less expected log posterior of the loadings, shape (models,)."""
        d = self.inclusion.shape[2]
        sizes = self.inclusion.sum(axis=2)
        weights = np.einsum("bjd,bd->bj", self.inclusion, noise.log_precision)
        squares = np.einsum("bjd,bd->bj", self.second, noise.precision)
        value = 0.5 * (weights + sizes * (1.0 - np.log(self.scale)) - squares / self.scale)
        value = value + self.entropy - SCALE_PRICE
        if self.support is None:
            value += sizes * np.log(self.share) + (d - sizes) * np.log1p(-self.share)
        result: Array = value.sum(axis=1)
        return result


_ARRAYS = tuple(f.name for f in fields(PointNormal) if f.name != "support")


def _hyperparameters(chance: Array, strength: Array) -> tuple[Array, Array]:
    """``pi_j`` and ``s_j`` that maximise the bound, from ``P`` and ``<tau w^2>`` of the slab."""
    d = chance.shape[1]
    sizes = chance.sum(axis=1)
    share = np.clip(sizes / d, 0.1 / d, 1.0 - 0.1 / d)
    scale = (chance * strength).sum(axis=1) / np.maximum(sizes, 1e-300)
    return share, np.clip(scale, *SCALES)
