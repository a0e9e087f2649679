"""A dual for a constraint that is no cardinality: found for one that is, evaluated for its own.

Every dual proves some bound under every constraint (``bound_any_constraint.dual_bound``), so that
the one of a cardinality with as many places is a good proposal; smaller ones are tried too,
since groups are seldom all large.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from loadstone.certificates.bound_any_constraint import dual_bound, open_features
from loadstone.certificates.problem import SupportProblem
from loadstone.certificates.proof_cases import ProofNode
from loadstone.certificates.search_case import Limits, symmetric_block
from loadstone.certificates.search_dual import LEVELS, propose_dual

if TYPE_CHECKING:
    from loadstone.constraints import Constraint
    from loadstone.covariance.protocol import Covariance

#: Shares of the largest number of places that are tried.
SHARES = (1.0, 0.7, 0.5)


def propose_for(
    S: Covariance, constraint: Constraint, bound: float, limits: Limits
) -> tuple[float, ProofNode]:
    """The smallest bound found, and the dual that proves it, if any is below ``bound``."""
    features = open_features(constraint)
    n_places = int(np.ceil(float(constraint.on(features).largest_sum(np.ones(features.size)))))
    signs = constraint.signs
    flips = np.ones(features.size) if signs is None else np.where(signs[features] < 0, -1.0, 1.0)
    nonnegative = signs is not None and bool((signs[features] != 0).all())
    best = ProofNode()
    for share in SHARES:
        size = max(1, int(np.ceil(share * n_places)))
        if size >= features.size or limits.out_of_time:
            continue
        free = np.zeros(features.size, dtype=bool)
        problem = SupportProblem(features, free, size, nonnegative)
        matrix = flips[:, None] * symmetric_block(S, problem) * flips
        found = propose_dual(matrix, problem, levels=LEVELS, deadline=limits.deadline).dual
        dual = found.turned(flips)
        proven = dual_bound(S, constraint, dual)
        if proven < bound:
            bound, best = proven, ProofNode([dual])
    return bound, best
