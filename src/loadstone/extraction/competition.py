"""What each component competes for, and which way round it is shown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from loadstone.constraints import Constraint
from loadstone.covariance import Array, Covariance, deflate
from loadstone.extraction.one_by_one import Plan

__all__ = ["competitions", "signed"]


def competitions(
    S: Covariance,
    loadings: Array,
    constraints: Sequence[Constraint],
    plan: Plan,
    left: Sequence[Covariance] = (),
) -> Iterator[tuple[Covariance, Constraint, str]]:
    """For each component: the covariance, the constraint and what to call them.

    Parameters
    ----------
    S : Covariance
        Of the data.
    loadings : ndarray of shape (n_features, n_components)
        The components in the order they were found.
    constraints : sequence of Constraint
        At least one per component.
    plan : Plan
        How they were found.
    left : sequence of Covariance
        What earlier components left for each of them, where it is known already.

    Yields
    ------
    tuple of (Covariance, Constraint, str)
        Each is computed when it is asked for, once.
    """
    kind = plan.orthogonality.kind
    known = list(left) or [S]
    for index in range(loadings.shape[1]):
        constraint = constraints[index]
        if index == 0:
            yield S, constraint, "in the covariance of the data"
        elif plan.orthogonality.means_disjoint(constraint):
            used = np.flatnonzero(loadings[:, :index].any(axis=1))
            sentence = f"among the features free after {index} earlier component(s)"
            yield S, constraint.without(used), sentence
        else:
            while len(known) <= index:
                j = len(known) - 1
                known.append(deflate(known[j], loadings[:, j], plan.deflation, loadings[:, :j]))
            sentence = (
                f"in the covariance left after {index} component(s), {plan.deflation} deflation"
            )
            if kind != "none":
                # Rivals need not keep the relation: the bound holds for more than it must.
                sentence += f", rivals free of orthogonality={kind!r}"
            yield known[index], constraint, sentence


def signed(loadings: Array, constraints: Sequence[Constraint]) -> Array:
    """The one sign rule: the largest absolute loading is positive, where ``-w`` is allowed too."""
    result: Array = loadings.copy()
    for w, constraint in zip(result.T, constraints[: result.shape[1]], strict=True):
        free = constraint.signs is None or constraint.allows(-w)
        if free and w[np.argmax(np.abs(w))] < 0:
            w *= -1
    # Adding zero turns -0.0, which prints oddly, into 0.0.
    result += 0
    return result
