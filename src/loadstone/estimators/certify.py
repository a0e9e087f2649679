"""certify: a proven statement about a component, whoever found it."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from loadstone.certificates import Certificate, prove
from loadstone.covariance import Covariance, ExplicitCovariance, covariance_of
from loadstone.estimators.checks import (
    build_constraints,
    check_covariance,
    check_data,
    check_features,
    check_moments,
    check_sizes,
)
from loadstone.estimators.sparse_pca import SparsePCA
from loadstone.solvers.portfolio import Portfolio
from loadstone.solvers.renormalise import renormalise


def certify(
    data: Any,
    component: Any = None,
    *,
    n_nonzero: Any = None,
    nonnegative: bool = False,
    effort: str = "standard",
    time_limit: float | None = None,
    standardize: bool = False,
    is_covariance: bool = False,
    forced: Any = None,
    forbidden: Any = None,
    random_state: int = 0,
) -> Certificate:
    """Prove how close a component is to the best possible one.

    Parameters
    ----------
    data : array-like, sparse matrix, Dask array, Covariance or fitted estimator
        The data the component is about, or its covariance. An estimator fitted with
        ``certify`` hands out the certificate it already has.
    component : array-like of shape (n_features,) or int, optional
        Unit-norm loadings. ``None`` searches for a good component first; with a fitted
        estimator, the number of its component, by default the first.
    n_nonzero : int, float or None, default=None
        How many features competing components may use; ``None`` allows all.
    nonnegative : bool, default=False
        Whether competing components may only have loadings >= 0.
    effort : {"instant", "standard", "full"}, default="standard"
        Milliseconds, seconds, or as long as it takes (see ``time_limit``).
    time_limit : float, optional
        Seconds after which the best bound so far is returned.
    standardize : bool, default=False
        Scale each feature to unit variance first.
    is_covariance : bool, default=False
        Whether ``data`` is a covariance matrix rather than a table of samples.
    forced, forbidden : array-like of int or str, optional
        Features every, or no, competing component uses; by name where ``data`` has names.
    random_state : int, default=0
        Seed of the search, where ``component`` is ``None``.

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
    S, constant, names = _covariance(data, standardize=standardize, is_covariance=is_covariance)
    (constraint,) = build_constraints(
        check_sizes(n_nonzero, 1, S.n_features),
        S.n_features,
        constant,
        nonnegative=nonnegative,
        forced=check_features(forced, "forced", S.n_features, names),
        forbidden=check_features(forbidden, "forbidden", S.n_features, names),
    )
    if component is None:
        rng = np.random.default_rng(random_state)
        found = Portfolio()(S, constraint, rng)
        loading, _ = renormalise(S, found.matrix[:, 0], constraint)
    else:
        loading = np.asarray(component)
        if loading.dtype.kind != "f":
            loading = loading.astype(np.float64)
    return prove(S, constraint, loading, effort=effort, time_limit=time_limit)


def _covariance(
    data: Any, *, standardize: bool, is_covariance: bool
) -> tuple[Covariance, Any, Any]:
    """The covariance behind ``data``, which of its features are constant, and their names."""
    if isinstance(data, Covariance):
        return data, data.diagonal() <= 0, None
    if is_covariance:
        explicit = check_covariance(data, None)
        if standardize:
            std = np.sqrt(np.maximum(explicit.diagonal(), 0.0))
            std = np.where(std > 0, std, 1.0)
            explicit = ExplicitCovariance(explicit.matrix / np.multiply.outer(std, std))
        return explicit, explicit.diagonal() <= 0, getattr(data, "columns", None)
    reader = SparsePCA()
    S, moments = covariance_of(check_data(reader, data, reset=True), standardize=standardize)
    names = getattr(reader, "feature_names_in_", None)
    check_moments(moments, names)
    return S, moments.constant, names


def _stored(estimator: Any, component: Any) -> Certificate:
    """The certificate an estimator has for one of its components."""
    check_is_fitted(estimator)
    certificates = getattr(estimator, "certificates_", None)
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
    return certificates[index]
