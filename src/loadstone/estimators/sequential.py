"""Estimators that find one component after another under a constraint."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import islice
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import clone

from loadstone._sklearn_compat import Interval, InvalidParameterError, StrOptions
from loadstone.certificates import Certificate, Earlier, JointCertificate
from loadstone.constraints import Constraint
from loadstone.constraints.from_parameters import build_constraints, check_features, check_sizes
from loadstone.covariance import Array
from loadstone.estimators.base import Components, field
from loadstone.estimators.checks import (
    check_alone,
)
from loadstone.estimators.found import Found, Task, silent
from loadstone.estimators.parameters import COUNT
from loadstone.estimators.reading import Reading
from loadstone.extraction import (
    Extraction,
    Orthogonality,
    Plan,
    competitions,
    extract,
    signed,
)
from loadstone.extraction.count import choose_count, missed_share
from loadstone.loadings import Loadings
from loadstone.solvers.protocol import Solver

#: Parts of a plan that are parameters of some estimators.
PLANNED = ("deflation", "refine", "renormalize", "objective")
#: A component, what it may look like, and what earlier ones left to it.
Rival = tuple[Array, Constraint, Earlier]


class SequentialComponents(Components):
    """One component after another; a subclass names its solver."""

    n_components: float = field(default=1, kw_only=False)
    n_nonzero: Any = None
    nonnegative: bool = False
    constraint: Constraint | None = None
    orthogonality: str = "none"
    deflation: str = "projection"
    forbidden: Any = None

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_components": [COUNT, Interval(Real, 0, 1, closed="neither")],
        "orthogonality": [StrOptions({"none", "disjoint"})],
    }

    def _solver(self, task: Task) -> Solver[Any]:
        """What searches a component."""
        raise NotImplementedError

    def _values(self, extraction: Extraction) -> dict[str, Any]:
        """Attributes that only this estimator has."""
        return {}

    def _proofs(
        self, task: Task, rivals: Iterable[Rival], searches: Sequence[Loadings]
    ) -> list[Certificate] | None:
        """Certificates of the components that have none yet, where asked for."""
        return None

    def _together(
        self,
        task: Task,
        loadings: Array,
        constraints: Sequence[Constraint],
        plan: Plan,
        alone: Certificate | None = None,
    ) -> JointCertificate | None:
        """What is proven about all components together, where asked for.

        ``alone`` is the certificate of the first one.
        """
        return None

    def _n_tasks(self) -> int | None:
        return int(self.n_components) if self.n_components >= 1 else None

    @property
    def _count(self) -> int:
        """How many components are asked for, or were found where a share is."""
        found = vars(self).get("n_components_", 1)
        return int(self.n_components if self.n_components >= 1 else found)

    def _answer(self, task: Task) -> Found:
        if self.n_components >= 1:
            return self._search(task)
        self._refuse_sizes_of_a_share()
        tried: dict[int, Found] = {}

        def find(number: int) -> Array:
            if number not in tried:
                again: Self = clone(self).set_params(n_components=number)
                tried[number] = again._search(replace(task, report=silent))
            return tried[number].loadings

        found = tried[choose_count(task.data.S, self.n_components, find)]
        missed = missed_share(task.data.S, self.n_components, found.loadings)
        if missed is None:
            return found
        return replace(found, told=(*found.told, missed), shortfall=None)

    def _refuse_sizes_of_a_share(self) -> None:
        """A share of the variance says how many components there are only in the end."""
        if self.n_nonzero is None or np.ndim(self.n_nonzero) == 0:
            return
        msg = (
            f"n_nonzero has {len(self.n_nonzero)} values for n_components={self.n_components}, a "
            "share of the variance that as many components as it takes recover; give one number "
            "for all components, or n_components as a whole number"
        )
        raise InvalidParameterError(msg)

    def _search(self, task: Task) -> Found:
        return self._found(task, self.constraints_on(task.data))

    def _found(
        self,
        task: Task,
        constraints: Sequence[Constraint],
        *,
        starts: Array | None = None,
        earlier: Array | None = None,
        known: Sequence[Certificate] = (),
    ) -> Found:
        """One component for each constraint, those that are there already included."""
        plan = self.plan(task)
        extraction = extract(
            task.data.S,
            constraints,
            plan,
            task.rng,
            starts=starts,
            report=task.component,
            earlier=earlier,
            n_pricings=task.n_pricings,
        )
        loadings = signed(extraction.matrix, constraints)
        compete = competitions(loadings, constraints, plan)
        rivals = ((w, *rival) for w, rival in zip(loadings.T, compete, strict=True))
        proofs = self._proofs(task, islice(rivals, len(known), None), extraction.searches)
        first = next(iter((*known, *(proofs or ()))), None)
        return Found(
            loadings=loadings,
            searches=extraction.searches,
            certificates=None if proofs is None else (*known, *proofs),
            joint=self._together(task, loadings, constraints, plan, first),
            values=self._values(extraction),
            shortfall=extraction.exhausted,
            looked=extraction.looked,
        )

    def plan(self, task: Task) -> Plan:
        """How components follow each other, as the parameters say.

        Parameters
        ----------
        task : Task
            The fit it is for.

        Returns
        -------
        Plan
        """
        asked = dict(vars(self))
        angle = {name: asked[name] for name in ("min_angle", "alpha") if name in asked}
        if "refine" in asked:
            asked["refine"] = {True: "full", False: None}.get(asked["refine"], asked["refine"])
        if "second_look" in asked:
            asked["renormalize"] = asked["second_look"]
        return Plan(
            solver=self._solver(task),
            orthogonality=Orthogonality(self.orthogonality, **angle),
            **{name: asked[name] for name in PLANNED if name in asked},
        )

    def constraints_on(self, data: Reading) -> Sequence[Constraint]:
        """What each component may look like on this data.

        Parameters
        ----------
        data : Reading
            The data.

        Returns
        -------
        list of Constraint
            One for each of ``n_components``.
        """
        return self._constraints(data, self._sizes_on(self._count, data.n_features))

    def _sizes_on(self, n_components: int, n_features: int) -> list[int]:
        """How many features each component may use."""
        return check_sizes(self.n_nonzero, n_components, n_features)

    def _constraints(self, data: Reading, sizes: list[int]) -> Sequence[Constraint]:
        """One constraint per component; features that do not vary are never offered."""
        if self.constraint is not None:
            check_alone(self.constraint, self.get_params(deep=False))
            names = None if data.names is None else [str(name) for name in data.names]
            bound = self.constraint.bound_to(data.n_features, names, data.moments.constant)
            return [bound] * len(sizes)
        forced = check_features(vars(self).get("forced"), "forced", data.n_features, data.names)
        forbidden = check_features(self.forbidden, "forbidden", data.n_features, data.names)
        return build_constraints(
            sizes,
            data.n_features,
            data.moments.constant,
            nonnegative=self.nonnegative,
            forced=forced,
            forbidden=forbidden,
        )
