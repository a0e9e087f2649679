"""What a fitted set of components can do, whatever found them: project, reconstruct, score."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from loadstone._sklearn_compat import (
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    _check_feature_names_in,
)
from loadstone.certificates import Certificate, JointCertificate
from loadstone.constraints import Groups
from loadstone.covariance import Array
from loadstone.covariance.containers import float_dtype, is_dask, pieces, rows_of
from loadstone.estimators.checks import check_new_rows


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
            Lazy where ``X`` is a Dask array.
        """
        check_is_fitted(self)
        return project(check_new_rows(self, X), self.components_.T, self.mean_, self.scale_)

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
        rows = check_new_rows(self, X)
        return self._from_projections(project(rows, self.components_.T, self.mean_, self.scale_))

    def _from_projections(self, Z: Any) -> Any:
        back = pseudo_inverse(self.components_).T.astype(self.components_.dtype, copy=False)
        return Z @ (back if self.scale_ is None else back * self.scale_) + self.mean_

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
        try:
            import pandas as pd
        except ImportError as error:
            msg = "loadings_table needs pandas; install it with: pip install pandas"
            raise ImportError(msg) from error
        names = self._names(feature_names)
        places = [
            (j, i)
            for j, w in enumerate(self.components_)
            for i in sorted(np.flatnonzero(w), key=lambda i, w=w: -abs(w[i]))  # type: ignore[misc]
        ]
        rows = [(j + 1, names[i], float(self.components_[j, i])) for j, i in places]
        table = pd.DataFrame(rows, columns=["component", "feature", "loading"])
        groups = groups_of(self)
        if groups is not None:
            table["group"] = [groups[i] for _, i in places]
        return table

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


def project(rows: Any, V: Array, mean: Array, scale: Array | None) -> Any:
    """``((rows - mean) / scale) V``; sparse rows stay sparse, and a Dask array stays lazy."""
    V = V if scale is None else V / scale[:, None]
    dtype = float_dtype(rows.dtype)
    V = V.astype(dtype, copy=False)
    offset = mean.astype(dtype, copy=False) @ V
    if not is_dask(rows):
        return project_block(rows, V, offset)
    rows = rows.rechunk({1: -1})
    chunks = (rows.chunks[0], (V.shape[1],))
    return rows.map_blocks(project_block, V, offset, dtype=dtype, chunks=chunks, meta=V[:0])


def project_block(block: Any, V: Array, offset: Array) -> Array:
    """``block V - offset``."""
    if not sparse.issparse(block):
        block = np.asarray(block, dtype=V.dtype)
    return np.asarray(block @ V) - offset


def check_scores(Z: Any, n_components: int) -> Any:
    """Scores as a matrix with one column per component, or a sentence."""
    Z = Z if is_dask(Z) else np.asarray(Z)
    if Z.ndim != 2 or Z.shape[1] != n_components:
        msg = (
            f"scores of shape {Z.shape} do not fit {n_components} component(s); "
            "pass what transform returned"
        )
        raise ValueError(msg)
    return Z


def share_explained(
    rows: Any, W: Array, mean: Array, scale: Array | None, weights: Array | None = None
) -> float:
    """Share of the squared distances to ``mean`` that lies in the span of ``W``."""
    scores = np.asarray(project(rows, W, mean, scale), dtype=np.float64)
    # Lengths of reconstructions from their scores, without the reconstructions themselves.
    back = pseudo_inverse(W.T)
    lengths = np.sum(scores * (scores @ (back.T @ back)), axis=1)
    explained = float(lengths.sum() if weights is None else weights @ lengths)
    (sums,) = rows_of(rows).sum_over_blocks(_centred_squares, mean, weights)
    total = float(np.sum(sums if scale is None else sums / scale**2))
    return explained / total if total > 0 else 0.0


def _centred_squares(block: Any, rows: slice, mean: Array, weights: Array | None) -> tuple[Array]:
    """Sum over the rows of the squared distance to the mean, for each feature."""
    w = np.ones(block.shape[0]) if weights is None else weights[rows]
    if sparse.issparse(block):
        first, second = block.T @ w, block.multiply(block).T @ w
        return (np.asarray(second - 2 * mean * first + w.sum() * mean**2),)
    total = np.zeros(block.shape[1])
    for piece in pieces(block.shape[0], block.shape[1], block.dtype.itemsize):
        total += w[piece] @ np.square(block[piece] - mean)
    return (total,)


def pseudo_inverse(components: Array) -> Array:
    """Moore-Penrose inverse that treats directions lost to rounding as dependent.

    Components beyond the rank of the data repeat earlier ones up to the precision they
    were computed in, which may be coarser than that of this computation.
    """
    W = np.asarray(components, dtype=np.float64)
    rcond = 100 * max(W.shape) * float(np.finfo(components.dtype).eps)
    return np.linalg.pinv(W, rcond=min(rcond, 0.1))
