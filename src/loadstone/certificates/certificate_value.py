"""The two numbers of a certificate: a component's variance, and what a stored proof gives."""

from __future__ import annotations

from itertools import starmap
from typing import TYPE_CHECKING

import numpy as np

from loadstone.certificates.bound_any_constraint import (
    as_cardinality,
    constraint_bound,
    dual_bound,
)
from loadstone.certificates.bound_every_support import every_support_bound
from loadstone.certificates.certificate_error import CertificateError
from loadstone.certificates.problem import Array, SupportProblem
from loadstone.certificates.problem_after import Earlier
from loadstone.certificates.proof_cases import ProofCase
from loadstone.certificates.proof_rounds import Each
from loadstone.certificates.proof_tree import Replayed, replay
from loadstone.covariance.flipped import FlippedCovariance

if TYPE_CHECKING:
    from loadstone.constraints import Constraint, LoadingConstraint
    from loadstone.covariance.protocol import Covariance

#: Relative room for two computations of one covariance, when fixed features are stated.
STATED_ROOM = {"float64": 1e-12, "float32": 1e-6}


def recomputed(
    S: Covariance,
    constraint: Constraint,
    earlier: Earlier,
    known: float,
    proof: tuple[ProofCase, ...],
    each: Each = starmap,
    claimed: float = -np.inf,
) -> Replayed:
    """What a stored proof gives for the rivals of a component of variance ``known``.

    Nothing better than ``claimed`` is looked for.
    """
    matrix, margin = earlier.bounded_by(S)
    view = as_cardinality(constraint)
    if view is None:
        if len(proof) != 1 or proof[0].n_children:
            msg = "cases are distinguished under a cardinality only"
            raise CertificateError(msg)
        everything = SupportProblem.of(S.n_features, S.n_features, forbidden=constraint.forbidden)
        bounds = [dual_bound(matrix, constraint, dual) for dual in proof[0].duals]
        if proof[0].listed:
            listed = every_support_bound(matrix, constraint, known - margin)
            if listed is None:
                msg = "the proof leaves too many supports to be listed"
                raise CertificateError(msg)
            bounds.append(listed[0])
        bound = min([constraint_bound(matrix, constraint).value, *bounds])
        return Replayed(bound + margin, (everything,))
    rule, flips = view
    flipped = FlippedCovariance.of(matrix, flips)
    found = replay(flipped, problem_of(rule), known - margin, proof, each, claimed - margin)
    return Replayed(found.bound + margin, found.left)


def problem_of(constraint: LoadingConstraint) -> SupportProblem:
    """The constraint as a problem over supports."""
    return SupportProblem.of(
        constraint.n_features,
        constraint.n_nonzero,
        nonnegative=constraint.nonnegative,
        forced=constraint.forced,
        forbidden=constraint.forbidden,
    )


def variance_on_support(S: Covariance, loading: Array) -> float:
    """``w'Sw`` of the exactly normalised vector, from the block on its support."""
    support = np.flatnonzero(loading)
    if support.size == 0:
        return 0.0
    w = np.asarray(loading[support], dtype=np.float64)
    block = np.asarray(S.block(support, support), dtype=np.float64)
    return float(w @ block @ w / (w @ w))


def rounding_of(S: Covariance, loading: Array) -> float:
    """What the computed ``w'Sw`` may be off by."""
    support = np.flatnonzero(loading)
    w = np.abs(np.asarray(loading[support], dtype=np.float64))
    block = np.abs(np.asarray(S.block(support, support), dtype=np.float64))
    return 8.0 * support.size * np.finfo(np.float64).eps * float(w @ block @ w)


def lower_value(S: Covariance, loading: Array) -> float:
    """``w'Sw`` rounded downwards."""
    return variance_on_support(S, loading) - rounding_of(S, loading)


def stated_value(S: Covariance, loading: Array) -> float:
    """``w'Sw`` a little lower still: what is shown for it holds however S is computed."""
    value = lower_value(S, loading)
    return value - STATED_ROOM[str(S.dtype)] * abs(value)
