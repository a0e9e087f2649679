"""FeatureSelector: unsupervised selection of features by sparse components."""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.validation import check_is_fitted

from loadstone._sklearn_compat import Interval, StrOptions, _fit_context
from loadstone.covariance import Moments
from loadstone.covariance.containers import is_dask
from loadstone.covariance.moments import constant_features
from loadstone.estimators.checks import check_data, check_moments, check_sizes
from loadstone.estimators.sparse_pca import EFFORTS, SparsePCA
from loadstone.selection.entropy import entropy_ranking


class FeatureSelector(SelectorMixin, BaseEstimator):
    """Keep the features of the first sparse components, or those of high entropy.

    The features that together explain most variance in one direction tend to separate
    groups of samples; non-negative loadings keep those that rise and fall together.

    Parameters
    ----------
    n_features_to_select : int or float, default=0.5
        Number of features to keep, or their fraction in (0, 1].
    nonnegative : bool, default=False
        Allow only loadings >= 0.
    n_components : int, default=1
        Number of components. With several, each gets an equal part of the features and
        no feature serves two, so that the union has the size asked for.
    method : {"component", "svd_entropy"}, default="component"
        Sparse components, or the ranking of Varshavsky et al. by entropy. That entropy is of
        the data as it comes, not centred, as published: a feature of large mean counts as
        a strong one. Features that do not vary are left out in both.
    entropy_search : {"ranking", "forward"}, default="ranking"
        For ``"svd_entropy"``: the largest contributions, or one feature at a time by what
        it adds to those before. Forward search decomposes all candidates at every step.
    effort : {"fast", "balanced", "thorough"}, default="balanced"
        How hard components are searched.
    standardize : bool, default=False
        Scale each feature to unit variance before the search. Selection often works
        better without it: the scale says what varies.
    random_state : int, RandomState instance or None, default=0
        Seed of the random starts.

    Attributes
    ----------
    support_ : ndarray of bool of shape (n_features,)
        Which features are kept.
    ranking_ : ndarray of int
        Kept features, the most important first.
    scores_ : ndarray of shape (n_features,)
        Largest absolute loading of each feature, or its contribution to the entropy of
        the features that vary; minus infinity for those that do not.
    n_features_to_select_ : int
        Number of features kept.
    n_features_in_ : int
        Number of features seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where ``X`` has them.

    See Also
    --------
    SparsePCA : The components themselves.

    References
    ----------
    Sigg, C. D., & Buhmann, J. M. (2008). Expectation-maximization for sparse and
    non-negative PCA. Proceedings of the 25th International Conference on Machine
    Learning, 960-967. https://doi.org/10.1145/1390156.1390277

    Varshavsky, R., Gottlieb, A., Linial, M., & Horn, D. (2006). Novel unsupervised feature
    filtering of biological data. Bioinformatics, 22(14), e507-e513.
    https://doi.org/10.1093/bioinformatics/btl214

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from loadstone import FeatureSelector
    >>> X, _ = load_wine(return_X_y=True, as_frame=True)
    >>> selector = FeatureSelector(3, nonnegative=True, standardize=True).fit(X)
    >>> selector.get_feature_names_out()
    array(['total_phenols', 'flavanoids', 'od280/od315_of_diluted_wines'],
          dtype=object)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_features_to_select": [Real],
        "nonnegative": ["boolean"],
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "method": [StrOptions({"component", "svd_entropy"})],
        "entropy_search": [StrOptions({"ranking", "forward"})],
        "effort": [StrOptions(set(EFFORTS))],
        "standardize": ["boolean"],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_features_to_select: Any = 0.5,
        *,
        nonnegative: bool = False,
        n_components: int = 1,
        method: str = "component",
        entropy_search: str = "ranking",
        effort: str = "balanced",
        standardize: bool = False,
        random_state: Any = 0,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.nonnegative = nonnegative
        self.n_components = n_components
        self.method = method
        self.entropy_search = entropy_search
        self.effort = effort
        self.standardize = standardize
        self.random_state = random_state

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None) -> FeatureSelector:
        """Choose the features.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training data.
        y : None
            Ignored.

        Returns
        -------
        self : FeatureSelector
        """
        X = check_data(self, X, reset=True)
        size = self._size(X.shape[1])
        if self.method == "component":
            self.scores_ = self._component_scores(X, size)
            order = np.argsort(-self.scores_, kind="stable")
            self.ranking_ = order[: np.count_nonzero(self.scores_)]
        else:
            X = _dense(X)
            moments = _moments(X)
            check_moments(moments, getattr(self, "feature_names_in_", None))
            self.ranking_, self.scores_ = self._entropy_choice(X, moments, size)
        self.n_features_to_select_ = self.ranking_.size
        self.support_ = np.zeros(X.shape[1], dtype=bool)
        self.support_[self.ranking_] = True
        return self

    def _size(self, n_features: int) -> int:
        try:
            size = check_sizes(self.n_features_to_select, 1, n_features)[0]
        except ValueError as error:
            raise ValueError(str(error).replace("n_nonzero", "n_features_to_select")) from error
        if self.method == "component" and self.n_components > size:
            msg = (
                f"n_components={self.n_components} components cannot share "
                f"n_features_to_select={size} feature(s); ask for fewer components"
            )
            raise ValueError(msg)
        return size

    def _entropy_choice(self, X: Any, moments: Moments, size: int) -> tuple[Any, Any]:
        """Ranking and contributions among the features that vary."""
        varying = np.flatnonzero(~moments.constant)
        Z = X[:, varying]
        if self.standardize:
            Z = Z / np.sqrt(moments.variance[varying])
        if varying.size < size:
            msg = (
                f"{varying.size} features selected, fewer than n_features_to_select={size}: no other "
                "feature varies"
            )
            warnings.warn(msg, UserWarning, stacklevel=4)
        order, contributions = entropy_ranking(Z, min(size, varying.size), self.entropy_search)
        scores = np.full(X.shape[1], -np.inf)
        scores[varying] = contributions
        return varying[order], scores

    def _component_scores(self, X: Any, size: int) -> Any:
        parts = [part.size for part in np.array_split(np.arange(size), self.n_components)]
        model = SparsePCA(
            n_components=self.n_components,
            n_nonzero=parts,
            nonnegative=self.nonnegative,
            effort=self.effort,
            orthogonality="disjoint" if self.n_components > 1 else "none",
            standardize=self.standardize,
            random_state=self.random_state,
        ).fit(X)
        scores = np.abs(model.components_).max(axis=0)
        found = int(np.count_nonzero(scores))
        if found < size:
            msg = (
                f"{found} features selected, fewer than n_features_to_select={size}: no other "
                "feature raises the variance of the components"
            )
            warnings.warn(msg, UserWarning, stacklevel=4)
        return scores

    def _get_support_mask(self) -> Any:
        check_is_fitted(self)
        return self.support_

    def __sklearn_tags__(self) -> Any:
        """Describe the selector to scikit-learn."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _dense(X: Any) -> Any:
    if sparse.issparse(X) or is_dask(X):
        msg = (
            "method='svd_entropy' decomposes dense data for every feature; convert X to a dense "
            "array, or use method='component', which works on sparse data"
        )
        raise TypeError(msg)
    # As published, the data is not centred: on centred data the ranking finds outliers.
    return np.asarray(X, dtype=np.float64)


def _moments(X: Any) -> Moments:
    mean, variance = X.mean(axis=0), X.var(axis=0, ddof=1)
    n_samples = float(X.shape[0])
    return Moments(
        n_samples, mean, variance, constant_features(n_samples, mean, variance, X.dtype), None
    )
