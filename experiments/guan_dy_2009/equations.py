"""Sections 4 and 5 of Guan & Dy: the updates, corrected and as printed."""

from __future__ import annotations

from typing import Any

import numpy as np

from experiments import data
from experiments.claim import Judgement, Measured, Table, Verdict, at_most, claim
from experiments.figures import curve, finish, legend_below, panels
from experiments.guan_dy_2009.literal import printed_26, updates
from experiments.guan_dy_2009.measures import PRIORS as NAMES
from experiments.run import Run
from loadstone.covariance import covariance_of
from loadstone.plotting.style import COLOURS
from loadstone.solvers.variational_bayes.bound import BroadPriors
from loadstone.solvers.variational_bayes.latent import complete_observations
from loadstone.solvers.variational_bayes.priors import PRIORS, InverseGaussian
from loadstone.solvers.variational_bayes.state import start_state, update

#: Rounds of every run.
ROUNDS = 15


def package_bounds(T: Any, W: Any, noise: float, prior: str, n_rounds: int) -> Any:
    """Bounds of the package's updates on centred data, in the units of ``T``."""
    observations = complete_observations(covariance_of(T)[0])
    unit = observations.unit
    law: Any = PRIORS[prior].start((W / unit) ** 2)
    free = np.ones(W.shape, dtype=bool)
    state = start_state(observations, W / unit, noise / unit**2, law, free)
    found = []
    for _ in range(n_rounds):
        state = update(observations, state, frozenset(), BroadPriors(), prune=False)
        found.append(state.bound)
    return np.array(found)


@claim(
    "gd.eq",
    printed="The variational updates (14) to (31).",
    data="a random 80 x 14 matrix, glass (G-z)",
    how="corrected (19), (22), (26), (31) coded from the formulas beside the package; the printed "
    "ones in the same loop; 15 rounds from a random start, 3 components",
    judged=Judgement(
        expected=Verdict.IN_KIND,
        as_printed=(
            at_most("printed (19): asymmetry of a covariance", 1e-8),
            at_most("printed formulas: largest fall of the bound", 1e-8),
        ),
        in_kind=(
            at_most("corrected: relative difference of the bound", 1e-9),
            at_most("corrected: largest fall of the bound", 1e-8),
        ),
    ),
    reference=(at_most("corrected: relative difference of the bound", 1e-12),),
)
def equations(run: Run) -> Measured:
    """The bound, round by round, three times."""
    rng = np.random.default_rng(0)
    random = rng.standard_normal((80, 2)) @ rng.standard_normal((2, 14)) * 2
    random += rng.standard_normal((80, 14))
    sets = {"random 80 x 14": random - random.mean(axis=0), "glass": data.glass_standardised()}
    figure, axes = panels(2, height=4.2)
    rows = []
    for ax, (name, X) in zip(axes[0], sets.items(), strict=True):
        W = rng.standard_normal((X.shape[1], 3))
        rows += [(name, prior, *_compared(ax, X, W, prior)) for prior in NAMES]
        ax.set_yscale("symlog")
        finish(ax, title=name, x="round", y="bound - last corrected one", legend=False)
    legend_below(figure, axes[0][0], 3)
    largest = np.array([row[2:] for row in rows]).max(axis=0)
    head: tuple[str, ...] = ("data", "prior", "relative difference", "fall, corrected")
    head += ("fall, as printed", "asymmetry of Sigma by (19)")
    shown = tuple((*r[:4], "not a number" if r[4] >= BROKEN else r[4], r[5]) for r in rows)
    w2 = np.array([0.01, 1.0, 9.0])
    return Measured(
        numbers={
            "corrected: relative difference of the bound": float(largest[0]),
            "corrected: largest fall of the bound": float(largest[1]),
            "printed formulas: largest fall of the bound": float(largest[2]),
            "printed (19): asymmetry of a covariance": float(largest[3]),
            "<z> by printed (26) at w = .1, 1, 3": [float(v) for v in printed_26(w2, 1.0, 1.0)],
            "<z> corrected at w = .1, 1, 3": [
                float(v) for v in InverseGaussian(1.0, 1.0).expectations(w2)[0]
            ],
        },
        tables=(Table(head=head, rows=shown),),
        figures={"": figure},
        remarks=(
            "By the printed (26) the variance of a loading falls as the loading grows, which punishes "
            "large loadings most; the corrected one rises. A bound of asymmetric covariances bounds "
            "nothing, so that where the dotted curves lie means little; that they fall or end does.",
        ),
    )


def _compared(ax: Any, X: Any, W: Any, prior: str) -> tuple[float, float, float, float]:
    """Difference from the package, falls of both versions, and the asymmetry of the printed one."""
    # The broad priors of the package are in units of the mean variance.
    T = X / complete_observations(covariance_of(X)[0]).unit
    right = updates(T, W, 0.5, prior, ROUNDS, printed=False)
    wrong = updates(T, W, 0.5, prior, ROUNDS, printed=True)
    ours = package_bounds(T, W, 0.5, prior, ROUNDS)
    place = list(NAMES).index(prior)
    rounds = range(1, ROUNDS + 1)
    name = NAMES[prior]
    curve(ax, rounds, right.bounds - right.bounds[-1], place, f"{name}, corrected")
    shown = np.maximum(wrong.bounds - right.bounds[-1], -1e6)
    look = {"color": COLOURS[place], "linestyle": ":", "marker": "x"}
    curve(ax, range(1, shown.size + 1), shown, place, f"{name}, as printed", **look)
    difference = float(np.abs((ours - right.bounds) / right.bounds).max())
    falls = _largest_fall(right.bounds), _largest_fall(wrong.bounds)
    return difference, *falls, wrong.asymmetry


#: Stands for a bound that stopped being a number.
BROKEN = 1e300


def _largest_fall(bounds: Any) -> float:
    """How far the bound falls in a round; a large number where it stops being one."""
    if not np.isfinite(bounds).all():
        return BROKEN
    return max(0.0, float(-np.diff(bounds).min(initial=0.0)))
