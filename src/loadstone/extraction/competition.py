"""What each component competes for, and which way round it is shown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from loadstone.certificates import JointCertificate, prove_together
from loadstone.constraints import Constraint
from loadstone.covariance import Array, Covariance, deflate
from loadstone.extraction.one_by_one import Plan

__all__ = ["competitions", "prove_jointly", "signed"]


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
            continue
        disjoint, free = plan.orthogonality.means_disjoint(constraint), ""
        if disjoint:
            constraint = constraint.without(np.flatnonzero(loadings[:, :index].any(axis=1)))
            free = f"among the features free after {index} earlier component(s)"
        if disjoint and plan.deflation != "schur":
            # The other rules leave the covariance of unused features as it is.
            yield S, constraint, free
            continue
        while len(known) <= index:
            j = len(known) - 1
            known.append(deflate(known[j], loadings[:, j], plan.deflation, loadings[:, :j]))
        sentence = f"in the covariance left after {index} component(s), {plan.deflation} deflation"
        if disjoint:
            sentence = f"{free}, {sentence}"
        elif kind != "none":
            # Rivals need not keep the relation: the bound holds for more than it must.
            sentence += f", rivals free of orthogonality={kind!r}"
        yield known[index], constraint, sentence


def prove_jointly(
    S: Covariance,
    loadings: Array,
    constraints: Sequence[Constraint],
    plan: Plan,
    effort: str,
    *,
    quantity: str | None = None,
    time_limit: float | None = None,
) -> JointCertificate:
    """What is proven about all components together, related as the plan says."""
    kept = constraints[: loadings.shape[1]]
    disjoint = all(plan.orthogonality.means_disjoint(constraint) for constraint in kept)
    relation = "disjoint" if disjoint else plan.orthogonality.kind
    return prove_together(
        S, kept, loadings, relation, effort=effort, quantity=quantity, time_limit=time_limit
    )


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
