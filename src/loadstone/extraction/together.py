"""Components to begin from that are found together: principal components, rotated or not, cut to size.

One component after another takes what is best for itself, and where many features tell the same
story the later ones are left with its rest. Principal components after a varimax rotation share
the story out; where a component may use a good part of all features, they do so as they are. Cut
to size they are other places to climb from, at hardly any cost. They are not re-optimised on their
supports before the climb: each for itself they would turn to the same story again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from loadstone.constraints import Constraint
from loadstone.covariance import Array, Covariance, ExplicitCovariance, leading_eigenpairs
from loadstone.extraction.linear_constraints import n_places
from loadstone.solvers.search.restricted import in_memory
from loadstone.solvers.varimax import varimax

#: Digits of the eigenvectors, and of a rotation that is only a place to climb from.
TOL, TURNED = 1e-4, 1e-3
#: Share of all features from which on components are much like principal ones.
LARGE_SHARE = 0.25


def together_starts(S: Covariance, constraints: Sequence[Constraint]) -> Iterator[Array]:
    """One component for each constraint; nothing where every product is a pass over a file.

    Parameters
    ----------
    S : Covariance
        The data.
    constraints : sequence of Constraint
        The first goes with the longest column after the rotation.

    Yields
    ------
    ndarray of shape (n_features, n_components)
    """
    if not in_memory(S):
        return
    V, turned = _principal(S, len(constraints))
    if V.shape[1] < len(constraints):
        return
    yield _cut(turned, constraints)
    if min(map(n_places, constraints)) >= LARGE_SHARE * S.n_features:
        yield _cut(V, constraints)


def _principal(S: Covariance, n: int) -> tuple[Array, Array]:
    """Principal components as they are and rotated, their larger entries positive.

    A matrix is asked for them at every size and remembers them.
    """
    known = S.derived if isinstance(S, ExplicitCovariance) else {}
    if ("principal", n) not in known:
        values, V = leading_eigenpairs(S, n, TOL)
        turned = varimax(V.astype(np.float64) * np.sqrt(np.maximum(values, 0)), tol=TURNED)
        order = np.argsort(-np.linalg.norm(turned, axis=0), kind="stable")
        turned = turned[:, order].astype(S.dtype)
        known["principal", n] = tuple(
            directions * np.where(np.sum(directions**3, axis=0) < 0, -1, 1).astype(S.dtype)
            for directions in (V, turned)
        )
    V, turned = known["principal", n]
    return V, turned


def _cut(directions: Array, constraints: Sequence[Constraint]) -> Array:
    """The best loading of each constraint for its column."""
    cut = W = constraints[0].best_loading(directions)
    for j in range(1, len(constraints)):
        if constraints[j] is not constraints[j - 1]:
            cut = constraints[j].best_loading(directions)
        W[:, j] = cut[:, j]
    return W
