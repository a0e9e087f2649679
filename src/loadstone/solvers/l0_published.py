"""The search of Ulfarsson & Solo: one noise variance, a path of penalties, a criterion over it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from loadstone.covariance import Covariance
from loadstone.solvers.criterion_surface import CriterionSurface, SurfaceSearch
from loadstone.solvers.factor_models.sizes import (
    HELD_OUT,
    MAX_COMPONENTS,
    asked_sizes,
    ordered_size,
)
from loadstone.solvers.l0_noise_model import L0NoiseModel, NoiseModel, SecondMoment
from loadstone.solvers.l0_noise_start import NoisyPCA
from loadstone.solvers.variational_bayes.missing import IncompleteObservations


@dataclass(frozen=True, kw_only=True)
class PublishedPath:
    """Models along paths of penalties, one path for each number of components.

    Attributes
    ----------
    penalize : {"entries", "features"}
        What an l0 penalty counts.
    criterion, gamma, n_penalties, init, n_init, n_candidates
        See `SurfaceSearch`.
    limits : "auto" or (low, high)
        Smallest and largest penalty.
    max_iter, tol : int, float
        See `L0NoiseModel`.
    """

    penalize: str = "entries"
    criterion: str | float = "bic"
    gamma: float = 1.0
    n_penalties: int = 50
    limits: Any = "auto"
    init: str = "varimax"
    n_init: int = 1
    max_iter: int = 1000
    tol: float = 1e-7
    n_candidates: int | None = None

    @classmethod
    def of(cls, parameters: Mapping[str, Any], n_candidates: int) -> PublishedPath:
        """The search behind the parameters of an estimator."""
        alike = ("penalize", "n_penalties", "init", "n_init", "max_iter", "tol")
        return cls(
            **{name: parameters[name] for name in alike},
            criterion=parameters["penalty"],
            gamma=parameters["ebic_gamma"],
            limits=parameters["penalty_range"],
            n_candidates=n_candidates,
        )

    def __call__(
        self,
        S: Covariance,
        n_components: Any,
        rng: np.random.Generator,
        progress: Callable[[int, NoiseModel], bool] | None = None,
    ) -> CriterionSurface:
        """Walk over the surface of the criterion."""
        moment = SecondMoment.of(S)
        spectrum, candidates = _candidates(moment, n_components)
        search = SurfaceSearch(
            solver=L0NoiseModel(self.penalize, self.max_iter, self.tol),
            criterion=self.criterion,
            gamma=self.gamma,
            n_penalties=self.n_penalties,
            limits=_checked_limits(self.limits),
            init=self.init,
            n_init=self.n_init,
            n_candidates=self.n_candidates,
        )
        return search(
            moment,
            spectrum,
            candidates,
            rng,
            exactly=ordered_size(n_components),
            give_up=isinstance(n_components, str),
            progress=progress,
        )


def _candidates(moment: SecondMoment, n_components: Any) -> tuple[NoisyPCA, list[int]]:
    """Numbers of components to try, with the eigenpairs to start all of them from."""
    if isinstance(n_components, str) and n_components == HELD_OUT:
        msg = (
            "n_components='cv' is not part of the published search; use 'auto' or numbers, or "
            "leave n_penalties at None"
        )
        raise ValueError(msg)
    asked = asked_sizes(n_components)
    if asked is None:
        return NoisyPCA.all_candidates(moment, MAX_COMPONENTS)
    spectrum = NoisyPCA.of(moment, max(asked))
    objection = spectrum.objection(max(asked))
    if objection is not None:
        raise ValueError(objection)
    return spectrum, sorted(asked)


def _checked_limits(given: Any) -> tuple[float, float] | None:
    if isinstance(given, str):
        return None
    limits = tuple(float(h) for h in given)
    if len(limits) != 2 or not 0 < limits[0] < limits[1] < np.inf:
        msg = (
            f"penalty_range={given!r} must be two numbers, 0 < low < high; "
            "use 'auto' to leave the choice to the data"
        )
        raise ValueError(msg)
    return limits[0], limits[1]


def refuse_beyond_the_paper(
    noise: str, n_penalties: int | None, holes: IncompleteObservations | None
) -> None:
    """Refuse what a search along a path does not model."""
    if noise == "shared" and holes is None:
        return
    given, remedy = [], []
    if noise != "shared":
        given, remedy = [f"noise={noise!r}"], ["set noise='shared'"]
    if holes is not None:
        given, remedy = [*given, "missing values"], [*remedy, "fill the holes"]
    msg = (
        f"{' and '.join(given)} with n_penalties={n_penalties}: the published search along a path has "
        f"one noise variance for all features and complete data; {' and '.join(remedy)}, or leave "
        "n_penalties at None"
    )
    raise ValueError(msg)
