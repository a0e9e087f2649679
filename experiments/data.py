"""The papers' data in every treatment that is needed, by one name each.

Which treatment belongs to which figure was decided by measuring; where several were tried and one
comes closest, the claim says that it is fitted.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loadstone import datasets

Matrix = NDArray[np.float64]


def standardised(X: Any) -> Matrix:
    """Features centred and scaled to unit variance (divisor n - 1); constant ones stay zero."""
    Z = np.asarray(X, dtype=np.float64)
    Z = Z - Z.mean(axis=0)
    scale = Z.std(axis=0, ddof=1)
    return np.asarray(Z / np.where(scale > 0, scale, 1.0))


def off_first_component(Z: Matrix) -> Matrix:
    """Centred data projected off its first principal component."""
    v = np.linalg.eigh(Z.T @ Z)[1][:, -1]
    return np.asarray(Z - np.outer(Z @ v, v))


def covariance(X: Matrix) -> Matrix:
    """``X'X / (n - 1)`` of centred data."""
    return np.asarray(X.T @ X / (len(X) - 1))


def fitted(model: Any, X: Matrix, S: Matrix | None = None) -> Any:
    """The model fitted to the covariance where it is given, else to the data."""
    return model.fit(X) if S is None else model.fit_covariance(S, len(X))


@cache
def faces_raw() -> Matrix:
    """F-raw: the 2429 CBCL faces, grey values centred pixel by pixel."""
    X = datasets.fetch_cbcl_faces().data.astype(np.float64)
    return np.asarray(X - X.mean(axis=0))


@cache
def faces_standardised() -> Matrix:
    """F-z: grey values, each pixel of unit variance."""
    return standardised(datasets.fetch_cbcl_faces().data)


@cache
def faces_off_first() -> Matrix:
    """F-off: F-z projected off its first principal component."""
    return off_first_component(faces_standardised())


@cache
def faces_scaled() -> Matrix:
    """F-img: each image scaled, clipped and kept in 8 bits; then pixels centred."""
    X = datasets.scale_images(datasets.fetch_cbcl_faces().data)
    return np.asarray(X - X.mean(axis=0))


def face_shape() -> tuple[int, int]:
    """Rows and columns of a CBCL image."""
    return (19, 19)


@cache
def leukemia_raw() -> Matrix:
    """L-raw: 72 patients, 12582 genes, centred."""
    X = datasets.fetch_leukemia().data.astype(np.float64)
    return np.asarray(X - X.mean(axis=0))


@cache
def leukemia_standardised() -> Matrix:
    """L-z: genes of unit variance."""
    return standardised(datasets.fetch_leukemia().data)


@cache
def leukemia_logarithms() -> Matrix:
    """Expression floored at 20, log2, without the genes that never exceed the floor."""
    X = np.log2(np.maximum(datasets.fetch_leukemia().data, 20.0))
    return np.asarray(X[:, np.ptp(X, axis=0) > 0])


@cache
def leukemia_log() -> Matrix:
    """L-log: the logarithms, centred."""
    X = leukemia_logarithms()
    return np.asarray(X - X.mean(axis=0))


@cache
def leukemia_types() -> NDArray[np.int64]:
    """The three kinds of leukemia."""
    return np.asarray(datasets.fetch_leukemia().target, dtype=np.int64)


@cache
def spectra_raw() -> Matrix:
    """R-raw: 531 spectra in 93 bands, centred."""
    X = datasets.fetch_lrs().data.astype(np.float64)
    return np.asarray(X - X.mean(axis=0))


@cache
def glass_standardised() -> Matrix:
    """G-z: 214 pieces of glass, 9 features of unit variance."""
    return standardised(datasets.fetch_glass().data)


@cache
def pitprops() -> Matrix:
    """The 13 x 13 correlation matrix of the pit props."""
    return np.asarray(datasets.load_pitprops().correlation, dtype=np.float64)
