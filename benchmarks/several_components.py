"""Several components together: the figures of two papers and a published comparison.

Run ``python benchmarks/several_components.py [fig3] [fig4] [sigg] [published]`` for the
parts named, or without arguments for all of them. Tables are printed as Markdown. The
data sets are looked for in ``$LOADSTONE_DATA``, then in ``../shared/data`` beside the
project.
"""

from __future__ import annotations

import csv
import os
import sys
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.decomposition import NMF, PCA
from sklearn.metrics import roc_auc_score
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from loadstone import NSPCA, GreedyPCA, SparsePCA
from loadstone.covariance import covariance_of
from loadstone.datasets import scale_images
from loadstone.metrics import adjusted_variance

N_COMPONENTS = 10


def data_file(name):
    beside = Path(__file__).resolve().parents[1].parent / "shared" / "data"
    for folder in (os.environ.get("LOADSTONE_DATA"), beside):
        if folder and (Path(folder) / name).exists():
            return Path(folder) / name
    sys.exit(f"{name} is not here; set LOADSTONE_DATA to the folder that holds the data sets")


def arrays(name):
    return np.load(data_file(name), allow_pickle=False)


def table(title, header, rows):
    print(f"\n### {title}\n")
    print("| " + " | ".join(header) + " |")
    print("|" + "---|" * len(header))
    for row in rows:
        print("| " + " | ".join(str(cell) for cell in row) + " |", flush=True)


def timed(model, X, fit="fit"):
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        getattr(model, fit)(X)
    return time.perf_counter() - start


def fig3():
    """Zass & Shashua, Fig. 3: overlap falls with alpha, cardinality with beta."""
    for name, X in (
        ("raw grey values", arrays("cbcl_faces.npz")["X"].astype(float)),
        ("scaled images", scale_images(arrays("cbcl_faces.npz")["X"])),
    ):
        rows = []
        for alpha in 10.0 ** np.arange(6, 10.1, 0.5):
            model = NSPCA.from_paper_units(X, alpha, 0.0, N_COMPONENTS)
            seconds = timed(model, X)
            rises = bool((np.diff(model.objective_[0]) >= 0).all())
            cells = [
                f"{np.log10(alpha):.1f}",
                f"{model.overlap_penalty:.3g}",
                f"{model.departure_:.3f}",
            ]
            rows.append([*cells, model.cardinality_.sum(), rises, f"{seconds:.2f}"])
        header = ["log10 alpha", "overlap_penalty", "overlap", "cardinality", "monotone", "seconds"]
        table(f"Fig. 3(a), {name}, beta = 0", header, rows)
        rows = []
        for beta in 10.0 ** np.arange(5, 7.6, 0.25):
            model = NSPCA.from_paper_units(X, 2e7, beta, N_COMPONENTS)
            try:
                seconds = timed(model, X)
            except ValueError:
                rows.append(
                    [f"{np.log10(beta):.2f}", f"{model.sparsity_penalty:.3g}", 0, 0, "", ""]
                )
                break
            rises = bool((np.diff(model.objective_[0]) >= 0).all())
            cells = [f"{np.log10(beta):.2f}", f"{model.sparsity_penalty:.3g}"]
            sizes = [model.cardinality_.sum(), model.n_components_]
            rows.append([*cells, *sizes, rises, f"{seconds:.2f}"])
        header = [
            "log10 beta",
            "sparsity_penalty",
            "cardinality",
            "components",
            "monotone",
            "seconds",
        ]
        table(f"Fig. 3(b), {name}, alpha = 2e7", header, rows)


def fig4():
    """Zass & Shashua, Fig. 4: a linear SVM on ten features, faces against non-faces."""
    for name, prepare in (
        ("raw grey values", lambda X: X.astype(float)),
        ("scaled images", scale_images),
    ):
        faces = prepare(arrays("cbcl_faces.npz")["X"])
        others = prepare(arrays("cbcl_nonfaces.npz")["X"])
        scores = {}
        for seed in range(5):
            rng = np.random.default_rng(seed)
            faces, others = rng.permutation(faces), rng.permutation(others)
            for label, W in fig4_features(faces[:1000]).items():
                area = area_under_roc(faces @ W.T, others @ W.T)
                scores.setdefault(label, []).append(area)
        rows = [[k, f"{np.mean(v):.4f}", f"{np.std(v):.4f}"] for k, v in scores.items()]
        table(f"Fig. 4, {name}: area under ROC, 5 splits", ["features", "mean", "std"], rows)


def fig4_features(train):
    """Ten directions of each method, from the training faces alone."""
    features = {}
    for alpha, beta in ((2e7, 0.0), (5e8, 0.0), (2e7, 2e6), (5e8, 2e6)):
        # The paper's penalties belong to all 2429 faces; penalties grow with the samples.
        share = len(train) / 2429
        model = NSPCA.from_paper_units(train, alpha * share, beta * share, N_COMPONENTS)
        timed(model, train)
        features[f"NSPCA alpha={alpha:g} beta={beta:g}"] = model.components_
    features["PCA"] = PCA(N_COMPONENTS).fit(train).components_
    nmf = NMF(N_COMPONENTS, init="nndsvda", max_iter=1000, tol=1e-3).fit(train)
    features["NMF"] = np.linalg.pinv(nmf.components_).T
    greedy = GreedyPCA(N_COMPONENTS, n_nonzero=55)
    timed(greedy, train)
    features["greedy sparse PCA, 55 pixels"] = greedy.components_
    sparse = SparsePCA(N_COMPONENTS, n_nonzero=36, orthogonality="disjoint", nonnegative=True)
    timed(sparse, train)
    features["SparsePCA non-negative disjoint, 36 pixels"] = sparse.components_
    return features


def area_under_roc(faces, others):
    """1000 faces and 2000 non-faces to train on, the rest to test on."""
    X = np.vstack([faces[:1000], others[:2000]])
    y = np.repeat([1, 0], [1000, 2000])
    scaler = StandardScaler().fit(X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        svm = LinearSVC(dual=False, max_iter=5000).fit(scaler.transform(X), y)
    test = scaler.transform(np.vstack([faces[1000:], others[2000:]]))
    truth = np.repeat([1, 0], [len(faces) - 1000, len(others) - 2000])
    return roc_auc_score(truth, svm.decision_function(test))


def off_first_component(X):
    Z = (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)
    v = np.linalg.svd(Z, full_matrices=False)[2][0]
    return Z - np.outer(Z @ v, v)


def nspca_of_size(X, overlap_penalty, cardinality):
    """NSPCA with ten components whose total cardinality comes closest to the one asked for."""
    low, high = 0.0, 9.0
    best = None
    for _ in range(16):
        middle = (low + high) / 2
        model = NSPCA(N_COMPONENTS, overlap_penalty=overlap_penalty, sparsity_penalty=middle)
        try:
            timed(model, X)
        except ValueError:
            high = middle
            continue
        total = model.cardinality_.sum()
        full = model.n_components_ == N_COMPONENTS
        off = abs(total - cardinality)
        if full and (best is None or off < abs(best.cardinality_.sum() - cardinality)):
            best = model
        low, high = (middle, high) if total > cardinality else (low, middle)
    return best


def sigg():
    """Sigg & Buhmann, Fig. 3: cumulative variance of several non-negative components."""
    X = off_first_component(scale_images(arrays("cbcl_faces.npz")["X"]))
    S, _ = covariance_of(X)
    cases = {
        "disjoint, K=20": {"orthogonality": "disjoint", "n_nonzero": 20},
        "85 degrees, K=20": {"orthogonality": "quasi", "n_nonzero": 20},
        "85 degrees, no K": {"orthogonality": "quasi"},
    }
    header = [
        "method",
        "cardinality",
        "smallest angle",
        *(str(j + 1) for j in range(10)),
        "seconds",
    ]
    for title, parameters in cases.items():
        rows = []
        totals = set()
        for deflation, refine in (("projection", False), ("schur", False), ("schur", True)):
            model = SparsePCA(
                N_COMPONENTS, nonnegative=True, deflation=deflation, refine=refine, **parameters
            )
            seconds = timed(model, X)
            label = f"SparsePCA, {deflation}" + (", refined" if refine else "")
            rows.append(sigg_row(label, S, model.components_, seconds))
            totals.add(int(model.cardinality_.sum()))
        for overlap_penalty in (0.1, 1.0, 3.0, 10.0):
            start = time.perf_counter()
            model = nspca_of_size(X, overlap_penalty, max(totals))
            seconds = time.perf_counter() - start
            if model is not None:
                label = f"NSPCA tuned, overlap_penalty={overlap_penalty:g}"
                rows.append(sigg_row(label, S, model.components_, seconds))
        table(f"Fig. 3 of Sigg & Buhmann: {title}", header, rows)


def sigg_row(label, S, components, seconds):
    W = components.T
    cosine = np.abs(W.T @ W - np.eye(W.shape[1])).max()
    cumulative = np.cumsum(adjusted_variance(S, W)) / S.diagonal().sum()
    shown = [f"{v:.4f}" for v in cumulative] + [""] * (10 - W.shape[1])
    angle = np.rad2deg(np.arccos(min(1.0, cosine)))
    return [label, np.count_nonzero(W), f"{angle:.1f}", *shown, f"{seconds:.1f}"]


def published():
    """Strictly orthogonal components beside the published figures of msPCA and nsprcomp."""
    with data_file("mtcars.csv").open() as lines:
        cars = np.array([[float(v) for v in row[1:]] for row in list(csv.reader(lines))[1:]])
    rng = np.random.default_rng(0)
    wide = rng.standard_normal((71, 4088))
    wide[:, :30] += 2 * rng.standard_normal((71, 1))
    wide[:, 20:60] += 1.5 * rng.standard_normal((71, 1))
    rows = []
    for name, X, r, k, fit, theirs in (
        ("pit props", arrays("pitprops.npz")["X"], 6, 4, "fit_covariance", ".794 / 9e-5 / 4.0"),
        ("mtcars", cars, 3, 4, "fit", ".829 / 9e-5 / .25"),
        ("simulated 71 x 4088", wide, 2, 20, "fit", "(riboflavin .008 / 0 / 1.6)"),
    ):
        for refine in (False, True):
            model = SparsePCA(
                r,
                n_nonzero=k,
                orthogonality="strict",
                deflation="projection",
                refine=refine,
                standardize=fit == "fit",
            )
            timed(model, X, fit)
            seconds = timed(model, X, fit)
            share = model.marginal_variance_.sum() / model.total_variance_
            adjusted = model.explained_variance_ratio_.sum()
            violation = model.orthogonality_violation_.max()
            sizes = " ".join(str(c) for c in model.cardinality_)
            cells = [f"{share:.4f}", f"{adjusted:.4f}", f"{violation:.0e}", sizes, f"{seconds:.2f}"]
            rows.append([f"{name}, r={r}, k={k}", refine, *cells, theirs])
    header = ["data", "refined", "variance", "adjusted", "violation", "sizes", "seconds", "msPCA"]
    table("Strictly orthogonal components", header, rows)


PARTS = {"fig3": fig3, "fig4": fig4, "sigg": sigg, "published": published}

if __name__ == "__main__":
    for part in sys.argv[1:] or PARTS:
        PARTS[part]()
