"""The regressions inside the elastic net's sparse PCA: with a ridge, or in its limit."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from loadstone.constraints import LoadingConstraint
from loadstone.covariance import Array, Covariance, materialise
from loadstone.solvers.least_angle import least_angle

#: Largest share of the longest coefficient, in units of rounding, that counts as zero.
ROUNDING = 16
#: Slack of an optimality condition, as a share of the largest correlation.
SLACK = 1e-10
#: Rounds of coordinate descent at most.
ROUNDS = 1000
_NOTHING = np.empty(0, dtype=np.intp)


class Regressions(Protocol):
    """One penalised regression for each column of targets ``S A``."""

    @property
    def penalties(self) -> Sequence[float] | None:
        """One for each column; ``None`` where sizes are given."""

    def penalised(self, targets: Array, before: Array) -> Array:
        """Coefficients with the penalty or the size of each column; ``before`` is a guess."""

    def supports(self, targets: Array, B: Array) -> list[Array]:
        """Features of each column of the penalised coefficients B."""

    def on(self, target: Array, support: Array) -> Array:
        """Coefficients without an l1 penalty, zero outside a support."""


def regressions(
    S: Covariance,
    sizes: Sequence[int] | None,
    penalties: Sequence[float] | None,
    ridge: float,
    forbidden: Array | None,
) -> Regressions:
    """The regressions for a covariance; with an infinite ridge they need products with it alone."""
    closed = np.empty(0, dtype=np.intp) if forbidden is None else forbidden
    if np.isinf(ridge):
        return Thresholds(S.n_features, sizes, penalties, closed)
    gram = materialise(S).matrix.astype(np.float64)
    gram[closed] = 0
    gram[:, closed] = 0
    # Beyond this nothing of the matrix is left beside it, and digits are lost.
    ridge = min(ridge, 1e12 * float(np.trace(gram)))
    values, vectors = np.linalg.eigh(gram)
    root = vectors * np.sqrt(np.maximum(values, 0) + ridge)
    gram[np.diag_indices_from(gram)] += ridge
    return Ridge(gram, root @ vectors.T, sizes, penalties)


@dataclass(frozen=True)
class Ridge:
    """Elastic nets on ``G = S + ridge I``, whose square root stands in for the data."""

    gram: Array
    root: Array
    sizes: Sequence[int] | None
    penalties: Sequence[float] | None

    def penalised(self, targets: Array, before: Array) -> Array:
        """Each column by its size on the least-angle path, or by its penalty."""
        if self.sizes is not None:
            sized = zip(targets.T, self.sizes, before.T, strict=True)
            return np.column_stack([self.sized(t, size, b) for t, size, b in sized])
        priced = zip(targets.T, self.penalties or (), before.T, strict=True)
        return np.column_stack([self.with_penalty(t, price, b) for t, price, b in priced])

    def supports(self, targets: Array, B: Array) -> list[Array]:
        """The non-zeros."""
        del targets
        return [np.flatnonzero(b) for b in B.T]

    def on(self, target: Array, support: Array) -> Array:
        """``b = G_II^-1 t_I``."""
        b = np.zeros_like(target)
        block = self.gram[np.ix_(support, support)]
        b[support] = np.linalg.lstsq(block, target[support], rcond=None)[0]
        return b

    def sized(self, target: Array, size: int, before: Array) -> Array:
        """The point of the least-angle path with ``size`` non-zeros.

        Collinear features can end the path early; it is then filled up by the largest correlations
        left. Features that do not help stay zero, so there are fewer than ``size`` where no
        more of them correlate with the target.
        """
        signs = np.sign(before)
        guess = self._before_next_entry(target, signs) if signs.any() else None
        if guess is not None and np.count_nonzero(guess) == size:
            return guess
        b = without_rounding(least_angle(self.gram, target, size)[:, None], np.float64)[:, 0]
        if np.count_nonzero(b) >= size:
            return b
        size_of_target = np.abs(target)
        left = np.abs(target - self.gram @ b)
        # Rounding decides nothing: where nothing is left, those that repeat others are next.
        left[left <= SLACK * size_of_target.max(initial=0)] = 0
        left[b != 0] = np.inf
        support = np.sort(np.lexsort((-size_of_target, -left))[:size])
        return without_rounding(self.on(target, support)[:, None], np.float64)[:, 0]

    def _before_next_entry(self, target: Array, signs: Array) -> Array | None:
        """Where the stretch of the path with these signs ends, or nothing if there is none.

        On it ``b = p - level q``, and the next feature enters at the first level at which its
        correlation ``u + level v`` is as large as the level.
        """
        inside = np.flatnonzero(signs)
        block = self.gram[np.ix_(inside, inside)]
        p, q = np.linalg.solve(block, np.c_[target[inside], signs[inside]]).T
        u = target - self.gram[:, inside] @ p
        v = self.gram[:, inside] @ q
        outside = np.setdiff1d(np.arange(target.size), inside)
        with np.errstate(divide="ignore", invalid="ignore"):
            meets = np.r_[u[outside] / (1 - v[outside]), -u[outside] / (1 + v[outside])]
        level = float(np.max(meets[np.isfinite(meets)], initial=0.0))
        return self._with_signs(target, 2 * level, signs)

    def with_penalty(self, target: Array, penalty: float, before: Array) -> Array:
        """Argmin of ``b'Gb - 2 target'b + penalty |b|_1``.

        Late rounds change the coefficients but not their signs: then one linear system gives
        the answer, and its optimality conditions prove it. Otherwise least angles do, in a step
        for each feature, or coordinate descent where features repeat each other, of which
        least angles drop one.
        """
        if penalty == 0:
            # Along directions that hardly vary rounding of the target would be blown up.
            return np.linalg.lstsq(self.gram, target, rcond=1e-12)[0]
        for signs in (np.sign(before), self._signs_at(target, penalty)):
            b = self._with_signs(target, penalty, signs)
            if b is not None:
                return b
        return self._descent(target, penalty, before)

    def _signs_at(self, target: Array, penalty: float) -> Array:
        return np.sign(least_angle(self.gram, target, target.size, penalty / 2))

    def _with_signs(self, target: Array, penalty: float, signs: Array) -> Array | None:
        """The answer if it has these signs, or nothing."""
        inside = np.flatnonzero(signs)
        b = self.on(target - penalty / 2 * signs, inside)
        left = target - self.gram @ b
        slack = SLACK * np.abs(target).max(initial=0)
        fits = np.abs(left[inside] - penalty / 2 * signs[inside]).max(initial=0) <= slack
        optimal = fits and np.abs(left).max(initial=0) <= penalty / 2 + slack
        return b if optimal and np.array_equal(np.sign(b), signs) else None

    def _descent(self, target: Array, penalty: float, before: Array) -> Array:
        """The same by coordinate descent, as far as it comes in a bounded number of rounds."""
        from sklearn.linear_model import enet_path

        # scikit-learn minimises |y - Xb|^2/(2n) + alpha |b|_1; only X'X and X'y are looked at,
        # so a square root of the matrix stands in for the data.
        n = target.size
        response = np.linalg.lstsq(self.root, target, rcond=None)[0]
        with warnings.catch_warnings():
            # Among twins it creeps; the alternation goes on from wherever it is.
            warnings.simplefilter("ignore", ConvergenceWarning)
            coefficients = enet_path(
                self.root,
                response,
                l1_ratio=1.0,
                alphas=[penalty / (2 * n)],
                tol=1e-10,
                max_iter=ROUNDS,
                coef_init=before.astype(np.float64),
            )[1]
        result: Array = coefficients[:, 0]
        return result


@dataclass(frozen=True)
class Thresholds:
    """The limit of an infinite ridge: thresholds of ``S a`` (Eq. 5.20)."""

    n_features: int
    sizes: Sequence[int] | None
    penalties: Sequence[float] | None
    closed: Array

    def penalised(self, targets: Array, before: Array) -> Array:
        """Soft thresholds that leave the size, or half the penalty."""
        del before
        if self.sizes is not None:
            each = zip(targets.T, self.sizes, strict=True)
            return np.column_stack([self._sized(t, k) if t.any() else t for t, k in each])
        targets = targets.copy()
        targets[self.closed] = 0
        half = np.asarray(self.penalties, dtype=targets.dtype) / 2
        shrunken: Array = np.sign(targets) * np.maximum(np.abs(targets) - half, 0)
        return shrunken

    def supports(self, targets: Array, B: Array) -> list[Array]:
        """The largest entries of each target: of those that tie, soft thresholds leave nothing."""
        if self.sizes is None:
            return [np.flatnonzero(b) for b in B.T]
        each = zip(targets.T, self.sizes, strict=True)
        return [
            np.flatnonzero(self._rule(k).best_loading(t)) if t.any() else _NOTHING for t, k in each
        ]

    def on(self, target: Array, support: Array) -> Array:
        """The target on the support: its length does not matter."""
        b = np.zeros_like(target)
        b[support] = target[support]
        return b

    def _sized(self, target: Array, size: int) -> Array:
        """The soft threshold with ``size`` entries; where those tie, nothing is shrunken."""
        rule = self._rule(size)
        order = np.sort(np.maximum(rule.candidates(target), 0))[::-1]
        threshold = order[size] if size < order.size else 0.0
        least = ROUNDING * np.finfo(target.dtype).eps * order[0]
        tied = order[size - 1] - threshold <= least
        return rule.best_loading(target) if tied else rule.shrunken_loading(target)

    def _rule(self, size: int) -> LoadingConstraint:
        return LoadingConstraint(self.n_features, size, forbidden=self.closed)


def above_penalties(
    targets: Array, penalties: Sequence[float] | None, dtype: np.dtype[Any]
) -> Array:
    """Targets without the columns that half a penalty reaches up to rounding.

    Nothing is left of these: what rounding leaves would be stretched to unit length.
    """
    if penalties is None:
        return targets
    largest = np.abs(targets).max(axis=0, initial=0.0)
    rounding = ROUNDING * float(np.finfo(dtype).eps) * largest
    return np.where(largest - np.asarray(penalties) / 2 > rounding, targets, 0)


def without_rounding(B: Array, dtype: Any) -> Array:
    """Columns with what rounding left of a coefficient set to zero."""
    size = np.abs(B)
    return np.where(size > ROUNDING * float(np.finfo(dtype).eps) * size.max(axis=0), B, 0)
