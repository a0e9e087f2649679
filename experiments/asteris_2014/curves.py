"""One panel of Figs. 4 to 6 of Asteris et al.: variance and proven bounds against the size."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from experiments import data, nspca
from experiments.asteris_2014.theory import spannogram
from experiments.claim import Table
from experiments.data import Matrix
from experiments.figures import curve, finish
from loadstone import EMPCA, SpannogramPCA, SparsePCA, certify

RANK, EPSILON = 3, 0.1


@dataclass(frozen=True, kw_only=True)
class Panel:
    """What was measured on one data set, by size; variances over the largest eigenvalue."""

    sizes: tuple[int, ...]
    published: Any
    em: Any
    ratio: Any
    clipped: Any
    net: Any
    cones: Any
    net_bound: Any
    cone_bound: Any
    certificates: dict[int, float]
    rivals: dict[int, float]
    top: float

    def at(self, name: str, size: int) -> float:
        """One number."""
        return float(getattr(self, name)[self.sizes.index(size)])


def panel_of(
    X: Matrix, sizes: tuple[int, ...], certified: tuple[int, ...], *, n_init: int = 20
) -> Panel:
    """Alg. 3 as published, EM, and three bounds at every size; certificates at some."""
    S = data.covariance(X) if X.shape[0] > X.shape[1] else None
    rows = []
    for k in sizes:
        published = SpannogramPCA.as_published(n_nonzero=k, standardize=False)
        plain = data.fitted(published, X, S)
        net = data.fitted(spannogram(k, RANK, "net"), X, S)
        cones = data.fitted(spannogram(k, RANK, "cones"), X, S)
        restarted = EMPCA(n_nonzero=k, nonnegative=True, n_init=n_init, standardize=False)
        em = data.fitted(restarted, X, S)
        rows.append(
            (
                plain.marginal_variance_[0],
                em.marginal_variance_[0],
                plain.published_ratio_[0],
                _clipped(plain),
                net.objective_[0][-1] / net.upper_bound_[0],
                cones.objective_[0][-1] / cones.upper_bound_[0],
                net.upper_bound_[0],
                cones.upper_bound_[0],
            )
        )
    columns = np.array(rows, dtype=float).T
    top = _largest_eigenvalue(X)
    columns[[0, 1, 6, 7]] /= top
    found = dict(
        zip(
            ("published", "em", "ratio", "clipped", "net", "cones", "net_bound", "cone_bound"),
            columns,
            strict=True,
        )
    )
    proofs = {k: _proven(X, S, k) for k in certified}
    return Panel(sizes=sizes, **found, certificates=proofs, rivals={}, top=top)


def _largest_eigenvalue(X: Matrix) -> float:
    return float(np.linalg.norm(X, 2) ** 2 / (len(X) - 1))


def _clipped(model: Any) -> float:
    """The paper's ratio with its bound cut at the largest eigenvalue."""
    V, x = model.low_rank_factors_[0], model.components_[0]
    value = float(np.sum((V.T @ x) ** 2))
    largest = float(np.linalg.eigvalsh(V.T @ V)[-1])
    bound = value / (1 - EPSILON) + float(model.low_rank_gap_[0])
    return value / min(bound, largest)


def _proven(X: Matrix, S: Matrix | None, size: int) -> float:
    """Share of the optimum that a certificate proves for the best component known."""
    best = data.fitted(SparsePCA(n_nonzero=size, nonnegative=True, standardize=False), X, S)
    w = best.components_[0]
    options: dict[str, Any] = {"n_nonzero": size, "nonnegative": True, "time_limit": None}
    if S is None:
        return float(certify(X, w, **options).ratio)
    return float(certify(S, w, is_covariance=True, **options).ratio)


def with_rivals(panel: Panel, X: Matrix) -> Panel:
    """The same with NSPCA at every size that sweeps over both of its penalties lead to."""
    S = data.covariance(X)
    found: dict[int, float] = {}
    for overlap in (0.1, 1.0, 10.0, 100.0):
        options = {"overlap_penalty": overlap, "init": "random", "n_init": 3}
        swept = nspca.path(S, np.geomspace(0.02, 6.0, 60), n_components=1, **options)
        for size, variance in swept.items():
            found[size] = max(variance / panel.top, found.get(size, 0.0))
    return replace(panel, rivals=dict(sorted(found.items())))


def draw(ax: Any, panel: Panel, title: str) -> None:
    """Curves, and the region in which the optimum must lie."""
    sizes = np.array(panel.sizes)
    best = np.maximum(panel.published, panel.em)
    ax.fill_between(
        sizes, best, panel.published / panel.ratio, color="#dbe7f3", label="paper's band"
    )
    ax.fill_between(sizes, best, panel.cone_bound, color="#f3dfcf", label="band by cones")
    curve(ax, sizes, panel.published, 0, "Alg. 3 as published")
    curve(ax, sizes, panel.em, 1, "EM, best of 20")
    if panel.rivals:
        curve(ax, list(panel.rivals), list(panel.rivals.values()), 2, "NSPCA", linestyle="")
    if panel.certificates:
        places = [panel.sizes.index(k) for k in panel.certificates]
        limits = best[places] / np.array(list(panel.certificates.values()))
        ax.plot(sizes[places], limits, "k_", markersize=11, label="limit by certificate")
    finish(
        ax,
        title=title,
        x="k",
        y="variance / largest eigenvalue",
        ylim=(0, min(1.75, ax.get_ylim()[1])),
    )


def table_of(panel: Panel, shown: tuple[int, ...]) -> Table:
    """The numbers behind a panel."""
    rows = []
    for k in shown:
        i = panel.sizes.index(k)
        proof = panel.certificates.get(k)
        rows.append(
            (
                k,
                f"{panel.published[i]:.4f}",
                f"{panel.em[i]:.4f}",
                _rival_near(panel, k),
                f"{panel.ratio[i]:.3f}",
                f"{panel.clipped[i]:.3f}",
                f"{panel.net[i]:.3f}",
                f"{panel.cones[i]:.3f}",
                "" if proof is None else f"{proof:.4f}",
            )
        )
    head = (
        *("k", "Alg. 3", "EM", "NSPCA", "paper's ratio", "clipped at l_1"),
        *("net", "cones", "certificate"),
    )
    return Table(head=head, rows=tuple(rows))


def _rival_near(panel: Panel, size: int) -> str:
    """NSPCA at the size, or at the one next to it that it comes to."""
    if not panel.rivals:
        return ""
    there = min(panel.rivals, key=lambda k: abs(k - size))
    return f"{panel.rivals[there]:.4f}" + ("" if there == size else f" at {there}")
