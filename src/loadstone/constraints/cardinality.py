"""At most ``n_nonzero`` features, or only non-negative loadings, or both."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from loadstone.constraints.protocol import Array

_NONE = np.empty(0, dtype=np.intp)


@dataclass(frozen=True)
class LoadingConstraint:
    """Cardinality times non-negativity, with features that must or must not be used.

    Attributes
    ----------
    n_features : int
        Length of a loading vector.
    n_nonzero : int
        Largest number of non-zero loadings.
    nonnegative : bool
        Whether loadings are at least zero.
    forced : ndarray of intp
        Features that always hold one of the ``n_nonzero`` places. A place is not a
        promise of a non-zero value: under ``nonnegative`` the best value can be zero.
    forbidden : ndarray of intp
        Features that stay zero.
    """

    n_features: int
    n_nonzero: int
    nonnegative: bool = False
    forced: Array = field(default_factory=lambda: _NONE)
    forbidden: Array = field(default_factory=lambda: _NONE)

    def __post_init__(self) -> None:
        if self.n_available < 1:
            msg = f"all {self.n_features} features are forbidden; allow at least one"
            raise ValueError(msg)
        clash = np.intersect1d(self.forced, self.forbidden)
        if clash.size:
            msg = f"feature(s) {clash.tolist()} are both forced and forbidden; choose one"
            raise ValueError(msg)
        if self.forced.size > self.n_nonzero:
            msg = (
                f"{self.forced.size} features are forced but n_nonzero={self.n_nonzero} leaves room "
                f"for fewer; raise n_nonzero to at least {self.forced.size} or force fewer features"
            )
            raise ValueError(msg)

    @property
    def n_available(self) -> int:
        """Features that may be used."""
        return self.n_features - self.forbidden.size

    @property
    def size(self) -> int:
        """Places that can be filled."""
        return min(self.n_nonzero, self.n_available)

    @property
    def is_free(self) -> bool:
        """Whether any unit vector is allowed, as in plain PCA."""
        return not self.nonnegative and self.size >= self.n_features

    def without(self, support: Array) -> LoadingConstraint:
        """The same with the features of ``support`` used up (forced ones included)."""
        return replace(
            self,
            forced=np.setdiff1d(self.forced, support),
            forbidden=np.union1d(self.forbidden, support).astype(np.intp),
        )

    def on(self, features: Array) -> LoadingConstraint:
        """The same for loadings on ``features`` (sorted, forced ones included) alone."""
        return replace(
            self,
            n_features=features.size,
            forced=np.searchsorted(features, self.forced),
            forbidden=np.flatnonzero(np.isin(features, self.forbidden)),
        )

    def best_loading(self, direction: Array) -> Array:
        """Argmax of <direction, w> over allowed unit-norm w: keep the largest, normalise.

        Where no entry points in an allowed direction the best allowed vector is the
        single feature that loses least; the result is never zero.
        """
        return self._on_columns(direction, self._kept)

    def shrunken_loading(self, direction: Array) -> Array:
        """Soft threshold at the largest entry left out, normalised.

        The M-step of Sigg & Buhmann (2008), Algorithm 2. The support is the one of
        :meth:`best_loading`, so ties cannot change the cardinality; a column whose
        kept entries all tie with the threshold is not shrunken at all.
        """
        return self._on_columns(direction, self._shrunken)

    def candidates(self, direction: Array) -> Array:
        """How much each entry is worth keeping: |direction| or its positive part."""
        worth = np.maximum(direction, 0) if self.nonnegative else np.abs(direction)
        if self.forbidden.size:
            worth[self.forbidden] = -1
        return worth

    def best_support(self, direction: Array) -> Array:
        """Indices kept by :meth:`best_loading` for a single direction, in order."""
        return np.sort(self._top(direction[:, None])[:, 0])

    def _on_columns(self, direction: Array, keep: object) -> Array:
        block = direction[:, None] if direction.ndim == 1 else direction
        result = keep(block)  # type: ignore[operator]
        return result[:, 0] if direction.ndim == 1 else result

    def _top(self, block: Array) -> Array:
        """Row indices of the places filled, shape (size, n_columns)."""
        worth = self.candidates(block)
        if self.forced.size:
            worth[self.forced] = np.inf
        return top_k(worth, self.size)

    def _kept(self, block: Array) -> Array:
        top = self._top(block)
        values = np.take_along_axis(block, top, axis=0)
        if self.nonnegative:
            values = np.maximum(values, 0)
        return self._scattered(block, top, values)

    def _shrunken(self, block: Array) -> Array:
        top = self._top(block)
        values = np.take_along_axis(block, top, axis=0)
        if self.nonnegative:
            values = np.maximum(values, 0)
        worth = self.candidates(block)
        np.put_along_axis(worth, top, 0, axis=0)
        threshold = np.maximum(worth.max(axis=0), 0)
        shrunken = np.sign(values) * np.maximum(np.abs(values) - threshold, 0)
        tied = ~shrunken.any(axis=0)
        shrunken[:, tied] = values[:, tied]
        return self._scattered(block, top, shrunken)

    def _scattered(self, block: Array, top: Array, values: Array) -> Array:
        norms = np.linalg.norm(values, axis=0)
        empty = ~(norms > 0)
        W = np.zeros(block.shape, dtype=block.dtype, order="F")
        np.put_along_axis(W, top, values / np.where(empty, 1, norms), axis=0)
        for column in np.flatnonzero(empty):
            W[:, column] = self._least_loss(block[:, column])
        return W

    def _least_loss(self, direction: Array) -> Array:
        allowed = direction.astype(np.float64, copy=True)
        allowed[self.forbidden] = -np.inf
        w = np.zeros_like(direction)
        w[int(np.argmax(allowed))] = 1
        return w

    def allows(self, w: Array) -> bool:
        """Whether ``w`` has unit norm, few enough places, allowed signs and features."""
        return self.broken_rule(w) is None

    def broken_rule(self, w: Array) -> str | None:
        """The first rule ``w`` breaks, as a sentence; ``None`` where it keeps them all."""
        tol = 1e3 * float(np.finfo(np.asarray(w).dtype).eps)
        used = np.union1d(np.flatnonzero(w), self.forced)
        norm = float(np.linalg.norm(w))
        if abs(norm - 1) > tol:
            return f"its norm is {norm:.6g}, not 1"
        if used.size > self.n_nonzero:
            return f"it uses {used.size} features, more than n_nonzero={self.n_nonzero}"
        if self.nonnegative and w.min() < 0:
            return f"its smallest loading is {w.min():.6g}, below 0"
        if self.forbidden.size and w[self.forbidden].any():
            bad = self.forbidden[np.flatnonzero(w[self.forbidden])]
            return f"it uses the forbidden feature(s) {bad.tolist()}"
        return None

    def relaxed(self) -> LoadingConstraint:
        """On a fixed support only the signs still matter."""
        return self


def top_k(worth: Array, k: int) -> Array:
    """Row indices of the ``k`` largest entries of each column; ties go to the first row."""
    n = worth.shape[0]
    if k >= n:
        return np.repeat(np.arange(n)[:, None], worth.shape[1], axis=1)
    rows = np.ascontiguousarray(worth.T)
    top = np.argpartition(rows, n - k, axis=1)[:, n - k :]
    kept = np.take_along_axis(rows, top, axis=1)
    smallest = kept.min(axis=1, keepdims=True)
    tied = np.flatnonzero((rows == smallest).sum(axis=1) > (kept == smallest).sum(axis=1))
    for row in tied:
        above = np.flatnonzero(rows[row] > smallest[row])
        equal = np.flatnonzero(rows[row] == smallest[row])
        top[row] = np.concatenate([above, equal[: k - above.size]])
    return top.T
