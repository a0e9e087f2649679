"""The objective along the search."""

from __future__ import annotations

from typing import Any

import numpy as np

from loadstone._sklearn_compat import check_is_fitted
from loadstone.plotting.fitted import is_of_all, upper_bounds_of
from loadstone.plotting.style import axes_or_new, colour_of, plain


def plot_convergence(estimator: Any, *, ax: Any = None) -> Any:
    """Draw the objective of each component along its search.

    Proven upper bounds, where the estimator has them, are drawn as dotted lines.

    Parameters
    ----------
    estimator : fitted estimator
        Anything with ``objective_``: one trace per component, or one for all.
    ax : matplotlib Axes, optional
        Where to draw.

    Returns
    -------
    matplotlib Axes
    """
    from matplotlib.ticker import MaxNLocator

    check_is_fitted(estimator, "components_")
    trace = getattr(estimator, "objective_", None)
    if trace is None or not len(trace):
        msg = f"{type(estimator).__name__} keeps no trace of its objective: nothing to draw"
        raise ValueError(msg)
    traces = [np.atleast_1d(t) for t in ([trace] if np.ndim(trace[0]) == 0 else trace)]
    joint, n_components = is_of_all(estimator, traces), len(estimator.components_)
    bounds = None if joint else upper_bounds_of(estimator)
    ax = axes_or_new(ax, (6, 3.8))
    for j, values in enumerate(traces):
        label = "all components" if joint and n_components != 1 else f"component {j + 1}"
        ax.plot(np.arange(1, values.size + 1), values, color=colour_of(j), marker=".", label=label)
        if bounds is not None and np.isfinite(bounds[j]):
            ax.axhline(bounds[j], color=colour_of(j), linestyle=":", linewidth=1)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    ax.set_xlabel("iteration")
    ax.set_ylabel("objective" if joint else "variance")
    ax.legend(frameon=False, loc="lower right")
    return plain(ax)
