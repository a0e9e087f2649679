"""Sparse PCA by the elastic net: regression of principal components on the features.

Notation: ``A`` has orthonormal columns, ``B`` holds the coefficients. With the
covariance S in place of X'X, column j of B minimises (Eq. 3.12)

    (a_j - b)' S (a_j - b) + ridge |b|^2 + penalty_j |b|_1,

and ``A = U V'`` from the thin SVD ``S B = U D V'`` (Theorem 4). As the ridge grows
without limit, b tends to the soft threshold of ``S a_j`` (Eq. 5.20), which needs products
with S alone.

With penalties the criterion falls in every round. With sizes each round has penalties of
its own, so nothing need fall, and the supports can take turns for ever. Where they do, the
supports with the smallest error so far are kept, others only take their place where they
lower the error, and the coefficients are those of the ridge regression on them: then the
error falls in every round, and the alternation settles.

References
----------
Zou, H., Hastie, T., & Tibshirani, R. (2006). Sparse principal component analysis.
Journal of Computational and Graphical Statistics, 15(2), 265-286.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from loadstone.covariance import (
    Array,
    Covariance,
    ExplicitCovariance,
    leading_eigenpairs,
    materialise,
)
from loadstone.loadings import Loadings, Stop
from loadstone.metrics import total_variance
from loadstone.solvers.elastic_net_regressions import (
    Regressions,
    above_penalties,
    regressions,
    without_rounding,
)

#: Share of the total variance below which a direction counts as empty.
NEGLIGIBLE = 1e-10
#: Rounds after which sizes that have not settled by themselves are held; the authors' cap.
PATIENCE = 200
#: Gain of the error, in units of ``tol``, at which the held supports have settled.
SETTLED = 1e-3
#: Share by which another support must explain more to take the place of the one held.
SUPPORT_GAIN = 1e-9
#: Share of the last rotation that decides where the next is not unique: far above rounding.
LITTLE = 1e-8


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
        dtype = S.dtype
        if dtype == np.float32 and not np.isinf(self.ridge):
            S = _in_double(S)
        rules = regressions(S, self.sizes, self.penalties, self.ridge, self.forbidden)
        run = _Alternation(S, rules, self.tol, dtype)
        n_components = len(self.sizes if self.sizes is not None else self.penalties or ())
        A = leading_eigenpairs(S, n_components)[1]
        found = self._alternate(run, A)
        return replace(found, matrix=found.matrix.astype(dtype, copy=False))

    def _alternate(self, run: _Alternation, A: Array) -> Loadings:
        published = self.max_iter if self.sizes is None else min(PATIENCE, self.max_iter)
        found, best = run.as_published(A, published)
        if found.stop is Stop.CONVERGED or published == self.max_iter:
            return found
        return run.with_held_supports(best, found, self.max_iter - published)


@dataclass(frozen=True)
class _Best:
    """The rotation and the supports with the smallest error so far."""

    value: float
    A: Array
    supports: list[Array]


@dataclass(frozen=True)
class _Alternation:
    """One covariance, its regressions, when the rounds have settled, and the precision of the data."""

    S: Covariance
    rules: Regressions
    tol: float
    dtype: np.dtype[Any]

    def as_published(self, A: Array, max_iter: int) -> tuple[Loadings, _Best]:
        """The authors' rounds from a rotation A, and the best supports on the way."""
        W = B = np.zeros_like(A)
        trace: list[float] = []
        best = _Best(-np.inf, A, [])
        for _ in range(max_iter):
            targets, empty = self._targets(A)
            priced = above_penalties(targets, self.rules.penalties, self.dtype)
            B = without_rounding(self.rules.penalised(priced, B), self.dtype)
            best = self._better(best, A, targets, B)
            # Only how long columns are beside each other counts, and squares must not overflow.
            B = B / (np.abs(B).max() or 1.0)
            SB = self.S @ B
            moved = _normalised(B)
            trace.append(float(np.einsum("ij,ij->", moved, self.S @ moved)))
            settled = np.abs(moved - W).max() <= self.tol
            W = moved
            if settled:
                break
            A = _rotation(SB, A)
        stop = Stop.CONVERGED if settled else Stop.MAX_ITER
        return Loadings(W, np.array(trace), len(trace), stop, {"empty": empty}), best

    def with_held_supports(self, best: _Best, before: Loadings, max_iter: int) -> Loadings:
        """Rounds in which the error falls, sped up by momentum that is dropped where it rises.

        The momentum of round m is ``m / (m + 3)``, as in Nesterov's accelerated gradients.
        """
        A, supports, W = best.A, best.supports, before.matrix
        proposed = np.zeros_like(A)
        good, last, value, pace = A, A, -np.inf, 0
        trace, stop = list(before.objective), Stop.MAX_ITER
        for _ in range(max_iter):
            targets, empty = self._targets(A)
            proposed = self.rules.penalised(targets, proposed)
            B, supports = self._refit(targets, supports, proposed)
            reached = float(np.einsum("ij,ij->", targets, B))
            if reached < value and pace:
                A, last, pace = _rotation(good, A), good, 0
                continue
            gain, value = reached - value, reached
            moved = _normalised(B)
            change = np.abs(moved - W).max()
            W, good = moved, self.S @ B
            trace.append(float(np.einsum("ij,ij->", W, self.S @ W)))
            if change <= self.tol or gain <= SETTLED * self.tol * value:
                stop = Stop.CONVERGED if change <= self.tol else Stop.ACCURATE
                break
            momentum = pace / (pace + 3) if pace else 0.0
            A = _rotation(good + momentum * (good - last), A)
            last, pace = good, pace + 1
        return Loadings(W, np.array(trace), len(trace), stop, {"empty": empty})

    def _targets(self, A: Array) -> tuple[Array, Array]:
        """``S A``, and which columns have no variance to predict: only rounding to blow up."""
        targets = self.S @ A
        eps = float(np.finfo(self.dtype).eps)
        negligible = max(NEGLIGIBLE, 8 * eps) * total_variance(self.S)
        empty = np.linalg.norm(targets, axis=0) <= negligible
        return np.where(empty, 0, targets), empty

    def _better(self, best: _Best, A: Array, targets: Array, B: Array) -> _Best:
        """The smaller error of two, each with the ridge regressions on its supports."""
        supports = self.rules.supports(targets, B)
        pairs = zip(targets.T, supports, strict=True)
        value = sum(float(t @ self.rules.on(t, support)) for t, support in pairs)
        return _Best(value, A, supports) if value > best.value else best

    def _refit(
        self, targets: Array, supports: list[Array], proposed: Array
    ) -> tuple[Array, list[Array]]:
        """Ridge regressions on the supports held, or on proposed ones with a smaller error."""
        B, kept = np.zeros_like(targets), []
        others = self.rules.supports(targets, proposed)
        for j, (support, other) in enumerate(zip(supports, others, strict=True)):
            t = targets[:, j]
            b, challenger = self.rules.on(t, support), self.rules.on(t, other)
            lower = t @ challenger > (1 + SUPPORT_GAIN) * (t @ b)
            B[:, j] = challenger if lower else b
            kept.append(other if lower else support)
        return B, kept


def _in_double(S: Covariance) -> Covariance:
    """The matrix in double precision, without the negative eigenvalues that rounding left.

    A ridge smaller than these would blow up what single precision loses of ``S a``.
    """
    values, vectors = np.linalg.eigh(materialise(S).matrix.astype(np.float64))
    return ExplicitCovariance((vectors * np.maximum(values, 0)) @ vectors.T, S.n_samples)


def _rotation(SB: Array, A: Array) -> Array:
    """``U V'`` of the thin SVD of ``SB``, nearest to the last rotation where that leaves a choice.

    Columns that are empty or say the same, such as two components of one feature, leave it, and
    rounding would decide. A little of ``A`` does so instead; where ``A`` is the rotation of ``SB``
    it is that of their sum, so what settles is the same.
    """
    little = max(LITTLE, 8 * float(np.finfo(SB.dtype).eps)) * (float(np.linalg.norm(SB)) or 1.0)
    U, _, Vt = np.linalg.svd(SB + little * A, full_matrices=False)
    result: Array = U @ Vt
    return result


def _normalised(B: Array) -> Array:
    # A huge ridge makes coefficients whose squares are zero.
    largest = np.abs(B).max(axis=0)
    B = B / np.where(largest > 0, largest, 1)
    lengths = np.linalg.norm(B, axis=0)
    return B / np.where(lengths > 0, lengths, 1)
