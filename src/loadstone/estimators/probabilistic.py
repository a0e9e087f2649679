"""What estimators with a noise model share: likelihood, posterior scores, missing values."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from loadstone._sklearn_compat import _fit_context
from loadstone.covariance import Array, Covariance, Moments, covariance_of
from loadstone.covariance.containers import is_dask, pieces, rows_of
from loadstone.estimators.base import BaseComponents, _project
from loadstone.estimators.checks import check_data, check_moments, check_weights
from loadstone.estimators.fitted_model import FittedModel, spread
from loadstone.estimators.missing_values import (
    has_missing,
    imputed_rows,
    refuse_empty,
    refuse_missing_in_dask,
    restricted_rows,
    rows_in_use,
    standardized_rows,
)
from loadstone.extraction import Extraction
from loadstone.solvers.factor_model import FactorModel
from loadstone.solvers.variational_bayes.missing import IncompleteObservations


class ProbabilisticComponents(BaseComponents):
    """Components of a Gaussian model ``x = mean + W z + noise``.

    A subclass implements :meth:`_fit_model`.
    """

    @abstractmethod
    def _fit_model(
        self,
        S: Covariance,
        rows: IncompleteObservations | None,
        rng: np.random.Generator,
        report: Any,
    ) -> FittedModel:
        """Search on the varying features; ``rows`` only where values are missing."""

    def _extract(self, *_: Any) -> Extraction:
        raise NotImplementedError

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Fit the model to data.

        Parameters
        ----------
        X : {array-like, sparse matrix, memmap, Dask array} of shape (n_samples, n_features)
            Training data; NaN marks missing values of dense data in memory.
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
            X = check_data(self, X, reset=True, allow_nan=True)
            weights = check_weights(sample_weight, X)
            names = getattr(self, "feature_names_in_", None)
            if has_missing(X):
                dtype = X.dtype
                X, weights = rows_in_use(X, weights)
                refuse_empty(X, names)
                rows, moments = standardized_rows(X, weights, standardize=self.standardize)
                check_moments(moments, names)
                filled = (rows.values * rows.unit).astype(dtype, copy=False)
                S, _ = covariance_of(filled, sample_weight=rows.weights)
                self._fit_from(S, moments, rows)
            else:
                S, moments = covariance_of(
                    X,
                    route=getattr(self, "route", "auto"),
                    standardize=self.standardize,
                    sample_weight=weights,
                    n_products=self._n_products,
                )
                refuse_missing_in_dask(X, moments)
                check_moments(moments, names)
                self._fit_from(S, moments)
        return self

    def _fit_from(
        self, S: Covariance, moments: Moments, rows: IncompleteObservations | None = None
    ) -> None:
        context = self._init_callback_context(max_subtasks=None)
        context.call_on_fit_task_begin(estimator=self)
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31 - 1))
        varying = np.flatnonzero(~moments.constant)
        inner = S
        inner_rows = rows
        if varying.size < S.n_features:
            # A feature without variance is no evidence for small noise in the others.
            inner = S.restrict(varying)
            if rows is not None:
                inner_rows = restricted_rows(rows, varying)
        fitted = self._fit_model(inner, inner_rows, rng, _IterationReporter(self, context))
        self._store_model(S, moments, rows, varying, fitted)
        context.call_on_fit_task_end(estimator=self)

    def _store_model(
        self,
        S: Covariance,
        moments: Moments,
        rows: IncompleteObservations | None,
        varying: Array,
        fitted: FittedModel,
    ) -> None:
        W = spread(fitted.model.loadings, varying, S.n_features)
        strengths = np.linalg.norm(W, axis=0)
        model = FactorModel(W, fitted.model.noise_variance)
        location = np.zeros(S.n_features)
        location[varying] = fitted.location
        if rows is not None:
            filled = imputed_rows(rows, model, location).astype(S.dtype, copy=False)
            S, _ = covariance_of(filled, sample_weight=rows.weights)
        extraction = Extraction((W / strengths).astype(S.dtype), fitted.searches)
        self._warn(extraction)
        self._store(S, moments, extraction)
        shift = location if self.scale_ is None else location * self.scale_
        self.mean_ = self.mean_ + shift
        self.components_ = self.components_ + 0.0  # no negative zeros in print
        self.component_strength_ = strengths
        self.noise_variance_ = model.noise_variance
        for name, values in fitted.per_loading.items():
            setattr(self, name, spread(values, varying, S.n_features).T.astype(S.dtype))
        for name, value in fitted.attributes.items():
            setattr(self, name, value)

    def _model(self) -> FactorModel:
        check_is_fitted(self)
        W = self.components_.T.astype(np.float64) * self.component_strength_
        return FactorModel(W, self.noise_variance_)

    def transform(self, X: Any) -> Any:
        """Posterior means of the scores.

        Parameters
        ----------
        X : {array-like, sparse matrix, Dask array} of shape (n_samples, n_features)
            New data; missing values are left out of what a sample says.

        Returns
        -------
        scores : ndarray or Dask array of shape (n_samples, n_components)
            Lazy where ``X`` is a Dask array.
        """
        model = self._model()
        X = check_data(self, X, reset=False, allow_nan=True)
        dtype = np.float32 if X.dtype == np.float32 else np.float64
        if has_missing(X):
            return model.observed_scores(*self._centred(X)).mean.astype(dtype)
        V, offset = self._projection(model.scores(model.loadings).astype(np.float64))
        V, offset = V.astype(dtype), offset.astype(dtype)
        if is_dask(X):
            X = X.rechunk({1: -1})
            chunks = (X.chunks[0], (V.shape[1],))
            return X.map_blocks(
                self._block_scores, V, offset, dtype=dtype, chunks=chunks, meta=V[:0]
            )
        return _project(X, V, offset)

    def _block_scores(self, block: Any, V: Array, offset: Array) -> Array:
        """Scores of one block of a Dask array, which may or may not have holes."""
        if not sparse.issparse(block) and np.isnan(block).any():
            return self._model().observed_scores(*self._centred(block)).mean.astype(V.dtype)
        return _project(block, V, offset)

    def latent_std(self, X: Any) -> Any:
        """Posterior standard deviations of the scores.

        Parameters
        ----------
        X : {array-like, sparse matrix, Dask array} of shape (n_samples, n_features)
            New data.

        Returns
        -------
        std : ndarray of shape (n_samples, n_components)
            Larger for samples with missing values, the same for all others.
        """
        model = self._model()
        X = check_data(self, X, reset=False, allow_nan=True)
        if has_missing(X):
            return np.sqrt(model.observed_scores(*self._centred(X)).variance)
        return np.tile(model.scores_std(), (X.shape[0], 1))

    def inverse_transform(self, X: Any) -> Any:
        """Expected data given scores; of the scores of incomplete data, this imputes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_components)
            Scores, as ``transform`` gives them.

        Returns
        -------
        X_original : ndarray or Dask array of shape (n_samples, n_features)
            ``mean + W z``.
        """
        model = self._model()
        Z = X if is_dask(X) else np.asarray(X)
        if Z.ndim != 2 or Z.shape[1] != self.components_.shape[0]:
            msg = (
                f"scores of shape {Z.shape} do not fit {self.components_.shape[0]} component(s); "
                "pass what transform returned"
            )
            raise ValueError(msg)
        back = model.loadings.T if self.scale_ is None else model.loadings.T * self.scale_
        dtype = np.float32 if Z.dtype == np.float32 else np.float64
        return Z @ back.astype(dtype) + self.mean_.astype(dtype)

    def impute(self, X: Any) -> Any:
        """``X`` with missing values replaced by what the model expects of them.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Data with NaN where values are missing.

        Returns
        -------
        X_imputed : ndarray of shape (n_samples, n_features)
            A copy; observed values are untouched.
        """
        X = np.array(X, dtype=float)
        return np.where(np.isnan(X), self.inverse_transform(self.transform(X)), X)

    def score_samples(self, X: Any) -> Any:
        """Log density of every sample under the model.

        Parameters
        ----------
        X : {array-like, sparse matrix, Dask array} of shape (n_samples, n_features)
            Data; missing values are integrated out.

        Returns
        -------
        log_density : ndarray of shape (n_samples,)
            In the units of ``X``, whether the model standardizes or not.
        """
        model = self._model()
        X = check_data(self, X, reset=False, allow_nan=True)
        log_scale = np.zeros(self.n_features_in_) if self.scale_ is None else np.log(self.scale_)
        if has_missing(X):
            values, observed = self._centred(X)
            return model.observed_log_likelihood(values, observed) - observed @ log_scale
        V, offset = self._projection(model.loadings)
        weights = np.ones(self.n_features_in_) if self.scale_ is None else self.scale_**-2.0
        stacked = rows_of(X).stack_over_blocks(_squares_and_scores, V, offset, self.mean_, weights)
        if is_dask(X) and np.isnan(stacked).any():
            msg = (
                "Input X is a Dask array that contains NaN; the likelihood of samples with missing "
                "values needs them in memory. Use X.compute() where it fits"
            )
            raise ValueError(msg)
        return model.log_likelihood(stacked[:, 0], stacked[:, 1:]) - log_scale.sum()

    def score(self, X: Any, y: Any = None) -> float:
        """Mean log density of the samples.

        Parameters
        ----------
        X : {array-like, sparse matrix, Dask array} of shape (n_samples, n_features)
            Data, held out or not.
        y : None
            Ignored.

        Returns
        -------
        float
            Mean of :meth:`score_samples`.
        """
        return float(np.mean(self.score_samples(X)))

    def get_covariance(self) -> Any:
        """Covariance of the model in the units of the data.

        Returns
        -------
        covariance : ndarray of shape (n_features, n_features)
            ``W W' + noise_variance I``.
        """
        C = self._model().covariance()
        return C if self.scale_ is None else C * np.multiply.outer(self.scale_, self.scale_)

    def get_precision(self) -> Any:
        """Inverse covariance of the model, by the Woodbury identity.

        Returns
        -------
        precision : ndarray of shape (n_features, n_features)
            In the units of the data.
        """
        P = self._model().precision()
        return P if self.scale_ is None else P / np.multiply.outer(self.scale_, self.scale_)

    def sample(self, n_samples: int = 1, random_state: Any = None) -> Any:
        """Draw from the model.

        Parameters
        ----------
        n_samples : int, default=1
            Number of draws.
        random_state : int, RandomState instance or None, default=None
            Seed of the draws.

        Returns
        -------
        X : ndarray of shape (n_samples, n_features)
            Independent samples.
        """
        model = self._model()
        rng = check_random_state(random_state)
        d, q = model.loadings.shape
        X = rng.normal(size=(n_samples, q)) @ model.loadings.T
        X += np.sqrt(model.noise_variance) * rng.normal(size=(n_samples, d))
        return (X if self.scale_ is None else X * self.scale_) + self.mean_

    def _projection(self, V: Array) -> tuple[Array, Array]:
        V = V if self.scale_ is None else V / self.scale_[:, None]
        return V, self.mean_ @ V

    def _centred(self, X: Array) -> tuple[Array, Array]:
        observed = ~np.isnan(X)
        values = np.where(observed, X - self.mean_, 0.0).astype(np.float64)
        return (values if self.scale_ is None else values / self.scale_), observed.astype(float)

    def __sklearn_tags__(self) -> Any:
        """Describe the estimator to scikit-learn."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


class _IterationReporter:
    """Tells scikit-learn's callbacks of each iteration; returns whether to stop."""

    def __init__(self, estimator: Any, context: Any) -> None:
        self.estimator, self.context = estimator, context

    def __call__(self, iteration: int, bound: float) -> bool:
        task = self.context.subcontext(task_name=f"iteration {iteration}")
        task.call_on_fit_task_begin(estimator=self.estimator)
        return task.call_on_fit_task_end(
            estimator=self.estimator,
            metadata={"iteration": iteration, "lower_bound": bound},
        )


def _squares_and_scores(
    block: Any, rows: slice, V: Array, offset: Array, mean: Array, weights: Array
) -> Array:
    """Squared scaled distance to the mean in the first column, projections after it."""
    if sparse.issparse(block):
        squares = block.multiply(block) @ weights - 2.0 * (block @ (weights * mean))
        squares = np.asarray(squares).ravel() + weights @ mean**2
    else:
        squares = np.empty(block.shape[0])
        for piece in pieces(*block.shape, 8):
            squares[piece] = np.square(block[piece] - mean) @ weights
    return np.column_stack([squares, np.asarray(block @ V) - offset])
