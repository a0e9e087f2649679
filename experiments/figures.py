"""Habits of all figures: size, colours told apart by everybody, markers beside colours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from loadstone.plotting.style import COLOURS, plain

#: A curve differs from the next in colour, dash and marker, so that it survives a grey printer.
DASHES = ("-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1, 1, 1)), (0, (1, 1)), "-")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")


def panels(
    n_columns: int = 1, n_rows: int = 1, *, width: float = 5.0, height: float = 3.6, **kwargs: Any
) -> tuple[Figure, Any]:
    """A figure and its axes, as an array of rows and columns, without a window.

    Keywords go to :meth:`matplotlib.figure.Figure.subplots`.
    """
    figure = Figure(figsize=(width * n_columns, height * n_rows), layout="constrained")
    axes = figure.subplots(n_rows, n_columns, squeeze=False, **kwargs)
    for ax in axes.ravel():
        plain(ax)
    return figure, axes


def curve(ax: Any, x: Any, y: Any, place: int, label: str, **kwargs: Any) -> None:
    """One curve of several, in the look of its place."""
    look = {
        "color": COLOURS[place % len(COLOURS)],
        "linestyle": DASHES[place % len(DASHES)],
        "marker": MARKERS[place % len(MARKERS)],
        "markersize": 3.5,
        "linewidth": 1.4,
    }
    ax.plot(np.asarray(x), np.asarray(y), label=label, **{**look, **kwargs})


def finish(
    ax: Any, *, title: str, x: str, y: str, legend: bool = True, loc: str = "best", **kwargs: Any
) -> None:
    """Labels and, where there is something to tell apart, a legend."""
    ax.set(title=title, xlabel=x, ylabel=y, **kwargs)
    ax.title.set_fontsize("medium")
    if legend:
        ax.legend(loc=loc, fontsize="small", framealpha=0.85, edgecolor="none")


def legend_below(figure: Figure, ax: Any, n_columns: int) -> None:
    """One legend for all panels, under them, where it hides nothing."""
    look = {"fontsize": "small", "frameon": False}
    figure.legend(
        *ax.get_legend_handles_labels(), loc="outside lower center", ncols=n_columns, **look
    )


def images(
    rows: Sequence[Any],
    *,
    shape: tuple[int, int],
    names: Sequence[str],
    titles: Sequence[Sequence[str]] | None = None,
    signed: bool | Sequence[bool] = False,
) -> Figure:
    """Rows of small pictures, each row with its name; dark is large, signed ones are two-coloured.

    ``signed`` is one word for all rows, or one for each.
    """
    two_coloured = [signed] * len(rows) if isinstance(signed, bool) else list(signed)
    n_columns = max(len(row) for row in rows)
    figure = Figure(figsize=(1.15 * n_columns + 1.0, 1.35 * len(rows)), layout="constrained")
    axes = figure.subplots(len(rows), n_columns, squeeze=False)
    for r, row in enumerate(rows):
        for c, ax in enumerate(axes[r]):
            ax.set(xticks=[], yticks=[])
            ax.spines[:].set_visible(c < len(row))
            if c < len(row):
                picture = np.asarray(row[c], dtype=float).reshape(shape)
                top = float(np.abs(picture).max()) or 1.0
                limits = (
                    {"cmap": "PuOr", "vmin": -top, "vmax": top}
                    if two_coloured[r]
                    else {"cmap": "gray_r"}
                )
                ax.imshow(picture, **limits)
                if titles is not None and c < len(titles[r]):
                    ax.set_title(titles[r][c], fontsize="x-small")
        axes[r][0].set_ylabel(names[r], fontsize="small", rotation=0, ha="right", va="center")
    return figure
