"""Information criteria of the noise model, per sample as in Ulfarsson & Solo.

References
----------
Schwarz, G. (1978). Estimating the dimension of a model. Annals of Statistics, 6(2).

Chen, J., & Chen, Z. (2008). Extended Bayesian information criteria for model
selection with large model spaces. Biometrika, 95(3), 759-771.
"""

from __future__ import annotations

import numpy as np

from loadstone.covariance import Array


def noise_model_deviance(
    total_variance: float, n_features: int, gram: Array, projected: Array, noise_variance: float
) -> float:
    """``tr(S Omega^-1) + ln|Omega|`` with ``Omega = GG' + noise_variance I``, by Woodbury.

    Parameters
    ----------
    total_variance : float
        Trace of the second moment ``S``.
    n_features : int
        Number of features M.
    gram, projected : ndarray of shape (r, r)
        ``G'G`` and ``G'SG``.
    noise_variance : float
        Variance of the noise in every feature.

    Returns
    -------
    float
        Minus twice the log-likelihood per sample, without the constant ``M ln 2 pi``.
    """
    r = gram.shape[0]
    W = gram + noise_variance * np.eye(r)
    root = np.linalg.cholesky(W)
    explained = float(np.trace(np.linalg.solve(W, projected)))
    log_det = (n_features - r) * np.log(noise_variance) + 2 * np.log(root.diagonal()).sum()
    return (total_variance - explained) / noise_variance + float(log_det)


def bic(deviance: float, n_parameters: int, n_samples: float) -> float:
    """``deviance + d ln(T) / T``: the Bayesian information criterion per sample."""
    return deviance + n_parameters * float(np.log(n_samples)) / n_samples


def ebic(
    deviance: float,
    n_parameters: int,
    n_samples: float,
    *,
    n_chosen: int,
    n_candidates: int,
    gamma: float = 1.0,
) -> float:
    """``BIC + 2 gamma k ln(p) / T``: also pays for the choice of ``k`` among ``p`` places.

    The price ``k ln p`` stands for the logarithm of the number of supports. The exact
    binomial saturates when about half of the places are taken, which on few features
    lets superfluous entries in for nothing.
    """
    price = n_chosen * float(np.log(n_candidates)) if n_chosen else 0.0
    return bic(deviance, n_parameters, n_samples) + 2 * gamma * price / n_samples
