"""Figure 5 of Zass & Shashua: cumulative variance and cardinality on the pit props."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments import data
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
from experiments.figures import curve, finish, panels
from experiments.quietly import fitted_covariance
from experiments.run import Run
from experiments.zass_shashua_2006.dspca import dspca
from experiments.zass_shashua_2006.literal import values_of_supports
from loadstone import NSPCA, ElasticNetPCA, ExactSparsePCA, GreedyPCA, SparsePCA
from loadstone.constraints import L1Budget
from loadstone.metrics import adjusted_variance

Array = NDArray[np.float64]
N_COMPONENTS = 6
SPCA_SIZES = (7, 4, 4, 1, 1, 1)
SMALL_SIZES = (6, 2, 3, 1, 1, 1)


#: Loadings of SPCA as Zou et al. (2006) print them, by feature.
PRINTED = (
    {0: 0.477, 1: 0.476, 4: -0.177, 6: 0.250, 7: 0.344, 8: 0.416, 9: 0.400},
    {2: 0.785, 3: 0.620, 7: -0.021, 11: 0.013},
    {4: 0.640, 5: 0.589, 6: 0.492, 12: -0.015},
    {10: 1.0},
    {11: 1.0},
    {12: 1.0},
)


def distance_from_print(tol: float) -> float:
    """Largest difference of a loading of SPCA, run with the authors' penalties, from print."""
    penalties = [0.06, 0.16, 0.1, 0.5, 0.5, 0.5]
    model = ElasticNetPCA(N_COMPONENTS, penalty=penalties, ridge=0.0, tol=tol)
    W = fitted_covariance(model, data.pitprops()).components_
    printed = np.zeros_like(W)
    for row, loadings in zip(printed, PRINTED, strict=True):
        row[list(loadings)] = list(loadings.values())
    signs = np.sign(np.sum(W * printed, axis=1))
    return float(np.abs(W * signs[:, None] - printed).max())


def largest_first_shares(run: Run) -> tuple[float, float]:
    """Shares of the variance: the largest of any non-negative loading, and of a first component.

    The second is over both penalties and random starts, of fits whose six components all live.
    """
    C = data.pitprops()
    best = 0.0
    penalties, starts = np.geomspace(0.03, 0.5, 6), range(1 if run.quick else 5)
    for overlap, sparsity, seed in product((0.03, 0.1, 0.3, 1.0, 3.0), penalties, starts):
        model = NSPCA(N_COMPONENTS, overlap_penalty=overlap, sparsity_penalty=float(sparsity))
        model.set_params(init="random", random_state=seed)
        if fitted_covariance(model, C).n_components_ == N_COMPONENTS:
            best = max(best, float(model.marginal_variance_[0] / np.trace(C)))
    return max(values_of_supports(C).values()) / float(np.trace(C)), best


def curves(run: Run) -> dict[str, tuple[list[float], list[int]]]:
    """Cumulative adjusted variance and cumulative cardinality by method."""
    return run.once("pit props", _curves)


def _curves() -> dict[str, tuple[list[float], list[int]]]:
    C = data.pitprops()
    vectors = np.linalg.eigh(C)[1]
    found = {"PCA": vectors[:, ::-1][:, :N_COMPONENTS].T}
    models: dict[str, Any] = {
        "SCoTLASS (1.75)": SparsePCA(
            N_COMPONENTS, constraint=L1Budget(budget=1.75), deflation="projection", refine=False
        ),
        "SPCA (7 4 4 1 1 1)": ElasticNetPCA(N_COMPONENTS, n_nonzero=SPCA_SIZES, tol=1e-3),
        "ESPCA, exact (6 2 3 1 1 1)": ExactSparsePCA(N_COMPONENTS, n_nonzero=SMALL_SIZES),
        "greedy (6 2 3 1 1 1)": GreedyPCA(
            N_COMPONENTS, n_nonzero=SMALL_SIZES, deflation="projection"
        ),
        "NSPCA": NSPCA(N_COMPONENTS, overlap_penalty=0.3, sparsity_penalty=0.221),
        "NSPCA, 18": NSPCA(N_COMPONENTS, overlap_penalty=0.1, n_nonzero_total=18),
        "NSPCA, 18, l0": NSPCA(
            N_COMPONENTS, overlap_penalty=0.3, n_nonzero_total=18, sparsity_norm="l0"
        ),
        "NSPCA, disjoint": NSPCA(N_COMPONENTS, overlap_penalty=1e5),
        "SparsePCA (7 4 4 1 1 1)": SparsePCA(N_COMPONENTS, n_nonzero=SPCA_SIZES),
    }
    models["SparsePCA (7 4 4 1 1 1)"].set_params(certify="standard")
    for name, model in models.items():
        found[name] = fitted_covariance(model, C, 180).components_
    found["DSPCA (6 2 3 1 1 1)"] = dspca(C, SMALL_SIZES)
    return {name: (_cumulative(C, W.T), _sizes(W)) for name, W in found.items()}


def _cumulative(C: Array, W: Array) -> list[float]:
    from loadstone.covariance import ExplicitCovariance

    adjusted = np.cumsum(adjusted_variance(ExplicitCovariance(C), W)) / np.trace(C)
    return [float(v) for v in adjusted]


def _sizes(components: Array) -> list[int]:
    return [int(n) for n in np.cumsum((components != 0).sum(axis=1))]


DRAWN = (
    "PCA",
    "SCoTLASS (1.75)",
    "SPCA (7 4 4 1 1 1)",
    "DSPCA (6 2 3 1 1 1)",
    "ESPCA, exact (6 2 3 1 1 1)",
    "NSPCA",
    "SparsePCA (7 4 4 1 1 1)",
    "NSPCA, disjoint",
)


@claim(
    "zass.fig5a",
    printed="Though more constrained, NSPCA explains a competitive share as components are added.",
    data="pit props, 13 x 13 correlation matrix, 6 components",
    how="NSPCA (overlap .3); PCA, SCoTLASS (L1Budget), SPCA (ElasticNetPCA, tol 1e-3), DSPCA "
    "literally, ESPCA (ExactSparsePCA) and greedy; adjusted variance by QR",
    judged=Judgement(
        expected=Verdict.REPRODUCED,
        as_printed=(
            at_least("NSPCA at 6", "SPCA at 6"),
            at_least("NSPCA at 6", "greedy at 6"),
            at_most("NSPCA at 6", "PCA at 6"),
        ),
    ),
    reference=(
        missed(
            near("NSPCA at 1", 0.318, 0.003), "no fit with six components comes to it, see above"
        ),
        near("NSPCA at 6", 0.767, 0.005),
        near("SPCA at 1", 0.281, 0.003),
        near("SPCA at 6", 0.758, 0.003),
        at_most("SPCA, tol 1e-3: largest difference from print", 1e-3),
        near("greedy at 6", 0.755, 0.003),
        near("PCA at 6", 0.870, 0.002),
        near("NSPCA, 18 at 6", 0.761, 0.005),
        at_least("SparsePCA at 6", 0.755, 0.001),
    ),
    shares="pit props",
)
def figure_5a(run: Run) -> Measured:
    """Cumulative adjusted variance of one to six components."""
    found = curves(run)
    figure, axes = panels(width=6.4, height=4.2)
    for place, name in enumerate(DRAWN):
        curve(axes[0][0], range(1, 7), 100 * np.array(found[name][0]), place, name)
    y = "cumulative adjusted variance, %"
    finish(axes[0][0], title="pit props", x="components", y=y, ylim=(20, 100))
    numbers: dict[str, Any] = {}
    for name, (variance, _) in found.items():
        short = name.partition(" (")[0]
        numbers[f"{short} at 1"], numbers[f"{short} at 6"] = variance[0], variance[-1]
    for word, tol in (("tol 1e-3", 1e-3), ("settled", 1e-8)):
        numbers[f"SPCA, {word}: largest difference from print"] = distance_from_print(tol)
    rows = tuple((name, *(f"{v:.3f}" for v in variance)) for name, (variance, _) in found.items())
    anything, first = largest_first_shares(run)
    numbers["largest share of a non-negative loading"] = anything
    numbers["largest share of a first component, both penalties swept"] = first
    return Measured(
        numbers=numbers,
        tables=(Table(head=("method", *map(str, range(1, 7))), rows=rows),),
        figures={"": figure},
        remarks=(
            "SCoTLASS in one line: SparsePCA(6, constraint=L1Budget(budget=1.75), "
            'deflation="projection", refine=False); its components are orthogonal only as far as '
            "deflation makes them.",
            "NSPCA, 18: n_nonzero_total=18 with overlap .1, as many non-zeros as SPCA; l0: the problem "
            "before it is relaxed, overlap .3.",
            "The reference run has 9 features and .318 in the first component, and the same variance and "
            f"number of loadings in all. No non-negative loading has more than {anything:.4f}, and one "
            "so near to it is what is best without a price on sparsity. With one, first components of "
            f"150 fits from random starts, both penalties swept, reach {first:.3f} at the most.",
        ),
    )


@claim(
    "zass.fig5b",
    printed="Cumulative cardinality of the same methods; the axis runs from 0 to 50.",
    data="pit props",
    how="as for Fig. 5(a)",
    judged=Judgement(
        expected=Verdict.REPRODUCED,
        as_printed=(
            at_most("largest in all", 50),
            at_most("NSPCA, 18 in all", "SPCA in all"),
        ),
    ),
    reference=(
        near("NSPCA in all", 21, 1),
        near("NSPCA, 18 in all", 18, 1),
        near("greedy in all", 14, 0),
    ),
    shares="pit props",
)
def figure_5b(run: Run) -> Measured:
    """Cumulative numbers of non-zeros."""
    found = curves(run)
    figure, axes = panels(width=6.4, height=4.2)
    for place, name in enumerate(DRAWN):
        if name != "PCA":
            curve(axes[0][0], range(1, 7), found[name][1], place, name)
    finish(axes[0][0], title="pit props", x="components", y="non-zeros in all", ylim=(0, 50))
    rows = tuple((name, *sizes) for name, (_, sizes) in found.items())
    sparse = {n.partition(" (")[0]: s[-1] for n, (_, s) in found.items() if n != "PCA"}
    return Measured(
        numbers={
            **{f"{name} in all": size for name, size in sparse.items()},
            "largest in all": max(sparse.values()),
        },
        tables=(Table(head=("method", *map(str, range(1, 7))), rows=rows),),
        figures={"": figure},
    )
