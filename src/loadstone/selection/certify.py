"""certify: a proven statement about a component, whoever found it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from loadstone._sklearn_compat import BaseEstimator, check_is_fitted
from loadstone.certificates import Certificate, prove
from loadstone.constraints import Constraint, LoadingConstraint
from loadstone.covariance import Array, Covariance
from loadstone.estimators.base import seeded
from loadstone.estimators.found import Task, tell
from loadstone.estimators.reading import Reading, read, read_covariance
from loadstone.estimators.sparse_pca import SparsePCA


def certify(
    data: Any,
    component: Any = None,
    *,
    n_nonzero: Any = None,
    nonnegative: bool = False,
    effort: str = "standard",
    time_limit: float | None = 60.0,
    standardize: bool = False,
    is_covariance: bool = False,
    forced: Any = None,
    forbidden: Any = None,
    constraint: Constraint | None = None,
    random_state: int = 0,
    n_jobs: int = 1,
) -> Certificate:
    """Prove how close a component is to the best possible one.

    Parameters
    ----------
    data : array-like, sparse matrix, Dask array, Covariance, SampleCovariance or estimator
        The data the component is about, or its covariance. An estimator fitted with
        ``certify`` hands out the certificate it already has.
    component : array-like of shape (n_features,) or int, optional
        Unit-norm loadings. ``None`` searches for a good component first; with a fitted
        estimator, the number of its component, by default the first.
    n_nonzero : int, float or None, default=None
        How many features competing components may use. ``None`` takes the number that
        ``component`` uses, and allows all where there is none.
    nonnegative : bool, default=False
        Whether competing components may only have loadings >= 0.
    effort : {"instant", "standard", "full"}, default="standard"
        Milliseconds, seconds, or as long as it takes (see ``time_limit``).
    time_limit : float or None, default=60
        Seconds after which the best bound so far is returned.
    standardize : bool, default=False
        Scale each feature to unit variance first.
    is_covariance : bool, default=False
        Whether ``data`` is a covariance matrix rather than a table of samples.
    forced, forbidden : array-like of int or str, optional
        Features every, or no, competing component uses; by name where ``data`` has names.
    constraint : Constraint, optional
        What competing components may look like, in place of ``n_nonzero``, ``nonnegative``,
        ``forced`` and ``forbidden``; one of :mod:`loadstone.constraints`.
    random_state : int, default=0
        Seed of the search, where ``component`` is ``None``.
    n_jobs : int, default=1
        Processes that branch and bound uses; the answer is the same for every number.

    Returns
    -------
    Certificate

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from loadstone import certify
    >>> certificate = certify(load_wine().data, n_nonzero=3, standardize=True)
    >>> bool(certificate.ratio > 0.99)
    True
    """
    if isinstance(data, BaseEstimator):
        return _stored(data, component)
    reading = _reading(data, standardize=standardize, is_covariance=is_covariance)
    tell(reading)
    rival = SparsePCA(
        n_nonzero=n_nonzero,
        nonnegative=nonnegative,
        constraint=constraint,
        forced=forced,
        forbidden=forbidden,
    )
    (allowed,) = rival.constraints_on(reading)
    loading = _loading(component, rival, Task(reading, seeded(random_state)))
    if component is not None and n_nonzero is None and constraint is None:
        allowed = _of_its_size(loading, allowed)
    return prove(reading.S, allowed, loading, effort=effort, time_limit=time_limit, n_jobs=n_jobs)


def _loading(component: Any, rival: SparsePCA, task: Task) -> Array:
    """The component to certify; searched for where none is given."""
    if component is None:
        found = rival._search(task).loadings
        if not found.shape[1]:
            msg = (
                "no component was found to certify: the features that may be used do not vary "
                "beside the others; allow others, or use standardize=True"
            )
            raise ValueError(msg)
        return found[:, 0]
    loading = np.asarray(component)
    if loading.dtype.kind not in "biuf":
        msg = f"component holds {loading.dtype}; give one real number for each feature"
        raise ValueError(msg)
    return loading if loading.dtype.kind == "f" else loading.astype(np.float64)


def _of_its_size(loading: Array, allowed: Constraint) -> Constraint:
    """The rule for components of as many features as ``loading`` uses, forced ones included."""
    if not isinstance(allowed, LoadingConstraint) or loading.shape != (allowed.n_features,):
        return allowed
    used = np.union1d(np.flatnonzero(loading), allowed.forced).size
    return replace(allowed, n_nonzero=used) if used else allowed


def _reading(data: Any, *, standardize: bool, is_covariance: bool) -> Reading:
    if is_covariance or isinstance(data, Covariance):
        return read_covariance(data, standardize=standardize)
    return read(data, standardize=standardize)


def _stored(estimator: Any, component: Any) -> Certificate:
    """The certificate an estimator has for one of its components."""
    check_is_fitted(estimator)
    certificates = vars(estimator).get("certificates_")
    name = type(estimator).__name__
    if certificates is None:
        msg = (
            f"this {name} was fitted without certificates and does not keep its data; call "
            "certify(X, model.components_[0], n_nonzero=..., nonnegative=...), or fit "
            'SparsePCA(certify="standard")'
        )
        raise ValueError(msg)
    index = 0 if component is None else component
    if not isinstance(index, (int, np.integer)) or not -len(certificates) <= index < len(
        certificates
    ):
        msg = (
            f"component={component!r} is not the number of one of the {len(certificates)} "
            f"components of this {name}"
        )
        raise ValueError(msg)
    certificate: Certificate = certificates[index]
    return certificate
