"""What Asteris et al. say about decaying spectra and about time."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from experiments import data
from experiments.asteris_2014.theory import spannogram, with_spectrum
from experiments.claim import Judgement, Measured, Table, Verdict, at_least, at_most, claim, near
from experiments.figures import curve, finish, panels
from experiments.quietly import timed
from experiments.run import Run
from loadstone import EMPCA, SparsePCA

SPECTRA: dict[str, Any] = {
    "i^-.5": lambda i: i**-0.5,
    "i^-1": lambda i: 1.0 / i,
    "i^-2": lambda i: i**-2.0,
    "1/loglog i": lambda i: 1.0 / np.log(np.log(i + 15.0)),
}


@claim(
    "ast.claim.ptas",
    printed="For any decaying spectrum the approximation improves with d in polynomial time.",
    data="n = 200, k = 100; spectra i^-.5, i^-1, i^-2, 1/loglog i with random eigenvectors",
    how="cones, eps = .05, d = 1..5: a-priori rho, share proven from the data, share of the best "
    "variance known, CPU time",
    judged=Judgement(
        expected=Verdict.REPRODUCED,
        as_printed=(
            at_least("rho, i^-1, largest d", "rho, i^-1, d = 1", -0.1),
            at_least("rho, i^-2, largest d", "rho, i^-2, d = 1", -0.1),
            at_least("smallest value / best known", 0.97),
        ),
    ),
    reference=(
        near("rho, i^-1, d = 1", 0.33, 0.02),
        near("rho, i^-1, largest d", 0.60, 0.03),
        near("rho, i^-2, d = 1", 0.50, 0.02),
        near("rho, i^-2, largest d", 0.90, 0.03),
        near("rho, i^-.5, largest d", 0.38, 0.02),
        near("rho, 1/loglog i, largest d", 0.25, 0.02),
        at_least("smallest value / best known", 0.975),
    ),
)
def ptas(run: Run) -> Measured:
    """Four curves over d for each spectrum."""
    n, size = 200, 100
    ranks = (1, 3) if run.quick else (1, 2, 3, 4, 5)
    rng = np.random.default_rng(0)
    figure, axes = panels(4, width=3.6)
    numbers: dict[str, float] = {}
    rows, shares = [], []
    for place, (name, law) in enumerate(SPECTRA.items()):
        A = with_spectrum(law(np.arange(1.0, n + 1)), rng)
        best = SparsePCA(n_nonzero=size, nonnegative=True).fit_covariance(A).marginal_variance_[0]
        found = []
        for rank in ranks:
            run.tell(f"spectrum {name}, rank {rank}")
            start = time.process_time()
            model = spannogram(size, rank, "cones", epsilon=0.05).fit_covariance(A)
            seconds = time.process_time() - start
            value = float(model.objective_[0][-1])
            found.append(
                (float(model.guarantee_[0]), value / float(model.upper_bound_[0]), value, seconds)
            )
        rho, ratio, values, seconds_of = np.array(found).T
        best = max(float(best), values.max())
        shares += list(values / best)
        numbers[f"rho, {name}, d = 1"] = float(rho[0])
        numbers[f"rho, {name}, largest d"] = float(rho[-1])
        numbers[f"proven, {name}, largest d"] = float(ratio[-1])
        for ax, series in zip(axes[0], (rho, ratio, values / best, seconds_of), strict=True):
            curve(ax, ranks, series, place, name)
        rows += [
            (name, d, f"{a:.2f}", f"{b:.2f}", f"{c:.3f}")
            for d, a, b, c in zip(ranks, rho, ratio, values / best, strict=True)
        ]
    titles = ("known in advance", "proven from the data", "of the best known", "time")
    labels = ("rho_d", "value / bound", "value / best known", "CPU seconds")
    for ax, title, label in zip(axes[0], titles, labels, strict=True):
        finish(ax, title=title, x="d", y=label, legend=title == titles[0])
    axes[0, 3].set_yscale("log")
    numbers["smallest value / best known"] = float(min(shares))
    head = ("spectrum", "d", "rho", "proven share", "value / best known")
    return Measured(
        numbers=numbers,
        tables=(Table(head=head, rows=tuple(rows)),),
        figures={"": figure},
        remarks=(
            "As proofs they improve with d; the variances are near the best at d = 1 already.",
        ),
    )


@claim(
    "ast.time",
    printed="Algorithm 1 takes O(n^{d+1} + n^d k^d), Algorithm 3 near-linear time.",
    data="Gaussian factors",
    how="CPU time of SpannogramPCA: exact with d = 2, 3; net with d = 3, eps = .1, k = 50",
    judged=Judgement(
        expected=Verdict.REPRODUCED,
        as_printed=(
            at_most("exponent, exact, d = 2", 3.0),
            at_most("exponent, exact, d = 3", 4.0),
            at_most("exponent, net, d = 3", 1.35),
        ),
    ),
    quick=False,
)
def growth(run: Run) -> Measured:
    """Log-log times."""
    grids = {
        ("exact", 2): (100, 200, 400) if run.quick else (200, 400, 800),
        ("exact", 3): (30, 60) if run.quick else (47, 93, 140),
        ("net", 3): (10**3, 10**4) if run.quick else (10**3, 10**4, 10**5),
    }
    figure, axes = panels(width=5.4)
    timings: dict[str, float] = {}
    rows = []
    for place, ((method, rank), grid) in enumerate(grids.items()):
        _net_or_exact(method, rank, grid[0])
        times = [min(_net_or_exact(method, rank, n) for _ in range(2)) for n in grid]
        slope = float(np.log(times[-1] / times[0]) / np.log(grid[-1] / grid[0]))
        timings[f"exponent, {method}, d = {rank}"] = slope
        rows += [(method, rank, n, f"{t:.3f}") for n, t in zip(grid, times, strict=True)]
        curve(axes[0, 0], grid, times, place, f"{method}, d = {rank}: exponent {slope:.2f}")
    finish(axes[0, 0], title="time", x="n", y="CPU seconds", xscale="log", yscale="log")
    return Measured(
        timings=timings,
        tables=(Table(head=("method", "d", "n", "CPU s"), rows=tuple(rows)),),
        figures={"": figure},
        remarks=(
            "Exact runs of more than 2e7 crossings are refused with the estimate. Times of the net "
            "over n, which an earlier measurement lacked, are what makes this reproduced.",
        ),
    )


def _net_or_exact(method: str, rank: int, n: int) -> float:
    """CPU seconds of the search alone, on a factor of n rows."""
    from loadstone.solvers.spannogram.solver import search

    V = np.random.default_rng(0).standard_normal((n, rank))
    size = 50 if method == "net" else 10
    start = time.process_time()
    search(V, size, method, 0.1, nonnegative=True, rng=np.random.default_rng(1))
    return time.process_time() - start


@claim(
    "ast.claim.speed",
    printed="About the speed of EM, in the order of seconds.",
    data="F-raw",
    how="CPU time of fits of the data: net with d = 3, eps = .1; EMPCA best of 20",
    judged=Judgement(
        expected=Verdict.REPRODUCED,
        as_printed=(
            at_most("slowest net, seconds", 10.0),
            at_most("net over EM, mean", 4.0),
            at_least("net over EM, mean", 0.25),
        ),
    ),
    quick=False,
)
def speed(run: Run) -> Measured:
    """Seconds against k."""
    X = data.faces_raw()
    sizes = (40, 180) if run.quick else (10, 40, 80, 180, 300)
    times: dict[str, list[float]] = {"Alg. 3 (net)": [], "EM, best of 20": []}
    for k in sizes:
        for name, model in (
            ("Alg. 3 (net)", spannogram(k, 3, "net")),
            ("EM, best of 20", EMPCA(n_nonzero=k, nonnegative=True, n_init=20)),
        ):
            times[name].append(timed(model, X)[1])
    figure, axes = panels()
    for place, (name, values) in enumerate(times.items()):
        curve(axes[0, 0], sizes, values, place, name)
    finish(axes[0, 0], title="faces (F-raw)", x="k", y="CPU seconds", ylim=(0, None))
    net, em = times.values()
    return Measured(
        timings={
            "slowest net, seconds": max(net),
            "slowest EM, seconds": max(em),
            "net over EM, mean": float(np.mean(net) / np.mean(em)),
        },
        figures={"": figure},
    )
