"""What Sigg & Buhmann say about cost: quadratic, and without a D x D matrix where D >> N."""

from __future__ import annotations

import time

import numpy as np

from experiments.claim import Judgement, Measured, Table, Verdict, at_most, claim
from experiments.figures import curve, finish, panels
from experiments.run import Run
from loadstone import EMPCA


def seconds(n_samples: int, n_features: int) -> float:
    """CPU seconds of a fit with 50 features, the faster of two."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_samples, n_features))
    # One factor: without it the first component is sought among equals, which is another question.
    X += np.outer(rng.standard_normal(n_samples), rng.standard_normal(n_features))
    times = []
    for _ in range(2):
        start = time.process_time()
        EMPCA(n_nonzero=50, tol=1e-3).fit(X)
        times.append(time.process_time() - start)
    return min(times)


@claim(
    "sigg.claim.cost",
    printed="O(D^2), and O(N^2) for D >> N: no D x D matrix is needed.",
    data="one Gaussian factor and noise; N = 72 with D = 2 000 to 100 000, N = 3000 with D = 500 to 3 000",
    how="CPU time of EMPCA, K = 50, eps 1e-3; exponents from the smallest to the largest D",
    judged=Judgement(
        expected=Verdict.REPRODUCED,
        as_printed=(
            at_most("exponent, N = 72", 1.3),
            at_most("exponent, N = 3000", 2.2),
        ),
    ),
    quick=False,
)
def cost(run: Run) -> Measured:
    """Log-log times and their slopes."""
    grids = {
        72: (2_000, 8_000, 32_000) if run.quick else (2_000, 6_000, 20_000, 50_000, 100_000),
        3000: (500, 1_500) if run.quick else (500, 1_000, 2_000, 3_000),
    }
    seconds(72, 500)
    figure, axes = panels()
    ax = axes[0, 0]
    timings: dict[str, float] = {}
    rows = []
    for place, (n, grid) in enumerate(grids.items()):
        times = [seconds(n, d) for d in grid]
        overall = float(np.log(times[-1] / times[0]) / np.log(grid[-1] / grid[0]))
        curve(ax, grid, times, place, f"N = {n}: exponent {overall:.2f}")
        timings[f"exponent, N = {n}"] = overall
        rows += [(n, d, f"{t:.3f}") for d, t in zip(grid, times, strict=True)]
    finish(ax, title="EMPCA, K = 50", x="D", y="CPU seconds", xscale="log", yscale="log")
    return Measured(
        timings=timings,
        tables=(Table(head=("N", "D", "CPU s"), rows=tuple(rows)),),
        figures={"": figure},
        remarks=("A D x D matrix of 100 000 features would take 80 GB.",),
    )
