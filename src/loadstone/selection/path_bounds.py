"""Proven upper bounds along a path."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from loadstone.certificates import prove
from loadstone.certificates.bound_sample_space import sample_space_bounds
from loadstone.certificates.certificate import refuse_impossible
from loadstone.certificates.certificate_about import TOLERANCE
from loadstone.certificates.certificate_value import problem_of
from loadstone.constraints import LoadingConstraint
from loadstone.covariance import Array, Covariance, SampleGram
from loadstone.solvers.renormalise import renormalise

#: Seconds that ``certify="standard"`` may spend on one size.
STANDARD_SECONDS = 5.0


def upper_bounds(
    S: Covariance,
    constraints: Sequence[LoadingConstraint],
    supports: Iterable[Array],
    values: Array,
    effort: str,
) -> Array:
    """An upper limit of the variance at each size; a limit also holds for smaller sizes.

    Limits are rounded outwards in the precision of the data, in which ``values`` were computed.
    """
    if isinstance(S, SampleGram):
        return _outwards(_bounds_in_one_pass(S, constraints), values, S)
    time_limit = STANDARD_SECONDS if effort == "standard" else None
    bounds = []
    for constraint, support in zip(constraints, supports, strict=True):
        w = support.astype(S.dtype)
        w = renormalise(S, w / np.linalg.norm(w), constraint)[0]
        bounds.append(prove(S, constraint, w, effort=effort, time_limit=time_limit).upper_bound)
    return _outwards(np.minimum.accumulate(np.array(bounds)[::-1])[::-1], values, S)


def _outwards(bounds: Array, values: Array, S: Covariance) -> Array:
    """The bounds with room for the last digits of the data, and never below what was reached."""
    tolerance = TOLERANCE[str(S.dtype)]
    for value, bound in zip(values, bounds, strict=True):
        refuse_impossible(float(value) - tolerance * abs(float(value)), float(bound))
    rounded: Array = bounds + 8.0 * float(np.finfo(S.dtype).eps) * np.abs(bounds)
    return np.maximum(rounded, values)


def _bounds_in_one_pass(S: SampleGram, constraints: Sequence[LoadingConstraint]) -> Array:
    """The same for wide data out of core: all sizes share a reduction over all features."""
    problems = [problem_of(constraint) for constraint in constraints]
    bounds = [min(found) for found in sample_space_bounds(S, problems)]
    return np.minimum.accumulate(np.array(bounds)[::-1])[::-1]
