"""Which data a certificate is about: enough numbers to tell another covariance from a forgery."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from loadstone.certificates.certificate_error import CertificateError, OutOfRangeError
from loadstone.certificates.problem import Array
from loadstone.covariance.checks import check_rows, refuse_not_finite
from loadstone.covariance.containers import is_dask
from loadstone.covariance.explicit import ExplicitCovariance
from loadstone.covariance.protocol import Covariance
from loadstone.covariance.quadratic import variances_of
from loadstone.covariance.route import covariance_of
from loadstone.covariance.sample import SampleCovariance

#: Relative differences that two computations of one number may have, by precision of the data.
TOLERANCE = {"float64": 1e-9, "float32": 1e-5}
#: Proofs square entries of the covariance, and add what is left of it after rounding.
LARGEST_ENTRY = 1e120


@dataclass(frozen=True, kw_only=True)
class About:
    """A fingerprint of a covariance.

    Attributes
    ----------
    n_features : int
        Number of features.
    n_samples : float
        Number of samples behind it; NaN where nobody knows.
    precision : {"float64", "float32"}
        Of the data; statements hold up to ``tolerance``.
    trace, squares, probe : float
        ``tr S``, the sum of the squared variances, and ``z'Sz`` for ``z_i = cos(i^2)``.
    diagonal : str
        Hash of the variances, rounded to five digits: equal ones are for people to see.
    """

    n_features: int
    n_samples: float
    precision: str
    trace: float
    squares: float
    probe: float
    diagonal: str

    @classmethod
    def of(cls, S: Covariance) -> About:
        """The fingerprint of ``S``."""
        variances = np.asarray(S.diagonal(), dtype=np.float64)
        # Irregular and the same everywhere, so that another order of features shows as well.
        z = np.cos(np.square(np.arange(1.0, S.n_features + 1.0)))
        return cls(
            n_features=int(S.n_features),
            n_samples=float(S.n_samples),
            precision=str(S.dtype),
            trace=float(variances.sum()),
            squares=float(variances @ variances),
            probe=float(variances_of(S, z.astype(S.dtype)[:, None])[0]),
            diagonal=_hash_of_rounded(variances),
        )

    @property
    def tolerance(self) -> float:
        """Relative difference up to which statements hold."""
        return TOLERANCE[self.precision]

    def differs_from(self, other: About) -> str | None:
        """The first difference of two fingerprints, as a sentence; ``None`` where they agree."""
        if self.n_features != other.n_features:
            return f"it is about {self.n_features} features, these are {other.n_features}"
        known = np.isfinite([self.n_samples, other.n_samples]).all()
        if known and abs(self.n_samples - other.n_samples) > 1e-9 * self.n_samples:
            return f"it is about {self.n_samples:g} samples, these are {other.n_samples:g}"
        tolerance = 10.0 * max(self.tolerance, other.tolerance)
        numbers = (
            ("total variance", self.trace, other.trace, abs(self.trace)),
            ("sum of squared variances", self.squares, other.squares, self.squares),
            ("covariances", self.probe, other.probe, abs(self.trace) + abs(self.probe)),
        )
        for name, one, two, size in numbers:
            if not abs(one - two) <= tolerance * size:
                return f"its {name} is {one:.9g} and not {two:.9g}"
        return None


def _hash_of_rounded(variances: Array) -> str:
    rounded = " ".join(f"{variance:.4e}" for variance in variances)
    return hashlib.sha256(rounded.encode()).hexdigest()[:16]


def covariance_for(data: Any, about: About) -> Covariance:
    """The covariance of ``data`` that a certificate is about.

    Parameters
    ----------
    data : Covariance, SampleCovariance, symmetric matrix, or data of any container
        Data is standardised where its covariance is not the one and its correlation is.
    about : About
        The fingerprint to look for.

    Raises
    ------
    CertificateError
        Where the certificate was made for something else.
    """
    reasons = []
    for S in _candidates(data):
        reason = about.differs_from(About.of(S))
        if reason is None:
            refuse_out_of_range(S)
            return S
        reasons.append(reason)
    msg = f"the certificate was made for another covariance: {reasons[0]}"
    raise CertificateError(msg)


def refuse_out_of_range(S: Covariance) -> None:
    """Raise where squares of covariances leave the range of numbers: zeros would prove anything."""
    entries = np.asarray(S.diagonal(), dtype=np.float64)
    if isinstance(S, ExplicitCovariance):
        every = np.arange(S.n_features)
        entries = np.asarray(S.block(every, every), dtype=np.float64)
    refuse_entries(entries, LARGEST_ENTRY, "proofs")


def refuse_entries(entries: Array, limit: float, who: str) -> None:
    """Raise where the largest of these covariances, or its inverse, lies beyond ``limit``."""
    largest = float(np.abs(entries).max(initial=0.0))
    if not (largest == 0.0 or 1.0 / limit <= largest <= limit):
        msg = (
            f"the largest covariance is {largest:.3g}, where {who} leave the range of numbers; "
            "rescale the data to a more usual unit"
        )
        raise OutOfRangeError(msg)


def _candidates(data: Any) -> Iterator[Covariance]:
    """The covariance, then the correlation, of what was handed over."""
    if isinstance(data, SampleCovariance):
        yield data.covariance(standardize=False)
        yield data.covariance(standardize=True)
        return
    if isinstance(data, Covariance):
        yield data
        return
    matrix = _as_covariance_matrix(data)
    if matrix is not None:
        yield ExplicitCovariance(matrix)
        if (matrix.diagonal() >= 0).all():
            return
        # No variance is negative: what is left after deflation, or samples that happen to make a
        # symmetric table. The fingerprint tells which.
    rows = check_rows(data)
    for standardize in (False, True):
        S, moments = covariance_of(rows, standardize=standardize)
        refuse_not_finite(moments.mean, moments.variance, None, seen=True)
        yield S


def _as_covariance_matrix(data: Any) -> Array | None:
    """A symmetric matrix in double precision; ``None`` for a table of samples."""
    if is_dask(data) or not (isinstance(data, (list, tuple)) or hasattr(data, "__array__")):
        return None
    matrix = np.asarray(data)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        return None
    if matrix.dtype.kind not in "fiu" or not np.isfinite(matrix).all():
        return None
    matrix = matrix.astype(np.float64)
    if not np.abs(matrix - matrix.T).max(initial=0.0) <= 1e-12 * np.abs(matrix).max(initial=0.0):
        return None
    symmetric: Array = (matrix + matrix.T) / 2.0
    return symmetric
