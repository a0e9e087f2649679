"""Loadings beside those of the principal component that each component follows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from loadstone.plotting.fitted import ranked_features
from loadstone.report.facts import Facts
from loadstone.report.figures.packed import short, shortened

#: Features named per component: those in use, and those that only PCA uses.
MAX_USED = 12
MAX_OTHERS = 5


@dataclass(frozen=True, kw_only=True)
class Beside:
    """One component beside a principal component, whose sign is turned to agree."""

    follows: int
    correlation: float
    features: list[str]
    sparse: list[float | None]
    plain: list[float | None]
    share_inside: float


@dataclass(frozen=True)
class Comparison:
    """One entry per component."""

    components: list[Beside]


def comparison(facts: Facts) -> Comparison | None:
    """What PCA makes of the features in use, and which others it leans on."""
    if facts.matched is None or facts.pca_correlations is None:
        return None
    found = []
    for j, match in enumerate(facts.matches):
        w = facts.loadings[:, j]
        v = facts.matched[:, j]
        outside = np.where(w == 0, v, 0)
        named = np.concatenate(
            [ranked_features(w)[:MAX_USED], ranked_features(outside)[:MAX_OTHERS]]
        )
        found.append(
            Beside(
                follows=match + 1,
                correlation=short(abs(facts.pca_correlations[j, match])),
                features=[str(facts.names[i]) for i in named],
                sparse=shortened(w[named]),
                plain=shortened(v[named]),
                share_inside=short(np.sum(v[w != 0] ** 2)),
            )
        )
    return Comparison(found)
