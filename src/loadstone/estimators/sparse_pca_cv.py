"""SparsePCACV: the size that reconstructs held-out data best."""

from __future__ import annotations

import warnings
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from sklearn.model_selection import check_cv
from sklearn.utils import _safe_indexing
from sklearn.utils.parallel import Parallel, delayed

from loadstone._sklearn_compat import Interval, StrOptions, _fit_context
from loadstone.covariance import DEFLATION_NAMES, ROUTES, Array, Covariance, Moments
from loadstone.covariance.containers import is_dask
from loadstone.estimators.base import BaseComponents
from loadstone.estimators.cardinality_path import check_n_nonzeros
from loadstone.estimators.checks import check_data
from loadstone.estimators.sparse_pca import EFFORTS, SparsePCA
from loadstone.extraction import Extraction
from loadstone.selection.path import automatic_sizes

#: Sizes tried where none are given.
N_SIZES = 20


class SparsePCACV(BaseComponents):
    """SparsePCA with the number of features chosen by cross-validation.

    Components of every size are fitted to the training part of each fold and judged by
    the share of variance of the held-out part that they reconstruct. The size is the
    smallest one that is not clearly worse than the best.

    Parameters
    ----------
    n_components : int, default=1
        Number of components; all have the same size.
    n_nonzeros : "auto" or array-like of int, default="auto"
        Sizes to try. ``"auto"`` takes 20, logarithmically spaced, and then every size
        between the neighbours of the best one, up to 20 more.
    nonnegative : bool, default=False
        Allow only loadings >= 0.
    cv : int, cross-validation generator or iterable, default=5
        Folds, as in scikit-learn.
    rule : {"one_standard_error", "best"}, default="one_standard_error"
        Take the smallest size whose loss against the best one, over the folds, is no more
        than one standard error of that loss; or the best itself.
    effort : {"fast", "balanced", "thorough"}, default="fast"
        How hard components are searched on the folds; the final fit is ``"balanced"`` at
        least.
    orthogonality : {"none", "disjoint"}, default="none"
        ``"disjoint"``: no feature serves two components.
    deflation : str, default="projection"
        How a component is removed before the next one is sought.
    standardize : bool, default=False
        Scale each feature to unit variance, by the training part of each fold.
    route : {"auto", "gram", "data"}, default="auto"
        Form the covariance matrix, or work on the data.
    n_jobs : int or None, default=None
        Fits in parallel, by joblib.
    random_state : int, RandomState instance or None, default=0
        Seed of the random starts.

    Attributes
    ----------
    components_ : ndarray of shape (n_components_, n_features)
        Unit-norm loadings, one row per component. The largest absolute loading of a
        row is positive.
    explained_variance_ : ndarray of shape (n_components_,)
        Adjusted variance: what each component explains beyond those before it.
    explained_variance_ratio_ : ndarray of shape (n_components_,)
        The same as a share of the total variance.
    marginal_variance_ : ndarray of shape (n_components_,)
        Variance of the scores of each component alone.
    total_variance_ : float
        Trace of the covariance.
    mean_ : ndarray of shape (n_features,)
        Mean of the data.
    scale_ : ndarray of shape (n_features,) or None
        Standard deviations the data is divided by.
    support_ : ndarray of bool of shape (n_components_, n_features)
        Which features each component uses.
    cardinality_ : ndarray of int of shape (n_components_,)
        How many features each component uses.
    n_components_ : int
        Components found; fewer than asked for where nothing is left to explain.
    n_samples_ : float
        Sum of the sample weights.
    n_iter_ : int
        Largest number of iterations of a component.
    stop_reason_ : list of str
        Why each search ended.
    objective_ : list of ndarray
        Variance along the search of each component.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where ``X`` has them.
    n_nonzero_ : int
        The size chosen.
    cv_results_ : dict of ndarray
        ``n_nonzero``, ``mean_test_score``, ``std_test_score``, ``rank_test_score`` and one
        ``split<i>_test_score`` for each fold.

    See Also
    --------
    cardinality_path : Variance against cardinality on the same data.
    suggest_cardinality : A size without cross-validation.

    Notes
    -----
    Scores of different sizes on the same fold are far more alike than scores on different
    folds, so the standard error is that of their difference.

    References
    ----------
    Hastie, T., Tibshirani, R., & Friedman, J. (2009). The elements of statistical
    learning, Sec. 7.10. Springer.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from loadstone import SparsePCACV
    >>> model = SparsePCACV(n_nonzeros=[2, 6, 13], standardize=True).fit(load_wine().data)
    >>> model.n_nonzero_ in (2, 6, 13)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "n_nonzeros": [StrOptions({"auto"}), Integral, "array-like"],
        "nonnegative": ["boolean"],
        "cv": ["cv_object"],
        "rule": [StrOptions({"one_standard_error", "best"})],
        "effort": [StrOptions(set(EFFORTS))],
        "orthogonality": [StrOptions({"none", "disjoint"})],
        "deflation": [StrOptions(set(DEFLATION_NAMES))],
        "standardize": ["boolean"],
        "route": [StrOptions(set(ROUTES))],
        "n_jobs": [None, Integral],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_components: int = 1,
        *,
        n_nonzeros: Any = "auto",
        nonnegative: bool = False,
        cv: Any = 5,
        rule: str = "one_standard_error",
        effort: str = "fast",
        orthogonality: str = "none",
        deflation: str = "projection",
        standardize: bool = False,
        route: str = "auto",
        n_jobs: int | None = None,
        random_state: Any = 0,
    ) -> None:
        self.n_components = n_components
        self.n_nonzeros = n_nonzeros
        self.nonnegative = nonnegative
        self.cv = cv
        self.rule = rule
        self.effort = effort
        self.orthogonality = orthogonality
        self.deflation = deflation
        self.standardize = standardize
        self.route = route
        self.n_jobs = n_jobs
        self.random_state = random_state

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None) -> SparsePCACV:
        """Choose the size by cross-validation and fit all of the data with it.

        Parameters
        ----------
        X : {array-like, sparse matrix, memmap} of shape (n_samples, n_features)
            Training data.
        y : None
            Ignored.

        Returns
        -------
        self : SparsePCACV
        """
        if is_dask(X):
            msg = "cross-validation needs rows in memory; use cardinality_path on a Dask array"
            raise TypeError(msg)
        # The folds are fitted where callbacks can be told of them, see _extract.
        self._rows = X
        try:
            return super().fit(X)
        finally:
            del self._rows

    def fit_covariance(self, S: Any, n_samples: float | None = None) -> Any:
        """Not possible: held-out samples are needed."""
        msg = (
            "SparsePCACV holds out samples, which a covariance does not have; fit data, or choose a "
            "size with cardinality_path(covariance=...) and suggest_cardinality"
        )
        raise TypeError(msg)

    def _folds(self, X: Any) -> list[tuple[Array, Array]]:
        cv = check_cv(self.cv)
        n_folds = cv.get_n_splits(X)
        if n_folds > X.shape[0]:
            msg = (
                f"cv={n_folds} folds need at least as many samples, got n_samples={X.shape[0]}; "
                "use fewer folds"
            )
            raise ValueError(msg)
        return list(cv.split(X))

    def _scores_of_sizes(self, X: Any, folds: list[Any], context: Any) -> tuple[Array, Array]:
        """Sizes ascending and a score for each of them and each fold."""
        if not isinstance(self.n_nonzeros, str):
            sizes = check_n_nonzeros(self.n_nonzeros, X.shape[1])
            return sizes, self._cross_validate(X, folds, sizes, context)
        sizes = automatic_sizes(X.shape[1], N_SIZES)
        scores = self._cross_validate(X, folds, sizes, context)
        between = _around(sizes, choose(scores, self.rule))
        if between.size:
            sizes = np.concatenate([sizes, between])
            scores = np.vstack([scores, self._cross_validate(X, folds, between, context)])
            order = np.argsort(sizes)
            sizes, scores = sizes[order], scores[order]
        return sizes, scores

    def _cross_validate(self, X: Any, folds: list[Any], sizes: Array, context: Any) -> Array:
        tasks = (
            delayed(_held_out_score)(self._model(int(k), self.effort), X, train, test)
            for k in sizes
            for train, test in folds
        )
        finished = Parallel(n_jobs=self.n_jobs, return_as="generator")(tasks)
        scores = np.empty((len(sizes), len(folds)))
        for index, size in enumerate(sizes):
            task = context.subcontext(task_name=f"{size} features")
            task.call_on_fit_task_begin(estimator=self)
            scores[index] = [next(finished) for _ in folds]
            task.call_on_fit_task_end(
                estimator=self, metadata={"n_nonzero": int(size), "score": scores[index].mean()}
            )
        return scores

    def _model(self, n_nonzero: int, effort: str) -> SparsePCA:
        return SparsePCA(
            n_components=self.n_components,
            n_nonzero=n_nonzero,
            nonnegative=self.nonnegative,
            effort=effort,
            orthogonality=self.orthogonality,
            deflation=self.deflation,
            standardize=self.standardize,
            route=self.route,
            random_state=self.random_state,
        )

    def _extract(
        self, S: Covariance, moments: Moments, rng: np.random.Generator, report: Any
    ) -> Extraction:
        X = check_data(self, self._rows, reset=False)
        sizes, scores = self._scores_of_sizes(X, self._folds(X), report.context)
        self.cv_results_ = _results(sizes, scores)
        self.n_nonzero_ = int(sizes[choose(scores, self.rule)])
        final = self._model(self.n_nonzero_, "balanced" if self.effort == "fast" else self.effort)
        return final._extract(S, moments, rng, report)


def _held_out_score(model: SparsePCA, X: Any, train: Array, test: Array) -> float:
    with warnings.catch_warnings():
        # A feature may be constant in a fold, or fewer components found: the score tells.
        warnings.simplefilter("ignore", UserWarning)
        model.fit(_safe_indexing(X, train))
    return model.score(_safe_indexing(X, test))


def choose(scores: Array, rule: str) -> int:
    """Position of the size to take, given scores of shape (n_sizes, n_folds)."""
    best = int(np.argmax(scores.mean(axis=1)))
    if rule == "best" or scores.shape[1] < 2:
        return best
    loss = scores[best] - scores
    error = loss.std(axis=1, ddof=1) / np.sqrt(scores.shape[1])
    return int(np.argmax(loss.mean(axis=1) <= error))


def _around(sizes: Array, best: int) -> Array:
    """Sizes strictly between the neighbours of one, at most :data:`N_SIZES` of them."""
    low, high = sizes[max(0, best - 1)], sizes[min(sizes.size - 1, best + 1)]
    every = np.setdiff1d(np.arange(low + 1, high), sizes)
    if every.size > N_SIZES:
        every = every[np.linspace(0, every.size - 1, N_SIZES).round().astype(int)]
    return every


def _results(sizes: Array, scores: Array) -> dict[str, Array]:
    mean = scores.mean(axis=1)
    return {
        "n_nonzero": sizes,
        "mean_test_score": mean,
        "std_test_score": scores.std(axis=1),
        "rank_test_score": (1 + (mean[:, None] < mean).sum(axis=1)).astype(np.int32),
        **{f"split{i}_test_score": column for i, column in enumerate(scores.T)},
    }
