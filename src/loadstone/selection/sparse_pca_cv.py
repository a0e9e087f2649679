"""SparsePCACV: the size that reconstructs held-out data best."""

from __future__ import annotations

from dataclasses import replace
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import csc_array

from loadstone._sklearn_compat import StrOptions
from loadstone.blas_threads import in_parallel
from loadstone.constraints import Constraint, LoadingConstraint
from loadstone.constraints.from_parameters import check_features
from loadstone.constraints.resized import largest_size
from loadstone.covariance import Array, SampleCovariance, SampleGram
from loadstone.covariance.checks import check_rows, check_weights
from loadstone.covariance.containers import is_dask
from loadstone.covariance.dask_rows import refuse_unknown_lengths
from loadstone.covariance.opened import feature_names
from loadstone.estimators.base import Components, field, seeded
from loadstone.estimators.found import Found, Task
from loadstone.estimators.reading import Reading
from loadstone.estimators.sparse_pca import SparsePCA
from loadstone.registry import About
from loadstone.selection.cardinality_path import check_n_nonzeros
from loadstone.selection.fold_scores import (
    N_SIZES,
    around,
    choose,
    held_out_scores,
    results,
)
from loadstone.selection.folds import (
    Fold,
    are_covariances,
    checked_folds,
    read_folds_of,
    read_in_folds,
    refuse_weightless,
)
from loadstone.selection.held_out import recovered_of_folds, rows_for
from loadstone.selection.path import automatic_sizes
from loadstone.selection.path_solver import of_size
from loadstone.selection.path_wide import largest_wide_size
from loadstone.selection.wide_folds import N_PRICINGS, read_wide_folds, scores_of_wide_folds
from loadstone.solvers.portfolio import PORTFOLIOS

#: Components by fold and size.
Known = dict[tuple[int, int], csc_array]


class SparsePCACV(Components):
    """SparsePCA with the number of features chosen by cross-validation.

    Components of every size are fitted to the training part of each fold and judged by
    the share of variance of the held-out part that they reconstruct. The size is the
    smallest one that is not clearly worse than the best.

    Folds that share out the rows are summed up as covariances where these fit into memory:
    one pass, also over a Dask array. ``fit`` also takes a list of :class:`SampleCovariance`,
    one for each fold. Few samples of very many features out of core are searched on a working
    set, for all folds at once, and scaled by all samples where ``standardize`` asks for it.

    Parameters
    ----------
    n_components : int, default=1
        Number of components; all have the same size.
    n_nonzeros : "auto" or array-like of int, default="auto"
        Sizes to try. ``"auto"`` takes 20, logarithmically spaced, and then every size
        between the neighbours of the best one, up to 20 more.
    constraint : Constraint or None, default=None
        What a component may look like but for its size, in place of ``nonnegative``, ``forced``
        and ``forbidden``: ``n_nonzeros`` are then sizes of it, which for ``Groups`` count groups.
    objective : {"variance", "recovery", "sum"}, default="variance"
        What components are best at, as in :class:`SparsePCA`. Components for recovery are
        judged by the share of held-out variance that a regression on their scores recovers.
    cv : int, cross-validation generator or iterable, default=5
        Folds, as in scikit-learn; a list of covariances brings its own.
    rule : {"one_standard_error", "best"}, default="one_standard_error"
        Take the smallest size whose loss against the best one, over the folds, is no more
        than one standard error of that loss; or the best itself.
    effort : {"fast", "balanced", "thorough"}, default="fast"
        How hard components are searched on the folds; the final fit is ``"balanced"`` at
        least.
    orthogonality : {"none", "disjoint"}, default="none"
        ``"disjoint"``: no feature serves two components.
    standardize : bool or None, default=None
        Scale each feature to unit variance, by the training part of each fold. ``None`` does
        not, and warns where variances differ by more than a factor of 10 000.

    Attributes
    ----------
    n_nonzero_ : int
        The size chosen.
    cv_recovered_ratio_ : float
        Share of the variance of held-out samples that components of the size chosen recover,
        by a regression of all features on their scores; mean over the folds.
    cv_pca_recovered_ratio_ : float
        The same of as many principal components.
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

    about: ClassVar[About] = About(
        choose=("to know how many features are needed, by cross-validation",),
    )

    n_components: int = field(default=1, kw_only=False)
    n_nonzeros: Any = "auto"
    nonnegative: bool = False
    constraint: Constraint | None = None
    objective: str = "variance"
    cv: Any = 5
    rule: str = "one_standard_error"
    effort: str = "fast"
    orthogonality: str = "none"
    refine: Any = "warm"
    deflation: str = "schur"
    forced: Any = None
    forbidden: Any = None
    n_jobs: int | None = None

    n_nonzero_: ClassVar[int]
    cv_recovered_ratio_: ClassVar[float]
    cv_pca_recovered_ratio_: ClassVar[float]
    cv_results_: ClassVar[dict[str, Array]]

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_nonzeros": [StrOptions({"auto"}), Integral, "array-like"],
        "objective": SparsePCA._parameter_constraints["objective"],
        "cv": ["cv_object"],
        "rule": [StrOptions({"one_standard_error", "best"})],
        "effort": [StrOptions(set(PORTFOLIOS))],
        "orthogonality": [StrOptions({"none", "disjoint"})],
    }

    def _needs_rows(self) -> bool:
        return True

    def _looks_at_all(self) -> bool:
        return self.objective == "recovery"

    def _read(self, X: Any, sample_weight: Any) -> Reading:
        if isinstance(X, SampleCovariance):
            msg = (
                "SparsePCACV holds out samples, and a single SampleCovariance has none to hold out; "
                "give a list of them, one for each fold"
            )
            raise TypeError(msg)
        if are_covariances(X):
            self._check_given_folds(X, sample_weight)
            return read_in_folds(X, standardize=bool(self.standardize))
        if self.route != "data":
            names, rows = feature_names(X), check_rows(X)
            weights, folds = check_weights(sample_weight, rows), self._folds(rows)
            for fold in folds:
                refuse_weightless(weights, fold)
            standardize = bool(self.standardize)
            read = read_folds_of(rows, folds, sample_weight, names, standardize=standardize)
            if read is not None:
                return read
            how: dict[str, Any] = {"standardize": standardize, "route": self.route}
            wide = None
            if not self._looks_at_all():
                wide = read_wide_folds(rows, weights, names, folds, **how)
            if wide is not None:
                return wide
        return super()._read(X, sample_weight)

    def _check_given_folds(self, parts: Any, sample_weight: Any) -> None:
        if len(parts) < 2 or self.cv not in (5, len(parts)) or sample_weight is not None:
            msg = (
                f"{len(parts)} covariance(s) with cv={self.cv!r} and sample_weight="
                f"{'None' if sample_weight is None else 'given'}: give at least 2, one for each "
                "fold, with their weights in them, and leave cv and sample_weight out"
            )
            raise ValueError(msg)

    def _search(self, task: Task) -> Found:
        if task.data.rows is None:
            msg = (
                "SparsePCACV holds out samples, which a covariance does not have; fit data or a list "
                "of SampleCovariance, one for each fold, or choose a size with "
                "cardinality_path(covariance=...) and suggest_cardinality"
            )
            raise TypeError(msg)
        task, sizes, scores, known = self._scores_of_sizes(task)
        size = int(sizes[choose(scores, self.rule)])
        final = self._model(size, "balanced" if self.effort == "fast" else self.effort)
        found = final._search(task)
        chosen = {
            "n_nonzero_": size,
            "cv_results_": results(sizes, scores),
            **self._recovered(task, size, known),
        }
        return replace(found, values={**found.values, **chosen})

    def _recovered(self, task: Task, size: int, known: Known) -> dict[str, float]:
        """What components of the size chosen recover of the samples held out, beside PCA."""
        rows, model = task.data.rows, self._model(size, self.effort)

        def search(fold: int, train: Reading) -> Array:
            if (fold, size) in known:
                return np.asarray(known[fold, size].toarray())
            # Wide folds have features of their own, the forbidden ones not among them.
            model_ = replace(model, forbidden=None)
            return model_._search(Task(train, seeded(model.random_state))).loadings

        folds = rows if isinstance(rows, tuple) else self._folds(rows)
        found = recovered_of_folds(search, task.data, folds, self.n_jobs)
        return {
            "cv_recovered_ratio_": float(found.recovered),
            "cv_pca_recovered_ratio_": float(found.pca),
        }

    def _scores_of_sizes(self, task: Task) -> tuple[Task, Array, Array, Known]:
        """Sizes ascending, a score for each of them and each fold, and components of folds.

        Folds as they were searched.
        """
        S, n, known = task.data.S, self._largest_size(task.data), Known()
        if not isinstance(self.n_nonzeros, str):
            sizes = check_n_nonzeros(self.n_nonzeros, n)
            task, scores = self._cross_validate(task, sizes, known)
            return task, sizes, scores, known
        sizes = automatic_sizes(largest_wide_size(S) if isinstance(S, SampleGram) else n, N_SIZES)
        sizes = sizes[sizes >= self._smallest_size(task.data)]
        task, scores = self._cross_validate(task, sizes, known)
        between = around(sizes, choose(scores, self.rule))
        if between.size:
            sizes = np.concatenate([sizes, between])
            # Neighbours have asked all features already.
            more = self._cross_validate(task, between, known, n_pricings=0)[1]
            scores = np.vstack([scores, more])
            order = np.argsort(sizes)
            sizes, scores = sizes[order], scores[order]
        return task, sizes, scores, known

    def _largest_size(self, data: Reading) -> int:
        """Features, or groups of them, that there are to choose from."""
        if self.constraint is None:
            return data.n_features
        return largest_size(self.constraint, data.n_features)

    def _smallest_size(self, data: Reading) -> int:
        """Places that forced features take."""
        forced = check_features(self.forced, "forced", data.n_features, data.names)
        if isinstance(self.constraint, LoadingConstraint):
            forced = self.constraint.forced
        return max(1, int(forced.size))

    def _folds(self, rows: Any) -> list[Fold]:
        if is_dask(rows):
            refuse_unknown_lengths(rows)
        n_samples = int(rows.shape[0])
        if isinstance(self.cv, Integral) and int(self.cv) > n_samples:
            msg = (
                f"cv={self.cv} folds need at least as many samples, got n_samples={n_samples}; "
                "use fewer folds"
            )
            raise ValueError(msg)
        return checked_folds(self.cv, n_samples)

    def _cross_validate(
        self, task: Task, sizes: Array, known: Known, n_pricings: int = N_PRICINGS
    ) -> tuple[Task, Array]:
        model, rows = self._model(int(sizes[0]), self.effort), task.data.rows
        if isinstance(task.data.S, SampleGram):
            scores, rows = scores_of_wide_folds(
                model, task.data, rows, sizes, self.n_jobs, n_pricings
            )
            self._tell(task, sizes, scores)
            return replace(task, data=replace(task.data, rows=rows)), scores
        folds = rows if isinstance(rows, tuple) else self._folds(rows)
        calls = ((model, rows_for(task.data, fold), fold, sizes) for fold in folds)
        scores = np.empty((len(sizes), len(folds)))
        for index, found in enumerate(in_parallel(held_out_scores, calls, self.n_jobs)):
            scores[:, index] = [scored.score for scored in found]
            known |= {(index, int(k)): one.loadings for k, one in zip(sizes, found, strict=True)}
            task.report(f"fold {index + 1}", fold=index, n_folds=len(folds))
        self._tell(task, sizes, scores)
        return task, scores

    def _tell(self, task: Task, sizes: Array, scores: Array) -> None:
        for size, score in zip(sizes, scores.mean(axis=1), strict=True):
            task.report(f"{size} features", n_nonzero=int(size), score=float(score))

    def _model(self, n_nonzero: int, effort: str) -> SparsePCA:
        shared = set(self.get_params(deep=False)) & set(SparsePCA._parameter_constraints)
        given = {name: vars(self)[name] for name in shared - {"n_jobs"}}
        return of_size(SparsePCA(**{**given, "effort": effort}), n_nonzero)
