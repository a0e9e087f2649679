"""What all estimators share: validate, fit through a covariance, project, reconstruct."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.callback import CallbackSupportMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from loadstone._sklearn_compat import _check_feature_names_in, _fit_context
from loadstone.covariance import Covariance, ExplicitCovariance, Moments, covariance_of
from loadstone.covariance.containers import is_dask, pieces, rows_of
from loadstone.estimators.checks import (
    check_covariance,
    check_data,
    check_moments,
    check_weights,
)
from loadstone.extraction import Extraction
from loadstone.loadings import Loadings, Stop
from loadstone.metrics import adjusted_variance, marginal_variance, total_variance


class ComponentsMixin(ClassNamePrefixFeaturesOutMixin, TransformerMixin):
    """Everything a fitted set of components can do, whatever found them.

    Needs ``components_``, ``mean_``, ``scale_`` (an array or ``None``).
    """

    @property
    def _n_features_out(self) -> int:
        return self.components_.shape[0]

    def transform(self, X: Any) -> Any:
        """Scores: centred (and scaled) data projected on each component.

        Parameters
        ----------
        X : {array-like, sparse matrix, Dask array} of shape (n_samples, n_features)
            New data.

        Returns
        -------
        scores : ndarray or Dask array of shape (n_samples, n_components)
            Lazy where ``X`` is a Dask array.
        """
        check_is_fitted(self)
        return self._scores(check_data(self, X, reset=False))

    def _scores(self, X: Any) -> Any:
        V = self.components_.T if self.scale_ is None else self.components_.T / self.scale_[:, None]
        dtype = np.float32 if X.dtype == np.float32 else np.float64
        V = V.astype(dtype, copy=False)
        offset = self.mean_.astype(dtype, copy=False) @ V
        if is_dask(X):
            X = X.rechunk({1: -1})
            return X.map_blocks(
                _project, V, offset, dtype=dtype, chunks=(X.chunks[0], (V.shape[1],)), meta=V[:0]
            )
        return _project(X, V, offset)

    def inverse_transform(self, X: Any) -> Any:
        """Least-squares reconstruction of the data from its scores.

        Components need not be orthogonal, so scores are first turned into coordinates
        in the span of the components.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_components)
            Scores, as ``transform`` gives them.

        Returns
        -------
        X_original : ndarray or Dask array of shape (n_samples, n_features)
            The closest points to the data in the span of the components, uncentred.
        """
        check_is_fitted(self)
        Z = X if is_dask(X) else np.asarray(X)
        if Z.ndim != 2 or Z.shape[1] != self.components_.shape[0]:
            msg = (
                f"scores of shape {Z.shape} do not fit {self.components_.shape[0]} component(s); "
                "pass what transform returned"
            )
            raise ValueError(msg)
        back = _pseudo_inverse(self.components_).T.astype(self.components_.dtype, copy=False)
        if self.scale_ is not None:
            back = back * self.scale_
        return Z @ back + self.mean_

    def score(self, X: Any, y: Any = None) -> float:
        """Share of the variance of ``X`` that lies in the span of the components.

        Parameters
        ----------
        X : {array-like, sparse matrix, Dask array} of shape (n_samples, n_features)
            Data, held out or not; centred by the mean of the training data.
        y : None
            Ignored.

        Returns
        -------
        float
            1 minus the squared reconstruction error relative to that of the mean.
        """
        check_is_fitted(self)
        X = check_data(self, X, reset=False)
        scores = np.asarray(self._scores(X), dtype=np.float64)
        # Lengths of reconstructions from their scores, without the reconstructions themselves.
        back = _pseudo_inverse(self.components_)
        explained = float(np.sum(scores * (scores @ (back.T @ back))))
        total = _squared_distance_to_mean(X, self.mean_, self.scale_)
        return explained / total if total > 0 else 0.0

    def loadings_table(self, feature_names: Any = None) -> Any:
        """The non-zero loadings with the names of their features, largest first.

        Parameters
        ----------
        feature_names : array-like of str, optional
            Names to show; by default those seen in ``fit``, else ``x0``, ``x1``, ...

        Returns
        -------
        pandas.DataFrame
            With columns ``component`` (counted from 1), ``feature`` and ``loading``.
        """
        check_is_fitted(self)
        try:
            import pandas as pd
        except ImportError as error:
            msg = "loadings_table needs pandas; install it with: pip install pandas"
            raise ImportError(msg) from error
        names = self._names(feature_names)
        rows = [
            (j + 1, names[i], float(w[i]))
            for j, w in enumerate(self.components_)
            for i in sorted(np.flatnonzero(w), key=lambda i, w=w: -abs(w[i]))
        ]
        return pd.DataFrame(rows, columns=["component", "feature", "loading"])

    def _names(self, feature_names: Any = None) -> Any:
        if feature_names is None:
            return _check_feature_names_in(self)
        names = np.asarray(feature_names, dtype=object)
        if names.shape != (self.n_features_in_,):
            msg = f"{names.size} feature names were given for {self.n_features_in_} features"
            raise ValueError(msg)
        return names


class BaseComponents(
    ComponentsMixin,
    CallbackSupportMixin,
    BaseEstimator,
):
    """Components of a covariance: subclasses say only how they are searched.

    A subclass implements :meth:`_extract` and, where it expects few products, sets
    :attr:`_n_products` for the choice of the route.
    """

    #: Columns a fit multiplies with the covariance, for ``route="auto"``.
    _n_products = 10_000

    @abstractmethod
    def _extract(
        self, S: Covariance, moments: Moments | None, rng: np.random.Generator, report: Any
    ) -> Extraction:
        """Search the components."""

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Find the components of data.

        Parameters
        ----------
        X : {array-like, sparse matrix, memmap, Dask array} of shape (n_samples, n_features)
            Training data; never modified, sparse data is never made dense.
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,), optional
            How many samples each row stands for.

        Returns
        -------
        self : object
            Fitted; as it was before if the fit is interrupted.
        """
        with self._all_or_nothing():
            X = check_data(self, X, reset=True)
            weights = check_weights(sample_weight, X)
            S, moments = covariance_of(
                X,
                route=getattr(self, "route", "auto"),
                standardize=getattr(self, "standardize", False),
                sample_weight=weights,
                n_products=self._n_products,
            )
            check_moments(moments, getattr(self, "feature_names_in_", None), S.dtype)
            self._fit_from(S, moments)
        return self

    @_fit_context(prefer_skip_nested_validation=True)
    def fit_covariance(self, S: Any, n_samples: float | None = None) -> Any:
        """Find the components of a covariance (or correlation) matrix.

        Parameters
        ----------
        S : array-like of shape (n_features, n_features)
            Symmetric and positive semi-definite.
        n_samples : float, optional
            Number of samples behind it, where it is known.

        Returns
        -------
        self : object
            Fitted, with ``mean_`` zero.
        """
        with self._all_or_nothing():
            covariance = check_covariance(S, n_samples)
            self.n_features_in_ = covariance.n_features
            vars(self).pop("feature_names_in_", None)
            columns = getattr(S, "columns", None)
            if columns is not None and all(isinstance(c, str) for c in columns):
                self.feature_names_in_ = np.asarray(columns, dtype=object)
            covariance, moments = standardized(covariance, getattr(self, "standardize", False))
            check_moments(moments, getattr(self, "feature_names_in_", None), covariance.dtype)
            self._fit_from(covariance, moments)
        return self

    @contextmanager
    def _all_or_nothing(self) -> Iterator[None]:
        """Put the fitted attributes back as they were when anything goes wrong."""
        before = {name: value for name, value in vars(self).items() if _is_fitted_name(name)}
        try:
            yield
        except BaseException:
            for name in [name for name in vars(self) if _is_fitted_name(name)]:
                delattr(self, name)
            vars(self).update(before)
            raise

    def _fit_from(self, S: Covariance, moments: Moments) -> None:
        context = self._init_callback_context(max_subtasks=self._n_tasks())
        context.call_on_fit_task_begin(estimator=self)
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31 - 1))
        extraction = self._extract(S, moments, rng, _Reporter(self, context))
        self._warn(extraction)
        self._store(S, moments, extraction)
        context.call_on_fit_task_end(estimator=self)

    def _n_tasks(self) -> int | None:
        return None

    def _warn(self, extraction: Extraction) -> None:
        if extraction.exhausted:
            found = extraction.matrix.shape[1]
            msg = f"{found} component(s) found, fewer than asked for: {extraction.exhausted}"
            warnings.warn(msg, UserWarning, stacklevel=5)
        if any(search.stop is Stop.MAX_ITER for search in extraction.searches):
            warnings.warn(Stop.MAX_ITER.value, ConvergenceWarning, stacklevel=5)

    def _store(self, S: Covariance, moments: Moments, extraction: Extraction) -> None:
        loadings = signed(extraction.matrix, nonnegative=getattr(self, "nonnegative", False))
        total = total_variance(S)
        self.components_ = np.ascontiguousarray(loadings.T)
        self.n_components_ = loadings.shape[1]
        self.explained_variance_ = adjusted_variance(S, loadings)
        self.explained_variance_ratio_ = self.explained_variance_ / total
        self.marginal_variance_ = marginal_variance(S, loadings)
        self.total_variance_ = total
        self.mean_ = moments.mean
        self.scale_ = moments.scale
        self.n_samples_ = moments.n_samples
        self.support_ = self.components_ != 0
        self.cardinality_ = self.support_.sum(axis=1)
        self.n_iter_ = max((search.n_iter for search in extraction.searches), default=0)
        self.stop_reason_ = [search.stop.value for search in extraction.searches]
        self.objective_ = [search.objective for search in extraction.searches]

    def __sklearn_tags__(self) -> Any:
        """Describe the estimator to scikit-learn."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


class _Reporter:
    """Tells scikit-learn's callbacks of each component; returns whether to stop."""

    def __init__(self, estimator: Any, context: Any) -> None:
        self.estimator, self.context = estimator, context

    def __call__(self, index: int, search: Loadings) -> bool:
        task = self.context.subcontext(task_name=f"component {index + 1}")
        task.call_on_fit_task_begin(estimator=self.estimator)
        return task.call_on_fit_task_end(
            estimator=self.estimator,
            metadata={"component": index, "objective": search.objective, "n_iter": search.n_iter},
        )


def signed(loadings: Any, *, nonnegative: bool) -> Any:
    """The one sign rule: the largest absolute loading of a component is positive."""
    if nonnegative or loadings.shape[1] == 0:
        return loadings
    peak = np.argmax(np.abs(loadings), axis=0)
    flip = loadings[peak, np.arange(loadings.shape[1])] < 0
    # Adding zero turns -0.0, which prints oddly, into 0.0.
    return np.where(flip, -loadings, loadings) + loadings.dtype.type(0)


def _pseudo_inverse(components: Any) -> Any:
    """Moore-Penrose inverse that treats directions lost to rounding as dependent.

    Components beyond the rank of the data repeat earlier ones up to the precision they
    were computed in, which may be coarser than that of this computation.
    """
    W = np.asarray(components, dtype=np.float64)
    rcond = 100 * max(W.shape) * float(np.finfo(components.dtype).eps)
    return np.linalg.pinv(W, rcond=min(rcond, 0.1))


def _is_fitted_name(name: str) -> bool:
    return name.endswith("_") and not name.startswith("_")


def _project(X: Any, V: Any, offset: Any) -> Any:
    dtype = V.dtype
    if not sparse.issparse(X):
        X = np.asarray(X, dtype=dtype)
    return np.asarray(X @ V) - offset


def _squared_distance_to_mean(X: Any, mean: Any, scale: Any) -> float:
    """Sum of squares of the centred, scaled data, around the training mean."""
    (sums,) = rows_of(X).sum_over_blocks(_centred_squares, mean)
    return float(np.sum(sums if scale is None else sums / scale**2))


def _centred_squares(block: Any, rows: slice, mean: Any) -> tuple[Any]:
    if sparse.issparse(block):
        first = np.asarray(block.sum(axis=0)).ravel()
        second = np.asarray(block.multiply(block).sum(axis=0)).ravel()
        return (second - 2 * mean * first + block.shape[0] * mean**2,)
    total = np.zeros(block.shape[1])
    for piece in pieces(*block.shape, block.dtype.itemsize):
        total += np.square(block[piece] - mean).sum(axis=0)
    return (total,)


def standardized(S: Any, standardize: bool) -> tuple[Any, Moments]:  # noqa: FBT001
    """A given covariance, scaled to correlations where asked, with the moments it stands for."""
    scale = None
    if standardize:
        std = np.sqrt(np.maximum(S.diagonal().astype(np.float64), 0))
        scale = np.where(std > 0, std, 1.0)
        matrix = (S.matrix / np.multiply.outer(scale, scale)).astype(S.dtype)
        S = ExplicitCovariance(matrix, S.n_samples)
    variance = S.diagonal().astype(np.float64)
    moments = Moments(S.n_samples, np.zeros(S.n_features), variance, variance <= 0, scale)
    return S, moments
