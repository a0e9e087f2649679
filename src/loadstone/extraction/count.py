"""How many components recover a share of the variance of all features.

No components recover more than as many principal ones, so the number PCA needs is where the search
begins; from there the number grows by half until the share is reached, and is then bisected.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from loadstone.covariance import Array, Covariance, leading_eigenpairs
from loadstone.metrics import recovered_variance, total_variance

#: Digits of eigenvalues that decide where to begin.
TOL = 1e-4


def choose_count(S: Covariance, share: float, find: Callable[[int], Array]) -> int:
    """The smallest number of components found to recover ``share`` of the total variance.

    Parameters
    ----------
    S : Covariance
        The data.
    share : float
        Of the total variance, between 0 and 1.
    find : callable
        Loadings of so many components; fewer columns where there are no more.

    Returns
    -------
    int
        The largest number tried where even that does not reach the share.
    """
    most = int(min(S.n_features, S.n_samples - 1 if np.isfinite(S.n_samples) else np.inf))
    low = number = _needed_by_pca(S, share, most)
    while not _reaches(S, share, loadings := find(number)):
        if loadings.shape[1] < number or number >= most:
            return number
        low, number = number + 1, min(most, number + max(1, number // 2))
    while low < number:
        middle = (low + number) // 2
        if _reaches(S, share, find(middle)):
            number = middle
        else:
            low = middle + 1
    return number


def missed_share(S: Covariance, share: float, loadings: Array) -> str | None:
    """What to say where the components recover less than asked for."""
    if _reaches(S, share, loadings):
        return None
    reached = _recovered(S, loadings) / total_variance(S)
    return (
        f"n_components={share} is not reached: the {loadings.shape[1]} components there are recover "
        f"{reached:.1%} of the variance; allow more features"
    )


def _reaches(S: Covariance, share: float, loadings: Array) -> bool:
    return _recovered(S, loadings) >= share * total_variance(S)


def _recovered(S: Covariance, loadings: Array) -> float:
    """What all of them recover; nothing where there are none."""
    return float(recovered_variance(S, loadings).max(initial=0))


def _needed_by_pca(S: Covariance, share: float, most: int) -> int:
    """How many principal components recover the share."""
    wanted, rank = share * total_variance(S), min(8, most)
    while True:
        together = np.cumsum(leading_eigenpairs(S, rank, TOL)[0]) * (1 + TOL)
        if together[-1] >= wanted or rank == most:
            return min(int(np.searchsorted(together, wanted)) + 1, most)
        rank = min(2 * rank, most)
