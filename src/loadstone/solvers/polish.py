"""Alternate between the best loadings on a support and the best support for them."""

from __future__ import annotations

import numpy as np

from loadstone.constraints import Constraint
from loadstone.covariance import Array, Covariance
from loadstone.solvers.renormalise import renormalise

MAX_ROUNDS = 30


def polish(S: Covariance, w: Array, constraint: Constraint) -> tuple[Array, float]:
    """Renormalise on the support, take the top of ``|Sw|``, repeat while it gains.

    Places that non-negativity has emptied are offered to the features that want to
    grow most; where none does, fewer features are the right answer.
    """
    w, value = renormalise(S, w, constraint)
    for _ in range(MAX_ROUNDS):
        candidate = constraint.best_loading(S @ w)
        if np.array_equal(candidate != 0, w != 0):
            break
        candidate, reached = renormalise(S, candidate, constraint)
        if not reached > value * (1 + 4 * float(np.finfo(S.dtype).eps)):
            break
        w, value = candidate, reached
    return w, value
