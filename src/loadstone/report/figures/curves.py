"""Components along an axis: wavelengths, times, places."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from loadstone.report.facts import Facts
from loadstone.report.figures.packed import Packed, packed, shortened

#: Points that are embedded, three letters each.
MAX_POINTS = 600_000


@dataclass(frozen=True, kw_only=True)
class Curves:
    """One entry per feature, in the order of the axis; the data as its mean and deviation."""

    axis: list[float | None]
    names: list[str]
    mean: Packed
    deviation: Packed | None
    sparse: list[Packed]
    plain: list[Packed] | None
    follows: list[int]


def curves(facts: Facts) -> Curves | None:
    """Loadings as curves, for ``feature_axis``."""
    if facts.feature_axis is None:
        return None
    order = np.argsort(facts.feature_axis, kind="stable")
    n_shown = max(1, min(facts.loadings.shape[1], MAX_POINTS // order.size))
    plain = facts.matched
    if plain is not None and 2 * n_shown * order.size > MAX_POINTS:
        plain = None
    deviation = None
    if facts.covariance is not None:
        variance = np.asarray(facts.covariance.diagonal(), dtype=np.float64)
        deviation = packed((np.sqrt(np.maximum(variance, 0)) * facts.unit)[order])
    return Curves(
        axis=shortened(facts.feature_axis[order]),
        names=[str(facts.names[i]) for i in order],
        mean=packed(np.asarray(facts.estimator.mean_, dtype=np.float64)[order]),
        deviation=deviation,
        sparse=[packed(w[order], around_zero=True) for w in facts.loadings.T[:n_shown]],
        plain=None
        if plain is None
        else [packed(v[order], around_zero=True) for v in plain.T[:n_shown]],
        follows=[match + 1 for match in facts.matches],
    )
