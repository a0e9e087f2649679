"""How much of all features a regression on the scores recovers.

Sparse components are judged harshly by the variance of their scores alone: thirty of ten
thousand features hold little of it. What they say of the other features is another matter.
In sample no r components recover more than the first r principal components (Ky Fan).
"""

from __future__ import annotations

import numpy as np

from loadstone.covariance import Array, Covariance, score_moments
from loadstone.metrics.given import check_loadings

#: Rounding of a diagonal of ``G`` or ``M``, in units of their precision.
ROUNDING = 4
#: Share of a score, in the same units, that counts as nothing.
NEGLIGIBLE = 1e3


def recovered_variance(S: Covariance, loadings: Array) -> Array:
    """``tr[S W (W'SW)^+ W'S]`` of the first 1, 2, ... components, cumulative.

    Parameters
    ----------
    S : Covariance
        Of the data whose variance is recovered.
    loadings : ndarray of shape (n_features, n_components)
        Components in their order; neither lengths nor signs matter.

    Returns
    -------
    ndarray of shape (n_components,)
        In the units of ``S``; over :func:`total_variance` it is a share, over the sum of as
        many largest eigenvalues it is what remains of PCA's. The last entry is
        :func:`regressed_variance`.
    """
    check_loadings(S, loadings)
    return recovered_from_scores(*score_moments(S, loadings), float(np.finfo(S.dtype).eps))


def recovered_from_scores(G: Array, M: Array, eps: float) -> Array:
    """The same from ``G = W'SW`` and ``M = W'S^2W``.

    Scores are made uncorrelated one after the other; each then recovers on its own. A score
    that is a combination of earlier ones adds nothing. One that nearly is leaves small differences
    of large numbers: what their rounding can be is carried along and decided against the score,
    so that no component is credited with more than it recovers.
    """
    lengths = np.sqrt(np.maximum(G.diagonal(), 0))
    unit = 1 / np.where(lengths > 0, lengths, np.inf)
    # Both at once: G and M among the components that are left.
    both = np.array([G, M], dtype=np.float64) * (unit[:, None] * unit)
    r = len(unit)
    gains = np.zeros(r)
    # Square roots of the errors of both diagonals: they add up like lengths. Where nothing is
    # recovered, rounding may leave less than that.
    errors = np.sqrt(ROUNDING * eps * np.abs(both.diagonal(axis1=1, axis2=2)))
    for j in range(r):
        score, square = both[:, 0, 0].tolist()
        error_score, error_square = errors[:, 0].tolist()
        if score > NEGLIGIBLE * eps:
            gains[j] = max(square - error_square**2, 0) / (score + error_score**2)
            # Later components lose what this one says of their scores: w_l - w_j G_jl / G_jj.
            share = both[0, 0] / score
            share[0] = 0
            both = both - share[:, None] * both[:, :1]
            both -= both[:, :, :1] * share
            errors = errors + np.abs(share) * errors[:, :1]
        both, errors = both[:, 1:, 1:], errors[:, 1:]
    return np.cumsum(gains)


def held_out_recovery(S_train: Covariance, S_test: Covariance, loadings: Array) -> Array:
    """Share of held-out variance recovered by a regression learned on other samples, cumulative.

    ``1 - |Z - Z W B|^2 / |Z|^2`` for test data ``Z`` and the coefficients
    ``B = (W'SW)^+ W'S`` of the training data, for the first 1, 2, ... components.

    Parameters
    ----------
    S_train, S_test : Covariance
        Of both samples, centred and scaled by the training sample.
    loadings : ndarray of shape (n_features, n_components)
        Components in their order.

    Returns
    -------
    ndarray of shape (n_components,)
        At most 1; negative where the regression does harm, 0 where there is nothing to recover.
    """
    for S in (S_train, S_test):
        check_loadings(S, loadings)
    W = loadings.astype(np.float64)
    trained = (S_train @ loadings).astype(np.float64)
    tested = (S_test @ loadings).astype(np.float64)
    total = float(S_test.diagonal().sum(dtype=np.float64))
    G, H = W.T @ trained, W.T @ tested
    rcond = 1e3 * float(np.finfo(S_train.dtype).eps)
    shares = np.zeros(W.shape[1])
    for j in range(1, W.shape[1] + 1 if total > 0 else 0):
        inverse = np.linalg.pinv((G[:j, :j] + G[:j, :j].T) / 2, rcond=rcond, hermitian=True)
        B = inverse @ trained[:, :j].T
        lost = total - 2 * np.sum(B * tested[:, :j].T) + np.sum((H[:j, :j] @ B) * B)
        shares[j - 1] = 1 - lost / total
    return shares
