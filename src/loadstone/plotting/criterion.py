"""The criterion profile of a sparse noisy PCA, one curve per number of components."""

from __future__ import annotations

from typing import Any

import numpy as np

from loadstone.plotting.fitted import attribute_of
from loadstone.plotting.style import MUTED


def plot_criterion(estimator: Any, *, sizes: bool = False, ax: Any = None) -> Any:
    """Draw the criterion over the number of components, or over the penalty ``h`` for each.

    The second where the model was searched along a path of penalties (``n_penalties``).

    Parameters
    ----------
    estimator : SparseNoisyPCA
        Fitted; ``criterion_`` and ``best_`` are drawn.
    sizes : bool
        Over a path: also the non-zero loadings of the number of components that was chosen,
        on a second axis to the right.
    ax : matplotlib Axes, optional
        Where to draw; a new figure otherwise.

    Returns
    -------
    matplotlib Axes
    """
    table = attribute_of(estimator, "criterion_", "a fitted SparseNoisyPCA")
    best = attribute_of(estimator, "best_", "a fitted SparseNoisyPCA")
    if ax is None:
        from matplotlib import pyplot as plt

        ax = plt.subplots(layout="constrained")[1]
    name = estimator.penalty.upper() if isinstance(estimator.penalty, str) else "2 J"
    if "n_components_asked" not in table:
        return _by_size(ax, table, best, name)
    asked = np.unique(table["n_components_asked"])
    shades = _shades(int(np.count_nonzero(asked)))
    for r in asked[asked > 0]:
        rows = np.flatnonzero(table["n_components_asked"] == r)
        rows = rows[np.argsort(table["penalty"][rows])]
        marker = "o" if rows.size == 1 else ""
        chosen = r == best["n_components_asked"]
        ax.plot(
            table["penalty"][rows],
            table["criterion"][rows],
            marker=marker,
            color=next(shades),
            linewidth=2.0 if chosen else 1.2,
            label=f"r = {r}",
        )
    _mark_choice(ax, table, best)
    ax.set_xscale("log")
    ax.set_xlabel("penalty h")
    ax.set_ylabel(f"{name} per sample")
    _show_the_valley(ax, table, best)
    if asked.size > 1:
        ax.legend(title="components", frameon=False)
    if sizes:
        _draw_sizes(ax, table, best)
    return ax


def _draw_sizes(ax: Any, table: dict[str, np.ndarray], best: dict[str, Any]) -> None:
    """Non-zero loadings over the penalty, as steps: a plateau is where the support stays."""
    rows = np.flatnonzero(table["n_components_asked"] == best["n_components_asked"])
    rows = rows[np.argsort(table["penalty"][rows])]
    right = ax.twinx()
    right.spines["top"].set_visible(False)
    look = {"where": "mid", "color": MUTED, "linestyle": "--", "linewidth": 1.0}
    right.step(table["penalty"][rows], table["n_nonzero"][rows], **look)
    right.set_ylabel(f"non-zero loadings, r = {best['n_components_asked']} (dashed)")
    right.set_ylim(bottom=0)


def _by_size(ax: Any, table: dict[str, np.ndarray], best: dict[str, Any], name: str) -> Any:
    """One curve per kind of noise."""
    for kind, color in (("shared", "0.5"), ("free", "C0")):
        rows = np.flatnonzero(table["noise"] == kind)
        if rows.size:
            x, y = table["n_components"][rows], table["criterion"][rows]
            ax.plot(x, y, marker="o", color=color, label=f"{kind} noise")
    x, y = best["n_components"], best["criterion"]
    ax.plot(x, y, marker="o", markersize=8, color="crimson", linestyle="none", zorder=5)
    ax.xaxis.get_major_locator().set_params(integer=True)
    ax.set_xlabel("components")
    ax.set_ylabel(f"{name} per sample")
    ax.legend(frameon=False)
    return ax


def _shades(n: int) -> Any:
    from matplotlib import colormaps

    return iter(colormaps["viridis"](np.linspace(0.0, 0.85, max(n, 1))))


def _mark_choice(ax: Any, table: dict[str, np.ndarray], best: dict[str, Any]) -> None:
    empty = table["criterion"][table["n_components_asked"] == 0]
    if empty.size:
        ax.axhline(empty[0], color="0.6", linestyle=":", label="none")
    if best["n_components_asked"] > 0:
        found = best["n_components"]
        plural = "" if found == 1 else "s"
        text = f"chosen: {found} component{plural},\n{best['n_nonzero']} non-zero loadings"
        x, y = best["penalty"], best["criterion"]
        ax.plot(x, y, marker="o", markersize=8, color="crimson", linestyle="none", zorder=5)
        place = {"xytext": (0, -14), "textcoords": "offset points", "ha": "center", "va": "top"}
        ax.annotate(text, (x, y), **place, color="crimson", fontsize="small")


def _show_the_valley(ax: Any, table: dict[str, np.ndarray], best: dict[str, Any]) -> None:
    """Leave room below for the label, and cut off dense models that tower over the rest."""
    values = table["criterion"]
    low = float(best["criterion"])
    high = float(np.quantile(values, 0.9)) if values.size > 4 else float(values.max())
    span = max(high - low, 1e-3 * (1 + abs(low)))
    ax.set_ylim(low - 0.25 * span, high + 0.05 * span)
