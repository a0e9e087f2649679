"""Figures 2 and 3 of Zass & Shashua: parts of faces, and what alpha and beta do to them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import NMF, PCA

from experiments import data
from experiments.claim import Judgement, Measured, Table, Verdict, at_least, at_most, claim, near
from experiments.figures import curve, finish, images, panels
from experiments.quietly import fitted
from experiments.run import Run
from loadstone import NSPCA, GreedyPCA, datasets
from loadstone.plotting.style import COLOURS

Array = NDArray[np.float64]
N_PARTS = 10
#: Panels (a), (b) and (c) of Fig. 2.
SETTINGS = {"(a)": (2e7, 0.0), "(b)": (5e8, 0.0), "(c)": (2e7, 2e6)}


def nspca(X: Array, alpha: float, beta: float) -> Any:
    """Ten components with the paper's penalties; ``None`` where nothing is left."""
    model = NSPCA.from_paper_units(X, alpha, beta, N_PARTS)
    try:
        return fitted(model, X)
    except ValueError as error:
        if "leaves every component empty" not in str(error):
            raise
        return None


def of_figure_2(run: Run) -> dict[str, Any]:
    """The three models of the first rows of Fig. 2."""
    X = data.faces_raw()
    return run.once("fig2", lambda: {name: nspca(X, *p) for name, p in SETTINGS.items()})


def multiplicative(run: Run) -> Array:
    """Ten parts by multiplicative updates on the grey values, which cannot be centred for them."""
    X = datasets.fetch_cbcl_faces().data.astype(np.float64)
    steps = 60 if run.quick else 300
    model = NMF(N_PARTS, init="random", solver="mu", max_iter=steps, tol=0.0, random_state=0)
    return run.once(f"nmf {steps}", lambda: np.asarray(fitted(model, X).components_))


@claim(
    "zass.claim.zero",
    printed="Entries reach zero and leave it, unlike those of multiplicative NMF; A may have any sign.",
    data="F-raw; NMF on the grey values themselves",
    how="10 components; NSPCA alpha = 5e8, beta = 0; scikit-learn's NMF with multiplicative updates",
    judged=Judgement(
        expected=Verdict.REPRODUCED,
        as_printed=(at_least("zeros of NSPCA", 1000), at_most("zeros of NMF", 0)),
    ),
    reference=(near("zeros of NSPCA", 1906, 40), near("zeros of NMF", 0, 0)),
    shares="parts",
)
def zeros(run: Run) -> Measured:
    """Exact zeros among 3610 entries."""
    model, parts = of_figure_2(run)["(b)"], multiplicative(run)
    return Measured(
        numbers={
            "entries": int(parts.size),
            "zeros of NSPCA": int((model.components_ == 0).sum()),
            "zeros of NMF": int((parts == 0).sum()),
            "smallest entry of A / largest": float(_smallest_entry()),
        },
    )


def _smallest_entry() -> float:
    A = data.faces_raw().T @ data.faces_raw()
    return float(A.min() / A.max())


@claim(
    "zass.fig2",
    printed="Ten parts: alpha separates them (b), beta thins them out and leaves the overlap (c); "
    "beside PCA (d), NMF (e) and greedy sparse PCA with 55 pixels (f).",
    data="F-raw, 2429 faces",
    how="alpha, beta = 2e7, 0; 5e8, 0; 2e7, 2e6 in the paper's units (NSPCA.from_paper_units)",
    judged=Judgement(
        expected=Verdict.IN_KIND,
        in_kind=(
            at_most("(b) overlap", "(a) overlap", -1.0),
            at_most("(c) non-zeros", "(a) non-zeros", -1000),
            at_least("(c) overlap", "(b) overlap", -0.5),
        ),
    ),
    reference=(
        near("(a) overlap", 4.55, 0.35),
        near("(a) non-zeros", 3146, 120),
        near("(b) overlap", 1.61, 0.05),
        near("(b) non-zeros", 1709, 30),
        near("(c) non-zeros", 1543, 30),
    ),
    shares="parts",
)
def figure_2(run: Run) -> Measured:
    """Six rows of ten images."""
    X = data.faces_raw()
    models = of_figure_2(run)
    greedy = fitted(GreedyPCA(N_PARTS, n_nonzero=55, deflation="projection"), X)
    rows = [models[name].components_ for name in SETTINGS]
    rows += [_bright(PCA(N_PARTS, svd_solver="full").fit(X).components_), multiplicative(run)]
    rows.append(_bright(greedy.components_))
    names = ["(a) 2e7, 0", "(b) 5e8, 0", "(c) 2e7, 2e6", "(d) PCA", "(e) NMF", "(f) greedy 55"]
    signed = [False, False, False, True, False, True]
    numbers: dict[str, Any] = {}
    for name, model in models.items():
        numbers[f"{name} overlap"] = float(model.overlap_)
        numbers[f"{name} non-zeros"] = int(model.cardinality_.sum())
    made = tuple(
        (
            name,
            f"{alpha:.0e}, {beta:.0e}" if beta else f"{alpha:.0e}, 0",
            float(models[name].overlap_penalty),
            float(models[name].sparsity_penalty),
            float(models[name].overlap_),
            float(models[name].departure_),
            int(models[name].cardinality_.sum()),
            int(models[name].n_iter_),
            bool((np.diff(models[name].objective_[0]) >= -1e-12).all()),
        )
        for name, (alpha, beta) in SETTINGS.items()
    )
    head: tuple[str, ...] = ("panel", "alpha, beta", "`overlap_penalty`", "`sparsity_penalty`")
    head += ("`overlap_` of unit columns", "`departure_` of raw ones", "non-zeros")
    head += ("sweeps", "objective never fell")
    return Measured(
        numbers=numbers,
        tables=(Table(head=head, rows=made),),
        figures={"": images(rows, shape=data.face_shape(), names=names, signed=signed)},
        remarks=(
            "Loadings of (d) and (f) have signs: purple is positive, orange negative, and each is "
            "turned so that its sum is positive.",
            "At small alpha many local optima have nearly the same objective: sweeping pixels in "
            "another order moves it by less than 1e-4 of its value, the overlap by up to .3 and the "
            "non-zeros by 4 %. Tolerances of the reference values allow for that.",
        ),
    )


def _bright(components: Array) -> Array:
    """Each component with the sign that makes its sum positive."""
    return np.asarray(components * np.where(components.sum(axis=1) < 0, -1, 1)[:, None])


ALPHAS = tuple(10.0 ** np.arange(6, 10.1, 0.5))


@claim(
    "zass.fig3a",
    printed="The overlap ||I - U'U|| falls over alpha = 1e6 .. 1e10; the axis runs from 0 to 8.",
    data="F-raw; ten other treatments were tried for the axis, none fits Fig. 3b as well",
    how="10 components, beta = 0; columns scaled to unit norm, raw columns beside",
    judged=Judgement(
        expected=Verdict.IN_KIND,
        as_printed=(near("overlap at 1e6", 7.0, 1.0), at_most("largest rise", 0.0)),
        in_kind=(at_most("largest rise", 0.0), at_most("overlap at 1e10", 0.3)),
    ),
    reference=(
        near("overlap at 1e6", 4.94, 0.35),
        near("overlap at 1e7", 4.67, 0.35),
        near("overlap at 1e8", 3.61, 0.1),
        near("overlap at 1e9", 0.95, 0.05),
        near("overlap at 1e10", 0.13, 0.02),
        near("raw columns at 1e6", 1266, 20),
        near("raw columns at 1e10", 0.14, 0.03),
    ),
    shares="parts",
)
def figure_3a(run: Run) -> Measured:
    """Overlap of unit and of raw columns over alpha."""
    X = data.faces_raw()
    alphas = ALPHAS[::2] if run.quick else ALPHAS
    models = [nspca(X, alpha, 0.0) for alpha in alphas]
    unit = np.array([model.overlap_ for model in models])
    raw = np.array([model.departure_ for model in models])
    figure, axes = panels(2)
    curve(axes[0][0], np.log10(alphas), unit, 0, "unit columns")
    finish(axes[0][0], title="Fig. 3(a)", x="log10 alpha", y="||I - U'U||", ylim=(0, 8))
    curve(axes[0][1], np.log10(alphas), raw, 1, "raw columns")
    axes[0][1].set_yscale("log")
    finish(axes[0][1], title="columns as they are found", x="log10 alpha", y="||I - U'U||")
    at = {
        f"{alpha:.0e}".replace("e+0", "e").replace("e+", "e"): i for i, alpha in enumerate(alphas)
    }
    numbers = {f"overlap at {name}": float(unit[i]) for name, i in at.items() if name[0] == "1"}
    numbers |= {f"raw columns at {name}": float(raw[at[name]]) for name in ("1e6", "1e10")}
    rows = [
        (f"{np.log10(a):.1f}", float(m.overlap_penalty), u, r, int(m.cardinality_.sum()), m.n_iter_)
        for a, m, u, r in zip(alphas, models, unit, raw, strict=True)
    ]
    head: tuple[str, ...] = (
        "log10 alpha",
        "`overlap_penalty`",
        "`overlap_`",
        "`departure_`",
        "non-zeros",
        "sweeps",
    )
    return Measured(
        numbers={**numbers, "largest rise": float(np.diff(unit).max())},
        tables=(Table(head=head, rows=tuple(rows)),),
        figures={"": figure},
    )


BETAS = (5.0, 5.5, 6.0, 6.3, 6.5, 7.0, 7.5, 8.0)


@claim(
    "zass.fig3b",
    printed="The number of non-zeros falls over beta = 1e5 .. 1e8 at alpha = 2e7; axis 0 to 2500.",
    data="F-raw, all 2429 faces and the first 1000",
    how="10 components; sizes of all columns together, columns that vanished counted",
    judged=Judgement(
        expected=Verdict.FITTED,
        in_kind=(
            at_most("first 1000: largest rise", 0),
            at_most("first 1000: non-zeros at log 5", 2500),
            at_most("all: largest rise", 0),
        ),
        fitted="the first 1000 faces fit the axis, the 2429 of the text start above it",
    ),
    reference=(
        near("all: non-zeros at log 5", 3034, 150),
        near("all: non-zeros at log 6", 2045, 60),
        near("all: non-zeros at log 6.3", 1543, 40),
        near("all: non-zeros at log 7", 673, 30),
        near("all: non-zeros at log 7.5", 360, 10),
        near("all: non-zeros at log 8", 359, 10),
        near("first 1000: non-zeros at log 5", 2406, 80),
        near("first 1000: non-zeros at log 6", 927, 60),
        near("first 1000: non-zeros at log 6.3", 618, 30),
        near("first 1000: non-zeros at log 7", 360, 10),
    ),
    shares="parts",
)
def figure_3b(run: Run) -> Measured:
    """Sizes over beta, with dead columns."""
    every = data.faces_raw()
    first = datasets.fetch_cbcl_faces().data[:1000].astype(np.float64)
    figure, axes = panels()
    ax = axes[0][0]
    numbers: dict[str, Any] = {}
    rows: list[tuple[Any, ...]] = []
    for place, (name, X) in enumerate({"all": every, "first 1000": first}.items()):
        sizes = []
        for exponent in BETAS:
            model = nspca(X, 2e7, 10.0**exponent)
            size = 0 if model is None else int(model.cardinality_.sum())
            alive = 0 if model is None else int(model.n_components_)
            sizes.append(size)
            numbers[f"{name}: non-zeros at log {exponent:g}"] = size
            rows.append((name, exponent, size, alive))
            if alive < N_PARTS:
                place_of_text = {"xytext": (0, 5), "textcoords": "offset points", "ha": "center"}
                ax.annotate(f"{alive}", (exponent, size), color=COLOURS[place], **place_of_text)
        numbers[f"{name}: largest rise"] = int(np.diff(sizes).max())
        curve(ax, BETAS, sizes, place, "all 2429 faces" if name == "all" else "first 1000 faces")
    ax.axhline(2500, color="0.4", linewidth=0.9, linestyle=":", label="end of the printed axis")
    x = "log10 beta (numbers: columns left, where fewer than 10)"
    finish(ax, title="Fig. 3(b), alpha = 2e7", x=x, y="non-zeros of 3610")
    head: tuple[str, ...] = ("faces", "log10 beta", "non-zeros", "columns left")
    return Measured(
        numbers=numbers,
        tables=(Table(head=head, rows=tuple(rows)),),
        figures={"": figure},
    )
