"""Variance against cardinality, and variance per component."""

from __future__ import annotations

from typing import Any

import numpy as np

from loadstone._sklearn_compat import check_is_fitted
from loadstone.plotting.fitted import attribute_of, pca_variance_of, pca_variances, upper_bounds_of
from loadstone.plotting.style import MUTED, axes_or_new, colour_of, plain


def plot_variance_path(
    path: Any,
    *,
    pca_variance: float | None = None,
    chosen: int | None = None,
    recovered: bool = False,
    ax: Any = None,
) -> Any:
    """Draw the variance a component reaches against the number of features it uses.

    Parameters
    ----------
    path : CardinalityPath
        Anything with ``n_nonzeros`` and ``values``; proven upper bounds are drawn as a
        band where it has certificates.
    pca_variance : float, optional
        Variance of the first plain principal component, drawn as a line; by default
        that of the path.
    chosen : int, optional
        A number of features to mark.
    recovered : bool, default=False
        Draw what the component recovers of all features instead, in per cent; a path of
        ``objective="recovery"`` is drawn so in any case.
    ax : matplotlib Axes, optional
        Where to draw.

    Returns
    -------
    matplotlib Axes
    """
    owner = "what cardinality_path returns"
    sizes = np.asarray(attribute_of(path, "n_nonzeros", owner))
    values = np.asarray(attribute_of(path, "values", owner), dtype=np.float64)
    bounds = upper_bounds_of(path)
    pca = pca_variance_of(path) if pca_variance is None else pca_variance
    recovered = recovered or getattr(path, "objective", "variance") == "recovery"
    if recovered:
        # Bounds are about the variance of the scores.
        values, bounds, pca = 100 * path.recovered, None, 100 * path.pca_recovered
    ax = axes_or_new(ax, (6.4, 4.2))
    if bounds is not None:
        known = np.isfinite(bounds)
        bounds = bounds if pca is None else np.minimum(bounds, pca)
        ax.fill_between(
            sizes[known], values[known], bounds[known], color=colour_of(0), alpha=0.18, linewidth=0,
            label="no component can lie above this band",
        )  # fmt: skip
    ax.plot(sizes, values, color=colour_of(0), marker="o", markersize=3, label="sparse component")
    if pca is not None:
        ax.axhline(pca, color=MUTED, linestyle="--", linewidth=1, label="PCA, all features")
    if chosen is not None:
        _mark(ax, sizes, values, chosen)
    if sizes.max() > 50 * max(sizes.min(), 1):
        ax.set_xscale("log")
    ax.set_ylim(bottom=0)
    ax.set_xlabel("features in the component")
    ax.set_ylabel("% of all features' variance recovered" if recovered else "variance")
    ax.legend(frameon=False, loc="lower right")
    return plain(ax)


def _mark(ax: Any, sizes: Any, values: Any, chosen: int) -> None:
    place = np.flatnonzero(sizes == chosen)
    if place.size == 0:
        msg = f"chosen={chosen} is not a size of this path ({sizes.min()} to {sizes.max()})"
        raise ValueError(msg)
    ax.plot(
        chosen, values[place[0]], "o", markersize=9, color=colour_of(1), zorder=3, label="chosen"
    )
    ax.annotate(
        f"{chosen} features",
        (chosen, values[place[0]]),
        xytext=(8, -14),
        textcoords="offset points",
    )


def plot_scree(
    estimator: Any,
    X: Any = None,
    *,
    cumulative: bool = False,
    sample_weight: Any = None,
    ax: Any = None,
) -> Any:
    """Draw the variance of components, beside PCA's where ``X`` is given.

    Parameters
    ----------
    estimator : fitted estimator
        Anything with ``explained_variance_ratio_``.
    X : array-like, optional
        The data it was fitted to.
    cumulative : bool, default=False
        Draw what the first 1, 2, ... components reach together, and what they recover of
        all features; else the adjusted variance of each.
    sample_weight : array-like of shape (n_samples,), optional
        The weights it was fitted with, which PCA gets as well.
    ax : matplotlib Axes, optional
        Where to draw.

    Returns
    -------
    matplotlib Axes
    """
    check_is_fitted(estimator, "components_")
    ratio = np.asarray(estimator.explained_variance_ratio_, dtype=np.float64)
    series = [(ratio, colour_of(0), "adjusted variance")]
    recovered = vars(estimator).get("recovered_variance_ratio_")
    if cumulative and recovered is not None:
        # A cumulative number already: differences add up to it.
        series.append((np.diff(recovered, prepend=0.0), colour_of(1), "recovered variance"))
    if X is not None:
        plain_ratio = pca_variances(estimator, X, sample_weight) / estimator.total_variance_
        series.append((plain_ratio, MUTED, "PCA, all features"))
    ax = axes_or_new(ax, (1.8 + 0.8 * max(ratio.size, 3), 3.8))
    width = 0.8 / len(series)
    places = np.arange(1, ratio.size + 1)
    for i, (values, colour, label) in enumerate(series):
        heights = 100 * (np.cumsum(values) if cumulative else values)
        offset = (i - (len(series) - 1) / 2) * width
        ax.bar(places + offset, heights, width=width, color=colour, label=label)
    ax.set_xticks(places)
    ax.set_xlabel("component")
    ax.set_ylabel("% of the variance" + (", together" if cumulative else ""))
    ax.legend(frameon=False, loc="upper left" if cumulative else "upper right")
    return plain(ax)
