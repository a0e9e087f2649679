"""Constraints of another size, for those who choose the size."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from loadstone.constraints.cardinality import LoadingConstraint
from loadstone.constraints.groups import Groups
from loadstone.constraints.protocol import Constraint
from loadstone.constraints.signs import Signs


def resized(constraint: Constraint, size: int) -> Constraint:
    """The same with ``size`` features, or groups of them.

    Raises
    ------
    ValueError
        Where a constraint has no number of places.
    """
    if isinstance(constraint, Groups):
        return replace(constraint, n_groups=size)
    if isinstance(constraint, LoadingConstraint | Signs):
        return replace(constraint, n_nonzero=size)
    msg = (
        f"constraint={constraint!r} has no number of features or groups to choose; use "
        "LoadingConstraint, Signs or Groups, or SparsePCA with this one"
    )
    raise ValueError(msg)


def largest_size(constraint: Constraint, n_features: int) -> int:
    """How many features, or groups of them, there are to use."""
    if isinstance(constraint, Groups):
        open_ = np.delete(constraint.labels, constraint.forbidden)
        return int(np.unique(open_).size)
    return n_features - constraint.forbidden.size
