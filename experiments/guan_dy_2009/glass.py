"""Table 3 of Guan & Dy: the printed loadings on glass, and refits."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from experiments import data
from experiments.claim import Judgement, Measured, Table, Verdict, at_least, at_most, claim, near
from experiments.figures import finish, panels
from experiments.guan_dy_2009 import glass_table
from experiments.guan_dy_2009.measures import AS_RUN
from experiments.quietly import fitted
from experiments.run import Run
from loadstone import SparsePCA, SparseProbabilisticPCA
from loadstone.covariance import covariance_of
from loadstone.metrics import adjusted_variance

Array = NDArray[np.float64]
HEAD = ("loadings", *(f"PC{j}" for j in range(1, 8)), "CV by GS", "CV by QR")


@claim(
    "gd.tab3",
    printed="Jeffreys on glass: 8 become 7 components of sizes 8 8 5 7 3 5 3, CV .992; SPCA of the same "
    "sizes .963.",
    data="G-z; the printed loadings",
    how="variances of the printed loadings by GS and QR, with printed and corrected signs; refits by "
    "the published run, 3000 rounds and tolerance 1e-3, and with rotation steps",
    judged=(
        Judgement(
            expected=Verdict.IN_KIND,
            as_printed=(
                near("printed SPPCA, GS", 0.992, 0.002),
                near("printed SPCA, GS", 0.963, 0.002),
            ),
            in_kind=(
                near("SPPCA with corrected signs, GS", 0.992, 0.002),
                near("SPCA with a corrected sign, GS", 0.963, 0.002),
                at_least("published run: zero pattern, of 63", 52),
            ),
        ),
        Judgement(
            expected=Verdict.NOT,
            of="for seven components",
            as_printed=(at_most("components of the published run", 7),),
        ),
    ),
    reference=(
        near("SPPCA with corrected signs, QR", 0.970, 0.003),
        near("SPCA with a corrected sign, QR", 0.926, 0.003),
        near("published run: zero pattern, of 63", 57, 3),
        near("tolerance 1e-3: rounds", 3, 1),
        near("tolerance 1e-3: non-zeros of 72", 68, 2),
        near("with rotation: non-zeros", 29, 2),
        at_least("SparsePCA at the printed sizes, QR", 0.975),
    ),
    shares="benchmark",
)
def table_3(run: Run) -> Measured:
    """From the printed loadings, and refitted."""
    X = data.glass_standardised()
    rows, totals = _from_print(X)
    refits = {
        "published run, 3000 rounds": _refit(X, max_iter=3000, tol=0.0, **AS_RUN),
        "published run, tolerance 1e-3": _refit(X, tol=1e-3, **AS_RUN),
        "with rotation steps": _refit(X),
    }
    long, early, turned = refits.values()
    made = tuple(
        (name, m.n_components_, int(m.cardinality_.sum()), _agreement(m.components_.T))
        for name, m in refits.items()
    )
    norms = [float(v) for v in np.linalg.norm(glass_table.SPPCA, axis=0)]
    head = ("refit", "components", "non-zeros", "zero pattern of print, of 63")
    return Measured(
        numbers={
            "printed SPPCA, GS": totals["SPPCA, as printed"][0],
            "printed SPCA, GS": totals["SPCA, as printed"][0],
            "SPPCA with corrected signs, GS": totals["SPPCA, two signs turned"][0],
            "SPPCA with corrected signs, QR": totals["SPPCA, two signs turned"][1],
            "SPCA with a corrected sign, GS": totals["SPCA, one sign turned"][0],
            "SPCA with a corrected sign, QR": totals["SPCA, one sign turned"][1],
            "SparsePCA at the printed sizes, QR": totals["SparsePCA, printed sizes"][1],
            "published run: zero pattern, of 63": _agreement(long.components_.T),
            "components of the published run": int(long.n_components_),
            "tolerance 1e-3: rounds": int(early.n_iter_),
            "tolerance 1e-3: non-zeros of 72": int(early.cardinality_.sum()),
            "with rotation: non-zeros": int(turned.cardinality_.sum()),
            "norms of the printed columns": norms,
        },
        tables=(Table(head=HEAD, rows=tuple(rows)), Table(head=head, rows=made)),
        figures={"": _patterns(long.components_.T)},
        remarks=(
            "t1 and t7 of PC2 have the other sign in PCA too: a misprint. The sign of SPCA's t1 in "
            "PC2 was picked among 256 because it gives the printed variances. The printed W has no "
            "unit columns, though the text says so.",
        ),
    )


def _from_print(X: Array) -> tuple[list[tuple[Any, ...]], dict[str, tuple[float, float]]]:
    """Rows of variances of printed loadings, and their sums by GS and QR."""
    S, _ = covariance_of(X)
    sppca, spca = glass_table.SPPCA, glass_table.SPCA
    sizes = [int(k) for k in (sppca != 0).sum(axis=0)]
    loadings = {
        "SPPCA, as printed": sppca,
        "SPPCA, two signs turned": glass_table.with_signs(sppca, glass_table.SPPCA_SIGNS),
        "SPCA, as printed": spca,
        "SPCA, one sign turned": glass_table.with_signs(spca, glass_table.SPCA_SIGNS),
        "SparsePCA, printed sizes": fitted(SparsePCA(7, n_nonzero=sizes), X).components_.T,
    }
    rows: list[tuple[Any, ...]] = [
        ("SPPCA, printed variances", *_three(glass_table.SPPCA_AV), "", ""),
        ("SPCA, printed variances", *_three(glass_table.SPCA_AV), "", ""),
    ]
    totals = {}
    for name, W in loadings.items():
        unit = W / np.linalg.norm(W, axis=0)
        gs = adjusted_variance(S, unit, method="loadings") / 9
        qr = adjusted_variance(S, unit) / 9
        totals[name] = float(gs.sum()), float(qr.sum())
        rows.append((name, *_three(gs), *_three(totals[name])))
    return rows, totals


def _three(values: Any) -> tuple[str, ...]:
    return tuple(f"{float(v):.3f}" for v in values)


def _refit(X: Array, **options: Any) -> Any:
    return fitted(SparseProbabilisticPCA.as_published(8, "jeffreys", **options), X)


def _matched(W: Array, printed: Array) -> Array:
    """Columns of ``W`` in the order, and with the signs, of the printed ones they are closest to."""
    cosine = np.abs((printed / np.linalg.norm(printed, axis=0)).T @ W)
    rows, columns = linear_sum_assignment(-cosine)
    ordered = W[:, columns[np.argsort(rows)]]
    signs = np.where(np.sum(ordered * printed, axis=0) < 0, -1.0, 1.0)
    return np.asarray(ordered * signs)


def _agreement(W: Array) -> int:
    """Places at which it and print are both zero or both are not."""
    printed = glass_table.SPPCA
    if W.shape[1] < printed.shape[1]:
        W = np.hstack([W, np.zeros((len(W), printed.shape[1] - W.shape[1]))])
    return int(((_matched(W, printed) != 0) == (printed != 0)).sum())


def _patterns(W: Array) -> Any:
    """Zero patterns of print and refit side by side, signs in two colours."""
    figure, axes = panels(2, width=3.6, height=4.0)
    loadings = {"printed": glass_table.SPPCA, "published run": _matched(W, glass_table.SPPCA)}
    for ax, (name, shown) in zip(axes[0], loadings.items(), strict=True):
        unit = shown / np.maximum(np.linalg.norm(shown, axis=0), 1e-12)
        ax.imshow(unit, cmap="PuOr", vmin=-1, vmax=1)
        for i, j in zip(*np.nonzero(unit == 0), strict=True):
            ax.text(j, i, "0", ha="center", va="center", fontsize="x-small", color="0.5")
        ax.set_yticks(range(9), [f"t{i}" for i in range(1, 10)])
        ax.set_xticks(range(7), [f"PC{j}" for j in range(1, 8)], fontsize="x-small")
        finish(ax, title=name, x="orange < 0 < purple, unit columns", y="", legend=False)
    return figure
