"""What a fitted set of components can do, whatever found them: project, reconstruct, score."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.decomposition import PCA
from sklearn.utils.validation import check_array

from loadstone._sklearn_compat import (
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    _check_feature_names_in,
    check_is_fitted,
)
from loadstone.certificates import Certificate, JointCertificate
from loadstone.constraints import Groups
from loadstone.covariance import Array
from loadstone.covariance.containers import is_dask
from loadstone.covariance.opened import like
from loadstone.covariance.plain_pca import implied_covariance, plain_pca
from loadstone.covariance.scores import project, pseudo_inverse, share_explained
from loadstone.estimators.checks import check_new_rows
from loadstone.loadings import named_loadings


class ComponentsMixin(ClassNamePrefixFeaturesOutMixin, TransformerMixin):
    """Projections on components, and the way back."""

    # Set by a fit, typed here once; what they mean stands in ``attributes.py``.
    components_: Array
    explained_variance_: Array
    explained_variance_ratio_: Array
    marginal_variance_: Array
    recovered_variance_ratio_: Array
    total_variance_: float
    orthogonality_violation_: Array
    score_correlation_: Array
    mean_: Array
    scale_: Array | None
    support_: Array
    cardinality_: Array
    n_components_: int
    n_samples_: float
    n_iter_: int
    stop_reason_: list[str]
    objective_: list[Array]
    certificates_: list[Certificate]
    joint_certificate_: JointCertificate
    upper_bound_: Array
    gap_: Array
    n_features_in_: int
    feature_names_in_: Array

    @property
    def _n_features_out(self) -> int:
        return int(self.components_.shape[0])

    def transform(self, X: Any) -> Any:
        """Scores: centred (and scaled) data projected on each component.

        Parameters
        ----------
        X : {array-like, sparse matrix, Dask array} of shape (n_samples, n_features)
            New data.

        Returns
        -------
        scores : ndarray or Dask array of shape (n_samples, n_components)
            Lazy where ``X`` is a Dask array; a ``DataArray`` where ``X`` is one of xarray.
        """
        check_is_fitted(self)
        rows = check_new_rows(self, X, lazy=True)
        return like(X, project(rows, self._scores_matrix(), self.mean_, self.scale_))

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
        return self._from_projections(check_scores(X, self.components_.shape[0]))

    def reconstruct(self, X: Any) -> Any:
        """The points closest to the data in the span of the components.

        Parameters
        ----------
        X : {array-like, sparse matrix, Dask array} of shape (n_samples, n_features)
            New data.

        Returns
        -------
        X_closest : ndarray or Dask array of shape (n_samples, n_features)
            In the units of ``X``.
        """
        check_is_fitted(self)
        rows = check_new_rows(self, X, lazy=True)
        return self._from_projections(project(rows, self.components_.T, self.mean_, self.scale_))

    def _from_projections(self, Z: Any) -> Any:
        back = pseudo_inverse(self.components_).T.astype(self.components_.dtype, copy=False)
        return expected_rows(Z, back if self.scale_ is None else back * self.scale_, self.mean_)

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
        rows = check_new_rows(self, X)
        return share_explained(rows, self.components_.T, self.mean_, self.scale_)

    def loadings_table(self, feature_names: Any = None) -> Any:
        """The non-zero loadings with the names of their features, largest first.

        Parameters
        ----------
        feature_names : array-like of str, optional
            Names to show; by default those seen in ``fit``, else ``x0``, ``x1``, ...

        Returns
        -------
        pandas.DataFrame
            With columns ``component`` (counted from 1), ``feature`` and ``loading``; and
            ``group`` where the constraint has groups.
        """
        check_is_fitted(self)
        return named_loadings(self.components_, self._names(feature_names), groups_of(self))

    def get_covariance(self) -> Array:
        """The covariance that the components stand for, in the units of the data.

        Returns
        -------
        covariance : ndarray of shape (n_features, n_features)
            That of the data in the span of the components; what they leave of the total
            variance is spread evenly over the other directions.
        """
        check_is_fitted(self)
        deviations = np.sqrt(self.marginal_variance_)
        of_scores = self.score_correlation_ * np.multiply.outer(deviations, deviations)
        C = implied_covariance(self.components_, of_scores, float(self.total_variance_))
        return C if self.scale_ is None else C * np.multiply.outer(self.scale_, self.scale_)

    def to_sklearn(self) -> PCA:
        """A plain PCA of scikit-learn with the same scores, for programs that know no other.

        Returns
        -------
        sklearn.decomposition.PCA
            Fitted. Scales are part of its components, which are not orthogonal; so its
            ``inverse_transform`` is not the one of this estimator.
        """
        check_is_fitted(self)
        return plain_pca(self, self._scores_matrix())

    def _scores_matrix(self) -> Array:
        """What centred and scaled rows are multiplied with to become scores."""
        return self.components_.T

    def _names(self, feature_names: Any) -> Array:
        if feature_names is None:
            return np.asarray(_check_feature_names_in(self))
        names = np.asarray(feature_names, dtype=object)
        if names.shape != (self.n_features_in_,):
            msg = f"{names.size} feature names were given for {self.n_features_in_} features"
            raise ValueError(msg)
        return names


def groups_of(estimator: Any) -> Array | None:
    """The group of each feature; ``None`` where the estimator knows of no groups."""
    constraint = estimator.get_params(deep=False).get("constraint")
    return constraint.labels if isinstance(constraint, Groups) else None


def check_scores(Z: Any, n_components: int) -> Any:
    """Scores as a matrix with one column per component, or a sentence."""
    Z = Z if is_dask(Z) else np.asarray(Z.toarray() if sparse.issparse(Z) else Z)
    if Z.ndim != 2 or Z.shape[1] != n_components:
        msg = (
            f"scores of shape {Z.shape} do not fit {n_components} component(s); "
            "pass what transform returned"
        )
        raise ValueError(msg)
    if is_dask(Z):
        return Z
    Z = check_array(
        Z,
        dtype=[np.float64, np.float32],
        ensure_all_finite=False,
        ensure_min_samples=0,
        ensure_min_features=0,
    )
    bad = np.flatnonzero(~np.isfinite(Z).all(axis=1))
    if bad.size:
        msg = (
            f"scores hold NaN or infinity in {bad.size} row(s), the first of them row {bad[0]}; "
            "pass what transform returned"
        )
        raise ValueError(msg)
    return Z


def expected_rows(Z: Any, back: Array, mean: Array) -> Any:
    """``Z back + mean``, refused where it leaves the range of numbers; lazy where ``Z`` is."""
    if is_dask(Z):
        return Z @ back + mean
    with np.errstate(over="ignore", invalid="ignore"):
        found = Z @ back + mean
    if not np.isfinite(found).all():
        msg = f"scores as large as {np.abs(Z).max():.3g} overflow in the units of the data; rescale them"
        raise ValueError(msg)
    return found
