"""From what a user hands over to a covariance: checked, named, and free of any estimator."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from loadstone.covariance import (
    Array,
    Covariance,
    DataCovariance,
    ExplicitCovariance,
    Moments,
    SampleCovariance,
    covariance_of,
    materialise,
)
from loadstone.covariance.checks import (
    check_moments,
    check_rows,
    check_weights,
    constant_remark,
    out_of_core,
    units_remark,
)
from loadstone.covariance.containers import is_dask
from loadstone.covariance.given import check_covariance
from loadstone.covariance.opened import feature_names, opened
from loadstone.solvers.incomplete_rows import (
    has_missing,
    refuse_empty,
    refuse_missing_in_dask,
    rows_in_use,
    standardized_rows,
)
from loadstone.solvers.variational_bayes.missing import IncompleteObservations


@dataclass(frozen=True, kw_only=True)
class Reading:
    """The data of a fit, whatever it came in.

    Attributes
    ----------
    S : Covariance
        What algorithms see.
    moments : Moments
        Number of samples, means, variances, scales, constant features.
    names : ndarray of str or None
        Names of the features, where the data has them.
    rows, weights : data and ndarray, or None
        The checked samples, kept for those who hold some of them out.
    holes : IncompleteObservations or None
        The samples as far as they are observed, where values are missing.
    remarks : tuple of str
        What a person should hear of the data.
    """

    S: Covariance
    moments: Moments
    names: Array | None = None
    rows: Any = None
    weights: Array | None = None
    holes: IncompleteObservations | None = None
    remarks: tuple[str, ...] = ()

    @property
    def n_features(self) -> int:
        """Number of features."""
        return self.S.n_features

    @property
    def n_numbers(self) -> int:
        """How many numbers a product with the covariance looks at."""
        is_explicit = isinstance(self.S, ExplicitCovariance)
        return self.n_features * int(self.n_features if is_explicit else self.moments.n_samples)

    def minding_units(self, *, standardize: bool | None) -> Reading:
        """The same with a remark on units, where nobody has said whether to scale."""
        remarks = units_remark(self.moments) if standardize is None else ()
        return replace(self, remarks=(*self.remarks, *remarks))


def read(
    X: Any,
    sample_weight: Any = None,
    *,
    standardize: bool = False,
    route: str = "auto",
    n_products: int = 10_000,
    missing: bool = False,
    keep_rows: bool = False,
    whole: bool = False,
) -> Reading:
    """Check data and form its covariance.

    Parameters
    ----------
    X : {array-like, sparse matrix, memmap, Dask array} of shape (n_samples, n_features)
        The data; never modified. Or its SampleCovariance.
    sample_weight : array-like of shape (n_samples,), optional
        How many samples each row stands for.
    standardize : bool
        Whether features are scaled to unit variance.
    route, n_products, whole : str, int, bool
        See :func:`loadstone.covariance.covariance_of`.
    missing : bool
        Whether NaN stands for a missing value; otherwise it is refused.
    keep_rows : bool
        Whether the samples are needed after this; they must then be in memory.

    Returns
    -------
    Reading
    """
    if isinstance(X, SampleCovariance):
        _refuse_asking_for_rows(sample_weight, route, keep_rows=keep_rows)
        return read_sample(X, standardize=standardize)
    if keep_rows and (is_dask(X) or opened(X, lazy=True) is not X):
        msg = (
            "this needs its rows in memory, and X is a Dask array; use X.compute() where it fits, or "
            "use cardinality_path on a Dask array"
        )
        raise TypeError(msg)
    names = feature_names(X)
    rows = check_rows(X, allow_nan=missing)
    weights = check_weights(sample_weight, rows)
    if missing and has_missing(rows):
        return _read_incomplete(rows, weights, names, standardize=standardize)
    how: dict[str, Any] = {"route": route, "n_products": n_products, "whole": whole}
    reading = read_rows(rows, weights, names, standardize=standardize, missing=missing, **how)
    return replace(reading, rows=rows, weights=weights) if keep_rows else reading


def read_rows(
    rows: Any,
    weights: Array | None = None,
    names: Array | None = None,
    *,
    standardize: bool = False,
    route: str = "auto",
    n_products: int = 10_000,
    missing: bool = False,
    whole: bool = False,
) -> Reading:
    """The same for rows that were checked before, such as a part of them."""
    how: dict[str, Any] = {"route": route, "n_products": n_products, "whole": whole}
    S, moments = covariance_of(rows, standardize=standardize, sample_weight=weights, **how)
    if missing:
        refuse_missing_in_dask(rows, moments)
    check_moments(moments, names, S.dtype, seen=not out_of_core(rows))
    remarks = constant_remark(moments, names)
    return Reading(S=S, moments=moments, names=names, remarks=remarks)


def _read_incomplete(
    rows: Any, weights: Array | None, names: Array | None, *, standardize: bool
) -> Reading:
    dtype = rows.dtype
    rows, weights = rows_in_use(rows, weights)
    refuse_empty(rows, names)
    holes, moments = standardized_rows(rows, weights, standardize=standardize)
    check_moments(moments, names)
    filled = (holes.values * holes.unit).astype(dtype, copy=False)
    S, _ = covariance_of(filled, sample_weight=holes.weights)
    remarks = constant_remark(moments, names)
    return Reading(S=S, moments=moments, names=names, holes=holes, remarks=remarks)


def read_sample(C: SampleCovariance, *, standardize: bool = False) -> Reading:
    """A covariance that was kept, with its mean, names and number of samples."""
    moments = C.moments(standardize=standardize)
    check_moments(moments, C.names, C.dtype)
    S = C.covariance(standardize=standardize)
    return Reading(S=S, moments=moments, names=C.names, remarks=constant_remark(moments, C.names))


def _refuse_asking_for_rows(sample_weight: Any, route: str, *, keep_rows: bool) -> None:
    """Refuse what only rows can give."""
    if sample_weight is not None:
        msg = (
            "sample_weight weighs rows, which a SampleCovariance does not have; give the weights to "
            "SampleCovariance.of"
        )
        raise ValueError(msg)
    if route == "data":
        msg = "route='data' works on rows, which a SampleCovariance does not have; use route='auto'"
        raise ValueError(msg)
    if keep_rows:
        msg = "this looks at single samples, which a SampleCovariance does not have; give the rows"
        raise TypeError(msg)


def read_covariance(
    S: Any, n_samples: float | None = None, *, standardize: bool = False
) -> Reading:
    """Check a covariance (or correlation) matrix, or take a covariance as it is.

    Parameters
    ----------
    S : array-like of shape (n_features, n_features), Covariance or SampleCovariance
        Symmetric and positive semi-definite.
    n_samples : float, optional
        Number of samples behind it, where it is known.
    standardize : bool
        Whether to scale it to correlations.

    Returns
    -------
    Reading
    """
    if isinstance(S, SampleCovariance):
        if n_samples is not None and n_samples != S.n_samples:
            msg = f"n_samples={n_samples}, but the SampleCovariance has {S.n_samples}; leave it out"
            raise ValueError(msg)
        return read_sample(S, standardize=standardize)
    names = feature_names(S)
    given = _counted(S, n_samples) if isinstance(S, Covariance) else check_covariance(S, n_samples)
    if isinstance(given, DataCovariance) and not standardize:
        return Reading(S=given, moments=given.moments, remarks=constant_remark(given.moments, None))
    covariance, moments = _standardized(given, standardize=standardize)
    check_moments(moments, names, covariance.dtype)
    remarks = constant_remark(moments, names)
    return Reading(S=covariance, moments=moments, names=names, remarks=remarks)


def _counted(S: Covariance, n_samples: float | None) -> Covariance:
    """A covariance with its number of samples, which can be told once only."""
    known = None if np.isnan(S.n_samples) else S.n_samples
    if n_samples is None or known is None or known == n_samples:
        count = known if n_samples is None else n_samples
        return check_covariance(S.matrix, count) if isinstance(S, ExplicitCovariance) else S
    msg = (
        f"n_samples={n_samples!r}, but the covariance is one of {S.n_samples:g} samples; leave "
        "n_samples out, or give the matrix itself"
    )
    raise ValueError(msg)


def _standardized(S: Covariance, *, standardize: bool) -> tuple[Covariance, Moments]:
    """A given covariance, scaled to correlations where asked, with the moments it stands for."""
    scale, mean = None, np.zeros(S.n_features)
    if isinstance(S, DataCovariance):
        scale, mean = S.moments.scale, S.data_mean
    if standardize and scale is None:
        std = np.sqrt(np.maximum(S.diagonal().astype(np.float64), 0))
        scale = np.where(std > 0, std, 1.0)
        matrix = (materialise(S).matrix / np.multiply.outer(scale, scale)).astype(S.dtype)
        S = ExplicitCovariance(matrix, S.n_samples)
    variance = S.diagonal().astype(np.float64)
    return S, Moments(S.n_samples, mean, variance, variance <= 0, scale)
