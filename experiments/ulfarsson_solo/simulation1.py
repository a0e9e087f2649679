"""Section 4.1 of Ulfarsson & Solo: two components on four of ten features each."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.claim import Judgement, Measured, Table, Verdict, at_least, at_most, claim, near
from experiments.figures import finish, panels
from experiments.quietly import fitted
from experiments.run import Run
from experiments.ulfarsson_solo.literal import on_true_supports
from loadstone import ElasticNetPCA, SparseNoisyPCA, SparsePCA
from loadstone.datasets import make_disjoint_factors
from loadstone.metrics.information_criteria import ebic
from loadstone.metrics.recovery import angles, same_support
from loadstone.plotting import plot_criterion
from loadstone.plotting.style import COLOURS

Array = NDArray[np.float64]
#: Two blocks of seeds: how often BIC is right depends on the draw.
BLOCKS = (0, 1000)


def chosen(model: Any, gamma: float | None, n_components: int | None = None) -> Array:
    """``G`` of the model on the path that BIC (``None``) or EBIC with a gamma chooses."""
    table = model.criterion_
    value = np.array(
        [
            row["bic"]
            if gamma is None
            else ebic(
                row["deviance"],
                row["n_nonzero"],
                model.n_samples_,
                n_chosen=row["n_nonzero"],
                n_candidates=max(1, model.n_features_in_ * row["n_components"]),
                gamma=gamma,
            )
            for row in _rows(table)
        ]
    )
    if n_components is not None:
        value = np.where(table["n_components"] == n_components, value, np.inf)
    # Ties go to the sparser model: a plateau is one model fitted at many penalties.
    tied = np.flatnonzero(value <= value.min() + 1e-9 * (1 + abs(value.min())))
    best = tied[np.argmin(table["n_nonzero"][tied])]
    return np.asarray(model.path_[int(best)].loadings)


def _rows(table: dict[str, Any]) -> list[dict[str, Any]]:
    names = list(table)
    return [{n: table[n][i] for n in names} for i in range(len(table["bic"]))]


def runs(run: Run) -> list[dict[str, Any]]:
    """Each draw with the path fitted on it."""

    def measure() -> list[dict[str, Any]]:
        found = []
        n = 15 if run.quick else 30
        for block in BLOCKS:
            for seed in range(block, block + n):
                X, G = make_disjoint_factors(random_state=seed)
                model = fitted(SparseNoisyPCA.as_published(range(1, 5)), X)
                found.append({"X": X, "G": G, "model": model, "block": block})
            run.tell(f"simulation 1: {len(found)} draws")
        return found

    return run.once("simulation 1", measure)


@claim(
    "us.fig1",
    printed="The BIC profile at r = 2 has its minimum at h = .039.",
    data="Simulation 1, T = 100, one draw",
    how="as_published(2): 50 penalties; non-zeros on a second axis; log T / T marked",
    judged=Judgement(
        expected=Verdict.IN_KIND,
        as_printed=(near("h of the minimum", 0.039, 0.004),),
        in_kind=(
            at_most("plateau of the chosen support, from h", 0.3),
            at_least("plateau of the chosen support, to h", 0.3),
            at_most("BIC: spread on the plateau", 1e-6),
        ),
    ),
    reference=(at_least("loadings on the plateau", 8),),
    shares="simulation 1",
)
def figure_1(run: Run) -> Measured:
    """Criterion and sizes over h."""
    X, _ = make_disjoint_factors(random_state=1)
    model = fitted(SparseNoisyPCA.as_published(2), X)
    figure, axes = panels(width=6.0, height=4.0)
    plot_criterion(model, sizes=True, ax=axes[0][0])
    at = float(np.log(100) / 100)
    axes[0][0].axvline(at, color=COLOURS[2], linestyle="-.", linewidth=1.0)
    axes[0][0].text(at, 0.98, " log T / T", transform=axes[0][0].get_xaxis_transform(), va="top")
    axes[0][0].axvline(0.039, color=COLOURS[1], linestyle=":", linewidth=1.0)
    axes[0][0].text(0.039, 0.9, ".039 ", transform=axes[0][0].get_xaxis_transform(), ha="right")
    lowest = float(model.best_["criterion"])
    limits = (lowest - 0.3, lowest + 1.0)
    axes[0][0].set_ylim(*limits)
    finish(axes[0][0], title="Simulation 1, r = 2", x="penalty h", y="BIC per sample", legend=False)
    table = model.criterion_
    size = int(model.cardinality_.sum())
    plateau = np.flatnonzero((table["n_nonzero"] == size) & (table["n_components"] == 2))
    h = table["penalty"][plateau]
    return Measured(
        numbers={
            "h of the minimum": float(model.penalty_),
            "loadings on the plateau": size,
            "plateau of the chosen support, from h": float(h.min()),
            "plateau of the chosen support, to h": float(h.max()),
            "BIC: spread on the plateau": float(np.ptp(table["bic"][plateau])),
            "log T / T": at,
        },
        figures={"": figure},
        remarks=(
            "Where the support stays the criterion stays: the minimum is a plateau, and which h in "
            "it is printed depends on the grid.",
        ),
    )


@claim(
    "us.claim.bic10",
    printed="BIC picked the correct model in each of 10 runs.",
    data="Simulation 1, two blocks of 30 draws",
    how="the path of the paper, r = 1..4; right: two components with exactly the true supports",
    judged=Judgement(
        expected=Verdict.NOT,
        as_printed=(at_least("BIC: exact, %", 95),),
    ),
    reference=(
        near("BIC: exact, %", 53, 15),
        near("EBIC 1: exact, %", 97, 5),
    ),
    shares="simulation 1",
)
def ten_of_ten(run: Run) -> Measured:
    """Counts for three criteria."""
    rows, numbers = [], {}
    for name, gamma in (("BIC", None), ("EBIC .5", 0.5), ("EBIC 1", 1.0)):
        hits: dict[int, list[bool]] = {block: [] for block in BLOCKS}
        for case in runs(run):
            G = chosen(case["model"], gamma)
            hits[case["block"]].append(same_support(G, case["G"]))
        every = [hit for block in hits.values() for hit in block]
        numbers[f"{name}: exact, %"] = 100 * float(np.mean(every))
        rows.append((name, *(f"{sum(block)} of {len(block)}" for block in hits.values())))
    share = numbers["BIC: exact, %"] / 100
    numbers["odds of 10 of 10 with BIC"] = share**10
    head = ("criterion", "exact, first block", "exact, second block")
    return Measured(numbers=numbers, tables=(Table(head=head, rows=tuple(rows)),))


@claim(
    "us.tab1",
    printed="Angles to the truth: slnPCA 2.15 and 3.10 degrees, ZHT 2.49 and 3.49.",
    data="Simulation 1, 60 draws",
    how="BIC and EBIC on the path; ElasticNetPCA with BIC's sizes and with 4 + 4; SparsePCA with "
    "4 + 4; true supports given; PCA",
    judged=(
        Judgement(
            expected=Verdict.NOT,
            of="with BIC",
            as_printed=(
                near("BIC: angle 1", 2.15, 0.4),
                near("BIC: angle 2", 3.10, 0.4),
            ),
            in_kind=(
                at_most("BIC, r = 2, minus ZHT, 2 standard errors added: angle 1", 0),
                at_most("BIC, r = 2, minus ZHT, 2 standard errors added: angle 2", 0),
            ),
        ),
        Judgement(
            expected=Verdict.IN_KIND,
            of="with EBIC",
            in_kind=(
                at_most("EBIC minus ZHT, 2 standard errors added: angle 1", 0),
                at_most("EBIC minus ZHT, 2 standard errors added: angle 2", 0),
            ),
        ),
    ),
    reference=(
        near("BIC: angle 1", 2.96, 0.5),
        near("BIC: angle 2", 4.06, 0.6),
        near("EBIC: angle 1", 2.47, 0.4),
        near("EBIC: angle 2", 3.04, 0.4),
        near("ZHT, 4 + 4: angle 1", 2.68, 0.4),
        near("ZHT, 4 + 4: angle 2", 3.42, 0.4),
        near("true supports: angle 1", 2.35, 0.4),
        near("true supports: angle 2", 3.02, 0.4),
        near("PCA: angle 1", 10.3, 1.6),
        near("PCA: angle 2", 11.2, 1.6),
    ),
    shares="simulation 1",
)
def table_1(run: Run) -> Measured:
    """Mean angles over draws."""
    cases = runs(run)
    found: dict[str, list[Array]] = {}
    for case in cases:
        X, G, model = case["X"], case["G"], case["model"]
        two = chosen(model, None, 2)
        sizes = [int(k) for k in (two != 0).sum(axis=0)]
        estimates = {
            "BIC": chosen(model, None),
            "BIC, r = 2": two,
            "ZHT, BIC's sizes": fitted(ElasticNetPCA(2, n_nonzero=sizes), X).components_.T,
            "EBIC": chosen(model, 1.0),
            "ZHT, 4 + 4": fitted(ElasticNetPCA(2, n_nonzero=4), X).components_.T,
            "SparsePCA, 4 + 4": fitted(SparsePCA(2, n_nonzero=4), X).components_.T,
            "true supports": on_true_supports(X, G != 0),
            "PCA": np.linalg.svd(X - X.mean(axis=0), full_matrices=False)[2][:2].T,
        }
        for name, estimate in estimates.items():
            found.setdefault(name, []).append(angles(estimate, G))
    means = {name: np.mean(values, axis=0) for name, values in found.items()}
    errors = {n: np.std(v, axis=0, ddof=1) / np.sqrt(len(v)) for n, v in found.items()}
    printed = {"BIC": ("2.15", "3.10"), "ZHT, BIC's sizes": ("2.49", "3.49")}
    rows = tuple(
        (
            name,
            *(f"{m:.2f} ± {e:.2f}" for m, e in zip(means[name], errors[name], strict=True)),
            *printed.get(name, ("", "")),
        )
        for name in means
    )
    head = ("method", "angle 1", "angle 2", "printed 1", "printed 2")
    numbers = {f"{n}: angle {j + 1}": float(v[j]) for n, v in means.items() for j in (0, 1)}
    for one, other, word in (
        ("BIC, r = 2", "ZHT, BIC's sizes", "BIC, r = 2, minus ZHT"),
        ("EBIC", "ZHT, 4 + 4", "EBIC minus ZHT"),
    ):
        lead = np.array(found[one]) - np.array(found[other])
        worst = lead.mean(axis=0) + 2 * lead.std(axis=0, ddof=1) / np.sqrt(len(lead))
        for j in (0, 1):
            numbers[f"{word}, 2 standard errors added: angle {j + 1}"] = float(worst[j])
    caption = f"Degrees, mean over {len(cases)} draws and its standard error."
    return Measured(numbers=numbers, tables=(Table(head=head, rows=rows, caption=caption),))
