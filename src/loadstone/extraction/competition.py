"""What each of several components competes for, and which sign it has."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from loadstone.covariance import Array, Covariance, deflate
from loadstone.extraction.one_by_one import Plan


def signed(loadings: Array, constraints: Sequence[Any]) -> Array:
    """The one sign rule: the largest absolute loading is positive where both signs are allowed."""
    if loadings.shape[1] == 0 or constraints[0].nonnegative:
        return loadings
    peak = np.argmax(np.abs(loadings), axis=0)
    flip = loadings[peak, np.arange(loadings.shape[1])] < 0
    # Adding zero turns -0.0, which prints oddly, into 0.0.
    return np.where(flip, -loadings, loadings) + loadings.dtype.type(0)


def competitions(
    S: Covariance, loadings: Array, constraints: Sequence[Any], plan: Plan
) -> Iterator[tuple[Covariance, Any, str]]:
    """For each component: the covariance, the constraint and what to call them."""
    kind = plan.orthogonality.kind
    disjoint = kind == "disjoint" or (kind == "strict" and constraints[0].nonnegative)
    remaining = S
    for index, w in enumerate(loadings.T):
        constraint = constraints[index]
        if index == 0:
            yield S, constraint, "in the covariance of the data"
        elif disjoint:
            used = np.flatnonzero(loadings[:, :index].any(axis=1))
            sentence = f"among the features free after {index} earlier component(s)"
            yield S, constraint.without(used), sentence
        else:
            sentence = (
                f"in the covariance left after {index} component(s), {plan.deflation} deflation"
            )
            if kind != "none":
                # Rivals need not keep the relation: the bound holds for more than it must.
                sentence += f", rivals free of orthogonality={kind!r}"
            yield remaining, constraint, sentence
        if not disjoint:
            earlier = loadings[:, :index] if index else np.zeros_like(loadings[:, :1])
            remaining = deflate(remaining, w, plan.deflation, earlier)
