"""Receiver operating characteristics of several scores of the same samples."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from loadstone.plotting.style import COLOURS, MUTED, axes_or_new, plain

_DASHES = ("-", "--", "-.", ":")


def plot_roc(truth: Any, scores: Mapping[str, Any], *, ax: Any = None) -> Any:
    """Draw true against false positives, in percent, with the area under each curve.

    Parameters
    ----------
    truth : array-like of bool of shape (n_samples,)
        Which samples are positive.
    scores : mapping of str to array-like of shape (n_samples,)
        Scores by name, larger for samples that look positive: of a classifier on the
        components of several methods, say.
    ax : matplotlib Axes, optional
        Where to draw; a new figure otherwise.

    Returns
    -------
    matplotlib Axes
    """
    positive = np.asarray(truth, dtype=bool)
    if positive.all() or not positive.any():
        kind = "positive" if positive.any() else "negative"
        msg = f"all {positive.size} samples are {kind}; a curve needs samples of both kinds"
        raise ValueError(msg)
    if not isinstance(scores, Mapping):
        msg = f"scores is a {type(scores).__name__}; give scores by name, as {{'PCA': scores}}"
        raise TypeError(msg)
    ax = axes_or_new(ax, (4.8, 4.4))
    ax.plot([0, 100], [0, 100], color=MUTED, linewidth=0.8, linestyle=":")
    for place, (name, values) in enumerate(scores.items()):
        false, true = roc_points(positive, np.asarray(values, dtype=float))
        area = float(np.trapezoid(true, false))
        look = {"color": COLOURS[place % len(COLOURS)], "linestyle": _DASHES[place % len(_DASHES)]}
        ax.plot(100 * false, 100 * true, label=f"{name}: area {area:.3f}", **look)
    ax.set(xlabel="% false positives", ylabel="% true positives", xlim=(0, 100), ylim=(0, 100.5))
    ax.legend(loc="lower right", frameon=False, fontsize="small")
    return plain(ax)


def roc_points(positive: Any, scores: Any) -> tuple[Any, Any]:
    """Shares of negatives and positives above every threshold; equal scores pass together."""
    if scores.shape != positive.shape:
        msg = f"{scores.size} scores were given for {positive.size} samples"
        raise ValueError(msg)
    if np.isnan(scores).any():
        msg = f"{np.isnan(scores).sum()} of {scores.size} scores are NaN, which nothing is above"
        raise ValueError(msg)
    order = np.argsort(-scores, kind="stable")
    last = np.append(np.flatnonzero(np.diff(scores[order])), scores.size - 1)
    true = np.cumsum(positive[order])[last]
    false = last + 1 - true
    return np.append(0, false) / (~positive).sum(), np.append(0, true) / positive.sum()
