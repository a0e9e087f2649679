"""Loadings as bars with names, and as a heat map over components."""

from __future__ import annotations

from typing import Any

import numpy as np

from loadstone.plotting.fitted import components_of, names_of, ranked_features, refuse_nothing
from loadstone.plotting.style import MUTED, axes_or_new, colour_of, plain, shorten


def plot_loadings(
    estimator: Any,
    components: Any = None,
    *,
    feature_names: Any = None,
    max_features: int = 15,
    ax: Any = None,
) -> Any:
    """Draw the non-zero loadings as bars, largest first, component under component.

    Parameters
    ----------
    estimator : fitted estimator
        Anything with ``components_``.
    components : int or sequence of int, optional
        Which components, counted from 0; all by default.
    feature_names : array-like of str, optional
        Names to show; by default those seen in ``fit``.
    max_features : int, default=15
        Bars per component; what is left out is said beside the last one.
    ax : matplotlib Axes, optional
        Where to draw.

    Returns
    -------
    matplotlib Axes
    """
    chosen = components_of(estimator, components)
    names = names_of(estimator, feature_names)
    bars: list[tuple[int, int]] = []
    for j in chosen:
        bars.extend((j, i) for i in ranked_features(estimator.components_[j])[:max_features])
    ax = axes_or_new(ax, (7, 1.2 + 0.27 * (len(bars) + 1.6 * len(chosen))))
    heights, place = [], 0.0
    previous = None
    for j, _ in bars:
        place += 1.0 if j == previous or previous is None else 2.6
        heights.append(place)
        previous = j
    values = np.array([estimator.components_[j, i] for j, i in bars])
    ax.barh(heights, values, color=[colour_of(j) for j, _ in bars], height=0.8)
    ax.set_yticks(heights, shorten(names[i] for _, i in bars), parse_math=False)
    ax.set_ylim(place + 0.8, -0.3 if bars else -1.0)
    for j in chosen:
        top = min((h for h, (c, _) in zip(heights, bars, strict=True) if c == j), default=0.0)
        ax.text(
            0.0,
            top - 0.75,
            _heading(estimator, j, max_features),
            color=colour_of(j),
            transform=ax.get_yaxis_transform(),
            weight="bold",
            va="center",
            size="medium",
        )
    ax.axvline(0, color=MUTED, linewidth=0.8)
    ax.set_xlabel("loading")
    ax.tick_params(axis="y", length=0)
    return plain(ax)


def _heading(estimator: Any, j: int, max_features: int) -> str:
    text = f"Component {j + 1}"
    ratio = getattr(estimator, "explained_variance_ratio_", None)
    if ratio is not None:
        text += f": {100 * ratio[j]:.1f} % of the variance"
    hidden = int(np.count_nonzero(estimator.components_[j])) - max_features
    return f"{text} ({hidden} smaller loadings not shown)" if hidden > 0 else text


def plot_loadings_heatmap(
    estimator: Any,
    *,
    feature_names: Any = None,
    max_features: int = 60,
    ax: Any = None,
) -> Any:
    """Draw the loadings of all components as a heat map over the features in use.

    Parameters
    ----------
    estimator : fitted estimator
        Anything with ``components_``.
    feature_names : array-like of str, optional
        Names to show; by default those seen in ``fit``.
    max_features : int, default=60
        Rows; the features with the largest absolute loadings are kept.
    ax : matplotlib Axes, optional
        Where to draw.

    Returns
    -------
    matplotlib Axes
    """
    names = names_of(estimator, feature_names)
    refuse_nothing(estimator)
    V = np.asarray(estimator.components_, dtype=np.float64)
    used = np.flatnonzero(np.any(V != 0, axis=0))
    largest = used[np.argsort(-np.abs(V[:, used]).max(axis=0), kind="stable")[:max_features]]
    # Grouped by the component a feature matters most for, so that blocks show.
    owner = np.argmax(np.abs(V[:, largest]), axis=0)
    rows = largest[np.lexsort((-np.abs(V[:, largest]).max(axis=0), owner))]
    ax = axes_or_new(ax, (2.2 + 0.7 * V.shape[0], 1.2 + 0.26 * rows.size))
    limit = np.abs(V).max(initial=0.0) or 1.0
    nonnegative = bool((V >= 0).all())
    image = ax.imshow(
        V[:, rows].T,
        cmap="Blues" if nonnegative else "RdBu",
        vmin=0 if nonnegative else -limit,
        vmax=limit,
        aspect="auto",
        interpolation="nearest",
    )
    ax.set_yticks(range(rows.size), shorten(names[i] for i in rows), parse_math=False)
    ax.set_xticks(range(V.shape[0]), [str(j + 1) for j in range(V.shape[0])])
    ax.set_xlabel("component")
    ax.tick_params(length=0)
    ax.figure.colorbar(image, ax=ax, label="loading", shrink=0.6)
    return ax
