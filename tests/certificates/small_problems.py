"""Random small problems with their true optimum, found by trying every support."""

from itertools import combinations

import numpy as np

from loadstone.certificates.problem import SupportProblem

KINDS = ("gaussian", "rank_one", "duplicates", "degenerate", "zeros", "indefinite", "low_rank")


def random_matrix(rng, n, kind):
    """A covariance of a troublesome kind."""
    factors = rng.standard_normal((n, n))
    if kind == "rank_one":
        return np.outer(factors[0], factors[0])
    if kind == "duplicates":
        factors = factors[:, rng.integers(0, max(1, n // 2), n)]
        return factors.T @ factors
    if kind == "degenerate":
        basis = np.linalg.qr(factors)[0]
        return (basis * rng.integers(0, 3, n)) @ basis.T
    if kind == "zeros":
        factors[:, rng.random(n) < 0.4] = 0.0
        return factors.T @ factors
    if kind == "indefinite":
        return (factors + factors.T) / 2.0
    if kind == "low_rank":
        return factors[:, :2] @ factors[:, :2].T
    return factors.T @ factors * 10.0 ** rng.integers(-6, 7)


def random_problem(rng, n, *, nonnegative):
    """A problem with forced and forbidden features in about half of the cases."""
    k = int(rng.integers(1, n + 1))
    shuffled = rng.permutation(n)
    n_forced = int(rng.integers(0, k + 1)) if rng.random() < 0.5 else 0
    n_forbidden = int(rng.integers(0, n - max(n_forced, 1) + 1)) if rng.random() < 0.5 else 0
    return SupportProblem.of(
        n,
        k,
        nonnegative=nonnegative,
        forced=shuffled[:n_forced],
        forbidden=shuffled[n - n_forbidden :],
    )


def best_nonnegative(matrix):
    """max x'Ax over unit x >= 0: the best positive eigenvector over all faces."""
    n = matrix.shape[0]
    best = float(matrix.diagonal().max())
    for size in range(2, n + 1):
        for face in combinations(range(n), size):
            values, vectors = np.linalg.eigh(matrix[np.ix_(face, face)])
            positive = (vectors >= -1e-12).all(axis=0) | (vectors <= 1e-12).all(axis=0)
            if positive.any():
                best = max(best, float(values[positive].max()))
    return best


def brute_force(matrix, problem):
    """The true optimum over all admissible supports."""
    forced = problem.features[problem.forced]
    free = problem.features[~problem.forced]
    best = -np.inf
    size = min(problem.n_free, free.size)
    for chosen in combinations(free, size):
        support = np.concatenate([forced, np.asarray(chosen, dtype=np.intp)])
        block = matrix[np.ix_(support, support)]
        if problem.nonnegative:
            best = max(best, best_nonnegative(block))
        else:
            best = max(best, float(np.linalg.eigvalsh(block)[-1]))
    return best
