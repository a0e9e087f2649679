"""The data-dependent bound of the spannogram paper, for comparison; it is not a proof.

Notation: V = U_d Lambda_d^{1/2} is the rank-d part of the covariance A, c a random
direction in R^d, and g(c)^2 the largest sum of squares of V c over a support. With
about eps^-d log n random directions the best candidate reaches 1 - eps of the optimum
of the rank-d problem, with probability 1 - 1/n; the rest of A adds at most lambda_{d+1}.

References
----------
Asteris, M., Papailiopoulos, D. S., & Dimakis, A. G. (2014). Nonnegative sparse PCA with
provable guarantees. Proceedings of the 31st International Conference on Machine
Learning, 1728-1736.
"""

from __future__ import annotations

import numpy as np

from loadstone.certificates.bound_instant import NamedBound
from loadstone.certificates.problem import SupportProblem
from loadstone.covariance.protocol import Covariance
from loadstone.covariance.spectrum import leading_eigenpairs

COLUMNS_AT_ONCE = 256


def probabilistic_bound(
    S: Covariance,
    problem: SupportProblem,
    rng: np.random.Generator,
    *,
    rank: int = 3,
    epsilon: float = 0.1,
) -> NamedBound:
    """min(lambda_1, best g(c)^2/(1 - eps) + lambda_{d+1}), valid with probability 1 - 1/n."""
    rank = min(rank, S.n_features - 1)
    values, vectors = leading_eigenpairs(S, rank + 1)
    values = np.maximum(values, 0.0)
    V = vectors[problem.features, :rank] * np.sqrt(values[:rank])
    n_points = int(np.ceil(epsilon**-rank * np.log(max(S.n_features, 2))))
    best = 0.0
    for start in range(0, n_points, COLUMNS_AT_ONCE):
        directions = rng.standard_normal((rank, min(COLUMNS_AT_ONCE, n_points - start)))
        directions /= np.linalg.norm(directions, axis=0)
        entries = V @ directions
        squares = np.square(np.maximum(entries, 0.0) if problem.nonnegative else entries)
        best = max(best, float(_best_sums(squares, problem).max()))
    value = min(float(values[0]), best / (1.0 - epsilon) + float(values[rank]))
    return NamedBound(value, "epsilon net, holds with probability 1 - 1/n")


def _best_sums(squares: np.ndarray, problem: SupportProblem) -> np.ndarray:
    """Largest sum over a support, for each column."""
    free = squares[~problem.forced]
    count = min(problem.n_free, free.shape[0])
    top = np.partition(free, free.shape[0] - count, axis=0)[free.shape[0] - count :]
    return np.asarray(squares[problem.forced].sum(axis=0) + top.sum(axis=0))
