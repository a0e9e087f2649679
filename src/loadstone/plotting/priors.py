"""What a sparsity prior does to a loading: its penalty, its contours, and its threshold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from loadstone.plotting.style import COLOURS, MUTED, axes_or_new, plain
from loadstone.solvers.variational_bayes.one_loading import (
    penalised_estimate,
    penalty,
    variational_estimate,
)
from loadstone.solvers.variational_bayes.priors import PRIORS

_DASHES = ("-", "--", "-.", ":")


def plot_prior_penalty(
    priors: Sequence[tuple[str, Mapping[str, float]]], *, largest: float = 3.0, ax: Any = None
) -> Any:
    """Draw ``-ln p(w)`` over a loading ``w``, zero at the right end.

    Parameters
    ----------
    priors : sequence of (str, mapping)
        Priors (``"laplace"``, ``"inverse_gaussian"``, ``"jeffreys"``) with their
        hyperparameters: ``[("laplace", {"lam": 0.5}), ("jeffreys", {})]``.
    largest : float
        Loadings from minus this to this are drawn.
    ax : matplotlib Axes, optional
        Where to draw; a new figure otherwise.

    Returns
    -------
    matplotlib Axes
    """
    ax = axes_or_new(ax, (4.8, 3.6))
    # Jeffreys' penalty has no lowest point: zero itself is left out.
    w = np.linspace(-largest, largest, 800)
    for place, (name, values) in enumerate(priors):
        height = penalty(_prior(name, values), w)
        ax.plot(w, height - height[-1], label=label_of(name, values), **_look(place))
    ax.set(xlabel="loading w", ylabel="penalty, -ln p(w)")
    ax.legend(frameon=False, fontsize="small")
    return plain(ax)


def plot_prior_contours(
    prior: str, hyperparameters: Mapping[str, float], *, largest: float = 3.0, ax: Any = None
) -> Any:
    """Draw lines of equal penalty of two loadings.

    Corners on the axes are what makes loadings zero: there an ellipse of equal fit touches first.

    Parameters
    ----------
    prior : {"laplace", "inverse_gaussian", "jeffreys"}
        Name of the prior.
    hyperparameters : mapping of str to float
        Its hyperparameters.
    largest : float
        Loadings from minus this to this are drawn.
    ax : matplotlib Axes, optional
        Where to draw; a new figure otherwise.

    Returns
    -------
    matplotlib Axes
    """
    ax = axes_or_new(ax, (3.6, 3.6))
    w = np.linspace(-largest, largest, 400)
    height = penalty(_prior(prior, hyperparameters), w)
    total = height[:, None] + height[None, :]
    # Through points on the diagonal at equal distances, so that shapes can be compared.
    levels = 2 * np.interp(np.linspace(0.15, 0.5, 4) * largest, w[200:], height[200:])
    look = {"colors": [COLOURS[0]], "linewidths": 1.2, "linestyles": "solid"}
    ax.contour(w, w, total, levels=levels, **look)
    ax.axhline(0, color=MUTED, linewidth=0.6)
    ax.axvline(0, color=MUTED, linewidth=0.6)
    ax.set(xlabel="$w_1$", ylabel="$w_2$", aspect="equal", title=label_of(prior, hyperparameters))
    return plain(ax)


def plot_prior_threshold(
    priors: Sequence[tuple[str, Mapping[str, float]]],
    *,
    largest: float = 5.0,
    variational: bool = False,
    ax: Any = None,
) -> Any:
    """Draw what is estimated of a loading that is observed as ``t`` with unit noise.

    Parameters
    ----------
    priors : sequence of (str, mapping)
        As for :func:`plot_prior_penalty`.
    largest : float
        Observations from 0 to this are drawn.
    variational : bool
        Posterior means of the variational updates; the penalised estimates otherwise.
    ax : matplotlib Axes, optional
        Where to draw; a new figure otherwise.

    Returns
    -------
    matplotlib Axes
    """
    ax = axes_or_new(ax, (4.8, 3.6))
    t = np.linspace(0, largest, 201)
    estimate = variational_estimate if variational else penalised_estimate
    ax.plot(t, t, color=MUTED, linewidth=0.8, label="no prior")
    for place, (name, values) in enumerate(priors):
        ax.plot(t, estimate(_prior(name, values), t), label=label_of(name, values), **_look(place))
    ax.set(xlabel="observed t", ylabel="variational mean" if variational else "penalised estimate")
    ax.legend(frameon=False, fontsize="small")
    return plain(ax)


def label_of(name: str, hyperparameters: Mapping[str, float]) -> str:
    """The name of a prior and its numbers."""
    numbers = ", ".join(f"{key} = {value:g}" for key, value in hyperparameters.items())
    return name.replace("_", " ") + (f" ({numbers})" if numbers else "")


def _prior(name: str, hyperparameters: Mapping[str, float]) -> Any:
    if name not in PRIORS:
        msg = f"prior={name!r} has no penalty to draw; take one of {', '.join(PRIORS)}"
        raise ValueError(msg)
    return PRIORS[name](**hyperparameters)


def _look(place: int) -> dict[str, Any]:
    return {"color": COLOURS[place % len(COLOURS)], "linestyle": _DASHES[place % len(_DASHES)]}
