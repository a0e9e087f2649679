"""How sure single loadings are when all others, and the noise, may answer.

Notation: ``C = W W' + Psi``, ``P = C^-1``, ``Q = W'P W``. For normal samples the information about
the loadings and ``ln psi`` is ``N/2 tr(P dC P dC)``:

    loadings ij and kl:      N (P_ik Q_jl + (P W)_il (P W)_kj)
    loading ij and ln psi_k: N psi_k P_ik (P W)_kj
    ln psi_i and ln psi_k:   N/2 psi_i psi_k P_ik^2

The updates of the variational model hold the scores and all other loadings fixed, and therefore
take a loading for better known than it is: by half where factors overlap. The inverse of the
information, with the precision of the priors added, is its variance with nothing held fixed.
"""

from __future__ import annotations

import numpy as np

from loadstone.covariance.protocol import Array
from loadstone.solvers.factor_model import FactorModel
from loadstone.solvers.factor_models.rounds import State
from loadstone.solvers.factor_models.samples import Samples

#: Loadings that are more likely there than not are estimated together.
THERE = 0.5
#: Parameters up to which this is done.
MOST_PARAMETERS = 1000
#: A variance that grows by more than this factor says that zeros do not tell factors apart.
NOT_TOLD_APART = 10.0


def joint_variances(samples: Samples, state: State) -> Array:
    """Variances (q, d) of the loadings of a point-normal model that are there, with nothing fixed.

    Loadings that are hardly there keep theirs, and so do all where factors are not told apart by
    their zeros, or are too many for the matrix.
    """
    law, noise = state.law, state.noise
    kept, variances = law.inclusion[0] > THERE, law.slab_variance[0]
    n_loadings, d = int(np.count_nonzero(kept)), samples.n_features
    if not n_loadings or n_loadings + d > MOST_PARAMETERS:
        return np.asarray(variances)
    tau, scale = noise.precision[0], law.scale[0]
    matrix = information(law.mean[0] * kept, 1.0 / tau, kept, samples.pair_counts)
    component, feature = np.nonzero(kept)
    matrix[np.arange(n_loadings), np.arange(n_loadings)] += tau[feature] / scale[component]
    if noise.kind == "shared":
        matrix = with_one_noise(matrix, n_loadings)
    else:
        own = np.arange(n_loadings, n_loadings + d)
        matrix[own, own] += noise.prior_weight[0]
    units = 1.0 / np.sqrt(np.diagonal(matrix))
    try:
        root = np.linalg.cholesky(matrix * np.multiply.outer(units, units))
    except np.linalg.LinAlgError:
        return np.asarray(variances)
    inflation = np.square(np.linalg.inv(root)).sum(axis=0)[:n_loadings]
    if inflation.max() > NOT_TOLD_APART:
        return np.asarray(variances)
    result = variances.copy()
    result[kept] = inflation * np.square(units[:n_loadings])
    return np.asarray(result)


def information(
    W: Array, psi: Array, kept: Array, pairs: Array | float, observed: Array | None = None
) -> Array:
    """Information about the loadings ``kept`` (q, d), row by row, and about all ``ln psi``.

    ``pairs`` is how many samples show two features at once; with ``observed`` these show the
    features there and no others.
    """
    component, feature = np.nonzero(kept)
    precision = FactorModel(W.T, psi).precision()
    if observed is not None:
        among = np.ix_(observed, observed)
        precision = np.zeros_like(precision)
        precision[among] = FactorModel(W.T[observed], psi[observed]).precision()
    seen = np.broadcast_to(np.asarray(pairs), precision.shape)
    PW = precision @ W.T
    Q = W @ PW
    mixed = PW[np.ix_(feature, np.arange(len(W)))][:, component]
    among = precision[np.ix_(feature, feature)] * Q[np.ix_(component, component)]
    among = seen[np.ix_(feature, feature)] * (among + mixed * mixed.T)
    between = seen[feature] * precision[feature] * PW.T[component] * psi
    noise = 0.5 * seen * np.square(precision) * np.multiply.outer(psi, psi)
    return np.block([[among, between], [between.T, noise]])


def with_one_noise(matrix: Array, n_loadings: int) -> Array:
    """The information where all ``ln psi`` are one parameter."""
    between = matrix[:n_loadings, n_loadings:].sum(axis=1, keepdims=True)
    total = matrix[n_loadings:, n_loadings:].sum(keepdims=True)
    return np.block([[matrix[:n_loadings, :n_loadings], between], [between.T, total]])
