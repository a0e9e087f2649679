"""Point-normal loadings: ``w_ij ~ (1 - pi_j) delta_0 + pi_j N(0, s_j/tau_i)``.

Notation: ``q(w_ij) = P N(M, V) + (1 - P) delta_0``, factorised; ``P`` is the probability that a
loading is not zero. Scale ``s_j`` (in noise units) and sparsity ``pi_j`` belong to a component and
are learned. ``ln s_j`` is uniform over ten decades, so that bounds of models with different
numbers of components compare; ``d H(pi_j)`` inside the bound is the price of choosing a support.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import expit

from loadstone.covariance.protocol import Array
from loadstone.solvers.factor_models.noise import Noise
from loadstone.solvers.factor_models.samples import Scores
from loadstone.solvers.variational_bayes.gaussian_rows import pack

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
    log_odds : ndarray of shape (models, q, d)
        Logit of ``P``.
    share, scale : ndarray of shape (models, q)
        ``pi_j`` and ``s_j``.
    support : ndarray of bool of shape (models, q, d) or None
        Where given, ``P`` is one there and zero elsewhere.
    """

    slab_mean: Array
    slab_variance: Array
    inclusion: Array
    log_odds: Array
    share: Array
    scale: Array
    support: Array | None = None

    @classmethod
    def start(cls, mean: Array, precision: Array) -> PointNormal:
        """Loadings known without doubt; what is zero may become non-zero."""
        weighted = np.square(mean) * precision[:, None]
        used = np.maximum(np.count_nonzero(mean, axis=2), 1)
        scale = np.clip(weighted.sum(axis=2) / used, *SCALES)
        one = np.ones_like(mean)
        return cls(mean, 0.0 * mean, one, np.inf * one, np.full(scale.shape, 0.5), scale)

    @property
    def n_components(self) -> int:
        """Number of components."""
        return int(self.slab_mean.shape[1])

    @property
    def mean(self) -> Array:
        """``<w> = P M``."""
        return self.inclusion * self.slab_mean

    @property
    def variance(self) -> Array:
        """``P (M^2 + V) - (P M)^2``, in a form that cannot cancel."""
        P, M = self.inclusion, self.slab_mean
        return P * (self.slab_variance + (1.0 - P) * np.square(M))

    def moments(self, precision: Array, *, per_feature: bool) -> Array:
        """``<tau_i w_i w_i'>``: summed over features, or packed and one for each."""
        mean, q = self.mean, self.n_components
        weighted = mean * precision[:, None]
        spread = self.variance * precision[:, None]
        if not per_feature:
            total = weighted @ mean.swapaxes(1, 2)
            total[:, np.arange(q), np.arange(q)] += spread.sum(axis=2)
            return total
        outer = np.einsum("bjd,bkd->bdjk", weighted, mean)
        outer[:, :, np.arange(q), np.arange(q)] += spread.swapaxes(1, 2)
        return np.moveaxis(pack(outer), 0, 1)

    def best_factors(self, scores: Array, n_samples: float) -> Array:
        """By what to multiply columns so that scores of squared length ``scores`` get unit variance."""
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
        )

    def update(self, scores: Scores, noise: Noise) -> PointNormal:
        """One sweep over the components: loadings, then share and scale of each."""
        tau = noise.precision
        d = tau.shape[1]
        M, V, P, L = (np.empty_like(self.slab_mean) for _ in range(4))
        share, scale = self.share.copy(), self.scale.copy()
        mean = self.mean
        gap = noise.log_precision - np.log(tau)
        shared = scores.second.shape[-1] == 1
        for j in range(self.n_components):
            own = scores.second[:, j, j]
            if shared:
                fitted = (scores.second[:, j, None, :, 0] @ mean)[:, 0]
            else:
                fitted = np.einsum("bkd,bkd->bd", scores.second[:, j], mean)
            weight = own + 1.0 / scale[:, j, None]
            slab = (scores.cross[:, j] - fitted + mean[:, j] * own) / weight
            evidence = np.square(slab) * tau * weight
            if self.support is None:
                prior_odds = np.log(share[:, j]) - np.log1p(-share[:, j])
                occam = gap - np.log(weight * scale[:, j, None])
                odds = prior_odds[:, None] + 0.5 * (occam + evidence)
                chance = expit(odds)
                L[:, j] = odds
                share[:, j] = np.clip(chance.mean(axis=1), 0.1 / d, 1.0 - 0.1 / d)
            else:
                chance = self.support[:, j].astype(np.float64)
            M[:, j], V[:, j], P[:, j] = slab, 1.0 / (tau * weight), chance
            mean[:, j] = chance * slab
            sizes = np.maximum(chance.sum(axis=1), 1e-300)
            strengths = (chance * (evidence + 1.0) / weight).sum(axis=1)
            scale[:, j] = np.clip(strengths / sizes, *SCALES)
        return replace(
            self, slab_mean=M, slab_variance=V, inclusion=P, log_odds=L, share=share, scale=scale
        )

    def error_terms(self, scores: Scores, counts: Array, precision: Array) -> tuple[Array, Array]:
        """``n_i`` and ``E_i`` of the noise: the data, and loadings whose scale is the noise."""
        P = self.inclusion
        second = P * (np.square(self.slab_mean) + self.slab_variance)
        slabs = (second / self.scale[:, :, None]).sum(axis=1)
        return (
            0.5 * (counts + P.sum(axis=1)),
            self.half_squared_error(scores) + 0.5 * slabs,
        )

    def half_squared_error(self, scores: Scores) -> Array:
        """``R_i = <|t_i - X w_i|^2>/2``, shape (models, d)."""
        mean = self.mean
        own = np.diagonal(scores.second, axis1=1, axis2=2).swapaxes(1, 2)
        left = (mean * (scores.products(mean) - 2.0 * scores.cross)).sum(axis=1)
        return 0.5 * (scores.square + left + (self.variance * own).sum(axis=1))

    def data_term(self, scores: Scores, noise: Noise) -> Array:
        """``-sum_i <tau_i R_i>``, shape (models,)."""
        return -(noise.precision * self.half_squared_error(scores)).sum(axis=1)

    def bound(self, noise: Noise) -> Array:
        """Expected log prior less expected log posterior of the loadings, shape (models,)."""
        P, scale = self.inclusion, self.scale[:, :, None]
        if not self.n_components:
            return np.zeros(P.shape[0])
        tau = noise.precision[:, None]
        slab = noise.log_precision[:, None] - np.log(scale) + 1.0
        slab = slab - tau * (np.square(self.slab_mean) + self.slab_variance) / scale
        slab = 0.5 * (slab + np.log(np.maximum(self.slab_variance, 1e-300)))
        price = self.n_components * SCALE_PRICE
        if self.support is not None:
            return (P * slab).sum(axis=(1, 2)) - price
        # -P ln P - (1 - P) ln(1 - P) = -P logit(P) + ln(1 + exp(logit(P)))
        value = (P * (slab - self.log_odds) + np.logaddexp(0.0, self.log_odds)).sum(axis=(1, 2))
        sizes, d = P.sum(axis=2), P.shape[2]
        places = sizes * np.log(self.share) + (d - sizes) * np.log1p(-self.share)
        return value + places.sum(axis=1) - price
