"""Components to begin from that are found together: rotated principal components, cut to size.

One component after another takes what is best for itself, and where many features tell the same
story the later ones are left with its rest. Principal components after a varimax rotation share
the story out; cut to size they are a second place to climb from, at hardly any cost.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from loadstone.constraints import Constraint
from loadstone.covariance import Array, Covariance, leading_eigenpairs
from loadstone.solvers.renormalise import renormalise
from loadstone.solvers.search.restricted import in_memory
from loadstone.solvers.varimax import varimax

#: Digits of the eigenvectors, and of a rotation that is only a place to climb from.
TOL, TURNED = 1e-4, 1e-3


def rotated_components(S: Covariance, constraints: Sequence[Constraint]) -> Array | None:
    """One component for each constraint; ``None`` where every product is a pass over a file.

    Parameters
    ----------
    S : Covariance
        The data.
    constraints : sequence of Constraint
        The first goes with the longest column after the rotation.
    """
    if not in_memory(S):
        return None
    values, V = leading_eigenpairs(S, len(constraints), TOL)
    turned = varimax(V.astype(np.float64) * np.sqrt(np.maximum(values, 0)), tol=TURNED)
    turned *= np.where(np.sum(turned**3, axis=0) < 0, -1, 1)
    order = np.argsort(-np.linalg.norm(turned, axis=0), kind="stable")
    if turned.shape[1] < len(constraints):
        return None
    directions = turned[:, order].astype(S.dtype)
    cut = directions
    columns: list[Array] = []
    for j, constraint in enumerate(constraints):
        if j == 0 or constraint is not constraints[j - 1]:
            cut = constraint.best_loading(directions)
        columns.append(renormalise(S, cut[:, j], constraint)[0])
    return np.column_stack(columns)
