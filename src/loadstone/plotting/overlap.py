"""How many features components share."""

from __future__ import annotations

from typing import Any

import numpy as np

from loadstone._sklearn_compat import check_is_fitted
from loadstone.plotting.style import axes_or_new


def support_overlap(estimator: Any) -> Any:
    """Count the features that each pair of components shares.

    Parameters
    ----------
    estimator : fitted estimator
        Anything with ``components_``.

    Returns
    -------
    ndarray of int of shape (n_components, n_components)
        With the cardinality of each component on the diagonal.
    """
    check_is_fitted(estimator, "components_")
    support = (np.asarray(estimator.components_) != 0).astype(np.int64)
    return support @ support.T


def plot_support_overlap(estimator: Any, *, ax: Any = None) -> Any:
    """Draw how many features each pair of components shares, with the numbers.

    Parameters
    ----------
    estimator : fitted estimator
        Anything with ``components_``.
    ax : matplotlib Axes, optional
        Where to draw.

    Returns
    -------
    matplotlib Axes
    """
    shared = support_overlap(estimator)
    m = shared.shape[0]
    ax = axes_or_new(ax, (1.6 + 0.6 * max(m, 3), 1.4 + 0.6 * max(m, 3)))
    size = np.minimum.outer(shared.diagonal(), shared.diagonal())
    share = np.divide(shared, size, out=np.zeros(shared.shape), where=size > 0)
    ax.imshow(share, cmap="Blues", vmin=0, vmax=1, interpolation="nearest")
    for i in range(m):
        for j in range(m):
            ax.text(j, i, str(shared[i, j]), ha="center", va="center",
                    color="white" if share[i, j] > 0.55 else "#1a202c")  # fmt: skip
    ticks = [str(j + 1) for j in range(m)]
    ax.set_xticks(range(m), ticks)
    ax.set_yticks(range(m), ticks)
    ax.tick_params(length=0)
    ax.set_xlabel("component")
    ax.set_ylabel("component")
    ax.set_title("features in common", loc="left", fontsize="medium")
    return ax
