"""How components follow each other, and what comes of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

from loadstone.constraints import Constraint
from loadstone.covariance import Array, Covariance
from loadstone.covariance.working_set import Looked
from loadstone.extraction.disjoint_sum import refuses_sum
from loadstone.extraction.orthogonality import Orthogonality
from loadstone.loadings import Loadings
from loadstone.solvers.protocol import Solver


def distinct(constraints: Sequence[Constraint]) -> list[Constraint]:
    """Each constraint once; all components mostly have the same."""
    return list(dict(zip(map(id, constraints), constraints, strict=True)).values())


class RefusedConstraintError(ValueError):
    """A constraint that the solver or the orthogonality cannot serve; the message says why."""


@dataclass(frozen=True)
class Extraction:
    """The components found, and how each of them was.

    Attributes
    ----------
    matrix : ndarray of shape (n_features, n_found)
        Unit-norm loadings; fewer columns than asked for where nothing was left.
    searches : tuple of Loadings
        What the solver said of each component.
    exhausted : str or None
        Why there are fewer components than asked for.
    left : tuple of Covariance
        What earlier components left for each of them; empty where nobody deflated.
    looked : Looked or None
        How far the search looked, where it did not look at all features.
    """

    matrix: Array
    searches: tuple[Loadings, ...]
    exhausted: str | None = None
    left: tuple[Covariance, ...] = ()
    looked: Looked | None = None


@dataclass(frozen=True)
class Plan:
    """How components follow each other.

    Attributes
    ----------
    solver : Solver
        What searches a component.
    deflation : str
        How a component is removed before the next is sought.
    orthogonality : Orthogonality
        How components relate to one another.
    refine : {"warm", "full"} or None
        How components are improved together once all are found: in turn from where they
        are, with searches of their own as well, or not at all.
    renormalize : bool
        Whether loadings are re-optimised on their support.
    objective : str
        ``"sum"`` looks for disjoint, orthogonal or uncorrelated components with the largest sum
        of variances, in place of ``refine``; other words change nothing here.
    """

    solver: Solver[Any]
    _: KW_ONLY
    deflation: str = "projection"
    orthogonality: Orthogonality = field(default_factory=Orthogonality)
    refine: str | None = None
    renormalize: bool = True
    objective: str = "variance"

    def refuse(self, constraints: Sequence[Constraint]) -> None:
        """Raise with the reason where the solver or the orthogonality cannot serve a constraint."""
        for constraint in distinct(constraints):
            # Without constraints nobody is asked: the answer is PCA.
            reason = None if constraint.is_free else self.solver.refuses(constraint)
            reason = reason or self.orthogonality.refuses(constraint)
            if reason is None and self.objective == "sum":
                reason = refuses_sum(self.orthogonality.kind, constraint)
            if reason is not None:
                raise RefusedConstraintError(reason)

    def is_nested(self, constraints: Sequence[Constraint]) -> bool:
        """Whether the answer of each smaller set of components is offered to the larger ones.

        Only what maximises the adjusted variance can be compared, and of the rules of deflation
        only Schur's leaves the next component exactly what it can add to it.
        """
        if self.refine is None or self.deflation != "schur" or len(constraints) < 2:
            return False
        return self.orthogonality.kind != "uncorrelated"
