"""``S`` and ``S^2`` on some features, without either on all of them.

Notation: ``K = ZZ'`` is the sample Gram matrix; ``(S^2)_FF = Z_F' K Z_F`` and
``|S e_i|^2 = z_i' K z_i``. Where there are too many samples for ``K``, two products with ``S``
give the columns of ``S^2``, and random signs ``g`` estimate ``|S e_i|^2`` by ``(S g)_i^2``.
"""

from __future__ import annotations

import numpy as np

from loadstone.covariance import Array, Covariance, DataCovariance, ExplicitCovariance, Support
from loadstone.covariance.containers import InMemoryRows
from loadstone.covariance.spectrum import sample_gram

#: Samples up to which their Gram matrix is formed.
MAX_SAMPLES = 2048
#: Features of which all are looked at.
ALL_FEATURES = 768
#: Features looked at where each costs two products.
FEW_FEATURES = 384
#: Bytes of a block of columns.
BLOCK_BYTES = 64 << 20
#: Random sign vectors that estimate the squared columns.
N_PROBES = 64


class SecondMoments:
    """Squared columns of all features, and both matrices of those asked for."""

    def __init__(self, S: Covariance) -> None:
        self.S = S
        self.gram: Array | None = None
        if isinstance(S, DataCovariance) and _is_small_and_wide(S):
            self.gram = sample_gram(S).astype(np.float64)

    @property
    def most(self) -> int:
        """Features to look at together."""
        cheap = self.gram is not None or isinstance(self.S, ExplicitCovariance)
        return ALL_FEATURES if cheap else FEW_FEATURES

    def squared_columns(self) -> Array:
        """``|S e_i|^2`` of every feature; an estimate where there is no other way."""
        S = self.S
        if isinstance(S, ExplicitCovariance):
            return np.asarray(np.einsum("ij,ij->i", S.matrix, S.matrix, dtype=np.float64))
        if self.gram is not None:
            found = np.empty(S.n_features)
            for part in _parts(S.n_features, self.gram.shape[0]):
                Z = self._centred(part)
                found[part] = np.einsum("ij,ij->j", Z, self.gram @ Z)
            return found
        signs = np.random.default_rng(0).choice([-1.0, 1.0], (S.n_features, N_PROBES))
        probes = (S @ signs.astype(S.dtype)).astype(np.float64)
        return np.asarray(np.einsum("ij,ij->i", probes, probes) / N_PROBES)

    def on(self, features: Support) -> tuple[Array, Array]:
        """``(S^2)_FF`` and ``S_FF`` in double precision."""
        S = self.S
        if isinstance(S, ExplicitCovariance):
            columns = S.matrix[features].astype(np.float64)
            return columns @ columns.T, columns[:, features]
        if self.gram is not None:
            Z = self._centred(features)
            return Z.T @ self.gram @ Z, Z.T @ Z
        A = np.empty((features.size, features.size))
        B = np.empty_like(A)
        for part in _parts(features.size, S.n_features):
            units = np.zeros((S.n_features, part.size), dtype=S.dtype)
            units[features[part], np.arange(part.size)] = 1
            columns = S @ units
            B[:, part] = columns[features]
            A[:, part] = (S @ columns)[features]
        return (A + A.T) / 2, (B + B.T) / 2

    def _centred(self, features: Support) -> Array:
        assert isinstance(self.S, DataCovariance)
        Z = self.S.centred_columns(features).astype(np.float64)
        Z /= np.sqrt(self.S.n_samples - 1.0)
        return Z


def _parts(n: int, length: int) -> list[Support]:
    """Indices 0..n-1 in parts whose columns of ``length`` fit into a block."""
    step = max(1, BLOCK_BYTES // (8 * length))
    return [np.arange(start, min(start + step, n)) for start in range(0, n, step)]


def _is_small_and_wide(S: DataCovariance) -> bool:
    if not isinstance(S.rows, InMemoryRows):
        return False
    return not S.rows.is_sparse and S.rows.shape[0] <= min(MAX_SAMPLES, S.n_features)
