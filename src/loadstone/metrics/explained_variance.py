"""How much variance components explain, without counting any of it twice.

Components that are not orthogonal share variance, and the sum of their marginal
variances can exceed what PCA reaches. The adjusted variance credits each component
only with what those before it have not explained.

References
----------
Zou, H., Hastie, T., & Tibshirani, R. (2006). Sparse principal component analysis.
Journal of Computational and Graphical Statistics, 15(2), 265-286.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from loadstone.covariance import Array, Covariance, SampleGram, score_moments
from loadstone.covariance.symmetric import pseudo_inverse
from loadstone.metrics.given import check_covariance, check_loadings

#: Share of the total variance that is nothing, and how many roundings of one are.
NEGLIGIBLE, ROUNDINGS = 1e-10, 100


def negligible_share(dtype: np.dtype[Any]) -> float:
    """Share of the total variance below which a direction, or what a component adds, is nothing."""
    return max(NEGLIGIBLE, ROUNDINGS * float(np.finfo(dtype).eps))


def score_covariance(S: Covariance, loadings: Array) -> Array:
    """``W'SW``: covariance of the scores, one pass."""
    check_loadings(S, loadings)
    if isinstance(S, SampleGram):
        return score_moments(S, loadings)[0]
    G = loadings.T.astype(np.float64) @ (S @ loadings).astype(np.float64)
    return (G + G.T) / 2


def marginal_variance(S: Covariance, loadings: Array) -> Array:
    """``w'Sw`` of each component alone."""
    return np.maximum(score_covariance(S, loadings).diagonal(), 0)


def adjusted_variance(S: Covariance, loadings: Array, *, method: str = "scores") -> Array:
    """Squared diagonal of R in the QR of the scores, in the order of the components.

    ``method="loadings"`` makes the loadings orthogonal instead, one after another, and gives the
    variance along each: Guan and Dy (2009) report that. Their scores stay correlated, so
    some variance is counted twice.
    """
    if method == "scores":
        return adjusted_from_scores(score_covariance(S, loadings))
    if method != "loadings":
        msg = f"method={method!r} must be 'scores' or 'loadings': what is made orthogonal"
        raise ValueError(msg)
    Q, R = np.linalg.qr(np.asarray(loadings, dtype=np.float64))
    length = np.abs(np.diag(R))
    independent = length > 1e-10 * length.max(initial=0.0)
    return np.where(independent, marginal_variance(S, Q.astype(S.dtype)), 0.0)


def adjusted_from_scores(G: Array) -> Array:
    """Adjusted variances from the covariance ``G`` of the scores.

    Cholesky without pivoting, so that the order is kept; a component whose scores
    are a combination of earlier ones adds nothing.
    """
    G = np.array(G, dtype=np.float64)
    m = G.shape[0]
    adjusted = np.zeros(m)
    negligible = 1e-12 * max(float(np.max(G.diagonal(), initial=0.0)), np.finfo(np.float64).tiny)
    try:
        independent = np.square(np.linalg.cholesky(G).diagonal())
        if independent.min(initial=np.inf) > negligible:
            return np.asarray(independent)
    except np.linalg.LinAlgError:
        pass
    for j in range(m):
        adjusted[j] = max(G[j, j], 0.0)
        if adjusted[j] <= negligible:
            continue
        row = G[j, j + 1 :] / G[j, j]
        G[j + 1 :, j + 1 :] -= np.outer(row, G[j, j + 1 :])
    return adjusted


def adds_variance(S: Covariance, loadings: Array) -> Array:
    """Which components explain anything that those before them do not, as a mask."""
    return adds_from_scores(S, score_covariance(S, loadings))


def adds_from_scores(S: Covariance, G: Array) -> Array:
    """The same from the covariance ``G`` of the scores.

    Rounding of ``G`` counts as often as a combination of earlier scores uses them.
    """
    eps, total = float(np.finfo(S.dtype).eps), total_variance(S)
    adds: Array = adjusted_from_scores(G) > negligible_share(S.dtype) * total
    while adds.any():
        kept = np.flatnonzero(adds)
        # Rows of the inverse are (1, -use) over the root of what a score adds.
        inverse = np.linalg.inv(np.linalg.cholesky(G[np.ix_(kept, kept)]))
        lost = np.flatnonzero(10 * eps * total * np.square(inverse).sum(axis=1) >= 1)
        if not lost.size:
            break
        adds[kept[lost[0]]] = False
    return adds


def span_variance(S: Covariance, loadings: Array) -> float:
    """Variance of the data projected on the span of the components."""
    check_loadings(S, loadings)
    Q = np.linalg.qr(loadings.astype(np.float64))[0].astype(S.dtype)
    return float(np.trace(score_covariance(S, Q)))


def regressed_variance(S: Covariance, loadings: Array) -> float:
    """Variance of all features that a regression on the scores explains.

    Nothing is left to find once this is the total variance, whatever the angles between
    the components.
    """
    check_loadings(S, loadings)
    return _regressed(S, *score_moments(S, loadings))[0]


def unexplained_from_scores(S: Covariance, G: Array, M: Array) -> tuple[float, float]:
    """Variance of all features that a regression on the scores leaves, and how exact that is.

    ``G`` and ``M`` are the moments of the scores. Scores that are nearly dependent say little of
    what is left: the second number is how far rounding may have moved the first one.
    """
    explained, condition = _regressed(S, G, M)
    total = total_variance(S)
    return total - explained, 10 * float(np.finfo(S.dtype).eps) * condition * total


def _regressed(S: Covariance, G: Array, M: Array) -> tuple[float, float]:
    """What scores explain of all features, and the condition of those that are independent."""
    rcond = 1e3 * float(np.finfo(S.dtype).eps)
    size = np.abs(np.linalg.eigvalsh(G))
    independent = size[size > rcond * size.max(initial=0.0)]
    condition = float(independent.max() / independent.min()) if independent.size else 1.0
    return float(np.sum(pseudo_inverse(G, rcond) * M)), condition


def total_variance(S: Covariance) -> float:
    """Trace of the covariance."""
    check_covariance(S)
    return float(S.diagonal().sum(dtype=np.float64))


def score_correlation(S: Covariance, loadings: Array) -> Array:
    """Correlation of the scores, with zeros where a component has no variance."""
    return correlation_from_scores(score_covariance(S, loadings))


def correlation_from_scores(G: Array) -> Array:
    """Correlations from the covariance ``G`` of the scores."""
    std = np.sqrt(np.maximum(G.diagonal(), 0))
    inverse = np.divide(1.0, std, out=np.zeros_like(std), where=std > 0)
    return G * np.multiply.outer(inverse, inverse)
