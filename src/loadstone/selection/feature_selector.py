"""FeatureSelector: unsupervised selection of features by sparse components."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from scipy import sparse

from loadstone._sklearn_compat import BaseEstimator, StrOptions, TransformerMixin, check_is_fitted
from loadstone.constraints.from_parameters import check_size
from loadstone.covariance import Array
from loadstone.covariance.containers import is_dask
from loadstone.covariance.opened import feature_names, is_dask_frame, opened
from loadstone.estimators.base import FitMixin, field
from loadstone.estimators.checks import check_new_rows
from loadstone.estimators.em_pca import EMPCA
from loadstone.estimators.found import Task
from loadstone.estimators.reading import Reading
from loadstone.estimators.sparse_pca import SparsePCA
from loadstone.loadings import Stop
from loadstone.registry import About
from loadstone.solvers.entropy import entropy_ranking
from loadstone.solvers.portfolio import PORTFOLIOS

if TYPE_CHECKING:

    class SelectorMixin(TransformerMixin):
        """``sklearn.feature_selection.SelectorMixin`` as far as it is used."""

        def transform(self, X: Any) -> Any:
            """``X`` without the features that are not kept."""

        def get_support(self, *, indices: bool = False) -> Array:
            """Which features are kept."""

else:
    from sklearn.feature_selection import SelectorMixin


class FeatureSelector(SelectorMixin, FitMixin, BaseEstimator):
    """Keep the features of the first sparse components, or those of high entropy.

    The features that together explain most variance in one direction tend to separate
    groups of samples; non-negative loadings keep those that rise and fall together.

    Parameters
    ----------
    n_features_to_select : int or float, default=0.5
        Number of features to keep, or their fraction in (0, 1].
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
    solver : {"search", "em"}, default="search"
        What finds components: the search of :class:`SparsePCA`, or, as published, the EM of
        :class:`EMPCA` with its own starts. More variance need not mean better groups.
    effort : {"fast", "balanced", "thorough"}, default="balanced"
        How hard ``solver="search"`` searches.
    standardize : bool, default=False
        Scale each feature to unit variance before the search. Selection often works
        better without it: the scale says what varies.

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

    about: ClassVar[About] = About(
        choose=("a subset of features for another model, inside a pipeline",),
        paper="Sigg & Buhmann (2008); Varshavsky et al. (2006)",
    )

    n_features_to_select: Any = field(default=0.5, kw_only=False)
    nonnegative: bool = False
    n_components: int = 1
    method: str = "component"
    entropy_search: str = "ranking"
    solver: str = "search"
    effort: str = "balanced"
    standardize: bool | None = False

    support_: ClassVar[Array]
    ranking_: ClassVar[Array]
    scores_: ClassVar[Array]
    n_features_to_select_: ClassVar[int]

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_features_to_select": [Real],
        "method": [StrOptions({"component", "svd_entropy"})],
        "entropy_search": [StrOptions({"ranking", "forward"})],
        "solver": [StrOptions({"search", "em"})],
        "effort": [StrOptions(set(PORTFOLIOS))],
    }

    def _needs_rows(self) -> bool:
        return self.method == "svd_entropy"

    def _read(self, X: Any, sample_weight: Any) -> Reading:
        if self._needs_rows():
            _refuse_not_dense(X, sample_weight)
        return super()._read(X, sample_weight)

    def _search(self, task: Task) -> Chosen:
        size = self._size(task.data.n_features)
        if self.method == "component":
            return self._of_components(task, size)
        return self._of_entropy(task.data, size)

    def _size(self, n_features: int) -> int:
        size = check_size(self.n_features_to_select, n_features, "n_features_to_select")
        if self.method == "component" and self.n_components > size:
            msg = (
                f"n_components={self.n_components} components cannot share "
                f"n_features_to_select={size} feature(s); ask for fewer components"
            )
            raise ValueError(msg)
        return size

    def _of_components(self, task: Task, size: int) -> Chosen:
        parts = [part.size for part in np.array_split(np.arange(size), self.n_components)]
        asked: dict[str, Any] = {
            "n_components": self.n_components,
            "n_nonzero": parts,
            "nonnegative": self.nonnegative,
            "orthogonality": "disjoint" if self.n_components > 1 else "none",
        }
        model = EMPCA(**asked) if self.solver == "em" else SparsePCA(effort=self.effort, **asked)
        found = model._search(task)
        scores = np.abs(found.loadings).max(axis=1)
        # Two standardized features share one loading exactly: rounding must not order them.
        digits = np.finfo(scores.dtype).precision - 2
        ranking = np.argsort(-scores.round(digits), kind="stable")[: np.count_nonzero(scores)]
        why = "feature raises the variance of the components"
        return Chosen(ranking, scores, (*found.remarks, *_too_few(ranking, size, why)), found.stops)

    def _of_entropy(self, data: Reading, size: int) -> Chosen:
        if data.rows is None:
            msg = (
                "method='svd_entropy' decomposes samples, which a covariance does not have; fit "
                "data, or use method='component'"
            )
            raise TypeError(msg)
        _refuse_not_dense(data.rows, data.weights)
        # As published, the data is not centred: on centred data the ranking finds outliers.
        rows = np.asarray(data.rows, dtype=np.float64)
        varying = np.flatnonzero(~data.moments.constant)
        Z = rows[:, varying]
        if data.moments.scale is not None:
            Z = Z / data.moments.scale[varying]
        order, contributions = entropy_ranking(Z, min(size, varying.size), self.entropy_search)
        scores = np.full(data.n_features, -np.inf)
        scores[varying] = contributions
        ranking = varying[order]
        return Chosen(ranking, scores, _too_few(ranking, size, "feature varies"))

    def transform(self, X: Any) -> Any:
        """``X`` without the features that are not kept.

        Parameters
        ----------
        X : {array-like, sparse matrix, Dask array} of shape (n_samples, n_features)
            New data.

        Returns
        -------
        X_kept : array of shape (n_samples, n_features_to_select_)
            In the order of the features; lazy where ``X`` is a Dask array.
        """
        check_is_fitted(self)
        X = opened(X, lazy=True) if feature_names(X) is None else X
        if not is_dask(X) and not is_dask_frame(X):
            # Its values are refused in our words, and indices that lead out of it before they are used.
            check_new_rows(self, X)
            # scikit-learn adds values up to see that they are finite; sums of some are not.
            with np.errstate(over="ignore", invalid="ignore"):
                return super().transform(X)
        return check_new_rows(self, X, lazy=True)[:, np.flatnonzero(self.support_)]

    def _get_support_mask(self) -> Array:
        check_is_fitted(self)
        return self.support_


@dataclass(frozen=True)
class Chosen:
    """The features to keep, and what each of them is worth."""

    ranking: Array
    scores: Array
    remarks: tuple[str, ...] = ()
    stops: tuple[Stop, ...] = ()

    @property
    def chosen(self) -> Array:
        """Which features are kept."""
        support = np.zeros(self.scores.size, dtype=bool)
        support[self.ranking] = True
        return support

    def attributes(self, data: Reading) -> dict[str, Any]:
        """The attributes of a fitted selector."""
        return {
            "support_": self.chosen,
            "ranking_": self.ranking,
            "scores_": self.scores,
            "n_features_to_select_": self.ranking.size,
        }


def _too_few(ranking: Array, size: int, why: str) -> tuple[str, ...]:
    if ranking.size == size:
        return ()
    return (
        f"{ranking.size} features selected, fewer than n_features_to_select={size}: no other {why}",
    )


def _refuse_not_dense(X: Any, sample_weight: Any) -> None:
    if sparse.issparse(X) or is_dask(X):
        msg = (
            "method='svd_entropy' decomposes dense data for every feature; convert X to a dense "
            "array, or use method='component', which works on sparse data"
        )
        raise TypeError(msg)
    if sample_weight is not None:
        msg = "method='svd_entropy' has no sample weights; use method='component', or repeat rows"
        raise ValueError(msg)
