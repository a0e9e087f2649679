"""Estimators with a noise model: likelihood, posterior scores, missing values, samples."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.utils import check_random_state

from loadstone._sklearn_compat import check_is_fitted
from loadstone.constraints import LoadingConstraint
from loadstone.covariance import Array, Covariance, SampleGram, covariance_of
from loadstone.covariance.containers import float_dtype, is_dask
from loadstone.covariance.opened import like
from loadstone.covariance.scores import lazily, project, project_block
from loadstone.estimators.attributes import COMPONENTS, INPUT, Attribute
from loadstone.estimators.base import Components
from loadstone.estimators.checks import check_new_rows
from loadstone.estimators.found import Found, Task
from loadstone.estimators.projection import check_scores, expected_rows
from loadstone.estimators.reading import Reading
from loadstone.extraction import signed
from loadstone.solvers.factor_model import FactorModel
from loadstone.solvers.factor_models.choice import SampleRows, SizeChoice, choose_sizes
from loadstone.solvers.factor_models.held_out import Walk
from loadstone.solvers.factor_models.sizes import HELD_OUT
from loadstone.solvers.fitted_model import FittedModel, spread
from loadstone.solvers.incomplete_rows import has_missing, imputed_rows, restricted_rows
from loadstone.solvers.model_progress import of_sizes
from loadstone.solvers.row_densities import refuse_no_density, row_densities
from loadstone.solvers.variational_bayes.missing import IncompleteObservations
from loadstone.solvers.wide_model import fit_among, of_all_features

#: What the documentation says of every Gaussian model.
MODEL: dict[str, Attribute] = {
    **COMPONENTS,
    "component_strength_": Attribute(
        "ndarray of shape (n_components_,)",
        "Lengths of the columns of ``W = components_.T * component_strength_``: standard\n"
        "deviations of what the components add to the (scaled) data.",
    ),
    "noise_variance_": Attribute(
        "float or ndarray of shape (n_features,)",
        "Variance of the noise in the (scaled) features, one for all or one for each.",
    ),
    **INPUT,
}


class GaussianComponents(Components):
    """Components of a model ``x = mean + W z + noise``; a subclass writes :meth:`_fit_model`."""

    component_strength_: ClassVar[Array]
    noise_variance_: ClassVar[Any]

    _attributes: ClassVar[dict[str, Attribute]] = MODEL
    _allows_missing: ClassVar[bool] = True
    #: Whether most features have no loadings, so that wide data is fitted on a working set.
    _fits_few: ClassVar[bool] = True

    def _fit_model(
        self, S: Covariance, holes: IncompleteObservations | None, task: Task
    ) -> FittedModel:
        """Search on the varying features; ``holes`` only where values are missing."""
        raise NotImplementedError

    def _needs_rows(self) -> bool:
        asked = self.get_params(deep=False)["n_components"]
        # An array is compared entry by entry.
        return isinstance(asked, str) and asked == HELD_OUT

    def _sizes(self, holes: IncompleteObservations | None, task: Task, walk: Walk) -> SizeChoice:
        """Numbers of components to choose from; held-out rows are asked where that was asked."""
        asked = self.get_params(deep=False)["n_components"]
        data = task.data
        scaled = data.moments.scale is not None
        rows = SampleRows(rows=data.rows, weights=data.weights, holes=holes, standardize=scaled)
        return choose_sizes(asked, rows, walk, task.rng, of_sizes(task.report))

    def _search(self, task: Task) -> Found:
        data = task.data
        varying = np.flatnonzero(~data.moments.constant)
        S, holes = data.S, data.holes
        if isinstance(S, SampleGram) and self._fits_few:
            closed = np.flatnonzero(data.moments.constant)
            model, kept, looked = fit_among(
                S, closed, lambda part: self._fit_model(part, None, task)
            )
            return replace(_described(model, data, kept), looked=looked, fitted_on=kept)
        if varying.size < S.n_features:
            # A feature without variance is no evidence for small noise in the others.
            S = S.restrict(varying)
            holes = None if holes is None else restricted_rows(holes, varying)
        return _described(self._fit_model(S, holes, task), data, varying)

    def _model(self) -> FactorModel:
        check_is_fitted(self)
        W = self.components_.T.astype(np.float64) * self.component_strength_
        return FactorModel(W, self.noise_variance_)

    def _predictive(self) -> FactorModel:
        """The model of new samples, which densities, imputation and draws go by."""
        return self._model()

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
        return like(X, self._scores(X, self._model()))

    def _scores(self, X: Any, model: FactorModel) -> Any:
        """Posterior means of the scores of ``model``."""
        rows = check_new_rows(self, X, allow_nan=True, lazy=True)
        dtype, V = float_dtype(rows.dtype), model.scores_matrix()
        if has_missing(rows):
            return model.observed_scores(*self._centred(rows)).mean.astype(dtype)
        if not is_dask(rows):
            return project(rows, V, self.mean_, self.scale_)

        def of_block(block: Any, V: Array, offset: Array) -> Array:
            """Scores of one block, which may or may not have holes."""
            if not sparse.issparse(block) and np.isnan(block).any():
                return model.observed_scores(*self._centred(block)).mean.astype(V.dtype)
            return project_block(block, V, offset)

        V = (V if self.scale_ is None else V / self.scale_[:, None]).astype(dtype)
        return lazily(of_block, rows, V, (self.mean_ @ V).astype(dtype))

    def _scores_matrix(self) -> Array:
        return self._model().scores_matrix()

    def latent_std(self, X: Any) -> Array:
        """Posterior standard deviations of the scores.

        Parameters
        ----------
        X : {array-like, sparse matrix, Dask array} of shape (n_samples, n_features)
            New data.

        Returns
        -------
        std : ndarray of shape (n_samples, n_components)
            Larger for samples with missing values, which must be in memory, the same for all
            others.
        """
        model = self._model()
        rows = check_new_rows(self, X, allow_nan=True)
        if has_missing(rows):
            return np.asarray(np.sqrt(model.observed_scores(*self._centred(rows)).variance))
        if is_dask(rows):
            # Only a pass over the rows can tell whether they have holes, which it refuses.
            with np.errstate(over="ignore", invalid="ignore"):
                row_densities(rows, model, self.mean_, self.scale_)
        return np.tile(model.scores_std(), (rows.shape[0], 1))

    def inverse_transform(self, X: Any) -> Any:
        """Expected data given scores; of the scores of incomplete data, this imputes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_components)
            Scores, as ``transform`` gives them.

        Returns
        -------
        X_original : ndarray or Dask array of shape (n_samples, n_features)
            ``mean + W z``. For the projection on the components see ``reconstruct``.
        """
        model = self._model()
        return self._expected(check_scores(X, self.components_.shape[0]), model)

    def _expected(self, Z: Any, model: FactorModel) -> Any:
        """``mean + W z`` in the units of the data."""
        back = model.loadings.T if self.scale_ is None else model.loadings.T * self.scale_
        dtype = float_dtype(Z.dtype)
        return expected_rows(Z, back.astype(dtype), self.mean_.astype(dtype))

    def impute(self, X: Any) -> Any:
        """``X`` with missing values replaced by what the model expects of them.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Data with NaN where values are missing.

        Returns
        -------
        X_imputed : ndarray or Dask array of shape (n_samples, n_features)
            A copy; observed values are untouched.
        """
        rows = check_new_rows(self, X, allow_nan=True)
        if sparse.issparse(rows):
            msg = "X is sparse, and the result would be dense; convert it with X.toarray() where it fits"
            raise TypeError(msg)
        model = self._predictive()
        return np.where(np.isnan(rows), self._expected(self._scores(X, model), model), rows)

    def score_samples(self, X: Any) -> Array:
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
        model = self._predictive()
        rows = check_new_rows(self, X, allow_nan=True)
        with np.errstate(over="ignore", invalid="ignore"):
            if has_missing(rows):
                values, observed = self._centred(rows)
                units = 0.0 if self.scale_ is None else observed @ np.log(self.scale_)
                density = np.asarray(model.observed_log_likelihood(values, observed) - units)
            else:
                density = row_densities(rows, model, self.mean_, self.scale_)
        refuse_no_density(density)
        return density

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

    def get_covariance(self) -> Array:
        """Covariance of the model in the units of the data.

        Returns
        -------
        covariance : ndarray of shape (n_features, n_features)
            ``W W'`` with the noise variances added to its diagonal.
        """
        C = self._predictive().covariance()
        return C if self.scale_ is None else C * np.multiply.outer(self.scale_, self.scale_)

    def get_precision(self) -> Array:
        """Inverse covariance of the model, by the Woodbury identity.

        Returns
        -------
        precision : ndarray of shape (n_features, n_features)
            In the units of the data.
        """
        P = self._predictive().precision()
        return P if self.scale_ is None else P / np.multiply.outer(self.scale_, self.scale_)

    def sample(self, n_samples: int = 1, random_state: Any = None) -> Array:
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
        X = self._predictive().sample(check_random_state(random_state), n_samples)
        return (X if self.scale_ is None else X * self.scale_) + self.mean_

    def __sklearn_tags__(self) -> Any:
        """Describe the estimator to scikit-learn."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self._allows_missing
        return tags

    def _centred(self, X: Any) -> tuple[Array, Array]:
        """Centred, scaled values with zeros for those that are missing, and which are not."""
        observed = ~np.isnan(X)
        values = np.where(observed, X - self.mean_, 0.0).astype(np.float64)
        return (values if self.scale_ is None else values / self.scale_), observed.astype(float)


def _described(fitted: FittedModel, data: Reading, varying: Array) -> Found:
    """The model on all features as components of the (imputed) data."""
    n_features, dtype = data.n_features, data.S.dtype
    model = of_all_features(data.S, fitted.model, varying)
    predictive = of_all_features(data.S, fitted.predictive or fitted.model, varying)
    W = model.loadings
    strengths = np.linalg.norm(W, axis=0)
    if fitted.location is not None:
        data = _relocated(data, predictive, spread(fitted.location, varying, n_features))
    free = [LoadingConstraint(n_features, n_features)] * predictive.loadings.shape[1]
    values = {"component_strength_": strengths, "noise_variance_": model.noise_variance}
    if fitted.predictive is not None:
        values["predictive_loadings_"] = signed(predictive.loadings, free).T
        values["predictive_noise_"] = predictive.noise_variance
    per_loading = {
        name: spread(of_varying, varying, n_features).T.astype(dtype)
        for name, of_varying in fitted.per_loading.items()
    }
    return Found(
        loadings=signed((W / strengths).astype(dtype), free),
        searches=fitted.searches,
        values={**values, **per_loading, **fitted.attributes},
        shortfall=fitted.shortfall,
        told=fitted.told,
        data=data,
    )


def _relocated(data: Reading, model: FactorModel, location: Array) -> Reading:
    """The data about the mean of the model, with holes filled by it."""
    moments = data.moments
    shift = location if moments.scale is None else location * moments.scale
    data = replace(data, moments=replace(moments, mean=moments.mean + shift))
    if data.holes is None:
        return data
    filled = imputed_rows(data.holes, model, location).astype(data.S.dtype, copy=False)
    return replace(data, S=covariance_of(filled, sample_weight=data.holes.weights)[0])
