"""What a loading vector may look like."""

from loadstone.constraints.cardinality import LoadingConstraint
from loadstone.constraints.columns import allowed_part, filled_support, top_k
from loadstone.constraints.groups import Groups
from loadstone.constraints.l1_budget import L1Budget
from loadstone.constraints.protocol import Constraint
from loadstone.constraints.signs import Signs

#: Every kind of constraint; contract tests and the tables of the documentation ask this.
KINDS: tuple[type[Constraint], ...] = (LoadingConstraint, Groups, Signs, L1Budget)

__all__ = [
    "KINDS",
    "Constraint",
    "Groups",
    "L1Budget",
    "LoadingConstraint",
    "Signs",
    "allowed_part",
    "filled_support",
    "top_k",
]
