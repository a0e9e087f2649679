"""Section 5.3 of Sigg & Buhmann: genes selected without labels, judged by clusters."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.cluster import KMeans

from experiments import data
from experiments.claim import Judgement, Measured, Table, Verdict, at_least, claim, near
from experiments.data import Matrix
from experiments.figures import curve, finish, panels
from experiments.run import Run
from loadstone import FeatureSelector
from loadstone.datasets import fetch_leukemia
from loadstone.plotting.style import COLOURS

SIZES = (10, 30, 50, 70, 100, 200, 300)


def pair_jaccard(first: Any, second: Any) -> float:
    """Pairs of samples together in both partitions over pairs together in either."""
    same = [labels[:, None] == labels[None, :] for labels in map(np.asarray, (first, second))]
    above = np.triu(np.ones_like(same[0]), 1).astype(bool)
    a, b = same[0][above], same[1][above]
    return float((a & b).sum() / (a | b).sum())


def cluster_scores(X: Matrix, n_starts: int) -> tuple[float, float]:
    """Mean and deviation of the score with the diagnoses, over single random starts of k-means."""
    scores = [
        pair_jaccard(
            KMeans(3, init="random", n_init=1, random_state=seed).fit_predict(X),
            data.leukemia_types(),
        )
        for seed in range(n_starts)
    ]
    return float(np.mean(scores)), float(np.std(scores))


def selected(X: Matrix, size: int) -> Any:
    """Genes of the first non-negative component of EM, ten random starts."""
    return FeatureSelector(size, nonnegative=True, solver="em").fit(X).get_support(indices=True)


def entropy_order(run: Run, name: str) -> Any:
    """Genes by their contribution to the entropy (CE), of the data as it comes."""
    X = data.leukemia_logarithms() if name == "L-log" else fetch_leukemia().data
    return run.once(
        f"entropy {name}",
        lambda: FeatureSelector(max(SIZES), method="svd_entropy").fit(X).ranking_,
    )


def scores_of(run: Run, name: str, X: Matrix) -> dict[str, Any]:
    """Scores of EM's genes and of CE's at every size, and of all genes."""

    def measured() -> dict[str, Any]:
        n_starts = 20 if run.quick else 100
        sizes = (70,) if run.quick else SIZES
        found: dict[str, Any] = {"all": cluster_scores(X, n_starts)}
        found["EM"] = [cluster_scores(X[:, selected(X, k)], n_starts) for k in sizes]
        if not run.quick:
            order = entropy_order(run, name)
            found["CE"] = [cluster_scores(X[:, order[:k]], n_starts) for k in sizes]
        found["sizes"] = sizes
        return found

    return run.once(f"scores {name}", measured)


@claim(
    "sigg.fig4",
    printed="The 70 genes of the first non-negative PC cluster clearly better than all genes do, and "
    "than those ranked by CE.",
    data="L-raw; L-log as a second panel",
    how="FeatureSelector with solver='em', ten random starts; k-means with 3 clusters from 100 "
    "single random starts; Jaccard score of pairs",
    judged=Judgement(
        expected=Verdict.REPRODUCED,
        as_printed=(at_least("gain at 70 over all genes, in sd of the means", 3.0),),
    ),
    reference=(
        near("all genes", 0.503, 0.02),
        near("EM at 70", 0.612, 0.03),
        near("CE at 70", 0.473, 0.03),
        near("EM at 30", 0.621, 0.04),
        near("EM at 300", 0.500, 0.03),
        near("L-log, EM at 70", 0.673, 0.04),
        near("L-log, all genes", 0.509, 0.03),
    ),
    shares="sigg.genes",
)
def figure_4(run: Run) -> Measured:
    """Score against the number of genes."""
    sets = {"L-raw": data.leukemia_raw()}
    if not run.quick:
        sets["L-log"] = data.leukemia_log()
    figure, axes = panels(len(sets))
    numbers: dict[str, float] = {}
    rows = []
    for ax, (name, X) in zip(axes[0], sets.items(), strict=True):
        found = scores_of(run, name, X)
        word = "" if name == "L-raw" else f"{name}, "
        mean, sd = found["all"]
        ax.axhline(mean, color="0.3", linewidth=1.2, label="all genes")
        ax.axhspan(mean - sd, mean + sd, color="0.92", zorder=0)
        numbers[f"{word}all genes"] = mean
        rows.append((name, "all genes", "all", f"{mean:.3f}", f"{sd:.3f}"))
        for place, method in enumerate(m for m in ("EM", "CE") if m in found):
            sizes = np.array(found["sizes"])
            means, sds = np.array(found[method]).T
            curve(ax, sizes * (1 + 0.03 * place), means, place, f"{method} genes")
            ax.errorbar(
                sizes * (1 + 0.03 * place), means, sds, fmt="none", color=COLOURS[place], alpha=0.6
            )
            for k, m, s in zip(sizes.tolist(), means, sds, strict=True):
                numbers[f"{word}{method} at {k}"] = float(m)
                rows.append((name, method, k, f"{m:.3f}", f"{s:.3f}"))
        finish(
            ax, title=name, x="genes", y="Jaccard score (mean, sd)", ylim=(0, 1), loc="lower right"
        )
        ax.set_xscale("log")
    n_starts = 20 if run.quick else 100
    raw = scores_of(run, "L-raw", sets["L-raw"])
    place = raw["sizes"].index(70)
    spread = np.hypot(raw["all"][1], raw["EM"][place][1]) / np.sqrt(n_starts)
    numbers["gain at 70 over all genes, in sd of the means"] = float(
        (raw["EM"][place][0] - raw["all"][0]) / spread
    )
    head = ("data", "genes of", "number", "mean score", "sd")
    return Measured(
        numbers=numbers, tables=(Table(head=head, rows=tuple(rows)),), figures={"": figure}
    )


@claim(
    "sigg.claim.std",
    printed="For the selection of genes, not standardising the variance is significantly better.",
    data="L-raw and L-log, each against its standardised form",
    how="as sigg.fig4, 70 genes",
    judged=Judgement(
        expected=Verdict.REPRODUCED,
        as_printed=(
            at_least("L-raw", "L-raw standardised", -0.05),
            at_least("L-log", "L-log standardised", -0.05),
        ),
    ),
    reference=(
        near("L-raw", 0.612, 0.03),
        near("L-raw standardised", 0.413, 0.04),
        near("L-log", 0.671, 0.04),
        near("L-log standardised", 0.380, 0.04),
    ),
    shares="sigg.genes",
)
def standardising(run: Run) -> Measured:
    """Bars."""
    n_starts = 20 if run.quick else 100
    scores = {}
    for name, X in (("L-raw", data.leukemia_raw()), ("L-log", data.leukemia_log())):
        for word, Z in ((name, X), (f"{name} standardised", data.standardised(X))):
            scores[word] = cluster_scores(Z[:, selected(Z, 70)], n_starts)
    figure, axes = panels(width=5.4)
    ax = axes[0, 0]
    means, sds = np.array(list(scores.values())).T
    colours = [COLOURS[0], COLOURS[1]] * 2
    ax.bar(list(scores), means, yerr=sds, color=colours, capsize=3)
    finish(ax, title="70 genes, k-means with 3 clusters", x="", y="Jaccard score", legend=False)
    ax.tick_params(axis="x", labelsize="small")
    return Measured(
        numbers={word: mean for word, (mean, _) in scores.items()}, figures={"": figure}
    )
