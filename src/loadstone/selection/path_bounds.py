"""Proven upper bounds along a path."""

from __future__ import annotations

from loadstone.constraints import LoadingConstraint
from loadstone.covariance import Covariance

#: Seconds that ``certify="standard"`` may spend on one size.
STANDARD_SECONDS = 2.0


def upper_bound(S: Covariance, constraint: LoadingConstraint, value: float, tier: str) -> float:
    """An upper limit of the variance under ``constraint``, where ``value`` was reached."""
    from loadstone.certificates.problem import SupportProblem
    from loadstone.certificates.upper_bounds import instant_bound

    problem = SupportProblem.of(
        S.n_features,
        constraint.n_nonzero,
        nonnegative=constraint.nonnegative,
        forced=constraint.forced,
        forbidden=constraint.forbidden,
    )
    return max(float(instant_bound(S, problem).value), value)
