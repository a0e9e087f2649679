"""The component of each size that recovers most of all features, beginning with the variance path."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy import sparse

from loadstone.blas_threads import one_blas_thread
from loadstone.constraints import LoadingConstraint
from loadstone.covariance import Array, Covariance, Support
from loadstone.selection.path import CardinalityPath
from loadstone.selection.path_supports import Supports
from loadstone.solvers.recovery.solver import Recovery


def recovery_path(path: CardinalityPath, forbidden: Support) -> CardinalityPath:
    """The same sizes, each with the component whose scores recover most.

    Parameters
    ----------
    path : CardinalityPath
        Of the variance; none of its components recovers more than the one of the result.
    forbidden : ndarray of int
        Features that stay out.
    """
    S = path.covariance
    # The first principal component has as much variance as it recovers.
    pca = float(path.values[-1] / path.ratio[-1])
    found: list[Array] = []
    values: list[float] = []
    with one_blas_thread():
        for size in path.n_nonzeros:
            constraint = LoadingConstraint(
                S.n_features, int(size), path.nonnegative, forbidden=forbidden
            )
            # A smaller component is allowed at every larger size: no size recovers less.
            starts = [path.loadings(int(size))[:, None], *(w[:, None] for w in found[-1:])]
            w = Recovery()(S, [constraint], starts).matrix[:, 0]
            candidates = [w, *(start[:, 0] for start in starts)]
            recovered = [_recovered(S, each) for each in candidates]
            found.append(candidates[int(np.argmax(recovered))])
            values.append(max(recovered))
    loadings, most = np.stack(found), np.minimum(values, pca)
    return replace(
        path,
        values=most,
        ratio=most / pca,
        supports=Supports(np.packbits(loadings != 0, axis=1), S.n_features),
        objective="recovery",
        recovering=sparse.csr_array(loadings),
    )


def _recovered(S: Covariance, w: Array) -> float:
    """``|Sw|^2 / w'Sw``."""
    Sw = (S @ w).astype(np.float64)
    variance = float(w.astype(np.float64) @ Sw)
    return float(Sw @ Sw) / variance if variance > 0 else 0.0
