"""Sparse noisy PCA against the paper's tables and against rivals.

Run ``python benchmarks/sparse_noisy_pca.py`` for everything, or name the parts:
``simulation1 simulation2 nci60 timing``. The NCI60 parts read ``nci60.npz`` (array ``X``,
64 x 6830) from the folder in ``$LOADSTONE_DATA``. ``--figures FOLDER`` draws pictures.
Times are processor seconds; on a shared machine read them as ratios.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.decomposition import PCA, SparsePCA

from loadstone.datasets.make_noisy_factors import make_disjoint_factors, make_overlapping_shapes
from loadstone.estimators.sparse_noisy_pca import SparseNoisyPCA
from loadstone.metrics.recovery import angles, probability_of_error, same_support
from loadstone.plotting.criterion import plot_criterion

CRITERIA = {
    "bic, path": {"penalty": "bic"},
    "ebic, gamma 0.5": {"penalty": "ebic", "ebic_gamma": 0.5},
    "ebic, gamma 1": {"penalty": "ebic"},
    "default": {"noise": "auto", "penalty": "ebic", "n_penalties": None},
}


def oracle_support_fit(X, support, n_iter=300):
    """EM on the true support: the best any choice of supports could lead to."""
    Y = X - X.mean(axis=0)
    S = Y.T @ Y / len(Y)
    values = np.linalg.eigvalsh(S)
    # From PCA restricted to each support, so that no truth but the support goes in.
    G = np.zeros(support.shape)
    for j, rows in enumerate(support.T):
        part = np.linalg.eigh(S[np.ix_(rows, rows)])
        G[rows, j] = part[1][:, -1] * np.sqrt(part[0][-1])
    noise = float(np.mean(values[: -support.shape[1]]))
    for _ in range(n_iter):
        W = np.linalg.inv(G.T @ G + noise * np.eye(G.shape[1]))
        B = S @ G @ W
        A = noise * W + W @ (G.T @ S @ G) @ W
        for v, kept in enumerate(support):
            G[v, kept] = np.linalg.solve(A[np.ix_(kept, kept)], B[v, kept])
        noise = (np.trace(S) - 2 * np.sum(B * G) + np.sum((G.T @ G) * A)) / len(S)
    return G


def fit(X, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return SparseNoisyPCA.as_published(**options).fit(X)


def simulation1(n_seeds=100):
    print(f"\nSimulation 1, {n_seeds} seeds: two disjoint components, T=100, M=10")
    print("  (paper, 10 runs: 2.15 and 3.10 degrees)")
    data = [make_disjoint_factors(random_state=seed) for seed in range(n_seeds)]
    oracle = np.array([angles(oracle_support_fit(X, G != 0), G) for X, G in data])
    print(f"  {'':18s}  r=2  exact   angle 1  angle 2   seconds per fit")
    print(f"  {'oracle support':18s}    -      -   {_degrees(oracle)}")
    for name, options in CRITERIA.items():
        began = time.process_time()
        models = [fit(X, **options) for X, _ in data]
        seconds = (time.process_time() - began) / n_seeds
        found = np.array(
            [angles(m.components_.T, G) for m, (_, G) in zip(models, data, strict=True)]
        )
        right = sum(m.n_components_ == 2 for m in models)
        exact = sum(
            same_support(m.components_.T, G) for m, (_, G) in zip(models, data, strict=True)
        )
        print(f"  {name:18s} {right:4d} {exact:6d}   {_degrees(found)}   {seconds:.2f}")
    noisy = np.array([angles(PCA(2).fit(X).components_.T, G) for X, G in data])
    print(f"  {'noisy PCA, r=2':18s}    -      -   {_degrees(noisy)}")


def simulation2(n_seeds=20, figures=None):
    for strengths in ((2.0, 1.5), (1.67, 1.2)):
        print(f"\nSimulation 2, {n_seeds} seeds: overlapping disc and frame, strengths {strengths}")
        print("  (paper, its own images, 44 runs: 7.6 and 11.7 degrees)")
        data = [
            make_overlapping_shapes(random_state=seed, strengths=strengths)
            for seed in range(n_seeds)
        ]
        oracle = np.array([angles(oracle_support_fit(X, G != 0, 60), G) for X, G in data])
        print(f"  {'':18s}  r=2   angle 1  angle 2     P_E   seconds per fit")
        print(f"  {'oracle support':18s}    -   {_degrees(oracle)}")
        for name, options in CRITERIA.items():
            began = time.process_time()
            models = [fit(X, n_components=range(1, 5), **options) for X, _ in data]
            seconds = (time.process_time() - began) / n_seeds
            found = np.array(
                [angles(m.components_.T, G) for m, (_, G) in zip(models, data, strict=True)]
            )
            wrong = np.mean(
                [
                    probability_of_error(m.components_.T, G)
                    for m, (_, G) in zip(models, data, strict=True)
                ]
            )
            right = sum(m.n_components_ == 2 for m in models)
            print(f"  {name:18s} {right:4d}   {_degrees(found)}   {wrong:.4f}   {seconds:.2f}")
        noisy = np.array([angles(PCA(2).fit(X).components_.T, G) for X, G in data])
        print(f"  {'noisy PCA, r=2':18s}    -   {_degrees(noisy)}")
        if figures and strengths == (2.0, 1.5):
            path = fit(data[0][0], n_components=range(1, 5), penalty="ebic")
            draw_shapes(*data[0], path, figures)


def _degrees(values):
    mean = values.mean(axis=0)
    return f"{mean[0]:7.2f}  {mean[1]:7.2f}"


def draw_shapes(X, G, model, figures):
    from matplotlib import pyplot as plt

    noisy = PCA(2).fit(X)
    panels = {
        "true loadings": G.T,
        "noisy PCA": noisy.components_,
        "chosen by EBIC": model.components_,
    }
    fig, axes = plt.subplots(2, 3, figsize=(7.5, 5.2), layout="constrained")
    for column, (title, loadings) in zip(axes.T, panels.items(), strict=True):
        column[0].set_title(title)
        for ax, w in zip(column, loadings, strict=False):
            limit = np.abs(w).max()
            ax.imshow(w.reshape(25, 25), cmap="RdBu_r", vmin=-limit, vmax=limit)
            ax.set_axis_off()
    fig.savefig(figures / "sparse_noisy_pca_shapes.png", dpi=120)
    ax = plot_criterion(model)
    ax.figure.savefig(figures / "sparse_noisy_pca_criterion.png", dpi=120)
    plt.close("all")


def load_nci60():
    folder = os.environ.get("LOADSTONE_DATA")
    if not folder or not (Path(folder) / "nci60.npz").exists():
        print("\nNCI60 skipped: set LOADSTONE_DATA to the folder that holds nci60.npz")
        return None
    return np.load(Path(folder) / "nci60.npz", allow_pickle=False)["X"]


def elastic_net_components(Y, penalties, n_iter=200):
    """Sparse PCA of Zou, Hastie and Tibshirani in its gene expression form, one component."""
    first = np.linalg.svd(Y, full_matrices=False)[2][0]
    for penalty in penalties:
        a = first
        for _ in range(n_iter):
            direction = Y.T @ (Y @ a)
            b = np.sign(direction) * np.maximum(np.abs(direction) - penalty / 2, 0)
            if not b.any():
                break
            back = Y.T @ (Y @ b)
            new = back / np.linalg.norm(back)
            moved = np.linalg.norm(new - a)
            a = new
            if moved < 1e-8:
                break
        if b.any():
            yield b / np.linalg.norm(b)


def sklearn_components(Y, alphas):
    for alpha in alphas:
        w = SparsePCA(1, alpha=alpha, method="cd", random_state=0).fit(Y).components_[0]
        if w.any():
            yield w / np.linalg.norm(w)


def variance_share(Y, w):
    return float(np.sum((Y @ w) ** 2) / np.sum(Y**2))


def on_support(Y, w):
    """The same support with the best loadings on it."""
    rows = np.flatnonzero(w)
    best = np.zeros_like(w)
    best[rows] = np.linalg.svd(Y[:, rows], full_matrices=False)[2][0]
    return best


def nci60(figures=None):
    X = load_nci60()
    if X is None:
        return
    Y = X - X.mean(axis=0)
    model = fit(X, n_components=1, penalty="bic", n_penalties=400, penalty_range=(1e-4, 40.0))
    ours = np.array(
        [
            (m.n_parameters, variance_share(Y, m.loadings[:, 0] / np.linalg.norm(m.loadings)))
            for m in model.path_
            if m.n_components
        ]
    )
    print(
        f"\nNCI60, first component: BIC keeps h={model.penalty_:.3f}, "
        f"{model.cardinality_[0]} of {X.shape[1]} loadings, "
        f"{model.explained_variance_ratio_[0]:.4f} of the variance"
    )
    print("  our value is that of the path's model with at most as many non-zero loadings")
    print("  rival           non-zero   share   renormalised |  ours: non-zero   share")
    top = np.abs(Y.T @ (Y @ np.linalg.svd(Y, full_matrices=False)[2][0])).max()
    curves = {
        "elastic net": list(elastic_net_components(Y, 2 * top * np.linspace(0.01, 0.95, 24))),
        "sklearn SparsePCA": list(sklearn_components(Y, [0.5, 1, 2, 4, 8, 12, 16, 20, 24])),
    }
    points = {}
    for name, components in curves.items():
        wins, wins_renormalised = 0, 0
        points[name] = []
        for w in components:
            k = np.count_nonzero(w)
            raw, best = variance_share(Y, w), variance_share(Y, on_support(Y, w))
            below = ours[ours[:, 0] <= k]
            mine = below[np.argmax(below[:, 1])] if len(below) else (0, 0.0)
            wins += mine[1] > raw
            wins_renormalised += mine[1] > best
            points[name].append((k, raw))
            print(
                f"  {name:18s} {k:6d}  {raw:.5f}   {best:.5f}      |  {int(mine[0]):10d}  {mine[1]:.5f}"
            )
        print(
            f"  {name}: ours explains more at {wins} of {len(components)} sizes, "
            f"at {wins_renormalised} after the rival is renormalised"
        )
    if figures:
        draw_variance(ours, points, model, figures)


def draw_variance(ours, points, model, figures):
    from matplotlib import pyplot as plt

    fig, ax = plt.subplots(layout="constrained")
    ax.plot(*ours.T, label="sparse noisy PCA", color="black")
    for (name, values), marker in zip(points.items(), "s^", strict=True):
        ax.plot(*np.transpose(values), marker=marker, markersize=4, linewidth=1, label=name)
    ax.plot(
        model.cardinality_[0],
        model.explained_variance_ratio_[0],
        "o",
        color="crimson",
        label="chosen by BIC",
    )
    ax.set(
        xscale="log",
        xlabel="non-zero loadings",
        ylabel="share of the variance",
        title="NCI60, first component",
    )
    ax.legend(frameon=False)
    fig.savefig(figures / "sparse_noisy_pca_nci60.png", dpi=120)
    plt.close("all")


def timing():
    X = load_nci60()
    if X is None:
        return
    print("\nNCI60: a path of 50 penalties, in calls of scikit-learn's PCA on the same matrix")
    for r in (1, 2, 5):
        rival = np.median([_seconds(lambda r=r: PCA(n_components=r).fit(X)) for _ in range(15)])
        fit(X, n_components=r, penalty=0.1, max_iter=2)
        ours = min(_seconds(lambda r=r: fit(X, n_components=r, penalty="bic")) for _ in range(2))
        print(f"  r={r}: path {ours:.3f} s, PCA {1e3 * rival:.1f} ms, ratio {ours / rival:.0f}")


def _seconds(call):
    began = time.process_time()
    call()
    return time.process_time() - began


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    names = ["simulation1", "simulation2", "nci60", "timing"]
    parser.add_argument("parts", nargs="*", choices=[*names, []], default=[])
    parser.add_argument("--figures", type=Path, default=None)
    arguments = parser.parse_args()
    if arguments.figures:
        import matplotlib as mpl

        mpl.use("Agg")
        arguments.figures.mkdir(parents=True, exist_ok=True)
    chosen = arguments.parts or names
    if "simulation1" in chosen:
        simulation1()
    if "simulation2" in chosen:
        simulation2(figures=arguments.figures)
    if "nci60" in chosen:
        nci60(figures=arguments.figures)
    if "timing" in chosen:
        timing()


if __name__ == "__main__":
    main()
