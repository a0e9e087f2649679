"""What a report is made from, gathered once: a fitted estimator, its data, and names."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from loadstone._sklearn_compat import check_is_fitted
from loadstone.covariance import SampleCovariance
from loadstone.covariance.checks import check_weights
from loadstone.covariance.opened import package_of
from loadstone.covariance.protocol import Array, Covariance
from loadstone.estimators.checks import check_new_rows
from loadstone.files.classes import classes_of
from loadstone.plotting.fitted import covariance_behind, image_size, names_of, pca_pairs

#: Samples that are drawn; what is left out is said.
MAX_SAMPLES = 4000


@dataclass(frozen=True, kw_only=True)
class Facts:
    """A fitted estimator with everything that is known beside it, checked.

    Attributes
    ----------
    estimator : fitted estimator
        Any estimator of loadstone.
    X : array-like, SampleCovariance or None
        The data it was fitted to.
    names : ndarray of str
        One name per feature.
    labels, sample_names : list of str or None
        One per sample.
    path : CardinalityPath or None
        The variance over the number of features.
    image_shape : (int, int) or None
        Height and width, where features are pixels.
    feature_axis : ndarray of float or None
        Where each feature stands, where features are wavelengths, times or places.
    sample_weight : array-like or None
        The weights it was fitted with.
    """

    estimator: Any
    X: Any
    names: Any
    labels: list[str] | None
    sample_names: list[str] | None
    path: Any
    image_shape: tuple[int, int] | None
    feature_axis: Array | None
    sample_weight: Any

    @property
    def rows(self) -> Any:
        """The samples; ``None`` without data, and where only a covariance is known."""
        return None if isinstance(self.X, SampleCovariance) else self.X

    @property
    def loadings(self) -> Array:
        """Of shape (n_features, n_components)."""
        return np.asarray(self.estimator.components_, dtype=np.float64).T

    @cached_property
    def scores(self) -> Array:
        """Of every sample, of shape (n_samples, n_components)."""
        return np.asarray(self.estimator.transform(self.rows), dtype=np.float64)

    @cached_property
    def drawn(self) -> Array:
        """Which samples are drawn: all, or evenly spaced ones."""
        # A Dask array may not know how many rows it has; its scores do.
        n = self.scores.shape[0]
        if n <= MAX_SAMPLES:
            return np.arange(n)
        return np.linspace(0, n - 1, MAX_SAMPLES).round().astype(np.intp)

    @cached_property
    def covariance(self) -> Covariance | None:
        """Of the data, centred and scaled as the estimator does; ``None`` where values are missing."""
        if self.X is None:
            return None
        try:
            S: Covariance = covariance_behind(self.estimator, self.X, self.sample_weight)
        except ValueError:
            return None
        # Where values of a Dask array are missing, or squares overflow, nobody has seen it before.
        return S if np.isfinite(S.diagonal()).all() else None

    @cached_property
    def pca(self) -> tuple[Array, Array] | None:
        """Variances and loadings of as many plain principal components; ``None`` of none."""
        S, n_components = self.covariance, self.loadings.shape[1]
        return pca_pairs(S, n_components) if S is not None and n_components else None

    @cached_property
    def pca_correlations(self) -> Array | None:
        """Correlation of each component's scores (rows) with those of PCA (columns).

        ``w'Sv / sqrt(w'Sw v'Sv)``, and ``Sv`` is the variance times ``v``: no pass is needed.
        """
        if self.pca is None:
            return None
        values, vectors = self.pca
        estimator = self.estimator
        variances = np.asarray(
            getattr(estimator, "marginal_variance_", estimator.explained_variance_), np.float64
        )
        shared = self.loadings.T @ vectors * np.sqrt(values)
        deviations = np.sqrt(np.maximum(variances, 0))[:, None]
        found = np.divide(shared, deviations, out=np.zeros_like(shared), where=deviations > 0)
        clipped: Array = np.clip(found, -1, 1)
        return clipped

    @cached_property
    def matches(self) -> list[int]:
        """The principal component that each component follows most closely, from 0."""
        found = self.pca_correlations
        return [] if found is None else [int(j) for j in np.abs(found).argmax(axis=1)]

    @cached_property
    def matched(self) -> Array | None:
        """Loadings of those principal components, one column each, with signs that agree."""
        if self.pca is None or self.pca_correlations is None:
            return None
        r = self.pca_correlations[np.arange(len(self.matches)), self.matches]
        found: Array = self.pca[1][:, self.matches] * np.where(r < 0, -1, 1)
        return found

    @property
    def unit(self) -> Array:
        """What each feature is divided by."""
        scale = getattr(self.estimator, "scale_", None)
        return np.ones(self.loadings.shape[0]) if scale is None else np.asarray(scale, np.float64)

    @property
    def score_weights(self) -> Array:
        """What centred values are multiplied with to become scores, in the units of the data."""
        return np.asarray(self.estimator.to_sklearn().components_, dtype=np.float64).T

    @cached_property
    def regression(self) -> tuple[Array, Array] | None:
        """``S V`` and ``B = (V'SV)^+ V'S``, which predicts every feature from the scores ``Z V``."""
        S = self.covariance
        if S is None or self.loadings.shape[1] == 0:
            return None
        V = self.score_weights * self.unit[:, None]
        SV = np.asarray(S @ V.astype(S.dtype), dtype=np.float64)
        inner = V.T @ SV
        inner = (inner + inner.T) / 2
        B = np.linalg.pinv(inner, rcond=1e3 * float(np.finfo(S.dtype).eps), hermitian=True) @ SV.T
        return SV, B


def gather(
    estimator: Any,
    X: Any = None,
    labels: Any = None,
    feature_names: Any = None,
    path: Any = None,
    *,
    sample_names: Any = None,
    image_shape: Any = None,
    feature_axis: Any = None,
    sample_weight: Any = None,
) -> Facts:
    """Check what a report is asked to show; parameters as in :func:`loadstone.report.summarise`."""
    check_is_fitted(estimator)
    if "components_" not in vars(estimator) or "total_variance_" not in vars(estimator):
        name = type(estimator).__name__
        msg = f"a report shows components of an estimator of loadstone, which {name} is not; fit SparsePCA"
        raise TypeError(msg)
    n_samples = None
    sample_names = _names_of_rows(X) if sample_names is None else sample_names
    if X is not None and not isinstance(X, SampleCovariance):
        rows = check_new_rows(estimator, X, allow_nan=True)
        n_samples = float(rows.shape[0])
        sample_weight = check_weights(sample_weight, rows)
        X = X if hasattr(X, "columns") else rows
    _refuse_no_path(path)
    n_features = int(estimator.n_features_in_)
    return Facts(
        estimator=estimator,
        X=X,
        names=names_of(estimator, feature_names),
        labels=_texts(None if labels is None else classes_of(labels), n_samples, "labels"),
        sample_names=_texts(sample_names, n_samples, "sample names"),
        path=path,
        image_shape=None if image_shape is None else image_size(image_shape, n_features),
        feature_axis=_feature_axis(feature_axis, n_features),
        sample_weight=sample_weight,
    )


def _names_of_rows(X: Any) -> list[str] | None:
    """What a frame of pandas calls its rows, unless it merely counts them; days without a midnight."""
    if package_of(X) != "pandas" or type(X.index).__name__ in ("RangeIndex", "MultiIndex"):
        return None
    return [str(name) for name in X.index.astype(str)]


def _refuse_no_path(path: Any) -> None:
    if path is not None and not (hasattr(path, "n_nonzeros") and hasattr(path, "values")):
        msg = f"path is a {type(path).__name__}; give what loadstone.cardinality_path returns, or None"
        raise TypeError(msg)


def _texts(values: Any, n_samples: float | None, what: str) -> list[str] | None:
    if values is None or n_samples is None:
        return None
    texts = [str(value) for value in np.asarray(values, dtype=object).ravel()]
    if math.isfinite(n_samples) and len(texts) != n_samples:
        msg = f"{len(texts)} {what} were given for {n_samples:.0f} samples"
        raise ValueError(msg)
    return texts


def _feature_axis(axis: Any, n_features: int) -> Array | None:
    if axis is None:
        return None
    try:
        places = np.asarray(axis, dtype=np.float64).ravel()
    except (TypeError, ValueError):
        places = np.empty(0)
    if places.size != n_features or not np.isfinite(places).all():
        msg = (
            f"feature_axis has {np.size(axis)} entries for {n_features} features, or some that are "
            "no numbers; give one number per feature, such as its wavelength"
        )
        raise ValueError(msg)
    return places
