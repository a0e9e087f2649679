"""What a loading vector may look like."""

from loadstone.constraints.cardinality import LoadingConstraint
from loadstone.constraints.columns import allowed_part, filled_support, top_k
from loadstone.constraints.l1_budget import L1Budget
from loadstone.constraints.protocol import Constraint

#: Every kind of constraint; contract tests and the tables of the documentation ask this.
KINDS: tuple[type[Constraint], ...] = (LoadingConstraint, L1Budget)

__all__ = [
    "KINDS",
    "Constraint",
    "L1Budget",
    "LoadingConstraint",
    "allowed_part",
    "filled_support",
    "top_k",
]
