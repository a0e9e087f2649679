"""Variance against non-zeros: three sparsity priors, and penalised methods at their sparsity.

For glass (standardised), control charts and CMU faces, every prior chooses its own supports.
`SparsePCA` of this package and of scikit-learn then get the same number of non-zeros for each
component: ours exactly, scikit-learn's by keeping the largest loadings of its components (it
cannot be asked for a number). All are judged by cumulative adjusted variance (QR of the
scores) of the same covariance.

Run: python benchmarks/variational_bayes_comparison.py FOLDER [output folder]
Writes variational_bayes.md and variational_bayes.png.
"""

from __future__ import annotations

import sys
import time
import warnings
from pathlib import Path

import matplotlib as mpl
import numpy as np
from sklearn.decomposition import SparsePCA as PenalisedPCA
from sklearn.exceptions import ConvergenceWarning

from loadstone import SparsePCA, SparseProbabilisticPCA
from loadstone.covariance import covariance_of
from loadstone.metrics import adjusted_variance, total_variance

mpl.use("Agg")
import matplotlib.pyplot as plt

PRIORS = ("jeffreys", "inverse_gaussian", "laplace")
SETS = {"glass": (8, True), "synthetic_control": (20, False), "cmu_faces": (12, False)}


def load(folder, name):
    X = np.load(folder / f"{name}.npz", allow_pickle=False)["X"].astype(float)
    if SETS[name][1]:
        X = (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)
    return X


def curve(S, loadings):
    """Cumulative share of non-zeros and of adjusted variance, best component first."""
    order = np.argsort(-np.diagonal(loadings.T @ (S @ loadings)))
    loadings = loadings[:, order]
    cumulative = np.cumsum(adjusted_variance(S, loadings)) / total_variance(S)
    return np.cumsum((loadings != 0).sum(axis=0)), cumulative


def truncated(components, sizes):
    """The largest loadings of each component, unit norm."""
    loadings = np.zeros((components.shape[1], len(sizes)))
    for j, size in enumerate(sizes):
        support = np.argsort(-np.abs(components[j]))[:size]
        loadings[support, j] = components[j, support]
    return loadings / np.linalg.norm(loadings, axis=0)


def per_nonzero(one, other):
    """Share of a common range of non-zeros on which the first curve lies above the second."""
    grid = np.linspace(max(one[0][0], other[0][0]), min(one[0][-1], other[0][-1]), 200)
    if grid[-1] <= grid[0]:
        return float("nan"), float("nan")
    gap = np.interp(grid, *one) - np.interp(grid, *other)
    return float(np.mean(gap >= 0)), float(gap.mean())


def compare(name, X):
    q, _ = SETS[name]
    S, _ = covariance_of(X)
    curves, rows = {}, []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", UserWarning)
        # A small penalty, so that it has at least as many loadings to choose from; on the
        # faces every iteration takes seconds.
        penalised = PenalisedPCA(
            q,
            alpha=0.1 if name == "glass" else 1.0,
            max_iter=8 if name == "cmu_faces" else 50,
            random_state=0,
        )
        start = time.perf_counter()
        components = penalised.fit(X).components_
        penalised_seconds = time.perf_counter() - start
        order = np.argsort(-((X - X.mean(axis=0)) @ components.T).var(axis=0))
        components = components[order]
        for prior in PRIORS:
            start = time.perf_counter()
            model = SparseProbabilisticPCA.as_published(q, prior).fit(X)
            seconds = time.perf_counter() - start
            sizes = [int(k) for k in model.cardinality_]
            exact = SparsePCA(len(sizes), n_nonzero=sizes).fit(X)
            curves[prior] = curve(S, model.components_.T)
            curves[f"{prior}: SparsePCA"] = curve(S, exact.components_.T)
            curves[f"{prior}: scikit-learn"] = curve(S, truncated(components, sizes))
            for method, taken in (
                (prior, seconds),
                (f"{prior}: SparsePCA", None),
                (f"{prior}: scikit-learn", penalised_seconds),
            ):
                used, variance = curves[method]
                share = 100 * used[-1] / (X.shape[1] * q)
                bound = model.lower_bounds_ if method == prior else None
                fall = "" if bound is None else f"{np.min(np.diff(bound) / np.abs(bound[1:])):.1e}"
                clock = "" if taken is None else f"{taken:.1f}"
                rows.append(
                    f"| {name} | {method} | {len(sizes)} | {used[-1]} | {share:.1f} |"
                    f" {variance[-1]:.4f} | {clock} | {fall} |"
                )
    return curves, rows


def main():
    folder = Path(sys.argv[1])
    out = Path(sys.argv[2]) if len(sys.argv) > 2 else Path()
    lines = [
        "| data | method | components | non-zeros | % non-zero | adjusted variance | s | smallest rise |",
        "|---|---|---|---|---|---|---|---|",
    ]
    notes = []
    figure, axes = plt.subplots(1, len(SETS), figsize=(13, 4))
    colours = dict(zip(PRIORS, ("tab:red", "tab:blue", "tab:green"), strict=True))
    for name, axis in zip(SETS, axes, strict=True):
        X = load(folder, name)
        curves, rows = compare(name, X)
        lines += rows
        for method, (used, variance) in curves.items():
            prior, _, rival = method.partition(": ")
            style = {"": "-", "SparsePCA": "--", "scikit-learn": ":"}[rival]
            share = 100 * used / (X.shape[1] * SETS[name][0])
            axis.plot(share, variance, style, color=colours[prior], label=method, lw=1.2)
        ahead, gap = per_nonzero(curves["jeffreys"], curves["laplace"])
        notes.append(
            f"{name}: Jeffreys above Laplace at {100 * ahead:.0f} % of equal numbers of non-zeros, "
            f"by {gap:+.4f} on average."
        )
        print(notes[-1], flush=True)
        axis.set(title=name, xlabel="% non-zero loadings", ylabel="cumulative adjusted variance")
    axes[-1].legend(fontsize=6)
    figure.tight_layout()
    figure.savefig(out / "variational_bayes.png", dpi=110)
    text = "\n".join([*lines, "", *notes, ""])
    (out / "variational_bayes.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
