"""``w'Sw`` for a block of columns, by half a product where the data allows it."""

from __future__ import annotations

import numpy as np

from loadstone.covariance.deflated import DeflatedCovariance
from loadstone.covariance.from_data import DataCovariance
from loadstone.covariance.protocol import Array, Covariance
from loadstone.covariance.sample_gram import SampleGram


def variances_of(S: Covariance, W: Array) -> Array:
    """Variance ``w'Sw`` of the scores of every column.

    On the data route the scores ``Xc w`` themselves give it: no product back, and only
    the columns of the data that some ``w`` uses are read.
    """
    if isinstance(S, DeflatedCovariance):
        inner = S.U.T @ W
        return np.asarray(variances_of(S.base, W) - np.einsum("ij,ik,kj->j", inner, S.C, inner))
    if isinstance(S, DataCovariance):
        return np.asarray(S.score_squares(W) / S.dtype.type(S.n_samples - 1.0))
    if isinstance(S, SampleGram):
        return np.asarray(np.square(S.scores(W)).sum(axis=0))
    return np.asarray(np.einsum("ij,ij->j", W, S @ W))


def score_moments(S: Covariance, W: Array) -> tuple[Array, Array]:
    """``W'SW`` and ``W'S^2W``: covariances of scores, and what they say of all features.

    One pass; on the wide route none where the columns that ``W`` uses are known.
    """
    if isinstance(S, SampleGram):
        Y = S.scores(W).astype(np.float64)
        G, M = Y.T @ Y, Y.T @ S.gram @ Y
    else:
        SW = (S @ W).astype(np.float64)
        G, M = W.T.astype(np.float64) @ SW, SW.T @ SW
    return (G + G.T) / 2, (M + M.T) / 2
