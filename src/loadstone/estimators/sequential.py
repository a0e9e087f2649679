"""Estimators that find components one by one under a cardinality and signs."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np

from loadstone._sklearn_compat import Interval, StrOptions
from loadstone.covariance import DEFLATION_NAMES, ROUTES, Array, Covariance, Moments
from loadstone.estimators.base import BaseComponents
from loadstone.estimators.checks import (
    build_constraints,
    check_features,
    check_sizes,
)
from loadstone.extraction import (
    ORTHOGONALITIES,
    Extraction,
    Orthogonality,
    Plan,
    one_by_one,
    orthogonality_violation,
)
from loadstone.metrics import score_correlation
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

    def _store(self, S: Covariance, moments: Moments, extraction: Extraction) -> None:
        super()._store(S, moments, extraction)
        self.orthogonality_violation_ = orthogonality_violation(extraction.matrix)
        self.score_correlation_ = score_correlation(S, self.components_.T)
