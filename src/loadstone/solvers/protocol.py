"""What extraction may ask of a solver."""

from __future__ import annotations

from typing import Protocol, TypeVar, runtime_checkable

import numpy as np

from loadstone.constraints import Constraint
from loadstone.covariance import Array, Covariance
from loadstone.loadings import Loadings

#: The constraints a solver serves; it refuses the others in words.
Served = TypeVar("Served", bound=Constraint, contravariant=True)


@runtime_checkable
class Solver(Protocol[Served]):
    """Searches one component: a callable frozen dataclass, one file per paper."""

    def refuses(self, constraint: Constraint) -> str | None:
        """Why this solver cannot serve ``constraint``; ``None`` where it can."""
        ...

    def __call__(
        self,
        S: Covariance,
        constraint: Served,
        rng: np.random.Generator,
        starts: Array | None = None,
    ) -> Loadings:
        """Candidates for the leading component of ``S``, best first.

        ``starts`` is a block of columns to begin from, in place of the solver's own.
        """
        ...
