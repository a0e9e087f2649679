"""When a covariance is refused: too large, not finite, foreign, or rounding alone."""

from __future__ import annotations

from typing import Any

import numpy as np

from loadstone.covariance.checks import named_features, refuse_not_finite
from loadstone.covariance.protocol import Array, Support
from loadstone.covariance.scatter import Scatter

#: Relative error of a variance from which on it is refused.
MAX_ROUNDING = 1e-10
#: Largest matrices that are kept: one of 16384 features.
MAX_BYTES = 2 << 30


class LostDigitsError(ValueError):
    """What is left of a variance is rounding."""


def refuse_large(n_features: int, n_parts: int = 1) -> None:
    """Refuse matrices that take too much memory, before the data is read."""
    size = 8 * n_parts * n_features**2
    if size > MAX_BYTES:
        msg = (
            f"{n_parts} covariance(s) of {n_features} features take {size / 2**30:.1f} GiB, more "
            f"than the {MAX_BYTES / 2**30:.1f} GiB allowed here; select features first, or hand the "
            "data itself to SparsePCA or EMPCA, which never form the matrix"
        )
        raise MemoryError(msg)


def refuse_not_finite_sums(sums: Scatter, names: Array | None, *, seen: bool) -> None:
    """Refuse NaN and infinity, which one pass finds in the sums, and sums that overflow."""
    refuse_not_finite(sums.mean, sums.matrix.diagonal(), names, seen=seen)


def refuse_foreign(rest: Scatter, names: Array | None) -> None:
    """Refuse a difference that is no covariance: a negative variance, a correlation above 1."""
    variances = rest.matrix.diagonal()
    slack = np.sqrt(np.maximum(variances, 0) + 100 * rest.rounding)
    bad = np.flatnonzero((variances < -100 * rest.rounding) | _too_correlated(rest.matrix, slack))
    if bad.size:
        msg = (
            f"what is left of feature(s) {named_features(bad, names)} is no covariance, so the part "
            "was never in the whole; subtract only rows that were added before"
        )
        raise ValueError(msg)


def _too_correlated(matrix: Array, largest: Array) -> Array:
    over = np.abs(matrix) > (1 + 1e-8) * np.multiply.outer(largest, largest)
    return np.asarray(over.any(axis=1))


def refuse_lost(
    sums: Scatter, constant: Support, names: Array | None, dtype: Any = np.float64
) -> None:
    """Refuse varying features whose variance has fewer than ten digits left.

    A matrix that is rounded to single precision afterwards needs no more than that has.
    """
    variances = sums.matrix.diagonal()
    limit = MAX_ROUNDING if dtype == np.float64 else 64 * float(np.finfo(dtype).eps)
    lost = sums.rounding > limit * variances
    lost[constant] = False
    bad = np.flatnonzero(lost)
    if bad.size:
        msg = (
            f"the variance of feature(s) {named_features(bad, names)} has lost its digits (its "
            f"rounding may exceed {limit:g} of it): too much was subtracted. Merge the parts that "
            "are left instead of subtracting the others, or subtract a constant from these features "
            "first"
        )
        raise LostDigitsError(msg)


def refuse_other_names(names: Array, others: Array) -> None:
    """Refuse features that are called differently in two covariances."""
    differ = np.flatnonzero(names != others)
    if differ.size:
        i = differ[0]
        msg = (
            f"feature {i} is called {names[i]!r} in one covariance and {others[i]!r} in the other; "
            "bring the columns into the same order"
        )
        raise ValueError(msg)
