"""Estimators that find components one by one under a cardinality and signs."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from loadstone._sklearn_compat import Interval, StrOptions
from loadstone.covariance import (
    DEFLATION_NAMES,
    ROUTES,
    Array,
    Covariance,
    Moments,
    covariance_of,
)
from loadstone.estimators.base import BaseComponents, standardized
from loadstone.estimators.checks import (
    build_constraints,
    check_covariance,
    check_data,
    check_features,
    check_sizes,
    check_weights,
)
from loadstone.extraction import (
    ORTHOGONALITIES,
    Extraction,
    Orthogonality,
    Plan,
    one_by_one,
    orthogonality_violation,
)
from loadstone.metrics import score_correlation, total_variance
from loadstone.solvers.protocol import Solver

SEQUENTIAL_CONSTRAINTS: dict[str, list[Any]] = {
    "n_components": [Interval(Integral, 1, None, closed="left")],
    "n_nonzero": [None, Real, "array-like"],
    "nonnegative": ["boolean"],
    "orthogonality": [StrOptions({"none", "disjoint"})],
    "deflation": [StrOptions(set(DEFLATION_NAMES))],
    "standardize": ["boolean"],
    "route": [StrOptions(set(ROUTES))],
    "forced": [None, str, "array-like"],
    "forbidden": [None, str, "array-like"],
    "max_iter": [Interval(Integral, 1, None, closed="left")],
    "tol": [Interval(Real, 0, None, closed="left")],
    "random_state": ["random_state"],
}
#: For estimators whose components can relate in every way there is.
RELATED_CONSTRAINTS: dict[str, list[Any]] = {
    **SEQUENTIAL_CONSTRAINTS,
    "orthogonality": [StrOptions(set(ORTHOGONALITIES))],
    "min_angle": [Interval(Real, 0, 90, closed="both")],
    "refine": ["boolean"],
}


class SequentialComponents(BaseComponents):
    """One component after another; a subclass names its solver."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = SEQUENTIAL_CONSTRAINTS

    def _solver(self, S: Covariance) -> Solver:
        raise NotImplementedError

    def _plan(self, S: Covariance) -> Plan:
        return Plan(
            self._solver(S),
            deflation=self.deflation,
            orthogonality=Orthogonality(self.orthogonality, getattr(self, "min_angle", 85.0)),
            refine=getattr(self, "refine", False),
            renormalize=getattr(self, "renormalize", True),
        )

    def _starts(self, S: Covariance) -> Array | None:
        return None

    def _n_tasks(self) -> int:
        return self.n_components

    def _constraints(self, S: Covariance, moments: Moments) -> list[Any]:
        sizes = check_sizes(self.n_nonzero, self.n_components, S.n_features)
        return self._constraints_of(S, moments, sizes)

    def _constraints_of(self, S: Covariance, moments: Moments, sizes: list[int]) -> list[Any]:
        n_features = S.n_features
        names = getattr(self, "feature_names_in_", None)
        return build_constraints(
            sizes,
            n_features,
            moments.constant,
            nonnegative=self.nonnegative,
            forced=check_features(self.forced, "forced", n_features, names),
            forbidden=check_features(self.forbidden, "forbidden", n_features, names),
        )

    def _extract(
        self, S: Covariance, moments: Moments, rng: np.random.Generator, report: Any
    ) -> Extraction:
        constraints = self._constraints(S, moments)
        plan = self._plan(S)
        reason = plan.orthogonality.refuses(constraints[0])
        if reason is not None:
            raise ValueError(reason)
        return one_by_one(S, constraints, plan, rng, self._starts(S), report)

    def add_components(
        self,
        X: Any = None,
        n_components: int = 1,
        *,
        covariance: Any = None,
        n_nonzero: Any = None,
        sample_weight: Any = None,
    ) -> Any:
        """Find more components of the same data; those there are stay as they are.

        The result is the one of asking for all of them at once, unless the first ones
        were refined together: the new ones are not.

        Parameters
        ----------
        X : {array-like, sparse matrix, memmap, Dask array} of shape (n_samples, n_features)
            The data the model was fitted on.
        n_components : int, default=1
            How many more.
        covariance : array-like of shape (n_features, n_features), optional
            The matrix the model was fitted on, in place of ``X``.
        n_nonzero : int, float, array-like or None, default=None
            Sizes of the new components; by default the parameter of the model.
        sample_weight : array-like of shape (n_samples,), optional
            The weights the model was fitted with.

        Returns
        -------
        self : object
            With ``n_components_`` larger; the parameter ``n_components`` is not changed.
        """
        check_is_fitted(self)
        if (X is None) == (covariance is None):
            msg = "give either the data X or the covariance the model was fitted on"
            raise ValueError(msg)
        if not isinstance(n_components, Integral) or n_components < 1:
            msg = f"n_components={n_components!r} must be a whole number of at least 1"
            raise ValueError(msg)
        with self._all_or_nothing():
            S, moments = self._same_covariance(X, covariance, sample_weight)
            constraints = self._more_constraints(S, moments, n_components, n_nonzero)
            rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31 - 1))
            earlier = self.components_.T.astype(S.dtype)
            more = one_by_one(S, constraints, self._plan(S), rng, earlier=earlier)
            self._warn(more)
            before = {name: getattr(self, name) for name in ("stop_reason_", "objective_")}
            n_iter = self.n_iter_
            self._store(S, moments, more)
            self.stop_reason_ = before["stop_reason_"] + self.stop_reason_
            self.objective_ = before["objective_"] + self.objective_
            self.n_iter_ = max(n_iter, self.n_iter_)
        return self

    def _same_covariance(
        self, X: Any, covariance: Any, sample_weight: Any
    ) -> tuple[Covariance, Moments]:
        """The covariance of the fit, computed again and recognised by its moments."""
        if covariance is not None:
            n_samples = None if np.isnan(self.n_samples_) else self.n_samples_
            given = check_covariance(covariance, n_samples)
            S, moments = standardized(given, self.standardize)
        else:
            X = check_data(self, X, reset=False)
            weights = check_weights(sample_weight, X)
            S, moments = covariance_of(
                X,
                route=self.route,
                standardize=self.standardize,
                sample_weight=weights,
                n_products=self._n_products,
            )
        total = total_variance(S)
        same = moments.mean.shape == self.mean_.shape
        same = same and np.allclose(moments.mean, self.mean_, rtol=1e-5, atol=1e-8 * np.sqrt(total))
        if not same or not np.isclose(total, self.total_variance_, rtol=1e-5):
            msg = (
                f"this is not the data of the fit: its total variance is {total:.6g}, that of the "
                f"fit {self.total_variance_:.6g}. Pass the same data and weights, or fit anew"
            )
            raise ValueError(msg)
        return S, moments

    def _more_constraints(
        self, S: Covariance, moments: Moments, n_more: int, n_nonzero: Any
    ) -> list[Any]:
        """Constraints of the components there are, then those of the new ones."""
        sizes = self.n_nonzero if n_nonzero is None else n_nonzero
        if n_nonzero is None and np.ndim(self.n_nonzero) == 1:
            msg = (
                f"n_nonzero={self.n_nonzero!r} gives sizes for the first components only; "
                "pass n_nonzero for the new ones"
            )
            raise ValueError(msg)
        new = check_sizes(sizes, n_more, S.n_features)
        # Those there are stay as they are, so any size will do for them.
        return self._constraints_of(S, moments, [new[0]] * self.n_components_ + new)

    def _store(self, S: Covariance, moments: Moments, extraction: Extraction) -> None:
        super()._store(S, moments, extraction)
        self.orthogonality_violation_ = orthogonality_violation(extraction.matrix)
        self.score_correlation_ = score_correlation(S, self.components_.T)
