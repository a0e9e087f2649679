"""Scores as a scatter, and as a biplot with the selected features."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from loadstone.files.classes import classes_of
from loadstone.plotting.fitted import components_of, names_of, ranked_features
from loadstone.plotting.style import COLOURS, MUTED, axes_or_new, colour_of, plain, shorten

#: Classes beyond this number are drawn in one colour and named together.
MAX_CLASSES = 12
INK = "#2d3748"


def plot_scores(
    estimator: Any, X: Any, *, labels: Any = None, components: Any = (0, 1), ax: Any = None
) -> Any:
    """Draw the scores of two components against each other.

    Parameters
    ----------
    estimator : fitted estimator
        Anything with ``transform``.
    X : array-like of shape (n_samples, n_features)
        Data to project.
    labels : array-like of shape (n_samples,), optional
        Classes to colour by; samples without one (``None``, NaN or empty) are drawn in grey.
    components : pair of int, default=(0, 1)
        Which components, counted from 0; a single component is drawn over the rows.
    ax : matplotlib Axes, optional
        Where to draw.

    Returns
    -------
    matplotlib Axes
    """
    across, up = _pair(estimator, components)
    Z = np.asarray(estimator.transform(X), dtype=np.float64)
    x = np.arange(Z.shape[0]) if across is None else Z[:, across]
    ax = axes_or_new(ax, (5.6, 4.6))
    for text, rows, colour in _groups(labels, Z.shape[0]):
        ax.scatter(x[rows], Z[rows, up], s=18, color=colour, alpha=0.75, linewidths=0, label=text)
    if labels is not None:
        # Beside the points: a place among them is sought for seconds where there are many.
        legend = ax.legend(
            frameon=False, fontsize="small", loc="upper left", bbox_to_anchor=(1.0, 1.0)
        )
        for entry in legend.get_texts():
            entry.set_parse_math(False)
    ax.set_xlabel("sample" if across is None else f"score on component {across + 1}")
    ax.set_ylabel(f"score on component {up + 1}")
    return plain(ax)


def plot_biplot(
    estimator: Any,
    X: Any,
    *,
    labels: Any = None,
    components: Any = (0, 1),
    feature_names: Any = None,
    max_features: int = 20,
    ax: Any = None,
) -> Any:
    """Draw the scores of two components with arrows for the features they use.

    Features that both components leave out have no arrow: that is the point of
    sparse components.

    Parameters
    ----------
    estimator : fitted estimator
        Anything with ``components_`` and ``transform``.
    X : array-like of shape (n_samples, n_features)
        Data to project.
    labels : array-like of shape (n_samples,), optional
        Classes to colour by; samples without one (``None``, NaN or empty) are drawn in grey.
    components : pair of int, default=(0, 1)
        Which components, counted from 0.
    feature_names : array-like of str, optional
        Names to show; by default those seen in ``fit``.
    max_features : int, default=20
        Arrows; the largest loadings are kept.
    ax : matplotlib Axes, optional
        Where to draw.

    Returns
    -------
    matplotlib Axes
    """
    across, up = _pair(estimator, components)
    if across is None:
        msg = "a biplot needs two components, and the estimator has one; use plot_scores"
        raise ValueError(msg)
    ax = plot_scores(estimator, X, labels=labels, components=components, ax=ax)
    names = names_of(estimator, feature_names)
    V = np.asarray(estimator.components_, dtype=np.float64)[[across, up]]
    used = ranked_features(np.linalg.norm(V, axis=0))[:max_features]
    reach = 0.8 * min(np.abs(ax.get_xlim()).max(), np.abs(ax.get_ylim()).max())
    tips = V[:, used] * reach / (np.linalg.norm(V[:, used], axis=0).max(initial=0.0) or 1.0)
    for tip in tips.T:
        ax.annotate("", tip, (0, 0), arrowprops={"arrowstyle": "->", "color": INK, "lw": 0.9})
    _name_arrows(ax, tips, shorten((names[i] for i in used), 24))
    ax.axhline(0, color=MUTED, linewidth=0.6, zorder=0)
    ax.axvline(0, color=MUTED, linewidth=0.6, zorder=0)
    return ax


def _name_arrows(ax: Any, tips: Any, names: list[str]) -> None:
    """Write names at the tips, spread out where many features lie on one axis."""
    style = {"fontsize": "small", "parse_math": False, "color": INK}
    lead = {"arrowstyle": "-", "color": MUTED, "lw": 0.5, "shrinkA": 0, "shrinkB": 0}
    on_x, on_y = tips[1] == 0, tips[0] == 0
    (left, right), (low, high) = ax.get_xlim(), ax.get_ylim()
    lift, push = 0.06 * (high - low), 0.05 * (right - left)
    for i, x in zip(
        np.flatnonzero(on_x), _spread(tips[0, on_x], 0.045 * (right - left)), strict=True
    ):
        ax.annotate(names[i], tips[:, i], (x, lift), rotation=90, ha="center", va="bottom",
                    arrowprops=lead, **style)  # fmt: skip
    for i, y in zip(
        np.flatnonzero(on_y), _spread(tips[1, on_y], 0.045 * (high - low)), strict=True
    ):
        ax.annotate(names[i], tips[:, i], (push, y), va="center", arrowprops=lead, **style)
    for i in np.flatnonzero(~on_x & ~on_y):
        ax.annotate(names[i], tips[:, i], (4, 2), textcoords="offset points", **style)


def _spread(places: Any, gap: float) -> Any:
    """Move places apart to at least ``gap``, keeping their order and their middle."""
    order = np.argsort(places, kind="stable")
    moved = np.array(places, dtype=np.float64)
    for before, after in pairwise(order):
        moved[after] = max(moved[after], moved[before] + gap)
    return moved - (moved.mean() - np.mean(places)) if moved.size else moved


def _pair(estimator: Any, components: Any) -> tuple[int | None, int]:
    if len(components_of(estimator)) == 1:
        return None, 0
    pair = components_of(estimator, components)
    if len(pair) != 2:
        msg = f"components={components} must be two, one for each direction of the picture"
        raise ValueError(msg)
    return pair[0], pair[1]


def _groups(labels: Any, n_samples: int) -> list[tuple[str | None, Any, str]]:
    if labels is None:
        return [(None, np.arange(n_samples), colour_of(0))]
    labels = classes_of(labels)
    if labels.shape != (n_samples,):
        msg = f"{labels.size} labels were given for {n_samples} samples"
        raise ValueError(msg)
    # Of no class is no class: those samples lie below the others, in no colour.
    without = np.flatnonzero(labels == "")
    unlabelled = [(f"unlabelled ({without.size})", without, MUTED)] if without.size else []
    kinds, counts = np.unique(labels[labels != ""], return_counts=True)
    if kinds.size > MAX_CLASSES:
        return [*unlabelled, (f"{kinds.size} classes", np.flatnonzero(labels != ""), colour_of(0))]
    palette = [*COLOURS, "#d69e2e", "#319795", "#b83280", "#1a202c"]
    return [
        *unlabelled,
        *(
            (f"{kind} ({count})", np.flatnonzero(labels == kind), palette[i])
            for i, (kind, count) in enumerate(zip(kinds, counts, strict=True))
        ),
    ]
