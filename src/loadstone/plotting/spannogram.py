"""The spannogram itself: one curve per feature over the directions of rank two."""

from __future__ import annotations

from typing import Any

import numpy as np

from loadstone.plotting.fitted import attribute_of, components_of, names_of
from loadstone.plotting.style import axes_or_new, colour_of, plain, shorten

_N_ANGLES = 721


def plot_spannogram(
    estimator: Any,
    component: int = 0,
    *,
    feature_names: Any = None,
    max_curves: int = 200,
    ax: Any = None,
) -> Any:
    """Draw the curves of a rank-2 spannogram, with the chosen direction and its interval.

    At each angle the heights of the curves are the entries of one vector in the range of
    the low-rank factor; the highest ``n_nonzero`` of them are the support that direction
    selects. The support is the same throughout the shaded interval.

    Parameters
    ----------
    estimator : SpannogramPCA
        Fitted with ``rank=2``.
    component : int, default=0
        Which component.
    feature_names : array-like of str, optional
        Names for the legend, which is drawn for up to ten selected features.
    max_curves : int, default=200
        Most curves drawn for features that are not selected, those of largest height.
    ax : matplotlib Axes, optional
        Where to draw.

    Returns
    -------
    matplotlib Axes
    """
    V, c = _rank_two_factor(estimator, component)
    nonnegative = estimator.nonnegative
    n_nonzero = int(estimator.n_nonzero_[component])
    chosen = _selected(V, c, n_nonzero, nonnegative=nonnegative)
    low, high = constant_interval(V, c, chosen, n_nonzero, nonnegative=nonnegative)
    ax = axes_or_new(ax, (7.0, 4.0))
    ax.axvspan(low, high, color="0.9", zorder=0, label="_interval")
    ax.axhline(0.0, color="0.3", linewidth=0.8)
    names = shorten(names_of(estimator, feature_names))
    _draw_curves(ax, V, chosen, names, max_curves, nonnegative=nonnegative)
    ax.axvline(np.arctan2(c[0], c[1]), color="k", linestyle="--", linewidth=1.0)
    ax.set(xlim=(-np.pi, np.pi), xlabel=r"$\phi$", ylabel="height of the feature's curve")
    ax.set_title(f"Spannogram of component {component + 1}")
    return plain(ax)


def _rank_two_factor(estimator: Any, component: int) -> tuple[Any, Any]:
    (component,) = components_of(estimator, component)
    fitted = "SpannogramPCA(rank=2), fitted"
    V = attribute_of(estimator, "low_rank_factors_", fitted)[component]
    c = attribute_of(estimator, "directions_", fitted)[component]
    if V.shape[1] != 2:
        msg = (
            f"component {component} was found with an approximation of rank {V.shape[1]}; "
            "a spannogram can be drawn for rank 2, so fit SpannogramPCA(rank=2)"
        )
        raise ValueError(msg)
    return V, c


def _draw_curves(
    ax: Any, V: Any, chosen: Any, names: Any, max_curves: int, *, nonnegative: bool
) -> None:
    """One curve per feature: grey, or coloured and named where it is selected."""
    angles = np.linspace(-np.pi, np.pi, _N_ANGLES)
    heights = _heights(V, np.stack([np.sin(angles), np.cos(angles)]), nonnegative=nonnegative)
    size = np.linalg.norm(V, axis=1)
    size[chosen] = -1.0
    others = np.argsort(-size, kind="stable")[:max_curves]
    ax.plot(angles, heights[others[size[others] > 0.0]].T, color="0.7", linewidth=0.6)
    for place, i in enumerate(chosen):
        ax.plot(angles, heights[i], color=colour_of(place), linewidth=1.4, label=names[i])
    if chosen.size <= 10:
        ax.legend(frameon=False, loc="upper right", fontsize="small")


def constant_interval(
    V: Any, c: Any, chosen: Any, n_nonzero: int, *, nonnegative: bool
) -> tuple[float, float]:
    """Angles around the direction ``c`` between which ``chosen`` stays the selected support."""
    here = float(np.arctan2(c[0], c[1]))
    rest = np.setdiff1d(np.flatnonzero(V.any(axis=1)), chosen)
    rivals = [V[chosen]] if nonnegative else []
    if chosen.size == n_nonzero:
        rivals += [v - V[rest] for v in V[chosen]]
        if not nonnegative:
            rivals += [v + V[rest] for v in V[chosen]]
    elif nonnegative:
        rivals.append(V[rest])
    before, after = np.pi, np.pi
    for normals in rivals:
        normals = normals[normals.any(axis=1)]
        # normal . (sin phi, cos phi) = 0, once every half turn.
        crossings = (np.arctan2(-normals[:, 1], normals[:, 0]) - here) % np.pi
        after = min(after, crossings.min(initial=np.pi))
        before = min(before, (np.pi - crossings).min(initial=np.pi))
    return here - before, here + after


def _heights(V: Any, C: Any, *, nonnegative: bool) -> Any:
    return V @ C if nonnegative else np.abs(V @ C)


def _selected(V: Any, c: Any, limit: int, *, nonnegative: bool) -> Any:
    heights = _heights(V, c, nonnegative=nonnegative)
    top = np.argsort(-heights, kind="stable")[:limit]
    return np.sort(top[heights[top] > 0.0])
