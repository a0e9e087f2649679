"""Scale mixtures of normals in noise units: ``w_ij | z, tau_i ~ N(0, z_ij/tau_i)``.

Notation: ``q(w_i, tau_i)`` is normal-gamma, ``w_i | tau_i ~ N(mu_i, V_i/tau_i)`` with
``V_i = (Z_i^-1 + S)^-1``, ``Z_i = diag(1/<1/z_ij>)``, ``mu_i = V_i c_i``. The laws of ``z`` are those
of Guan & Dy (``variational_bayes.priors``), asked for ``u2_ij = tau_i mu_ij^2 + V_i,jj`` in place of
``<w_ij^2>``: their hyperparameters have no units, and rescaling a feature changes units alone.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from loadstone.covariance.protocol import Array
from loadstone.solvers.factor_models.noise import ErrorTerms, Noise
from loadstone.solvers.factor_models.samples import Scores, known_moments
from loadstone.solvers.variational_bayes.gaussian_rows import pack
from loadstone.solvers.variational_bayes.priors import PRIORS, Prior


@dataclass(frozen=True)
class ScaleMixture:
    """Posterior of the loadings of one model; the first axis of all arrays has length one.

    Attributes
    ----------
    mean : ndarray of shape (1, q, d)
        ``mu``.
    covariance : ndarray of shape (1, d, q, q)
        ``V_i``, in noise units.
    prior : Prior
        With its present hyperparameters.
    fixed : frozenset of str
        Hyperparameters that are not learned.
    support : ndarray of bool of shape (1, q, d) or None
        Where given, loadings outside are zero.
    felt : ndarray of shape (1, q, d) or None
        Prior variances ``1/<1/z_ij>`` that the loadings were computed with.
    """

    mean: Array
    covariance: Array
    prior: Prior
    fixed: frozenset[str] = frozenset()
    support: Array | None = None
    felt: Array | None = None

    @classmethod
    def start(
        cls, name: str, mean: Array, precision: Array, given: dict[str, float] | None = None
    ) -> ScaleMixture:
        """Loadings known without doubt, and hyperparameters that suit them."""
        _, q, d = mean.shape
        prior: Any = PRIORS[name].start(np.square(mean) * precision[:, None])
        fixed = given or {}
        return cls(mean, np.zeros((1, d, q, q)), replace(prior, **fixed), fixed=frozenset(fixed))

    def restricted(self, kept: Array) -> ScaleMixture:
        """The components ``kept`` alone."""
        covariance = self.covariance[:, :, kept][:, :, :, kept]
        return replace(self, mean=self.mean[:, kept], covariance=covariance, felt=None)

    def on_support(self, support: Array) -> ScaleMixture:
        """The same with loadings outside ``support`` held at zero."""
        mean = np.where(support, self.mean, 0.0)
        return replace(self, mean=mean, covariance=0.0 * self.covariance, support=support)

    @property
    def n_components(self) -> int:
        """Number of components."""
        return int(self.mean.shape[1])

    @property
    def _own(self) -> Array:
        """``V_i,jj``, shape (1, q, d)."""
        return np.diagonal(self.covariance, axis1=2, axis2=3).swapaxes(1, 2)

    def second(self, precision: Array) -> Array:
        """``u2``."""
        return np.square(self.mean) * precision[:, None] + self._own

    def variances(self, noise: Noise) -> Array:
        """Variances of the loadings, shape (1, q, d)."""
        return self._own / noise.precision[:, None]

    def moments(self, precision: Array, *, per_feature: bool) -> Array:
        """``<tau_i w_i w_i'>``: summed over features, or packed and one for each."""
        total = known_moments(self.mean, precision, per_feature=per_feature)
        if per_feature:
            return total + np.moveaxis(pack(self.covariance), 0, 1)
        result: Array = total + self.covariance.sum(axis=1)
        return result

    def best_factors(self, scores: Array, n_samples: float) -> Array:
        """Scales are learned with the hyperparameters; nothing is gained in closed form."""
        return np.ones_like(scores)

    def rescaled(self, factors: Array) -> ScaleMixture:
        """The same: factors are one."""
        return self

    def update(self, scores: Scores, noise: Noise) -> ScaleMixture:
        """``q(z)`` and hyperparameters for the present loadings, then loadings."""
        free = np.ones(self.mean.shape, dtype=bool) if self.support is None else self.support
        variance, precision = self.prior.expectations(self.second(noise.precision)[free])
        prior = self.prior.update_hyperparameters(variance, precision, self.fixed)
        _, precision = prior.expectations(self.second(noise.precision)[free])
        felt = np.zeros(self.mean.shape)
        felt[free] = 1.0 / precision
        root = np.sqrt(felt).swapaxes(1, 2)
        S = np.moveaxis(scores.second, 3, 1)
        outer = root[..., :, None] * root[..., None, :]
        inverse = np.linalg.inv(np.eye(self.n_components) + outer * S)
        covariance = outer * 0.5 * (inverse + inverse.swapaxes(2, 3))
        mean = np.einsum("bdjk,bkd->bjd", covariance, scores.cross)
        return replace(self, mean=mean, covariance=covariance, prior=prior, felt=felt)

    def error_terms(self, scores: Scores, counts: Array) -> ErrorTerms:
        """Squared errors given the mean, whose spread belongs to the noise itself."""
        linear = (self.mean * scores.cross).sum(axis=1)
        quadratic = (self.mean * scores.products(self.mean)).sum(axis=1)
        S = np.moveaxis(scores.second, 3, 1)
        left = scores.square - linear
        return ErrorTerms(
            counts=0.5 * np.broadcast_to(counts, left.shape),
            errors=0.5 * np.maximum(left, 0.0),
            slope=0.5 * (scores.square - 2.0 * linear + quadratic),
            offset=0.5 * (self.covariance * S).sum(axis=(1, 2, 3)),
        )

    def bound(self, noise: Noise) -> Array:
        """Expected log prior less expected log posterior of the loadings, shape (1,)."""
        assert self.felt is not None
        free = self.felt > 0
        # |V_i| over the entries that are not pinned: the others become ones on the diagonal.
        padded = self.covariance + np.eye(self.n_components) * ~free.swapaxes(1, 2)[..., None]
        value = 0.5 * float(np.linalg.slogdet(padded)[1].sum())
        value += 0.5 * np.count_nonzero(free) * (np.log(2.0 * np.pi) + 1.0)
        value += float(self.prior.bound_term(self.second(noise.precision)[free]).sum())
        return np.array([value])
