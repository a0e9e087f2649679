"""Leading eigenpairs on supports that differ by a few features at a time.

Notation: ``S = Z Z'`` with one row ``z_i`` of ``Z`` per feature, and for a support A
``G = sum_{i in A} z_i z_i'``, n_samples x n_samples. ``G`` has the eigenvalues of
``S_AA``, and a feature that joins or leaves costs one rank-1 update, so the eigenpair of
a support of thousands of features costs no more than that of a few.
"""

from __future__ import annotations

import numpy as np

from loadstone.covariance import Array, Covariance, DataCovariance, leading_eigenpairs
from loadstone.covariance.containers import InMemoryRows
from loadstone.covariance.symmetric import largest_eigenpairs

#: Largest number of samples for which ``G`` is kept.
MAX_SAMPLES = 1024
#: Largest dense copy of the centred data.
MAX_BYTES = 512 << 20
#: Rank-1 updates after which rounding is removed by forming ``G`` anew.
MAX_UPDATES = 4096


class SupportSpectrum:
    """The best signed loadings on a support, for a sequence of similar supports.

    Parameters
    ----------
    S : Covariance
        Wide dense data in memory is held as centred rows and ``G`` is updated; anything
        else is restricted to each support in turn.
    coarse : bool
        Compute images ``S w`` of wide data in single precision and up to a positive factor:
        reading the rows is what they cost, and to rank features seven digits do.
        Eigenvalues keep full precision.
    """

    def __init__(self, S: Covariance, *, coarse: bool = False) -> None:
        self.S = S
        self.rows = _centred_rows(S)
        self.image_rows = self.rows
        if self.rows is not None:
            if coarse:
                # Scaled to a largest variance of one: single precision has a short range.
                largest = np.sqrt(max(float(S.diagonal().max()), np.finfo(np.float64).tiny))
                self.image_rows = (self.rows / S.dtype.type(largest)).astype(np.float32)
            n = self.rows.shape[1]
            self._gram = np.zeros((n, n))
            self._members = np.zeros(S.n_features, dtype=bool)
            self._updates = 0

    def leading(self, support: Array) -> tuple[float, Array]:
        """Largest eigenvalue of ``S`` on the support (a mask), and ``S w`` for its vector ``w``.

        ``S w`` holds all there is to know: on the support it is the eigenvalue times ``w``,
        outside of it it says what each feature would contribute.
        """
        values, image = self.leading_pairs(support, 1)
        return float(values[0]), image

    def leading_pairs(self, support: Array, rank: int) -> tuple[Array, Array]:
        """The ``rank`` largest eigenvalues, largest first, and ``S w`` for the first vector."""
        if self.rows is None:
            return self._restricted(support, rank)
        if np.count_nonzero(support) <= self.rows.shape[1] // 2:
            inside = self.rows[support]
            values, w = _leading_pair(inside @ inside.T, rank)
            y = w.astype(self.rows.dtype) @ inside
        else:
            self._move(support, self.rows)
            values, unit = _leading_pair(self._gram, rank)
            y = unit.astype(self.rows.dtype) * np.sqrt(max(float(values[0]), 0.0))
        assert self.image_rows is not None
        if self.image_rows is not self.rows:
            y = (y / np.linalg.norm(y)).astype(np.float32) if y.any() else y.astype(np.float32)
        return values, self.image_rows @ y

    def value_with(self, support: Array, feature: int) -> float:
        """Largest eigenvalue on the support and one more feature."""
        if self.rows is None or np.count_nonzero(support) <= self.rows.shape[1] // 2:
            inside = np.append(np.flatnonzero(support), feature)
            return float(leading_eigenpairs(self.S.restrict(inside), 1)[0][0])
        self._move(support, self.rows)
        z = self.rows[feature].astype(np.float64, copy=False)
        return float(_leading_pair(self._gram + np.outer(z, z), 1)[0][0])

    def row(self, feature: int) -> Array:
        """Covariances of one feature with all."""
        if self.rows is not None:
            result: Array = self.rows @ self.rows[feature]
            return result
        unit = np.zeros(self.S.n_features, dtype=self.S.dtype)
        unit[feature] = 1
        return self.S @ unit

    def _restricted(self, support: Array, rank: int) -> tuple[Array, Array]:
        inside = np.flatnonzero(support)
        values, vectors = leading_eigenpairs(self.S.restrict(inside), rank)
        w = np.zeros(self.S.n_features, dtype=self.S.dtype)
        w[inside] = vectors[:, 0]
        return values, self.S @ w

    def _move(self, support: Array, rows: Array) -> None:
        changed = np.flatnonzero(support != self._members)
        self._updates += changed.size
        if self._updates > MAX_UPDATES or 2 * changed.size > np.count_nonzero(support):
            inside = rows[support]
            self._gram = np.asarray(inside.T @ inside, dtype=np.float64)
            self._updates = 0
        else:
            joined, left = changed[support[changed]], changed[~support[changed]]
            for features, sign in ((joined, 1.0), (left, -1.0)):
                if features.size:
                    Z = rows[features].astype(np.float64, copy=False)
                    self._gram += sign * (Z.T @ Z)
        self._members = support.copy()


def _leading_pair(matrix: Array, rank: int) -> tuple[Array, Array]:
    """Leading eigenvalues, largest first, and the first vector."""
    values, vectors = largest_eigenpairs(matrix, min(rank, matrix.shape[0]))
    return values[::-1], vectors[:, -1]


def _centred_rows(S: Covariance) -> Array | None:
    """One contiguous row per feature with ``S = Z Z'``, where that is small enough to hold."""
    if not isinstance(S, DataCovariance) or not isinstance(S.rows, InMemoryRows):
        return None
    n_samples, n_features = S.rows.shape
    small = n_samples * n_features * S.dtype.itemsize <= MAX_BYTES and n_samples <= MAX_SAMPLES
    if S.rows.is_sparse or n_samples > n_features or not small:
        return None
    Z = S.centred_columns(np.arange(n_features))
    Z /= S.dtype.type(np.sqrt(S.n_samples - 1.0))
    return np.ascontiguousarray(Z.T)
