"""Certificates for several components: each relative to what it competed for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from loadstone.certificates import Certificate, prove
from loadstone.constraints import LoadingConstraint
from loadstone.covariance import Array, Covariance, deflate
from loadstone.estimators.base import signed
from loadstone.extraction import Extraction, Plan


def competitions(
    S: Covariance, loadings: Array, constraints: Sequence[LoadingConstraint], plan: Plan
) -> Iterator[tuple[Covariance, LoadingConstraint, str]]:
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


def certify_components(
    S: Covariance,
    extraction: Extraction,
    constraints: Sequence[LoadingConstraint],
    plan: Plan,
    *,
    effort: str,
) -> list[Certificate]:
    """One certificate per component found."""
    loadings = signed(extraction.matrix, nonnegative=constraints[0].nonnegative)
    compete = competitions(S, loadings, constraints, plan)
    return [
        prove(rest, constraint, w, effort=effort, relative_to=sentence)
        for w, (rest, constraint, sentence) in zip(loadings.T, compete, strict=True)
    ]


def store_certificates(estimator: Any, certificates: list[Certificate]) -> None:
    """Set the fitted attributes that certificates fill."""
    estimator.certificates_ = certificates
    estimator.upper_bound_ = np.array([c.upper_bound for c in certificates])
    estimator.gap_ = np.array([c.gap for c in certificates])


def forget_certificates(estimator: Any) -> None:
    """Remove what an earlier, certified fit left behind."""
    for name in ("certificates_", "upper_bound_", "gap_"):
        vars(estimator).pop(name, None)
