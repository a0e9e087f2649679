"""Probabilities that loadings are not zero, when the law of the loadings is not known either.

Notation: loadings and noise as in ``point_normal``, everything in units of the noise of a feature.
What the samples say of a loading is an estimate ``b`` with variance ``v``; in the law it is zero,
or normal with variance ``s_j u_i``, so that

    P = pi_j B / (1 - pi_j + pi_j B),    2 ln B = ln(v/(v + s_j u_i)) + b^2 s_j u_i/(v (v + s_j u_i))

That takes the noise for known. It is learned from ``2 c_i`` values, and what a loading explains is
no longer noise: with the noise integrated out, and ``x = b^2 s_j u_i/(2 v (v + s_j u_i) c_i)`` the
share of the noise that the loading takes or would take, the last term is

    2 c_i (ln(1 + P_0 x) - ln(1 - (1 - P_0) x))

where the noise was learned with the loading there with probability ``P_0``.

The rounds take the share ``pi_j`` for known, at a value that a few loadings have chosen, and
``u_i = 1``. Here both are integrated out (the scale ``s_j`` stays at its likeliest value: to
integrate it as well changed nothing that could be measured):

* shares, on a grid around the likeliest, are draws of one Beta law whose mean and strength are
  integrated out too: components learn from each other how sparse they are, as far as they are alike;
* pooled noise of features that were not scaled says that they have a unit in common. Then loadings
  may have it as well, and not grow with the noise of their feature: ``u_i = (g/psi_i)^(1 - a)``,
  ``g`` the geometric mean of the ``psi``, for a few ``a`` from 0 (one unit for all) to 1 (units of
  the noise), each by its evidence.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import betaln, expit, logit

from loadstone.covariance.protocol import Array
from loadstone.solvers.factor_models.information import joint_variances
from loadstone.solvers.factor_models.point_normal import SCALES
from loadstone.solvers.factor_models.rounds import State
from loadstone.solvers.factor_models.samples import Samples

#: How much loadings grow with the noise of their feature: not at all, with its root, as it does.
UNITS = (0.0, 0.5, 1.0)
#: Points of a grid in ``logit pi``, as ``sinh t`` standard deviations from its centre: the law of a
#: share has long tails where loadings that are there look like those that are not.
N_POINTS, REACH = 17, 3.4
#: Updates that find its centre, and the scales.
N_UPDATES = 20
#: Means of the Beta law of the shares, as logits, and how many loadings it is worth.
MEANS, STRENGTHS = np.linspace(-4.0, 3.0, 15), 2.0 ** np.arange(1, 8)
#: Share of its noise that a loading that is not there would take, at most.
MOST_EXPLAINED = 0.95
#: Loadings from which on only the centre is looked at: of so many the law is known.
MANY_LOADINGS = 100_000


def inclusion_probabilities(samples: Samples, state: State) -> Array:
    """Probabilities (q, d) of the first model of ``state``, which is point-normal."""
    law, noise = state.law, state.noise
    if not state.n_components:
        return np.asarray(law.inclusion[0])
    tau, scale = noise.precision[0], law.scale[0][:, None]
    variance = joint_variances(samples, state) * tau
    # What the slab adds to the information is taken out: 1/variance = 1/v + 1/s.
    left = np.maximum(1.0 - variance / scale, 1e-9)
    evidence = Evidence(
        law.slab_mean[0] * np.sqrt(tau) / left, variance / left, law.inclusion[0], noise.weight[0]
    )
    units = UNITS if noise.has_a_unit else UNITS[-1:]
    sizes = -np.log(tau) + np.log(tau).mean()
    found = [
        Integrated.over(evidence, np.exp((a - 1.0) * sizes), law.share[0], law.scale[0])
        for a in units
    ]
    weights = np.array([one.log_evidence for one in found])
    weights = np.exp(weights - weights.max())
    parts = [w * one.chances for w, one in zip(weights, found, strict=True)]
    # Shares of weights that add up to one do so up to rounding.
    return np.asarray(np.clip(np.sum(parts, axis=0) / weights.sum(), 0.0, 1.0))


@dataclass(frozen=True)
class Evidence:
    """What samples say of loadings, shape (q, d).

    Attributes
    ----------
    estimate, variance : ndarray of shape (q, d)
        ``b`` and ``v``.
    chance : ndarray of shape (q, d)
        The probability of a loading with which the noise was learned.
    weight : ndarray of shape (d,)
        ``c_i``: half the number of values that the noise of a feature is known from.
    """

    estimate: Array
    variance: Array
    chance: Array
    weight: Array

    def log_factor(self, slab: Array) -> Array:
        """``ln B`` for variances ``slab`` of loadings that are there, (..., q, d)."""
        v, total = self.variance, self.variance + slab
        share = 0.5 * np.square(self.estimate) * (slab / (v * total)) / self.weight
        without = np.log1p(self.chance * share)
        among = np.log1p(-np.minimum((1.0 - self.chance) * share, MOST_EXPLAINED))
        result: Array = 0.5 * np.log(v / total) + self.weight * (without - among)
        return result

    def updated(self, units: Array, share: Array, scale: Array) -> tuple[Array, Array]:
        """``pi_j`` and ``s_j`` that are likelier than these: one step of EM."""
        slab = scale[:, None] * units
        chance = expit(logit(share)[:, None] + self.log_factor(slab))
        pull = slab / (self.variance + slab)
        second = np.square(self.estimate * pull) + self.variance * pull
        d, sizes = units.size, chance.sum(axis=1)
        scale = (chance * second / units).sum(axis=1) / np.maximum(sizes, 1e-300)
        return np.clip(sizes / d, 0.1 / d, 1.0 - 0.1 / d), np.clip(scale, *SCALES)


@dataclass(frozen=True)
class Integrated:
    """Probabilities with the shares integrated out, and the evidence of the units."""

    chances: Array
    log_evidence: float

    @classmethod
    def over(cls, evidence: Evidence, units: Array, share: Array, scale: Array) -> Integrated:
        """Integrate around the likeliest shares and scales, which are looked for from these."""
        for _ in range(N_UPDATES):
            share, scale = evidence.updated(units, share, scale)
        d = units.size
        # Standard deviations of a share of d, and of a variance of as many as are there.
        widths = 1.0 / np.sqrt(d * share * (1.0 - share)), np.sqrt(2.0 / np.maximum(d * share, 0.5))
        steps = np.linspace(-REACH, REACH, N_POINTS)
        if evidence.estimate.size > MANY_LOADINGS:
            steps = np.zeros(1)
        odds = logit(share) + np.multiply.outer(np.sinh(steps), widths[0])
        log_odds = odds[:, :, None] + evidence.log_factor(scale[:, None] * units)
        total = np.logaddexp(0.0, log_odds)
        likelihood = total.sum(axis=2) - d * np.logaddexp(0.0, odds)
        top = likelihood.max(axis=0)
        weights = np.exp(likelihood - top) * np.cosh(steps)[:, None]
        prior, log_prior = _shares(odds, weights)
        weights = weights * prior
        weights /= weights.sum(axis=0)
        chances = np.einsum("pj,pjd->jd", weights, np.exp(log_odds - total))
        volume = np.log(widths[0] * widths[1])
        return cls(chances, log_prior + float((top + volume).sum()))


def _shares(odds: Array, likelihood: Array) -> tuple[Array, float]:
    """Prior of the shares of each component given what the others say, and the log evidence.

    ``odds`` and ``likelihood`` are (points, q). Each share is a draw of ``Beta(m k, m (1 - k))``
    with mean ``k`` and strength ``m``; its density is that of the logit.
    """
    k, m = (grid.ravel() for grid in np.meshgrid(expit(MEANS), STRENGTHS, indexing="ij"))
    a, b = m * k, m * (1.0 - k)
    logs = np.multiply.outer(-a, np.logaddexp(0.0, -odds))
    logs -= np.multiply.outer(b, np.logaddexp(0.0, odds))
    density = np.exp(logs - betaln(a, b)[:, None, None])
    of_each = np.einsum("hpj,pj->hj", density, likelihood)
    joint = np.log(np.maximum(of_each, 1e-300)).sum(axis=1) + np.log(k * (1.0 - k))
    top = float(joint.max())
    weights = np.exp(joint - top)
    prior = np.einsum("h,hpj->pj", weights, density / np.maximum(of_each, 1e-300)[:, None])
    return prior, float(np.log(weights.sum())) + top
