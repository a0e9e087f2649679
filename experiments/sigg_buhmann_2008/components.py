"""Sections 4 and 5.2 of Sigg & Buhmann: several components, orthogonal and nearly so."""

from __future__ import annotations

from typing import Any

import numpy as np

from experiments import data, nspca
from experiments.claim import Judgement, Measured, Table, Verdict, at_least, at_most, claim, near
from experiments.data import Matrix
from experiments.figures import curve, finish, panels
from experiments.run import Run
from loadstone import EMPCA, SparsePCA
from loadstone.covariance import ExplicitCovariance
from loadstone.metrics import adjusted_variance

N_COMPONENTS = 10


def cumulated(S: Matrix, model: Any) -> Any:
    """Share of the total variance that the first 1, 2, .. components explain (adjusted)."""
    return np.cumsum(adjusted_variance(ExplicitCovariance(S), model.components_.T)) / np.trace(S)


def smallest_angle(model: Any) -> float:
    """Degrees between the two closest components."""
    cosines = np.abs(model.components_ @ model.components_.T)
    np.fill_diagonal(cosines, 0.0)
    return float(np.rad2deg(np.arccos(min(cosines.max(), 1.0))))


def drawn(title: str, curves: dict[str, Any]) -> Any:
    """Cumulative variance against the number of components."""
    figure, axes = panels(width=6.0, height=4.2)
    for place, (name, values) in enumerate(curves.items()):
        curve(axes[0, 0], np.arange(1, len(values) + 1), values, place, name)
    finish(axes[0, 0], title=title, x="components", y="cumulative adjusted variance / total")
    return figure


def table_of(curves: dict[str, Any], more: dict[str, Any], word: str) -> Table:
    """The curves as rows, with one more column."""
    rows = tuple(
        (
            name,
            *(f"{v:.3f}" for v in np.pad(values, (0, N_COMPONENTS - len(values)), "edge")),
            more[name],
        )
        for name, values in curves.items()
    )
    return Table(head=("method", *map(str, range(1, N_COMPONENTS + 1)), word), rows=rows)


@claim(
    "sigg.fig3.middle",
    printed="Ten orthogonal components with K = 20: EM is far above NSPCA tuned to 200 in all.",
    data="F-off",
    how="EMPCA disjoint, K = 20; signed EMPCA; NSPCA with overlap penalty 1 and the sparsity "
    "penalty that leads to 200 non-zeros, or comes closest; SparsePCA disjoint",
    judged=Judgement(
        expected=Verdict.FITTED,
        in_kind=(at_least("EM at 10", "NSPCA at 10", 0.0), at_least("EM over NSPCA at 10", 1.1)),
        fitted="F-off rather than F-z, where NSPCA stays above 350 non-zeros, and the overlap penalty",
    ),
    reference=(
        near("EM at 10", 0.242, 0.004),
        near("NSPCA at 10", 0.2, 0.018),
        near("signed EM at 10", 0.222, 0.004),
        at_least("EM, schur at 10", 0.254),
        at_least("SparsePCA at 10", 0.275),
    ),
    shares="sigg.fig3",
)
def figure_3_middle(run: Run) -> Measured:
    """Cumulative variance of disjoint components."""
    S = data.covariance(data.faces_off_first())
    common: dict[str, Any] = {"n_components": N_COMPONENTS, "n_nonzero": 20}
    disjoint = {**common, "nonnegative": True, "orthogonality": "disjoint"}
    sparsities = np.linspace(0.36, 0.52, 9 if run.quick else 65)
    tuned = nspca.near_size(S, 200, sparsities, n_components=N_COMPONENTS, overlap_penalty=1.0)
    models: dict[str, Any] = {
        "EM": EMPCA(**disjoint).fit_covariance(S),
        "NSPCA": tuned,
        "signed EM": EMPCA(**common).fit_covariance(S),
        "EM, schur": EMPCA(**disjoint, deflation="schur").fit_covariance(S),
        "SparsePCA": SparsePCA(**disjoint).fit_covariance(S),
    }
    curves = {name: cumulated(S, model) for name, model in models.items()}
    numbers: dict[str, float] = {f"{name} at 10": float(v[-1]) for name, v in curves.items()}
    numbers["EM over NSPCA at 10"] = float(curves["EM"][-1] / curves["NSPCA"][-1])
    numbers["NSPCA non-zeros"] = nspca.n_used(tuned)
    ahead = curves["NSPCA"] > curves["EM"][: len(curves["NSPCA"])]
    numbers["components up to which NSPCA leads"] = int(ahead.sum())
    used = {name: int(np.count_nonzero(model.components_)) for name, model in models.items()}
    return Measured(
        numbers=numbers,
        tables=(table_of(curves, used, "non-zeros"),),
        figures={"": drawn("orthogonal components of F-off, K = 20", curves)},
        remarks=(
            "NSPCA leads in the first components because it spends its 200 non-zeros unevenly.",
        ),
    )


@claim(
    "sigg.fig3.right",
    printed="At a minimum angle of 85 degrees EM is ahead in the first components, NSPCA in sum.",
    data="F-off",
    how="EMPCA with alpha='search' (Eq. 17 and 20), EMPCA quasi with projection and with schur, "
    "NSPCA with the overlap penalty tuned to 85 degrees",
    judged=Judgement(
        expected=Verdict.FITTED,
        in_kind=(
            at_least("Eq. 20 at 1", "NSPCA at 1"),
            at_least("NSPCA at 10", "Eq. 20 at 10"),
        ),
        fitted="F-off rather than F-z, where EM leads throughout",
    ),
    reference=(
        near("Eq. 20 at 6", 0.235, 0.02),
        near("EM quasi at 1", 0.110, 0.003),
        near("EM quasi at 6", 0.227, 0.02),
        near("EM quasi at 10", 0.272, 0.03),
        near("EM quasi, schur at 6", 0.306, 0.01),
        near("EM quasi, schur at 10", 0.351, 0.01),
        near("NSPCA at 10", 0.309, 0.02),
    ),
    shares="sigg.fig3",
)
def figure_3_right(run: Run) -> Measured:
    """Cumulative variance of quasi-orthogonal components."""
    S = data.covariance(data.faces_off_first())
    count = 6 if run.quick else N_COMPONENTS
    quasi: dict[str, Any] = {"n_components": count, "nonnegative": True, "orthogonality": "quasi"}
    models: dict[str, Any] = {
        "Eq. 20": EMPCA(**quasi, alpha="search").fit_covariance(S),
        "EM quasi": EMPCA(**quasi).fit_covariance(S),
        "EM quasi, schur": EMPCA(**quasi, deflation="schur").fit_covariance(S),
        "NSPCA": _nspca_at_angle(S, count, 85.0),
    }
    curves = {name: cumulated(S, model) for name, model in models.items()}
    angles = {name: round(smallest_angle(model), 1) for name, model in models.items()}
    numbers = {
        f"{name} at {k}": float(v[k - 1])
        for name, v in curves.items()
        for k in (1, 6, 10)
        if k <= len(v)
    }
    if run.quick:
        # The sum is judged where the quick run ends.
        numbers |= {f"{name} at 10": float(v[-1]) for name, v in curves.items()}
    return Measured(
        numbers=numbers,
        tables=(table_of(curves, angles, "smallest angle"),),
        figures={"": drawn("quasi-orthogonal components of F-off, 85 degrees", curves)},
    )


def _nspca_at_angle(S: Matrix, count: int, angle: float) -> Any:
    """NSPCA with the smallest overlap penalty that keeps the angle, by bisection."""
    low, high = 0.1, 100.0
    best = nspca.fit(S, 0.0, n_components=count, overlap_penalty=high)
    for _ in range(9):
        middle = float(np.sqrt(low * high))
        found = nspca.fit(S, 0.0, n_components=count, overlap_penalty=middle)
        if found is not None and smallest_angle(found) >= angle:
            best, high = found, middle
        else:
            low = middle
    return best


@claim(
    "sigg.eq18/19/20",
    printed="Deflation by projection (18), disjoint supports (19) and the penalty on the angle (20).",
    data="random 200 x 12, standardised spectra, F-off",
    how="second component beside EM on data projected by hand; supports counted; EMPCA with alpha",
    judged=(
        Judgement(
            expected=Verdict.REPRODUCED,
            of="(18)",
            as_printed=(at_most("Eq. 18, difference in variance", 1e-12),),
        ),
        Judgement(
            expected=Verdict.REPRODUCED,
            of="(19)",
            as_printed=(near("Eq. 19, features shared", 0, 0),),
        ),
        Judgement(
            expected=Verdict.REPRODUCED,
            of="(20)",
            as_printed=(
                at_most("Eq. 20, angle without penalty", "Eq. 20, angle at alpha = 1"),
                at_most("Eq. 20, angle at alpha = 1", "Eq. 20, angle at alpha = 100"),
                at_least("Eq. 20, angle by search", 85.0, 1e-6),
            ),
        ),
    ),
    reference=(at_most("Eq. 18, difference in variance", 1e-12),),
    shares="sigg.fig3",
)
def equations(run: Run) -> Measured:
    """Each equation by a check of its own."""
    X = np.random.default_rng(0).standard_normal((200, 12)) @ np.diag(np.linspace(1, 3, 12))
    X -= X.mean(axis=0)
    two = EMPCA(2, n_nonzero=4).fit(X)
    w = two.components_[0]
    again = EMPCA(1, n_nonzero=4).fit(X - np.outer(X @ w, w))
    left = X - np.outer(X @ w, w)
    variances = [float(np.sum((left @ v) ** 2)) for v in (two.components_[1], again.components_[0])]
    spectra = data.covariance(data.standardised(data.spectra_raw()))
    faces = data.covariance(data.faces_off_first())
    shared = 0
    for S, size in ((spectra, 10), (faces, 20)):
        model = EMPCA(5, n_nonzero=size, nonnegative=True, orthogonality="disjoint").fit_covariance(
            S
        )
        shared += int((np.count_nonzero(model.components_, axis=0) > 1).sum())
    angles = {
        word: smallest_angle(
            EMPCA(3, nonnegative=True, orthogonality="quasi", alpha=alpha).fit_covariance(faces)
        )
        for word, alpha in (
            ("without penalty", 1e-6),
            ("at alpha = 1", 1.0),
            ("at alpha = 100", 100.0),
            ("by search", "search"),
        )
    }
    return Measured(
        numbers={
            "Eq. 18, difference in variance": abs(variances[0] / variances[1] - 1),
            "Eq. 19, features shared": shared,
            **{f"Eq. 20, angle {word}": angle for word, angle in angles.items()},
        },
        remarks=("Eq. 20 was in kind only as long as EMPCA had no alpha; it has one now.",),
    )
