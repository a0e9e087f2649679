"""Figure 2 of Sigg & Buhmann: variance and time against the size of a sparse component."""

from __future__ import annotations

from typing import Any

import numpy as np

from experiments import data
from experiments.claim import Judgement, Measured, Table, Verdict, at_least, at_most, claim, near
from experiments.data import Matrix
from experiments.figures import curve, finish, panels
from experiments.quietly import timed
from experiments.run import Run
from loadstone import (
    EMPCA,
    ElasticNetPCA,
    GreedyPCA,
    SparsePCA,
    ThresholdedPCA,
    cardinality_path,
)
from loadstone.plotting.style import MUTED

FACE_SIZES = (1, 2, 3, 5, 8, 12, 20, 30, 50, 80, 120, 160, 200, 250, 300, 340, 361)
GENE_SIZES = (1, 2, 3, 4, 5, 7, 10, 14, 20, 30, 40, 50, 75, 100, 150, 200, 300, 400, 500)

#: Renormalised, both come close to the greedy path; as they are they lie below.
GAP_CLOSED = (
    at_least("worst EM opt / greedy", 0.95),
    at_least("worst SPCA opt / greedy", 0.95),
    at_most("mean EM / EM opt", 0.95),
    at_most("mean SPCA / SPCA opt", 0.95),
)


def makers() -> dict[str, Any]:
    """The methods of the figure as functions of K; "opt" is after recomputing optimal weights."""
    return {
        "EM": lambda k: EMPCA(n_nonzero=k, renormalize=False),
        "EM opt": lambda k: EMPCA(n_nonzero=k),
        "SPCA": lambda k: ElasticNetPCA(1, n_nonzero=k, ridge=np.inf),
        "SPCA opt": lambda k: ElasticNetPCA(1, n_nonzero=k, ridge=np.inf, renormalize=True),
        "thresholding opt": lambda k: ThresholdedPCA(n_nonzero=k),
    }


def curves_of(
    X: Matrix, sizes: tuple[int, ...], *, bounds: bool = True
) -> tuple[dict[str, Any], Any]:
    """Variance of each method over that of PC1, and ours with its bounds."""
    # More samples than features: the covariance is formed once for all of them.
    S = data.covariance(X) if X.shape[0] > X.shape[1] else None
    source = {"X": X} if S is None else {"covariance": S, "n_samples": len(X)}
    certify = "instant" if bounds else False
    path = cardinality_path(n_nonzeros=sizes, standardize=False, certify=certify, **source)
    scale = path.ratio[-1] / path.values[-1]
    growth = GreedyPCA(n_nonzero=max(sizes), rule="approximate")
    greedy = data.fitted(growth, X, S).path_variance_
    found = {"PathSPCA (greedy)": greedy[np.array(sizes) - 1] * scale}
    for name, make in makers().items():
        values = [float(data.fitted(make(k), X, S).marginal_variance_[0]) for k in sizes]
        found[name] = np.array(values) * scale
    return found, path


def shrinkage(found: dict[str, Any]) -> dict[str, float]:
    """What is left of the variance before weights are recomputed, beyond K = 1."""
    return {
        f"mean {name} / {name} opt": float((found[name] / found[f"{name} opt"])[1:].mean())
        for name in ("EM", "SPCA")
    }


def drawn(title: str, sizes: tuple[int, ...], found: dict[str, Any], path: Any) -> Any:
    """The trade-off, and beside it what each method loses to ours."""
    figure, axes = panels(2, width=5.2, height=4.0)
    left, right = axes[0]
    scale = path.ratio / path.values
    if path.bounds is not None:
        above = path.bounds * scale
        left.fill_between(sizes, path.ratio, above, color="0.88", label="not excluded")
    left.plot(sizes, path.ratio, color="k", linewidth=1.0, label="cardinality_path")
    for place, (name, values) in enumerate(found.items()):
        curve(left, sizes, values, place, name)
        curve(right, sizes, 100 * (1 - values / path.ratio), place, name)
    finish(left, title=title, x="K", y="variance / variance of PC1")
    finish(
        right,
        title="lost to cardinality_path",
        x="K",
        y="% of its variance",
        xscale="log",
        legend=False,
    )
    right.axhline(0, color=MUTED, linewidth=0.8)
    return figure


def table_of(
    sizes: tuple[int, ...], shown: tuple[int, ...], found: dict[str, Any], path: Any
) -> Table:
    """Variance over that of PC1 at some sizes, and what is proven of ours."""
    places = [sizes.index(k) for k in shown]
    rows = [(name, *(f"{v[i]:.4f}" for i in places)) for name, v in found.items()]
    rows.append(("cardinality_path", *(f"{path.ratio[i]:.4f}" for i in places)))
    if path.bounds is not None:
        proven = path.values / path.bounds
        rows.append(("its proven share of the optimum", *(f"{proven[i]:.4f}" for i in places)))
    return Table(head=("method", *(f"K = {k}" for k in shown)), rows=tuple(rows))


@claim(
    "sigg.fig2.left",
    printed="Renormalised SPCA and EM close the gap to PathSPCA on faces; as they are they lie below.",
    data="F-z",
    how="EMPCA from PC1, ElasticNetPCA with ridge=inf, both with and without renormalising; "
    "GreedyPCA approximate; ThresholdedPCA; cardinality_path with instant bounds",
    judged=Judgement(
        expected=Verdict.REPRODUCED,
        as_printed=GAP_CLOSED,
    ),
    reference=tuple(
        near(f"{name} at K = {k}", value, 0.0006)
        for name, values in {
            "EM opt": (0.0247, 0.2110, 0.6640),
            "EM": (0.0178, 0.1768, 0.5345),
            "PathSPCA (greedy)": (0.0227, 0.1964, 0.6599),
            "SPCA opt": (0.0247, 0.2014, 0.6656),
            "thresholding opt": (0.0234, 0.2000, 0.6649),
        }.items()
        for k, value in zip((5, 50, 200), values, strict=True)
    ),
    shares="sigg.fig2",
)
def figure_2_left(run: Run) -> Measured:
    """Six curves on faces."""
    found, path = curves_of(data.faces_standardised(), FACE_SIZES)
    greedy = found["PathSPCA (greedy)"]
    inner = slice(1, -1)
    numbers = {
        f"{name} at K = {k}": float(v[FACE_SIZES.index(k)])
        for name, v in found.items()
        for k in (5, 50, 200)
    }
    for name in ("EM", "EM opt", "SPCA", "SPCA opt"):
        ratio = (found[name] / greedy)[inner]
        numbers[f"worst {name} / greedy"] = float(ratio.min())
        numbers[f"mean {name} / greedy"] = float(ratio.mean())
    numbers |= shrinkage(found)
    return Measured(
        numbers=numbers,
        tables=(table_of(FACE_SIZES, (5, 20, 50, 120, 200, 300), found, path),),
        figures={"": drawn("faces (F-z)", FACE_SIZES, found, path)},
        remarks=("The greedy path itself lies below renormalised EM at most sizes.",),
    )


@claim(
    "sigg.fig2.middle",
    printed="The same holds on genes, with thresholding for reference below the others.",
    data="L-z, K to 500",
    how="as sigg.fig2.left",
    judged=Judgement(
        expected=Verdict.REPRODUCED,
        as_printed=(
            *GAP_CLOSED,
            at_most("mean thresholding opt / EM opt", 0.99),
        ),
    ),
    reference=(
        near("largest loss, EM opt", 0.099, 0.005),
        near("largest loss, SPCA opt", 0.042, 0.006),
        near("largest loss, thresholding opt", 0.144, 0.01),
        near("largest loss, PathSPCA (greedy)", 0.293, 0.01),
    ),
    shares="sigg.fig2",
)
def figure_2_middle(run: Run) -> Measured:
    """Six curves on genes."""
    sizes = GENE_SIZES[::3] if run.quick else GENE_SIZES
    found, path = curves_of(data.leukemia_standardised(), sizes, bounds=not run.quick)
    numbers = {
        f"largest loss, {name}": float((1 - v / path.ratio).max()) for name, v in found.items()
    }
    greedy = found["PathSPCA (greedy)"]
    for name in ("EM", "EM opt", "SPCA", "SPCA opt", "thresholding opt"):
        ratio = (found[name] / greedy)[1:]
        numbers[f"worst {name} / greedy"] = float(ratio.min())
        numbers[f"mean {name} / greedy"] = float(ratio.mean())
    numbers |= shrinkage(found)
    reference = found["thresholding opt"] / found["EM opt"]
    numbers["mean thresholding opt / EM opt"] = float(reference.mean())
    shown = tuple(k for k in (5, 10, 20, 50, 100, 500) if k in sizes)
    return Measured(
        numbers=numbers,
        tables=(table_of(sizes, shown, found, path),),
        figures={"": drawn("genes (L-z)", sizes, found, path)},
    )


@claim(
    "sigg.fig2.right",
    printed="Time: PathSPCA grows with K, SPCA is irregular, EM nearly flat.",
    data="L-z",
    how="cold fits, renormalisation included, CPU time, the fastest of three; EM with eps 1e-3",
    judged=Judgement(
        expected=Verdict.REPRODUCED,
        as_printed=(
            at_least("greedy, K = 500 over K = 5", 5.0),
            at_most("EM, slowest over fastest", 3.5),
            at_least("SPCA, slowest over fastest", 2.0),
        ),
    ),
    shares="sigg.fig2",
    quick=False,
)
def figure_2_right(run: Run) -> Measured:
    """Milliseconds against K."""
    X = data.leukemia_standardised()
    sizes = (1, 5, 25, 100, 500) if run.quick else (1, 2, 5, 10, 15, 25, 50, 100, 200, 350, 500)
    methods: dict[str, Any] = {
        "EM": lambda k: EMPCA(n_nonzero=k, tol=1e-3),
        "PathSPCA (greedy)": lambda k: GreedyPCA(n_nonzero=k, rule="approximate"),
        "SPCA": lambda k: ElasticNetPCA(1, n_nonzero=k, ridge=np.inf, renormalize=True),
        "SparsePCA": lambda k: SparsePCA(n_nonzero=k),
    }
    figure, axes = panels(width=5.6, height=4.0)
    ax = axes[0, 0]
    milliseconds: dict[str, list[float]] = {}
    for place, (name, make) in enumerate(methods.items()):
        make(7).fit(X)
        repeats = 1 if run.quick or name == "SparsePCA" else 3
        milliseconds[name] = [
            1e3 * min(timed(make(k), X)[1] for _ in range(repeats)) for k in sizes
        ]
        curve(ax, sizes, milliseconds[name], place, name)
    finish(ax, title="genes (L-z)", x="K", y="CPU milliseconds", xscale="log", yscale="log")
    ax.set_ylim(top=3e4)
    rows = [(name, *(f"{ms:.0f}" for ms in v)) for name, v in milliseconds.items()]
    greedy = milliseconds["PathSPCA (greedy)"]
    return Measured(
        timings={
            "greedy, K = 500 over K = 5": greedy[-1] / greedy[sizes.index(5)],
            **{
                f"{name}, slowest over fastest": max(milliseconds[name]) / min(milliseconds[name])
                for name in ("EM", "SPCA")
            },
        },
        tables=(Table(head=("CPU ms at K", *map(str, sizes)), rows=tuple(rows)),),
        figures={"": figure},
    )
