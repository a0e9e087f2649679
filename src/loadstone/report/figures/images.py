"""Components as the images their features are pixels of."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from loadstone.report.facts import Facts
from loadstone.report.figures.packed import Packed, packed

#: Pixels that are embedded, three letters each.
MAX_PIXELS = 600_000


@dataclass(frozen=True, kw_only=True)
class Images:
    """Loadings row by row, beside those of PCA where they fit; and the mean of the samples."""

    height: int
    width: int
    mean: Packed | None
    sparse: list[Packed]
    plain: list[Packed] | None
    follows: list[int]
    n_left_out: int


def images(facts: Facts) -> Images | None:
    """Loadings as images, for ``image_shape``."""
    if facts.image_shape is None:
        return None
    height, width = facts.image_shape
    n_images = max(1, min(facts.loadings.shape[1], MAX_PIXELS // (height * width)))
    shown = facts.loadings[:, :n_images]
    mean = np.asarray(facts.estimator.mean_, dtype=np.float64)
    plain = facts.matched
    if plain is not None and 2 * shown.size > MAX_PIXELS:
        plain = None
    return Images(
        height=height,
        width=width,
        mean=packed(mean) if np.ptp(mean) > 0 else None,
        sparse=[packed(w, around_zero=True) for w in shown.T],
        plain=None
        if plain is None
        else [packed(v, around_zero=True) for v in plain[:, :n_images].T],
        follows=[match + 1 for match in facts.matches],
        n_left_out=facts.loadings.shape[1] - n_images,
    )
