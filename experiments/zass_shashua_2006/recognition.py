"""Figure 4 of Zass & Shashua: a linear SVM on ten features, faces against other images."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import NMF, PCA
from sklearn.metrics import roc_auc_score
from sklearn.svm import LinearSVC

from experiments.claim import (
    Judgement,
    Measured,
    Table,
    Verdict,
    at_least,
    at_most,
    claim,
    missed,
    near,
)
from experiments.figures import panels
from experiments.quietly import fitted
from experiments.run import Run
from loadstone import NSPCA, GreedyPCA, SparsePCA, datasets
from loadstone.plotting import plot_roc

Array = NDArray[np.float64]
N_FACES, N_OTHERS, N_PARTS = 1000, 2000, 10
SETTINGS = {
    "2e7, 0": (2e7, 0.0),
    "5e8, 0": (5e8, 0.0),
    "2e7, 2e6": (2e7, 2e6),
    "5e8, 2e6": (5e8, 2e6),
}
RIVALS = ("PCA", "NMF", "greedy 55", "greedy 55, schur", "SparsePCA disjoint")


def all_images(kind: str) -> tuple[Array, Array]:
    """Faces and other images, raw or scaled one by one."""
    faces, others = datasets.fetch_cbcl_faces().data, datasets.fetch_cbcl_nonfaces().data
    if kind == "scaled":
        return datasets.scale_images(faces), datasets.scale_images(others)
    return faces.astype(np.float64), others.astype(np.float64)


def directions(train: Array, share: float) -> dict[str, Array]:
    """Ten directions of each method, from the training faces alone."""
    found: dict[str, Array] = {}
    for name, (alpha, beta) in SETTINGS.items():
        model = NSPCA.from_paper_units(train, alpha * share, beta * share, N_PARTS)
        found[f"NSPCA {name}"] = fitted(model, train).components_
    if share < 1:
        return found
    found["PCA"] = PCA(N_PARTS, svd_solver="full").fit(train).components_
    nmf = NMF(N_PARTS, init="nndsvda", max_iter=1000, tol=1e-3, random_state=0)
    found["NMF"] = np.linalg.pinv(fitted(nmf, train).components_).T
    for name, deflation in (("greedy 55", "projection"), ("greedy 55, schur", "schur")):
        greedy = GreedyPCA(N_PARTS, n_nonzero=55, deflation=deflation)
        found[name] = fitted(greedy, train).components_
    sparse = SparsePCA(N_PARTS, n_nonzero=36, orthogonality="disjoint", nonnegative=True)
    found["SparsePCA disjoint"] = fitted(sparse, train).components_
    return found


def decisions(faces: Array, others: Array, W: Array, *, scaled: bool) -> tuple[Array, Array]:
    """Truth and decision values of the test images."""
    X = np.vstack([faces[:N_FACES], others[:N_OTHERS]]) @ W.T
    middle = X.mean(axis=0)
    # One number for all features where they are not standardised: the solver wants small ones.
    unit = X.std(axis=0) if scaled else np.full(X.shape[1], X.std(axis=0).max())
    y = np.repeat([1, 0], [N_FACES, N_OTHERS])
    svm = fitted_svm((X - middle) / unit, y)
    test = (np.vstack([faces[N_FACES:], others[N_OTHERS:]]) @ W.T - middle) / unit
    truth = np.repeat([1, 0], [len(faces) - N_FACES, len(others) - N_OTHERS])
    return truth, svm.decision_function(test)


def fitted_svm(X: Array, y: NDArray[Any]) -> Any:
    """A linear SVM with scikit-learn's usual price."""
    return LinearSVC(dual=False, max_iter=5000).fit(X, y)


def measured(run: Run) -> dict[str, Any]:
    """Areas under ROC by protocol and method, and decisions of the first split."""

    def measure() -> dict[str, Any]:
        areas: dict[tuple[str, str, str, str], list[float]] = {}
        first: dict[str, dict[str, Any]] = {}
        for kind in ("raw", "scaled"):
            for seed in range(1 if run.quick else 5):
                run.tell(f"recognition: {kind} images, split {seed + 1}")
                rng = np.random.default_rng(seed)
                faces, others = (rng.permutation(part) for part in all_images(kind))
                train = faces[:N_FACES]
                # The paper's penalties belong to a sum over images: as printed on 1000 of them,
                # or in proportion, as if they had been chosen on all 2429.
                sets = {"as printed": directions(train, 1.0)}
                sets["in proportion"] = {**sets["as printed"], **directions(train, N_FACES / 2429)}
                for units, scaling in product(sets, ("standardised", "as they are")):
                    for name, W in sets[units].items():
                        how = {"scaled": scaling == "standardised"}
                        truth, values = decisions(faces, others, W, **how)
                        key = (kind, units, scaling, name)
                        areas.setdefault(key, []).append(float(roc_auc_score(truth, values)))
                        if seed == 0 and key[1:3] == MAIN:
                            first.setdefault(kind, {"truth": truth})[name] = values
        return {"areas": areas, "first": first}

    return run.once("recognition", measure)


#: Protocol of the tables: penalties in proportion to the images, features standardised.
MAIN = ("in proportion", "standardised")


def table_of(areas: dict[Any, list[float]], names: list[str]) -> Table:
    """Mean and deviation for raw and scaled images."""
    rows = []
    for name in names:
        cells = [areas[(kind, *MAIN, name)] for kind in ("raw", "scaled")]
        shown = [text for c in cells for text in (f"{np.mean(c):.4f}", f"{np.std(c):.4f}")]
        rows.append((name, *shown))
    head = ("features", "raw images: area", "sd", "scaled images: area", "sd")
    n = len(next(iter(areas.values())))
    return Table(head=head, rows=tuple(rows), caption=f"Area under ROC over {n} random splits.")


def roc_figure(first: dict[str, Any], names: list[str]) -> Any:
    """One panel for raw, one for scaled images."""
    figure, axes = panels(2, height=4.2)
    for ax, kind in zip(axes[0], ("raw", "scaled"), strict=True):
        plot_roc(first[kind]["truth"], {name: first[kind][name] for name in names}, ax=ax)
        ax.set_title(f"{kind} images, first split", fontsize="medium")
    return figure


@claim(
    "zass.fig4a",
    printed="The ROC curve of a linear SVM on ten features is higher with higher alpha and beta.",
    data="1000 faces and 2000 other images to train, the rest to test; raw and scaled images",
    how="directions from the 1000 training faces; 5 random splits; scores standardised",
    judged=Judgement(
        expected=Verdict.NOT,
        as_printed=(
            at_least("raw: 5e8, 2e6 minus 2e7, 0", 0.005),
            at_least("scaled: 5e8, 2e6 minus 2e7, 0", 0.005),
        ),
        in_kind=(at_least("raw: 5e8, 2e6 minus 2e7, 0", 0.0),),
    ),
    reference=(
        near("raw: NSPCA 2e7, 0", 0.951, 0.006),
        near("raw: NSPCA 5e8, 0", 0.942, 0.006),
        near("raw: NSPCA 2e7, 2e6", 0.944, 0.006),
        near("raw: NSPCA 5e8, 2e6", 0.940, 0.006),
        near("scaled: NSPCA 2e7, 0", 0.898, 0.02),
        near("scaled: NSPCA 5e8, 0", 0.902, 0.02),
        near("scaled: NSPCA 2e7, 2e6", 0.898, 0.02),
        near("scaled: NSPCA 5e8, 2e6", 0.893, 0.02),
    ),
    shares="recognition",
)
def figure_4a(run: Run) -> Measured:
    """ROC curves for four pairs of penalties."""
    found = measured(run)
    names = [f"NSPCA {name}" for name in SETTINGS]
    numbers = _areas(found["areas"], names)
    for kind in ("raw", "scaled"):
        gain = numbers[f"{kind}: NSPCA 5e8, 2e6"] - numbers[f"{kind}: NSPCA 2e7, 0"]
        numbers[f"{kind}: 5e8, 2e6 minus 2e7, 0"] = gain
    return Measured(
        numbers=numbers,
        tables=(table_of(found["areas"], names),),
        figures={"": roc_figure(found["first"], names)},
        remarks=(
            "It holds on scaled images and fails on raw ones, and PCA, which is not sparse at all, is "
            "as good or better on both. Areas of scaled images differ between splits by up to .02, "
            "which is the tolerance of their reference values.",
        ),
    )


@claim(
    "zass.fig4b",
    printed="NSPCA (5e8, 2e6) generalises better than NMF, PCA and greedy sparse PCA.",
    data="as for Fig. 4(a)",
    how="raw or scaled images, penalties as printed or in proportion to the images, scores "
    "standardised or not: 8 protocols; NMF's features by its pseudo-inverse",
    judged=Judgement(
        expected=Verdict.NOT,
        as_printed=(at_least("protocols in which NSPCA is first", 8),),
        in_kind=(at_least("protocols in which NSPCA is first", 4),),
    ),
    reference=(
        near("raw: PCA", 0.951, 0.006),
        missed(near("raw: NMF", 0.956, 0.006), "means of five splits differ by as much, see above"),
        missed(
            near("raw: greedy 55", 0.943, 0.006),
            "it lies between those of two deflations, and five splits differ by as much, see above",
        ),
        near("raw: NSPCA 5e8, 2e6", 0.940, 0.006),
        at_most("protocols in which NSPCA is first", 0),
    ),
    shares="recognition",
)
def figure_4b(run: Run) -> Measured:
    """NSPCA beside three rivals and disjoint SparsePCA."""
    found = measured(run)
    areas = found["areas"]
    names = ["NSPCA 5e8, 2e6", *RIVALS]
    protocols = sorted({key[:3] for key in areas})
    rows, first = [], 0
    for protocol in protocols:
        means = [float(np.mean(areas[(*protocol, name)])) for name in names]
        first += int(means[0] > max(means[1:-1]))
        rows.append((*protocol, *(f"{m:.4f}" for m in means)))
    head = ("images", "penalties", "scores", *names)
    raw = {name: np.array(areas[("raw", *MAIN, name)]) for name in ("NMF", "greedy 55")}
    apart = {
        # Of a difference of two means over as many splits each.
        name: float(v.std(ddof=1) * np.sqrt(2 / v.size)) if v.size > 1 else 0.0
        for name, v in raw.items()
    }
    numbers: dict[str, Any] = {
        **_areas(areas, names),
        **{f"raw: {name}, standard error of a difference": e for name, e in apart.items()},
        "protocols": len(protocols),
        "protocols in which NSPCA is first": first,
    }
    return Measured(
        numbers=numbers,
        tables=(table_of(areas, names), Table(head=head, rows=tuple(rows))),
        figures={"": roc_figure(found["first"], names[:-2] + names[-1:])},
        remarks=(
            "Reference values are means of five splits of their own. Two such means differ by a standard "
            f"error of {apart['NMF']:.4f} for NMF and {apart['greedy 55']:.4f} for the greedy method; "
            f"the reference is {0.956 - numbers['raw: NMF']:+.4f} and "
            f"{0.943 - numbers['raw: greedy 55']:+.4f} away. How greedy components are deflated is not "
            f"said: by projection they have {numbers['raw: greedy 55']:.4f}, by Schur complements "
            f"{numbers['raw: greedy 55, schur']:.4f}. NSPCA is first in {first} of "
            f"{len(protocols)} protocols.",
        ),
    )


def _areas(areas: dict[Any, list[float]], names: list[str]) -> dict[str, Any]:
    return {
        f"{kind}: {name}": float(np.mean(areas[(kind, *MAIN, name)]))
        for kind in ("raw", "scaled")
        for name in names
    }
