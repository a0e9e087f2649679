"""Colours and small habits that all pictures share."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

#: Told apart by people with any colour vision, and dark enough for white paper; as in reports.
COLOURS = ("#2b6cb0", "#c07b38", "#0f4924", "#a872ec", "#865d1b", "#569191", "#8d214e", "#5f497f")
NEGATIVE = "#c05621"
POSITIVE = "#2b6cb0"
MUTED = "#718096"


def colour_of(component: int) -> str:
    """Colour of a component, the same in every picture."""
    return COLOURS[component % len(COLOURS)]


def axes_or_new(ax: Any, size: tuple[float, float]) -> Any:
    """The axes given, or those of a new figure."""
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    return plt.subplots(figsize=size, layout="constrained")[1]


def shorten(names: Iterable[Any], at_most: int = 32) -> list[str]:
    """Names that fit beside a picture; the start and the end of a long one stay."""
    texts = [str(name) for name in names]
    keep = at_most // 2
    return [t if len(t) <= at_most else f"{t[: keep - 1]}…{t[-keep + 1 :]}" for t in texts]


def plain(ax: Any) -> Any:
    """Drop the frame, so that only the data is drawn."""
    ax.spines[["top", "right"]].set_visible(False)
    return ax
