"""How much of samples that were not fitted do components recover, beside PCA."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import KFold
from sklearn.utils import _safe_indexing

from loadstone._sklearn_compat import check_is_fitted
from loadstone.blas_threads import in_parallel
from loadstone.covariance import Array, Covariance, covariance_of, leading_eigenpairs
from loadstone.covariance.checks import check_weights
from loadstone.covariance.containers import is_dask, rows_of
from loadstone.covariance.deflated import DeflatedCovariance
from loadstone.covariance.moments import Moments, accumulate_moments
from loadstone.covariance.near_zero import data_covariance
from loadstone.estimators.checks import check_new_rows
from loadstone.estimators.reading import Reading, read_rows
from loadstone.loadings import FITS_ANYTHING
from loadstone.metrics import held_out_recovery
from loadstone.selection.folds import Fold, HeldOut, checked_folds, refuse_weightless
from loadstone.selection.wide_folds import WideFold

#: Folds where none are given.
N_FOLDS = 4


class HeldOutRecovery(NamedTuple):
    """Shares of held-out variance recovered by the first 1, 2, ... components, mean over folds."""

    recovered: Array
    pca: Array


def fits_anything(estimator: Any) -> bool:
    """Whether components use so many features that what they recover in sample says little."""
    n_samples = float(estimator.n_samples_)
    return bool(estimator.cardinality_.sum() > FITS_ANYTHING * n_samples)


def cross_validated_recovery(
    estimator: Any, X: Any, *, cv: Any = N_FOLDS, sample_weight: Any = None
) -> HeldOutRecovery:
    """Share of the variance of held-out samples that components recover, and PCA's beside it.

    Components, and the regression of all features on their scores, are learned on the other
    folds. Whatever is recovered in sample, ninety genes of seventy patients fit anything; this
    number says what is left of it.

    Parameters
    ----------
    estimator : fitted estimator
        Any estimator of loadstone; fitted anew on each fold, with the size it has chosen.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        The data it was fitted to.
    cv : int, cross-validation generator or iterable, default=4
        Folds; a number of them is drawn at random, the same ones every time.
    sample_weight : array-like of shape (n_samples,), optional
        How many samples each row stands for, in the fit and among those held out.

    Returns
    -------
    HeldOutRecovery
        ``recovered`` and ``pca``, one share for each number of components. A fold that finds
        fewer components keeps its last share.

    See Also
    --------
    SparsePCACV : Chooses a size by held-out samples.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from loadstone import SparsePCA, cross_validated_recovery
    >>> X = load_wine().data
    >>> model = SparsePCA(2, n_nonzero=4, standardize=True).fit(X)
    >>> held_out = cross_validated_recovery(model, X)
    >>> bool((held_out.recovered < held_out.pca).all())
    True
    """
    if is_dask(X):
        msg = (
            f"X is a Dask array of {X.shape[0]} samples, and folds are drawn from rows in memory; "
            "give a part of it that fits, or choose a size with SparsePCACV, which takes one pass"
        )
        raise TypeError(msg)
    check_is_fitted(estimator, "components_")
    rows = check_new_rows(estimator, X)
    weights = check_weights(sample_weight, rows)
    drawn = KFold(cv, shuffle=True, random_state=0) if isinstance(cv, int) else cv
    if not estimator.components_.shape[0]:
        # No component was found, and none recovers anything.
        return HeldOutRecovery(np.empty(0), np.empty(0))
    fresh = _again(estimator)
    found, pca = [], []
    for train, test in checked_folds(drawn, rows.shape[0]):
        refuse_weightless(weights, (train, test))
        parts = [
            (_safe_indexing(rows, part), None if weights is None else weights[part])
            for part in (train, test)
        ]
        ours, theirs = _one_fold(fresh, *parts)
        found.append(_filled(ours, estimator.n_components_))
        pca.append(_filled(theirs, estimator.n_components_))
    return HeldOutRecovery(np.mean(found, axis=0), np.mean(pca, axis=0))


def _again(estimator: Any) -> Any:
    """The estimator unfitted, with the size it has chosen and without proofs."""
    fresh = clone(estimator)
    known = fresh.get_params(deep=False)
    # Where there is a constraint, it says the size, and none was chosen.
    if isinstance(known.get("n_nonzero"), str) and known.get("constraint") is None:
        fresh.set_params(n_nonzero=estimator.n_nonzero_)
    if "certify" in known:
        fresh.set_params(certify=False)
    if "n_components" in known:
        fresh.set_params(n_components=estimator.n_components_)
    return fresh


def _one_fold(
    fresh: Any, learned: tuple[Any, Array | None], kept: tuple[Any, Array | None]
) -> tuple[Array, Array]:
    """Shares of the rows kept, ours and PCA's; rows come with their weights."""
    train, weights = learned
    with warnings.catch_warnings():
        # What there is to say was said of the fit of all samples.
        warnings.simplefilter("ignore")
        model = clone(fresh)
        model = model.fit(train) if weights is None else model.fit(train, sample_weight=weights)
    S, moments = covariance_of(train, standardize=model.scale_ is not None, sample_weight=weights)
    held_out = _about_training(kept[0], moments, kept[1])
    W = model.components_.T.astype(S.dtype)
    V = leading_eigenpairs(S, W.shape[1], 1e-6)[1]
    return held_out_recovery(S, held_out, W), held_out_recovery(S, held_out, V)


def recovered_of_folds(
    search: Callable[[int, Reading], Array],
    data: Reading,
    folds: Sequence[Fold | HeldOut | WideFold],
    n_jobs: int | None = None,
) -> HeldOutRecovery:
    """The same for folds as :class:`loadstone.SparsePCACV` has them.

    Parameters
    ----------
    search : callable
        Loadings of the training part of a fold, given the number of the fold.
    data : Reading
        All samples.
    folds : sequence
        Rows to train on and to hold out, or covariances of both.
    n_jobs : int or None
        Folds that are searched at a time.
    """
    calls = (
        (partial(search, index), rows_for(data, fold), fold) for index, fold in enumerate(folds)
    )
    ours, pca = np.mean(list(in_parallel(_shares, calls, n_jobs)), axis=0)
    return HeldOutRecovery(ours, pca)


def rows_for(data: Reading, fold: Fold | HeldOut | WideFold) -> Reading | None:
    """All samples, where a fold does not bring its own: other processes get no more than they need."""
    return data if isinstance(fold, tuple) else None


def _shares(
    search: Callable[[Reading], Array], data: Reading | None, fold: Fold | HeldOut | WideFold
) -> tuple[float, float]:
    """What components recover of one fold, and what as many principal components do."""
    if isinstance(fold, WideFold):
        W = search(fold.train)
        return fold.recovered(W) if W.shape[1] else (0.0, 0.0)
    train, held_out = both_parts(data, fold)
    S, W = train.S, search(train)
    if not W.shape[1]:
        return 0.0, 0.0
    V = leading_eigenpairs(S, W.shape[1], 1e-6)[1]
    return share_of_all(S, held_out, W), share_of_all(S, held_out, V)


def share_of_all(S: Covariance, held_out: Covariance, loadings: Array) -> float:
    """What all components together recover of held-out samples; where there is none, nothing."""
    return float(np.append(0.0, held_out_recovery(S, held_out, loadings))[-1])


def both_parts(data: Reading | None, fold: Fold | HeldOut) -> tuple[Reading, Covariance]:
    """The training part of a fold, and second moments of the other about its mean, in its scale."""
    if isinstance(fold, HeldOut):
        return fold.train, fold.second_moments()
    assert data is not None
    refuse_weightless(data.weights, fold)
    rows, test = _safe_indexing(data.rows, fold[0]), _safe_indexing(data.rows, fold[1])
    weights = None if data.weights is None else data.weights[fold[0]]
    train = read_rows(rows, weights, data.names, standardize=data.moments.scale is not None)
    counted = None if data.weights is None else data.weights[fold[1]]
    return train, _about_training(test, train.moments, counted)


def _about_training(test: Any, moments: Moments, weights: Array | None = None) -> Covariance:
    """Second moments of held-out rows about the mean and in the scale of the training rows.

    With ``d`` the way from one mean to the other that is the covariance plus ``dd'``.
    """
    rows = rows_of(test)
    w = None if weights is None else weights.astype(rows.dtype, copy=False)
    n, mean, variance = accumulate_moments(rows, w)
    away = mean - moments.mean
    if moments.scale is not None:
        away = away / moments.scale
    own = replace(
        moments,
        # The divisor is the number of samples.
        n_samples=n + 1,
        mean=mean,
        variance=variance * (n - 1) / n if n > 1 else np.zeros(mean.size),
        constant=np.zeros(mean.size, dtype=bool),
    )
    S = data_covariance(rows, own, w)
    return DeflatedCovariance(S, away[:, None].astype(S.dtype), -np.ones((1, 1), dtype=S.dtype))


def _filled(shares: Array, n: int) -> Array:
    """The first ``n`` shares; where there are fewer, more components recover nothing more."""
    last = shares[-1] if shares.size else 0.0
    return np.append(shares, np.full(max(0, n - shares.size), last))[:n]
