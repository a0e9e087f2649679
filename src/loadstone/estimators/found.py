"""What a search is given and what it gives back, and how that becomes a fitted estimator."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from types import MappingProxyType
from typing import Any, Protocol

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from loadstone.certificates import Certificate, JointCertificate
from loadstone.covariance import Array, score_moments
from loadstone.covariance.working_set import N_PRICINGS, Looked
from loadstone.estimators.reading import Reading
from loadstone.extraction import orthogonality_violation
from loadstone.loadings import Loadings, Stop
from loadstone.metrics import (
    adjusted_from_scores,
    correlation_from_scores,
    recovered_from_scores,
    total_variance,
)

#: How the names of stages of a search begin.
STAGE = "search: "
#: Ends of a search that a person should hear of.
UNFINISHED = (Stop.MAX_ITER, Stop.WORK_LIMIT)


class Report(Protocol):
    """Told of everything that happens in a fit; answers whether to stop there."""

    def __call__(self, name: str, **facts: Any) -> bool:
        """Hear that the step called ``name`` is done."""
        ...


def silent(name: str, **facts: Any) -> bool:
    """Nobody listens, and nothing is stopped."""
    return False


@dataclass(frozen=True)
class Task:
    """What a search works with: the data, random numbers, and somebody to tell.

    Attributes
    ----------
    data : Reading
        The data.
    rng : numpy.random.Generator
        For everything random.
    report : Report
        Told of progress.
    n_pricings : int
        Passes in which all features of wide data out of core are asked whether they want in.
    """

    data: Reading
    rng: np.random.Generator
    report: Report = silent
    n_pricings: int = N_PRICINGS

    def component(self, index: int, search: Loadings) -> bool:
        """Tell of a component, the first one with index 0."""
        return self.report(
            f"component {index + 1}",
            component=index,
            objective=search.objective,
            n_iter=search.n_iter,
        )

    def known(self, searches: Sequence[Loadings]) -> int:
        """Tell of components that are there already; how many before somebody asked to stop."""
        asked = (j + 1 for j, search in enumerate(searches) if self.component(j, search))
        return next(asked, len(searches))

    def stage(self, name: str, variance: float) -> bool:
        """Tell how far the search of a component is."""
        return self.report(f"{STAGE}{name}", variance=variance)

    def with_stages_alone(self) -> Task:
        """The same, where only stages of a search are told: for answers that are a part of one."""

        def stages(name: str, **facts: Any) -> bool:
            return name.startswith(STAGE) and self.report(name, **facts)

        return replace(self, report=stages)

    def iteration(self, iteration: int, bound: float) -> bool:
        """Tell of an iteration and the bound it has reached."""
        return self.report(f"iteration {iteration}", iteration=iteration, lower_bound=bound)

    def proof(self, status: Mapping[str, float]) -> bool:
        """Tell how a proof is going."""
        return self.report("proof", **status)


class Fitted(Protocol):
    """What every search gives back."""

    @property
    def remarks(self) -> tuple[str, ...]:
        """What a person should hear."""
        ...

    @property
    def stops(self) -> tuple[Stop, ...]:
        """Why each part of the search ended."""
        ...

    @property
    def chosen(self) -> Array:
        """Which features were chosen at all."""
        ...

    def attributes(self, data: Reading) -> dict[str, Any]:
        """The attributes of the fitted estimator by name."""
        ...


@dataclass(frozen=True, kw_only=True)
class Found:
    """Components and their evidence.

    Attributes
    ----------
    loadings : ndarray of shape (n_features, n_found)
        Unit-norm loadings with their final signs.
    searches : tuple of Loadings
        How each of them was found, or all of them together.
    certificates : tuple of Certificate or None
        Their proofs, where asked for.
    joint : JointCertificate or None
        The proof about all of them together.
    values : mapping
        Further attributes by name; they win over those made here.
    shortfall : str or None
        Why there are fewer components than asked for.
    told : tuple of str
        What else a person should hear.
    data : Reading or None
        The data the components are about, where the search changed it by filling holes.
    looked : Looked or None
        How far the search looked, where it did not look at all features.
    fitted_on : ndarray of int or None
        The features a model was fitted on, where that were not all that vary.
    """

    loadings: Array
    searches: tuple[Loadings, ...]
    certificates: tuple[Certificate, ...] | None = None
    joint: JointCertificate | None = None
    values: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    shortfall: str | None = None
    told: tuple[str, ...] = ()
    data: Reading | None = None
    looked: Looked | None = None
    fitted_on: Array | None = None

    @property
    def remarks(self) -> tuple[str, ...]:
        """What a person should hear."""
        n_all, n = self.loadings.shape
        told = (*self.told, *(() if self.looked is None else self.looked.remarks(n_all)))
        if self.shortfall is None:
            return told
        return (*told, f"{n} component(s) found, fewer than asked for: {self.shortfall}")

    @property
    def stops(self) -> tuple[Stop, ...]:
        """Why each part of the search ended."""
        return tuple(search.stop for search in self.searches)

    @property
    def chosen(self) -> Array:
        """Which features any component uses."""
        return np.asarray(self.loadings.any(axis=1))

    def attributes(self, data: Reading) -> dict[str, Any]:
        """The attributes of fitted components."""
        data = data if self.data is None else self.data
        W, total = self.loadings, total_variance(data.S)
        # One pass over the data gives all that is said of variances.
        scores, squares = score_moments(data.S, W)
        recovered = recovered_from_scores(scores, squares, float(np.finfo(data.S.dtype).eps))
        adjusted = adjusted_from_scores(scores)
        support = np.ascontiguousarray(W.T != 0)
        return {
            "components_": np.ascontiguousarray(W.T),
            "n_components_": W.shape[1],
            "explained_variance_": adjusted,
            "explained_variance_ratio_": adjusted / total,
            "marginal_variance_": np.maximum(scores.diagonal(), 0),
            "recovered_variance_ratio_": np.minimum(recovered / total, 1.0),
            "total_variance_": total,
            "orthogonality_violation_": orthogonality_violation(W),
            "score_correlation_": correlation_from_scores(scores),
            "mean_": data.moments.mean,
            "scale_": data.moments.scale,
            "n_samples_": data.moments.n_samples,
            "support_": support,
            "cardinality_": support.sum(axis=1),
            "n_iter_": max((search.n_iter for search in self.searches), default=0),
            "stop_reason_": [search.stop.value for search in self.searches],
            "objective_": [search.objective for search in self.searches],
            **_proofs(self.certificates),
            **({} if self.joint is None else {"joint_certificate_": self.joint}),
            "looked_at_": None if self.looked is None else asdict(self.looked),
            **self.values,
        }


def _proofs(certificates: tuple[Certificate, ...] | None) -> dict[str, Any]:
    if certificates is None:
        return {}
    return {
        "certificates_": list(certificates),
        "upper_bound_": np.array([c.upper_bound for c in certificates]),
        "gap_": np.array([c.gap for c in certificates]),
    }


def store(estimator: Any, data: Reading, found: Fitted) -> None:
    """Make ``estimator`` fitted: all attributes at once, and none left of an earlier fit."""
    fitted = found.attributes(data)
    fitted["n_features_in_"] = data.n_features
    if data.names is not None:
        fitted["feature_names_in_"] = data.names
    for name in [name for name in vars(estimator) if is_fitted_name(name)]:
        delattr(estimator, name)
    vars(estimator).update(fitted)


def is_fitted_name(name: str) -> bool:
    """Whether an attribute of this name is set by a fit."""
    return name.endswith("_") and not name.startswith("_")


def tell(said: Reading | Fitted) -> None:
    """Every warning of a fit: what the data and what the search has to say."""
    for remark in said.remarks:
        warnings.warn(remark, UserWarning, stacklevel=user_level())
    if isinstance(said, Reading):
        return
    for stop in UNFINISHED:
        if stop in said.stops:
            warnings.warn(stop.value, ConvergenceWarning, stacklevel=user_level())


def user_level() -> int:
    """``stacklevel`` of the code of the user: the first frame up that is outside the libraries."""
    # Level 1 is the caller of this function, as warnings count.
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and _is_library(frame.f_globals.get("__name__", "")):
        frame, level = frame.f_back, level + 1
    return level


def _is_library(module: str) -> bool:
    return module.split(".")[0] in {"loadstone", "sklearn", "contextlib"}
