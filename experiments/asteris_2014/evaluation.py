"""Section 7 of Asteris et al.: faces, genes and spectra."""

from __future__ import annotations

import numpy as np

from experiments import data
from experiments.asteris_2014.curves import Panel, draw, panel_of, table_of, with_rivals
from experiments.asteris_2014.theory import spannogram
from experiments.claim import Judgement, Measured, Table, Verdict, at_least, at_most, claim, near
from experiments.data import Matrix
from experiments.figures import images, panels
from experiments.run import Run
from loadstone import EMPCA
from loadstone.datasets import fetch_cbcl_faces, fetch_lrs, scale_images

FACE_SIZES = (5, 10, 20, 40, 80, 120, 180, 260, 361)
GENE_SIZES = (5, 10, 20, 50, 100, 200, 500)
BANDS = (5, 10, 20, 30, 50, 70, 90)


def panel(run: Run, name: str) -> Panel:
    """The panel of a data set, measured once in a run."""

    def measured() -> Panel:
        quick = run.quick
        if name in {"F-img", "F-raw"}:
            X = data.faces_scaled() if name == "F-img" else data.faces_raw()
            found = panel_of(X, (10, 40, 180) if quick else FACE_SIZES, () if quick else (40, 180))
            return found if quick or name == "F-raw" else with_rivals(found, X)
        if name == "L-raw":
            return panel_of(
                data.leukemia_raw(),
                (5, 50) if quick else GENE_SIZES,
                () if quick else (50,),
                n_init=20,
            )
        return panel_of(data.spectra_raw(), (20, 90) if quick else BANDS, (20,))

    return run.once(f"panel {name}", measured)


@claim(
    "ast.fig3",
    printed="Six samples; six disjoint parts of 40 pixels by Alg. 3 and by EM.",
    data="F-img",
    how="SpannogramPCA net, d = 3, eps = .1, as published, and EMPCA best of 20; features are "
    "removed after use",
    judged=Judgement(
        expected=Verdict.IN_KIND,
        in_kind=(near("pixels shared", 0, 0), near("components", 12, 0)),
    ),
    reference=(
        at_least("smallest proven share", 0.44),
        at_most("largest proven share", 0.72),
    ),
    shares="ast.figures",
)
def figure_3(run: Run) -> Measured:
    """Three rows of six pictures."""
    X = data.faces_scaled()
    S = data.covariance(X)
    parts = spannogram(40, 3, "net", n_components=6, orthogonality="disjoint").fit_covariance(S)
    em = EMPCA(6, n_nonzero=40, nonnegative=True, n_init=20, orthogonality="disjoint")
    em.fit_covariance(S)
    proven = [float(parts.objective_[j][-1] / parts.upper_bound_[j]) for j in range(6)]
    shared = sum(
        int((np.count_nonzero(model.components_, axis=0) > 1).sum()) for model in (parts, em)
    )
    samples = scale_images(fetch_cbcl_faces().data[::405][:6])
    figure = images(
        [255 - samples, parts.components_, em.components_],
        shape=data.face_shape(),
        names=["samples", "Alg. 3", "EM"],
        titles=[[], [f"proven {p:.0%}" for p in proven], []],
    )
    return Measured(
        numbers={
            "pixels shared": shared,
            "components": len(parts.components_) + len(em.components_),
            "smallest proven share": min(proven),
            "largest proven share": max(proven),
        },
        figures={"": figure},
    )


@claim(
    "ast.fig4",
    printed="Alg. 3 and EM are nearly identical on faces; NSPCA has some k only; at least .58 of the "
    "optimum is proven at k = 180.",
    data="F-img; F-raw as a second panel",
    how="Alg. 3 as published (net, d = 3, eps = .1), EMPCA best of 20, NSPCA by sweeps over both of "
    "its penalties, best of 3; the paper's ratio, the net's and the cones' bound, certificates",
    judged=Judgement(
        expected=Verdict.FITTED,
        in_kind=(
            near("F-img, paper's ratio at 180", 0.58, 0.02),
            near("F-img, Alg. 3 / EM at 180", 1.0, 0.03),
        ),
        fitted="the treatment of images was picked among 18 because its ratio comes close to .58",
    ),
    reference=(
        near("F-img, Alg. 3 at 180", 0.5957, 0.004),
        near("F-img, EM at 180", 0.5985, 0.003),
        near("F-img, Alg. 3 at 40", 0.5101, 0.006),
        near("F-img, EM at 40", 0.5204, 0.003),
        near("F-img, NSPCA nearest to 80", 0.563, 0.006),
        near("F-img, paper's ratio at 180", 0.590, 0.006),
        near("F-img, net at 180", 0.609, 0.006),
        near("F-img, cones at 180", 0.649, 0.006),
        at_least("F-img, certificate at 180", 0.972),
        at_least("F-img, certificate at 40", 0.9999),
        near("F-raw, paper's ratio at 180", 0.84, 0.012),
        near("F-raw, net at 180", 0.860, 0.006),
        near("F-raw, cones at 180", 0.927, 0.006),
        at_least("F-raw, certificate at 180", 0.9990),
    ),
    shares="ast.figures",
)
def figure_4(run: Run) -> Measured:
    """Faces, scaled one by one and raw."""
    names = ("F-img",) if run.quick else ("F-img", "F-raw")
    figure, axes = panels(len(names), width=5.4, height=4.2)
    numbers: dict[str, float] = {}
    tables = []
    for ax, name in zip(axes[0], names, strict=True):
        found = panel(run, name)
        draw(ax, found, f"faces, {name}")
        shown = tuple(k for k in (10, 40, 80, 180, 361) if k in found.sizes)
        tables.append(Table(**{**vars(table_of(found, shown)), "caption": f"{name}:"}))
        numbers |= numbers_of(found, name, tuple(k for k in (10, 40, 180) if k in found.sizes))
        if found.rivals:
            near_80 = min(found.rivals, key=lambda k: abs(k - 80))
            numbers[f"{name}, NSPCA nearest to 80"] = found.rivals[near_80]
            numbers[f"{name}, share of sizes to 100 that NSPCA has"] = float(
                sum(k <= 100 for k in found.rivals) / 100
            )
    return Measured(
        numbers=numbers,
        tables=tuple(tables),
        figures={"": figure},
        remarks=(
            "Net, cones and certificate are shares of the optimum proven for our component; the "
            "certificate is deterministic. Raw grey values give much larger shares throughout: the "
            "first eigenvalue is then the light in the room.",
        ),
    )


def numbers_of(found: Panel, name: str, sizes: tuple[int, ...]) -> dict[str, float]:
    """Named numbers of a panel."""
    numbers: dict[str, float] = {}
    for k in sizes:
        numbers[f"{name}, Alg. 3 at {k}"] = found.at("published", k)
        numbers[f"{name}, EM at {k}"] = found.at("em", k)
        numbers[f"{name}, Alg. 3 / EM at {k}"] = found.at("published", k) / found.at("em", k)
        numbers[f"{name}, paper's ratio at {k}"] = found.at("ratio", k)
        numbers[f"{name}, clipped ratio at {k}"] = found.at("clipped", k)
        numbers[f"{name}, net at {k}"] = found.at("net", k)
        numbers[f"{name}, cones at {k}"] = found.at("cones", k)
        if k in found.certificates:
            numbers[f"{name}, certificate at {k}"] = found.certificates[k]
    return numbers


def single(run: Run, name: str, title: str, shown: tuple[int, ...]) -> Measured:
    """A figure of one panel."""
    found = panel(run, name)
    figure, axes = panels(width=5.4, height=4.2)
    draw(axes[0, 0], found, title)
    sizes = tuple(k for k in shown if k in found.sizes)
    return Measured(
        numbers=numbers_of(found, name, sizes),
        tables=(table_of(found, sizes),),
        figures={"": figure},
    )


@claim(
    "ast.fig5",
    printed="Genes: at least .446 of the optimum at k = 50; Alg. 3 above EM at small k, equal later.",
    data="L-raw",
    how="as ast.fig4, without NSPCA",
    judged=Judgement(
        expected=Verdict.IN_KIND,
        as_printed=(near("L-raw, paper's ratio at 50", 0.446, 0.005),),
        in_kind=(
            near("L-raw, paper's ratio at 50", 0.446, 0.03),
            at_least("L-raw, Alg. 3 / EM at 5", 1.05),
        ),
    ),
    reference=(
        near("L-raw, paper's ratio at 50", 0.459, 0.006),
        near("L-raw, Alg. 3 / EM at 5", 1.43, 0.08),
        near("L-raw, Alg. 3 / EM at 50", 1.40, 0.08),
        near("L-raw, Alg. 3 / EM at 500", 0.998, 0.01),
        near("L-raw, net at 50", 0.502, 0.006),
        at_least("L-raw, certificate at 50", 0.984),
    ),
    shares="ast.figures",
)
def figure_5(run: Run) -> Measured:
    """Genes."""
    return single(run, "L-raw", "genes, L-raw", (5, 20, 50, 100, 500))


@claim(
    "ast.fig6.k20",
    printed="Spectra: at least .86 of the optimum at k = 20; Alg. 3 and EM are alike.",
    data="R-raw",
    how="as ast.fig4, without NSPCA",
    judged=Judgement(
        expected=Verdict.REPRODUCED,
        as_printed=(
            near("R-raw, paper's ratio at 20", 0.86, 0.005),
            near("R-raw, Alg. 3 / EM at 20", 1.0, 0.01),
        ),
    ),
    reference=(
        near("R-raw, paper's ratio at 20", 0.858, 0.003),
        near("R-raw, clipped ratio at 20", 0.887, 0.003),
        at_least("R-raw, certificate at 20", 0.99999),
    ),
    shares="ast.figures",
)
def figure_6(run: Run) -> Measured:
    """Spectra."""
    return single(run, "R-raw", "spectra, R-raw", (5, 20, 50, 90))


@claim(
    "ast.fig6.k90",
    printed="Spectra: the proven share climbs to nearly .93 near k = 90.",
    data="spectra in 9 row x 3 column treatments",
    how="the paper's ratio at k = 20 and 90, with eps = .1, without it, and clipped at l_1",
    judged=Judgement(
        expected=Verdict.NOT,
        as_printed=(at_least("variants with .86 at 20 and .93 at 90", 1),),
    ),
    reference=(near("largest ratio as printed", 0.9, 0.05),),
    shares="ast.figures",
)
def figure_6_at_90(run: Run) -> Measured:
    """All treatments that were tried."""
    rows, fits = [], 0
    largest = 0.0
    for row_name, Y in _row_treatments().items():
        for column_name, X in _column_treatments(Y).items():
            ratios = {k: _ratios(X, k) for k in (20, 90)}
            largest = max(largest, ratios[90][0])
            both = [
                abs(ratios[20][i] - 0.86) < 0.01 and abs(ratios[90][i] - 0.93) < 0.01
                for i in range(3)
            ]
            fits += sum(both)
            cells = [f"{ratios[20][i]:.3f} → {ratios[90][i]:.3f}" for i in range(3)]
            rows.append((row_name, column_name, *cells))
    head = ("spectra", "bands", "as printed", "without eps", "clipped")
    return Measured(
        numbers={
            "variants": 3 * len(rows),
            "variants with .86 at 20 and .93 at 90": fits,
            "largest ratio as printed": largest,
        },
        tables=(Table(head=head, rows=tuple(rows), caption="Ratio at k = 20 → 90:"),),
        remarks=("With eps = .1 the printed ratio cannot exceed .9, whatever the data.",),
    )


def _row_treatments() -> dict[str, Matrix]:
    """Spectra as they come, and brought to one level or length."""
    X = np.asarray(fetch_lrs().data, dtype=np.float64)
    centred = X - X.mean(axis=1, keepdims=True)
    positive = np.maximum(X, 0.0)
    return {
        "raw": X,
        "centred": centred,
        "z-scored": centred / centred.std(axis=1, keepdims=True),
        "unit length": X / np.linalg.norm(X, axis=1, keepdims=True),
        "unit sum": X / np.abs(X).sum(axis=1, keepdims=True),
        "unit maximum": X / np.abs(X).max(axis=1, keepdims=True),
        "square root": np.sqrt(positive),
        "logarithm": np.log1p(positive),
        "ranks": np.argsort(np.argsort(X, axis=1), axis=1).astype(float),
    }


def _column_treatments(Y: Matrix) -> dict[str, Matrix]:
    return {"as they are": Y, "centred": Y - Y.mean(axis=0), "standardised": data.standardised(Y)}


def _ratios(X: Matrix, size: int) -> tuple[float, float, float]:
    """The paper's ratio as printed, without eps, and clipped at the largest eigenvalue."""
    A = X.T @ X / len(X)
    model = spannogram(size, 3, "net", second_look=False).fit_covariance(A)
    V, x = model.low_rank_factors_[0], model.components_[0]
    value, gap = float(np.sum((V.T @ x) ** 2)), float(model.low_rank_gap_[0])
    largest = float(np.linalg.eigvalsh(V.T @ V)[-1])
    bound = value / 0.9 + gap
    return value / bound, value / (value + gap), value / min(bound, largest)


@claim(
    "ast.claim.4090",
    printed="On all data sets the component is provably within 40 to 90 % of the optimum.",
    data="F-img, L-raw, R-raw",
    how="the paper's ratio at all k of figs. 4 to 6",
    judged=Judgement(
        expected=Verdict.IN_KIND,
        as_printed=(at_least("smallest at any k", 0.4), at_most("largest at any k", 0.9)),
        in_kind=(at_least("smallest at the printed k", 0.4), at_most("largest at any k", 0.9)),
    ),
    reference=(
        near("smallest at the printed k", 0.459, 0.006),
        near("faces at k = 10", 0.356, 0.01),
    ),
    shares="ast.figures",
)
def forty_to_ninety(run: Run) -> Measured:
    """The range of all ratios."""
    found = {name: panel(run, name) for name in ("F-img", "L-raw", "R-raw")}
    printed = [
        found["F-img"].at("ratio", 180),
        found["L-raw"].at("ratio", 50),
        found["R-raw"].at("ratio", 20),
    ]
    everywhere = np.concatenate([p.ratio for p in found.values()])
    return Measured(
        numbers={
            "smallest at the printed k": min(printed),
            "largest at the printed k": max(printed),
            "smallest at any k": float(everywhere.min()),
            "largest at any k": float(everywhere.max()),
            "faces at k = 10": found["F-img"].at("ratio", 10),
        }
    )
