"""Eigenpairs of a wide covariance, deflated or not, from matrices as small as the samples.

Notation: ``S - U C U' = B D B'`` with ``B = [Z' U]``, ``D = diag(I, -C)``, and ``B'B`` is made of
``K = Z Z'``, the scores ``Z U`` and ``U'U``. With ``B'B = Q L Q'`` the non-zero eigenvalues are
those of ``L^(1/2) Q' D Q L^(1/2)``, and a vector ``a`` of it belongs to ``B Q L^(-1/2) a``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import block_diag

from loadstone.covariance.deflated import DeflatedCovariance
from loadstone.covariance.protocol import Array, Covariance
from loadstone.covariance.sample_gram import SampleGram


@dataclass(frozen=True)
class SampleSpace:
    """Eigenvalues, largest first, and what makes their vectors: ``Z' scores + U shares``.

    Attributes
    ----------
    base : SampleGram
        The data.
    values : ndarray of shape (rank,)
        Eigenvalues above rounding.
    scores : ndarray of shape (n_rows, rank)
        The part of the vectors that lies in the rows.
    U : ndarray of shape (n_features, m)
        What was deflated.
    shares : ndarray of shape (m, rank)
        The part that lies in ``U``.
    """

    base: SampleGram
    values: Array
    scores: Array
    U: Array
    shares: Array

    def leading(self, rank: int) -> SampleSpace:
        """The first pairs alone."""
        return SampleSpace(
            self.base, self.values[:rank], self.scores[:, :rank], self.U, self.shares[:, :rank]
        )

    def vectors(self) -> Array:
        """Unit eigenvectors as columns; one pass."""
        V = self.base.back_project(self.scores)
        if self.U.shape[1]:
            V += self.U @ self.shares.astype(V.dtype)
        V /= np.maximum(np.linalg.norm(V, axis=0), np.finfo(V.dtype).tiny)
        return V


def lies_in_samples(S: Covariance) -> bool:
    """Whether eigenpairs of ``S`` can be had from a Gram matrix of samples."""
    base = S.base if isinstance(S, DeflatedCovariance) else S
    return isinstance(base, SampleGram)


def sample_space(S: Covariance) -> SampleSpace:
    """All eigenpairs above rounding; one pass where ``S`` is deflated, none where it is not."""
    if isinstance(S, SampleGram):
        U, C, unit = np.empty((S.n_features, 0), dtype=S.dtype), np.empty((0, 0)), np.empty(0)
        base, small = S, S.gram
    else:
        assert isinstance(S, DeflatedCovariance)
        assert isinstance(S.base, SampleGram)
        base, U = S.base, S.U
        inner = U.T.astype(np.float64) @ U.astype(np.float64)
        unit = _common_unit(base.gram, inner)
        C = np.asarray(S.C, dtype=np.float64) / np.multiply.outer(unit, unit)
        cross = np.asarray(base.scores(U), dtype=np.float64) * unit
        inner = inner * np.multiply.outer(unit, unit)
        small = np.block([[base.gram, cross], [cross.T, inner]])
    n = base.n_rows
    lengths, Q = np.linalg.eigh((small + small.T) / 2)
    solid = lengths > lengths[-1] * small.shape[0] * float(np.finfo(base.dtype).eps)
    root = np.sqrt(lengths[solid])
    half = Q[:, solid] * root
    middle = block_diag(np.eye(n), -C) if C.size else np.eye(n)
    values, A = np.linalg.eigh(half.T @ middle @ half)
    values, A = values[::-1], (Q[:, solid] / root) @ A[:, ::-1]
    return SampleSpace(base, values, A[:n], U, unit[:, None] * A[n:])


def _common_unit(gram: Array, inner: Array) -> Array:
    """Factors that make what was deflated as long as the longest sample.

    Loadings have no unit and their covariances have that of squares: beside them, in another unit
    than one, the samples themselves would count as rounding.
    """
    lengths = np.sqrt(inner.diagonal())
    factors: Array = np.sqrt(gram.diagonal().max(initial=0.0)) / np.where(
        lengths > 0, lengths, np.inf
    )
    return factors
