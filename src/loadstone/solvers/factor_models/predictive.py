"""What a posterior says of a new sample: the Gaussian of its first two moments.

Notation: see ``rounds``. A new sample is ``t = m + W x + e`` with ``x ~ N(0, I)`` and ``m, W, psi``
drawn from their posterior. Loadings of different features are independent there, so that

    <W W'> = <W><W>' + diag_i sum_j Var(w_ij)

and ``N`` samples leave the mean a share ``1/N`` of their covariance. The covariance of ``t`` is
therefore that of a factor model with the expected loadings, whose noise is ``<psi_i>`` and the
spread of the loadings of feature i:

    Cov(t) = (1 + 1/N) (<W><W>' + diag_i (<psi_i> + sum_j Var(w_ij)))

Of all Gaussians it is the closest to the law of ``t`` (least relative entropy). Loadings that are
hardly there enter with what they are worth; a sparse estimate takes them for zeros, and the others,
and the noise, for known.

Of ``K`` models that a sample may come from, each as likely as the others, the covariance is the mean
of theirs. That is a factor model again, with the components of all of them:

    mean_k (W_k W_k' + Psi_k) = sum_k (W_k / sqrt K)(W_k / sqrt K)' + mean_k Psi_k

Where values are missing the models also differ in their means; what that adds, less than a hundredth
of the noise on the tables that were tried, is left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from loadstone.solvers.factor_model import FactorModel
from loadstone.solvers.factor_models.rounds import State
from loadstone.solvers.factor_models.samples import Samples


def predictive_model(samples: Samples, state: State) -> FactorModel:
    """Factor model with the covariance of a new sample; ``state`` holds one model.

    Where values are missing, each feature counts its own for the noise of its mean.
    """
    noise = state.noise
    # Loadings of some laws are known in units of the noise alone.
    spread = state.law.variances(replace(noise, precision=1.0 / noise.variance))[0].sum(axis=0)
    loadings = state.law.mean[0].T * np.sqrt(1.0 + 1.0 / samples.n_samples)
    return FactorModel(loadings, (noise.variance[0] + spread) * (1.0 + 1.0 / samples.counts))


def averaged(models: Sequence[FactorModel]) -> FactorModel:
    """The factor model whose covariance is the mean of those of ``models``."""
    share = 1.0 / np.sqrt(len(models))
    loadings = np.hstack([share * one.loadings for one in models])
    return FactorModel(loadings, np.mean([one.noise for one in models], axis=0))
