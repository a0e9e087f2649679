"""What a loading vector may look like."""

from loadstone.constraints.cardinality import LoadingConstraint, top_k
from loadstone.constraints.l1_budget import L1Budget
from loadstone.constraints.protocol import Constraint

__all__ = ["Constraint", "L1Budget", "LoadingConstraint", "top_k"]
