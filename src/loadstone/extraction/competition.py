"""What each component competes for, and which way round it is shown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from loadstone.certificates import Certificate, JointCertificate, prove_together
from loadstone.certificates.problem_after import FIRST, LINEAR, Earlier
from loadstone.constraints import Constraint, LoadingConstraint
from loadstone.covariance import Array, Covariance
from loadstone.extraction.one_by_one import Plan

__all__ = ["competitions", "prove_jointly", "signed"]


def competitions(
    loadings: Array, constraints: Sequence[Constraint], plan: Plan
) -> Iterator[tuple[Constraint, Earlier]]:
    """For each component: its constraint, and what the earlier ones leave to it.

    Parameters
    ----------
    loadings : ndarray of shape (n_features, n_components)
        The components in the order they were found.
    constraints : sequence of Constraint
        At least one per component.
    plan : Plan
        How they were found.
    """
    for index in range(loadings.shape[1]):
        constraint = constraints[index]
        if index == 0:
            yield constraint, FIRST
            continue
        before = np.asarray(loadings[:, :index], dtype=np.float64)
        relation = plan.orthogonality.kind
        deflation = "" if relation in LINEAR else plan.deflation
        if plan.orthogonality.means_disjoint(constraint):
            constraint = constraint.without(np.flatnonzero(before.any(axis=1)))
            relation = "disjoint"
            # The other rules leave the covariance of unused features as it is.
            deflation = "schur" if plan.deflation == "schur" else ""
        yield constraint, Earlier(loadings=before, relation=relation, deflation=deflation)


def prove_jointly(
    S: Covariance,
    loadings: Array,
    constraints: Sequence[Constraint],
    plan: Plan,
    effort: str,
    *,
    quantity: str | None = None,
    time_limit: float | None = None,
    alone: Certificate | None = None,
) -> JointCertificate | None:
    """What is proven about all components together, related as the plan says; of none, nothing."""
    if not loadings.shape[1]:
        return None
    kept = list(constraints[: loadings.shape[1]])
    disjoint = all(plan.orthogonality.means_disjoint(constraint) for constraint in kept)
    relation = "disjoint" if disjoint else plan.orthogonality.kind
    if disjoint:
        # Features that every component must use are used up by the first one.
        used = np.flatnonzero(loadings[:, 0])
        kept[1:] = [_without_forced(constraint, used) for constraint in kept[1:]]
    return prove_together(
        S,
        kept,
        loadings,
        relation,
        effort=effort,
        quantity=quantity,
        time_limit=time_limit,
        alone=alone,
    )


def _without_forced(constraint: Constraint, used: Array) -> Constraint:
    if not isinstance(constraint, LoadingConstraint) or not constraint.forced.size:
        return constraint
    if np.isin(constraint.forced, used).all():
        return constraint.without(constraint.forced)
    # A loading of zero leaves a forced feature to the others, who are not forced to it either.
    return replace(constraint, forced=np.zeros(0, dtype=np.intp))


def signed(loadings: Array, constraints: Sequence[Constraint]) -> Array:
    """The one sign rule: the largest absolute loading is positive, where ``-w`` is allowed too.

    Loadings of a given sign that end at zero may end beside it: rounding of the largest one is
    no use of a feature.
    """
    result: Array = loadings.copy()
    rounding = float(np.finfo(result.dtype).eps)
    for w, constraint in zip(result.T, constraints[: result.shape[1]], strict=True):
        free = constraint.signs is None or constraint.allows(-w)
        if free and w[np.argmax(np.abs(w))] < 0:
            w *= -1
        if constraint.signs is not None:
            w[(constraint.signs != 0) & (np.abs(w) < rounding * np.abs(w).max())] = 0
    # Adding zero turns -0.0, which prints oddly, into 0.0.
    result += 0
    return result
