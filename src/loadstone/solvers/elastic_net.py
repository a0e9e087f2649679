"""Sparse PCA by the elastic net: regression of principal components on the features.

Notation: ``A`` has orthonormal columns, ``B`` holds the coefficients. With the
covariance S in place of X'X, column j of B minimises (Eq. 3.12)

    (a_j - b)' S (a_j - b) + ridge |b|^2 + penalty_j |b|_1,

and ``A = U V'`` from the thin SVD ``S B = U D V'`` (Theorem 4). As the ridge grows
without limit, b tends to the soft threshold of ``S a_j`` (Eq. 5.20), which needs products
with S alone.

References
----------
Zou, H., Hastie, T., & Tibshirani, R. (2006). Sparse principal component analysis.
Journal of Computational and Graphical Statistics, 15(2), 265-286.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from loadstone.constraints import LoadingConstraint
from loadstone.covariance import Array, Covariance, leading_eigenpairs, materialise
from loadstone.loadings import Loadings, Stop
from loadstone.metrics import total_variance

#: Share of the total variance below which a direction counts as empty.
NEGLIGIBLE = 1e-10
#: Largest share of the longest coefficient, in units of rounding, that counts as zero.
ROUNDING = 16
#: Share of the penalty by which slopes may miss it, and rounds of coordinate descent at most.
PRECISE, ROUNDS = 1e-8, 1000


@dataclass(frozen=True)
class ElasticNet:
    """Alternates between an elastic net for each component and a rotation of all.

    Attributes
    ----------
    sizes : sequence of int or None
        Non-zeros per component; ``None`` where penalties are given.
    penalties : sequence of float or None
        Weight of the l1 norm per component.
    ridge : float
        Weight of the squared norm; ``inf`` is the limit for many features.
    forbidden : ndarray of int or None
        Features that stay zero.
    max_iter : int
        Largest number of alternations.
    tol : float
        Largest change of a normalised loading at which the alternation has settled.
    """

    sizes: Sequence[int] | None = None
    penalties: Sequence[float] | None = None
    ridge: float = 1e-6
    forbidden: Array | None = None
    max_iter: int = 200
    tol: float = 1e-6

    def solve(self, S: Covariance) -> Loadings:
        """All components jointly, normalised; a column of zeros where nothing is left of one.

        ``details["empty"]`` says which had no variance to predict, so that not the penalty
        but the data left nothing.
        """
        n_components = len(self.sizes if self.sizes is not None else self.penalties or ())
        A = leading_eigenpairs(S, n_components)[1]
        regress = self._regression(S)
        eps = float(np.finfo(S.dtype).eps)
        negligible = max(NEGLIGIBLE, 8 * eps) * total_variance(S)
        W = np.zeros_like(A)
        trace: list[float] = []
        for n_iter in range(1, self.max_iter + 1):
            # Without variance there is nothing to predict, only rounding to be blown up.
            empty = np.linalg.norm(S @ A, axis=0) <= negligible
            B = np.column_stack(
                [np.zeros_like(a) if empty[j] else regress(a, j) for j, a in enumerate(A.T)]
            )
            # Only how long columns are beside each other counts, and squares must not overflow.
            B = without_rounding(B, eps) / (np.abs(B).max() or 1.0)
            SB = S @ B
            moved = _normalised(B)
            trace.append(float(np.einsum("ij,ij->", moved, S @ moved)))
            settled = np.abs(moved - W).max() <= self.tol
            W = moved
            if settled:
                return Loadings(W, np.array(trace), n_iter, Stop.CONVERGED, {"empty": empty})
            A = _rotation(SB, A)
        return Loadings(W, np.array(trace), self.max_iter, Stop.MAX_ITER, {"empty": empty})

    def _regression(self, S: Covariance) -> Callable[[Array, int], Array]:
        if np.isinf(self.ridge):
            return self._thresholded(S)
        matrix = materialise(S).matrix.astype(np.float64)
        if self.forbidden is not None and self.forbidden.size:
            matrix = matrix.copy()
            matrix[self.forbidden] = 0
            matrix[:, self.forbidden] = 0
        # Beyond this nothing of the matrix is left beside it, and digits are lost.
        ridge = min(self.ridge, 1e12 * float(np.trace(matrix)))
        if self.sizes is not None:
            sizes = self.sizes
            return lambda a, j: sized_elastic_net(matrix, matrix @ a, ridge, sizes[j])
        penalties = self.penalties or ()
        values, vectors = np.linalg.eigh(matrix)
        # Without a penalty (S + ridge I)^-1 S a, which a solver would blow rounding up in.
        kept = np.maximum(values, 0) / np.maximum(values + ridge, np.finfo(np.float64).tiny)

        def regress(a: Array, j: int) -> Array:
            if penalties[j] == 0:
                return vectors @ (kept * (vectors.T @ a))
            return elastic_net(matrix, matrix @ a, ridge, penalties[j])

        return regress

    def _thresholded(self, S: Covariance) -> Callable[[Array, int], Array]:
        """The limit of an infinite ridge: soft thresholds of ``S a``."""
        closed = np.empty(0, dtype=np.intp) if self.forbidden is None else self.forbidden
        if self.sizes is not None:
            rules = [LoadingConstraint(S.n_features, k, forbidden=closed) for k in self.sizes]
            return lambda a, j: rules[j].shrunken_loading(S @ a)
        penalties = self.penalties or ()

        def shrink(a: Array, j: int) -> Array:
            f = S @ a
            f[closed] = 0
            return np.sign(f) * np.maximum(np.abs(f) - penalties[j] / 2, 0)

        return shrink


def elastic_net(matrix: Array, target: Array, ridge: float, penalty: float) -> Array:
    """Argmin of ``b'(S + ridge I)b - 2 target'b + penalty |b|_1``.

    By least angles, which is exact in a step per feature; by coordinate descent where features
    repeat each other, of which least angles drop one.
    """
    gram = matrix + ridge * np.eye(matrix.shape[0])
    if penalty == 0:
        return np.linalg.lstsq(gram, target, rcond=None)[0]
    b = _least_angles(gram, target, 8 * gram.shape[0] + 8, penalty / 2)[:, -1]
    if _broken_optimality(gram, target, penalty, b) > PRECISE * penalty:
        b = _descended(gram, target, penalty)
    return b


def _least_angles(gram: Array, target: Array, max_iter: int, end: float = 0.0) -> Array:
    """Coefficients where features enter or leave, down to half a penalty of ``end``."""
    from sklearn.linear_model import lars_path_gram

    with warnings.catch_warnings():
        # Collinear features stop the path early: what it has reached so far still counts.
        warnings.simplefilter("ignore")
        path: Array = lars_path_gram(
            target, gram, n_samples=1, method="lasso", max_iter=max_iter, alpha_min=end
        )[2]
    return path


def _broken_optimality(gram: Array, target: Array, penalty: float, b: Array) -> float:
    """By how much the slopes miss the penalty, or exceed it where there is no coefficient."""
    slope = 2 * (gram @ b - target)
    return float(
        np.where(b != 0, np.abs(slope + penalty * np.sign(b)), np.abs(slope) - penalty).max()
    )


def _descended(gram: Array, target: Array, penalty: float) -> Array:
    """The same by coordinate descent, as far as it comes in a bounded number of rounds."""
    from sklearn.linear_model import enet_path

    # scikit-learn minimises |y - Xb|^2/(2n) + alpha |b|_1; only X'X and X'y are looked at,
    # so a square root of the matrix stands in for the data.
    n = gram.shape[0]
    values, vectors = np.linalg.eigh(gram)
    root = (vectors * np.sqrt(np.maximum(values, 0))) @ vectors.T
    response = np.linalg.lstsq(root, target, rcond=None)[0]
    with warnings.catch_warnings():
        # Among twins it creeps; the alternation goes on from wherever it is.
        warnings.simplefilter("ignore", ConvergenceWarning)
        coefficients = enet_path(
            root, response, l1_ratio=1.0, alphas=[penalty / (2 * n)], tol=1e-10, max_iter=ROUNDS
        )[1]
    result: Array = coefficients[:, 0]
    return result


def sized_elastic_net(matrix: Array, target: Array, ridge: float, size: int) -> Array:
    """The first point of the least-angle path with ``size`` non-zeros.

    The path of the elastic net is that of the lasso with ``S + ridge I`` in place of ``S``. Where
    a feature enters and another leaves at once a size can be skipped; the point before is
    then filled up by the largest correlations left. Features that do not help stay zero, so
    there are fewer than ``size`` where no more of them correlate with the target.
    """
    n = matrix.shape[0]
    gram = matrix + ridge * np.eye(n)
    path = _least_angles(gram, target, 8 * size + 8)
    path = without_rounding(path, float(np.finfo(np.float64).eps))
    counts = np.count_nonzero(path, axis=0)
    # The last point before the next feature enters: one with the least shrinkage at this size.
    exact = np.flatnonzero(counts == size)
    if exact.size:
        return path[:, exact[-1]] if size == n else path[:, exact[0]]
    return _filled(gram, target, path[:, np.flatnonzero(counts < size)[-1]], size)


def _filled(gram: Array, target: Array, b: Array, size: int) -> Array:
    """Add the features with the largest correlations left, and solve on that support."""
    left = np.abs(target - gram @ b)
    left[b != 0] = np.inf
    support = np.sort(np.argsort(-left, kind="stable")[:size])
    result = np.zeros_like(b)
    solution = np.linalg.lstsq(gram[np.ix_(support, support)], target[support], rcond=None)[0]
    result[support] = solution
    return without_rounding(result[:, None], float(np.finfo(np.float64).eps))[:, 0]


def without_rounding(B: Array, eps: float) -> Array:
    """Columns with what rounding left of a coefficient set to zero."""
    size = np.abs(B)
    return np.where(size > ROUNDING * eps * size.max(axis=0), B, 0)


def _rotation(SB: Array, A: Array) -> Array:
    """``U V'`` of the thin SVD; a column without coefficients keeps its direction."""
    empty = ~SB.any(axis=0)
    # Far below the others at any scale of the data, so that it gives way to them.
    faint = A * (1e-12 * (np.linalg.norm(SB) or 1.0))
    U, _, Vt = np.linalg.svd(np.where(empty, faint, SB), full_matrices=False)
    result: Array = U @ Vt
    return result


def _normalised(B: Array) -> Array:
    # A huge ridge makes coefficients whose squares are zero.
    largest = np.abs(B).max(axis=0)
    B = B / np.where(largest > 0, largest, 1)
    lengths = np.linalg.norm(B, axis=0)
    return B / np.where(lengths > 0, lengths, 1)
