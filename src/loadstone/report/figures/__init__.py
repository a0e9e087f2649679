"""The data of pictures that need more than the summary: one module per kind, values only.

A figure is a function of the :class:`loadstone.report.facts.Facts` that gives a frozen value, or
``None`` where there is nothing to draw. To add one: write its module, and name it here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from loadstone.report.facts import Facts
from loadstone.report.figures.comparison import comparison
from loadstone.report.figures.curves import curves
from loadstone.report.figures.distances import distances
from loadstone.report.figures.features import features
from loadstone.report.figures.images import images
from loadstone.report.figures.traces import traces

#: By the name under which the page finds them.
FIGURES: dict[str, Callable[[Facts], Any]] = {
    "features": features,
    "comparison": comparison,
    "distances": distances,
    "images": images,
    "curves": curves,
    "traces": traces,
}


def figures_of(facts: Facts) -> dict[str, dict[str, Any] | None]:
    """Every figure in plain values; ``None`` for those that have nothing to show."""
    if facts.loadings.shape[1] == 0:
        return dict.fromkeys(FIGURES)
    drawn = {name: figure(facts) for name, figure in FIGURES.items()}
    return {name: None if value is None else asdict(value) for name, value in drawn.items()}
