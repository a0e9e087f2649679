"""Section 6.2 of Guan & Dy: cumulative variance on glass, control charts and faces."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from experiments.claim import (
    Check,
    Judgement,
    Measured,
    Table,
    Verdict,
    at_least,
    at_most,
    claim,
    near,
)
from experiments.figures import curve, finish, legend_below, panels
from experiments.guan_dy_2009.measures import (
    PRIORS,
    SETS,
    Curve,
    by_prior,
    curves,
    matrix,
    rivals,
)
from experiments.run import Run
from loadstone.covariance import covariance_of
from loadstone.plotting.style import COLOURS


def comparison(run: Run, name: str) -> Measured:
    """Cumulative variance against components by both measures."""
    found = curves(run, name)
    numbers = _totals(found)
    fewest = min(found[p].gs.size for p in PRIORS)
    for prior in PRIORS:
        numbers[f"{prior} with as many components, GS"] = float(found[prior].gs[fewest - 1])
    if "published run, jeffreys" in found:
        rival = found["SPCA, sizes of the published run"]
        lead = found["published run, jeffreys"].gs[-1] - rival.gs[-1]
        numbers["published run minus SPCA, GS"] = float(lead)
    numbers["SPCA: most rounds"] = max(rival.rounds for rival in rivals(run, name))
    numbers["SPCA: settled"] = all(rival.settled for rival in rivals(run, name))
    for word in ("GS", "QR"):
        gains = [numbers[f"{prior} minus SPCA, {word}"] for prior in PRIORS]
        numbers[f"smallest gain over SPCA, {word}"] = min(gains)
    rows = tuple(
        (label, len(c.sizes), int(c.sizes[-1]), f"{c.gs[-1]:.4f}", f"{c.qr[-1]:.4f}")
        for label, c in found.items()
    )
    head = ("method", "components", "non-zeros", "CV by GS", "CV by QR")
    return Measured(
        numbers=numbers,
        timings={"SPCA: seconds, slowest": max(rival.seconds for rival in rivals(run, name))},
        tables=(Table(head=head, rows=rows),),
        figures={"": _picture(found, name)},
    )


def _totals(found: dict[str, Curve]) -> dict[str, Any]:
    """What all components together explain, by prior, rival and measure."""
    numbers: dict[str, Any] = {}
    for prior in PRIORS:
        for measure in ("gs", "qr"):
            ours, theirs, best = (
                float(getattr(found[kind + prior], measure)[-1])
                for kind in ("", "SPCA, sizes of ", "SparsePCA, sizes of ")
            )
            word = measure.upper()
            numbers[f"{prior}, {word}"] = ours
            numbers[f"SPCA at {prior}'s sizes, {word}"] = theirs
            numbers[f"SparsePCA at {prior}'s sizes, {word}"] = best
            numbers[f"{prior} minus SPCA, {word}"] = ours - theirs
    return numbers


def _picture(found: dict[str, Curve], name: str) -> Any:
    """A panel for each measure."""
    figure, axes = panels(2, width=6.0, height=4.8)
    words = {"gs": "Gram-Schmidt on loadings", "qr": "QR of scores"}
    for ax, (measure, word) in zip(axes[0], words.items(), strict=True):
        for place, prior in enumerate(PRIORS):
            for kind, dash in (("", "-"), ("SPCA, sizes of ", "--"), ("SparsePCA, sizes of ", ":")):
                y = getattr(found[kind + prior], measure)
                look = {"color": COLOURS[place], "linestyle": dash, "marker": "os^"[place]}
                curve(ax, range(1, y.size + 1), y, place, kind + PRIORS[prior], **look)
        y_label = "cumulative adjusted variance"
        finish(ax, title=f"{name}: {word}", x="components", y=y_label, legend=False)
    legend_below(figure, axes[0][0], 3)
    return figure


def _above(margin: float) -> tuple[Check, ...]:
    return tuple(at_least(f"{prior} minus SPCA, GS", margin) for prior in PRIORS)


def _explained(measure: str, values: tuple[float, ...], *, within: float) -> tuple[Check, ...]:
    """Reference values of the priors, in their order, as far as they were measured."""
    return tuple(
        near(f"{prior}, {measure}", value, within)
        for prior, value in zip(PRIORS, values, strict=False)
    )


#: By the number of components: Jeffreys first, Laplace last; equal to four digits is no order.
IN_ORDER = tuple(
    at_least(f"{one} with as many components, GS", f"{other} with as many components, GS", -1e-4)
    for one, other in (("jeffreys", "inverse_gaussian"), ("inverse_gaussian", "laplace"))
)
ABOUT_FACES = (
    "The reference values of SPCA were those of 60 rounds. Settled, it comes close to SPPCA by GS with two "
    "of three sets of sizes, and lies above it from three to ten components; by QR it stays far below. "
    "SparsePCA is found component by component here, with the least effort."
)
HOW = "as_published(q, prior); ElasticNetPCA, settled, and SparsePCA with the sizes of each prior"


@claim(
    "gd.fig7",
    printed="Glass: SPPCA explains slightly more than SPCA of equal sizes, with all priors.",
    data="G-z, q = 8",
    how=f"{HOW}; the published run with 500 rounds beside",
    judged=Judgement(
        expected=Verdict.IN_KIND,
        as_printed=(
            *_above(0.0),
            at_most("jeffreys minus SPCA, GS", 0.02),
            *IN_ORDER,
        ),
        in_kind=_above(0.0),
    ),
    reference=(
        *_explained("GS", (1.0, 1.0, 1.0), within=0.005),
        *_explained("QR", (0.877, 0.902, 0.852), within=0.01),
        at_least("SPCA at jeffreys's sizes, QR", 0.736),
        at_least("SPCA: settled", 1),
        at_least("SparsePCA at jeffreys's sizes, QR", 0.94),
    ),
    shares="benchmark",
)
def figure_7(run: Run) -> Measured:
    """Glass."""
    return comparison(run, "glass")


@claim(
    "gd.fig8",
    printed="Control charts: SPPCA explains slightly more than SPCA of equal sizes.",
    data="600 x 60 raw, q = 20",
    how=HOW,
    judged=Judgement(
        expected=Verdict.IN_KIND,
        as_printed=(*_above(0.0), *IN_ORDER),
        in_kind=_above(0.0),
    ),
    reference=(
        *_explained("GS", (0.917, 0.916), within=0.005),
        *_explained("QR", (0.850, 0.853), within=0.006),
        near("SPCA at jeffreys's sizes, GS", 0.909, 0.006),
        at_least("SparsePCA at jeffreys's sizes, QR", 0.889),
    ),
    quick=False,
    shares="benchmark",
)
def figure_8(run: Run) -> Measured:
    """Charts."""
    return comparison(run, "charts")


@claim(
    "gd.fig9",
    printed="Faces: SPPCA explains much more than SPCA of equal sizes; d > N works.",
    data="CMU faces, 624 x 960 raw bytes, q = 12",
    how=f"{HOW}; ElasticNetPCA with ridge = inf, the authors' form for many features, tol = 1e-4",
    judged=(
        Judgement(
            expected=Verdict.IN_KIND,
            as_printed=(*_above(0.02), *IN_ORDER),
            # With a rival that has settled, by a hair in the paper's measure, and much by QR.
            in_kind=(*_above(0.0), at_least("smallest gain over SPCA, QR", 0.02)),
        ),
        Judgement(
            expected=Verdict.REPRODUCED,
            of="for d > N",
            as_printed=(at_least("jeffreys, GS", 0.6),),
        ),
    ),
    reference=(
        *_explained("GS", (0.698, 0.697, 0.698), within=0.004),
        *_explained("QR", (0.631, 0.637, 0.642), within=0.006),
        at_least("SparsePCA at jeffreys's sizes, QR", 0.675),
        at_least("SPCA: settled", 1),
        at_most("SPCA: seconds, slowest", 60),
    ),
    quick=False,
    shares="benchmark",
)
def figure_9(run: Run) -> Measured:
    """Faces."""
    return replace(comparison(run, "faces"), remarks=(ABOUT_FACES,))


@claim(
    "gd.fig10",
    printed="Variance per non-zero: Jeffreys first, then the inverse Gaussian, Laplace last; alike on "
    "all sets, and by the number of components too.",
    data="glass, charts and faces",
    how="mean distance of two curves over the numbers of non-zeros both reach (GS)",
    judged=(
        Judgement(
            expected=Verdict.IN_KIND,
            of="for Laplace, last",
            in_kind=(at_least("smallest lead of the inverse Gaussian over Laplace", -0.002),),
        ),
        Judgement(
            expected=Verdict.NOT,
            of="for Jeffreys, first",
            as_printed=(at_least("smallest lead of Jeffreys over the inverse Gaussian", 0.0),),
        ),
    ),
    reference=(
        near("glass: inverse_gaussian over laplace", 0.131, 0.02),
        near("charts: inverse_gaussian over laplace", 0.010, 0.01),
        near("faces: inverse_gaussian over laplace", 0.013, 0.01),
        near("glass: inverse_gaussian over jeffreys", 0.023, 0.02),
        near("charts: inverse_gaussian over jeffreys", 0.006, 0.01),
        near("faces: inverse_gaussian over jeffreys", 0.000, 0.01),
    ),
    quick=False,
    shares="benchmark",
)
def figure_10(run: Run) -> Measured:
    """Cumulative variance against the share of non-zeros."""
    figure, axes = panels(3, width=4.4)
    numbers: dict[str, Any] = {}
    rows = []
    for ax, (name, q) in zip(axes[0], SETS.items(), strict=True):
        X = matrix(name)
        S, d = covariance_of(X)[0], X.shape[1]
        found = {p: Curve.of(S, W) for p, W in by_prior(run, name).items()}
        for place, prior in enumerate(PRIORS):
            share = 100 * found[prior].sizes / (d * q)
            curve(ax, share, found[prior].gs, place, PRIORS[prior])
        finish(ax, title=name, x="% non-zero loadings", y="cumulative adjusted variance (GS)")
        for one, other in (("inverse_gaussian", "laplace"), ("inverse_gaussian", "jeffreys")):
            gap = _mean_gap(found[one], found[other])
            numbers[f"{name}: {one} over {other}"] = gap
        ends = [f"{found[p].gs[-1]:.4f}" for p in PRIORS]
        rows.append((name, *ends, *(int(found[p].sizes[-1]) for p in PRIORS)))
    over_laplace = [numbers[f"{s}: inverse_gaussian over laplace"] for s in SETS]
    over_jeffreys = [numbers[f"{s}: inverse_gaussian over jeffreys"] for s in SETS]
    numbers["smallest lead of the inverse Gaussian over Laplace"] = min(over_laplace)
    numbers["smallest lead of Jeffreys over the inverse Gaussian"] = -max(over_jeffreys)
    head = (
        "data",
        *(f"{p}: CV" for p in PRIORS),
        *(f"{p}: non-zeros" for p in PRIORS),
    )
    return Measured(
        numbers=numbers, tables=(Table(head=head, rows=tuple(rows)),), figures={"": figure}
    )


def _mean_gap(one: Curve, other: Curve) -> float:
    """Mean height of the first curve over the second where both have non-zeros."""
    low, high = max(one.sizes[0], other.sizes[0]), min(one.sizes[-1], other.sizes[-1])
    grid = np.linspace(low, high, 400)
    gap = np.interp(grid, one.sizes, one.gs) - np.interp(grid, other.sizes, other.gs)
    return float(gap.mean())


@claim(
    "gd.claim.auto",
    printed="The sparsity of every component is learned, without tuning.",
    data="glass, q = 8; charts, q = 20",
    how="sizes and numbers of components that each prior comes to",
    judged=Judgement(
        expected=Verdict.IN_KIND,
        as_printed=(at_most("most components left, of those at the start", 0.875),),
        in_kind=(at_most("largest share of non-zeros", 0.75),),
    ),
    shares="benchmark",
)
def learned(run: Run) -> Measured:
    """What is learned, and that the number of components hardly is on real data."""
    rows, numbers = [], {}
    for name in ("glass",) if run.quick else ("glass", "charts"):
        d = matrix(name).shape[1]
        counts, shares = [], []
        for prior in PRIORS:
            model_sizes = np.diff(curves(run, name)[prior].sizes, prepend=0)
            counts.append(model_sizes.size)
            shares.append(float(model_sizes.sum() / (d * model_sizes.size)))
            sizes = " ".join(str(int(k)) for k in model_sizes)
            rows.append((name, SETS[name], prior, model_sizes.size, sizes))
        numbers[f"{name}: components left, of those at the start"] = max(counts) / SETS[name]
        numbers[f"{name}: share of non-zeros"] = max(shares)
    left = [v for k, v in numbers.items() if "left" in k]
    numbers["most components left, of those at the start"] = max(left)
    numbers["largest share of non-zeros"] = max(v for k, v in numbers.items() if "non-zeros" in k)
    head = ("data", "start", "prior", "components", "sizes, by variance")
    return Measured(numbers=numbers, tables=(Table(head=head, rows=tuple(rows)),))
