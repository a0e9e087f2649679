"""How near the search comes to the best known, over sizes, signs, layouts and containers.

``python -m benchmarks.search [data ...] [--sizes 2,5,10] [--no-reference] [--known FILE]`` prints,
for every data set and effort, the worst ratio to the best value known and the number of runs below
the target. The best known is the largest value of all runs, of those that the file remembers, and,
where it is asked for, of a reference that climbs from every single column of the covariance. The
file is brought up to date; ``tests/papers`` holds the search to the one that is kept there.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path

import numpy as np
from scipy import sparse
from tests import real_data

from benchmarks.text_table import table
from loadstone.constraints import LoadingConstraint
from loadstone.covariance import Covariance, covariance_of
from loadstone.solvers.em import EM
from loadstone.solvers.portfolio import PORTFOLIOS
from loadstone.solvers.renormalise import renormalise
from loadstone.solvers.search.climb import best_rows, settle
from loadstone.solvers.search.exchange_block import climb_by_exchange
from loadstone.solvers.search.finish import best_of, exchange_best, polish_block
from loadstone.solvers.search.search import Search
from loadstone.solvers.search.sparse_block import joined, unit_block

SIZES = (2, 3, 5, 8, 10, 20, 35, 50, 75, 100, 150, 200, 300, 500)
TARGETS = {"fast": 0.99, "balanced": 0.9999, "thorough": 0.99999}
#: Columns the reference climbs from at once.
AT_ONCE = 256


def _text() -> sparse.csr_matrix:
    return real_data.sparse_counts("text_associated_press.npz")


def _cells() -> sparse.csr_matrix:
    X = real_data.sparse_counts("pbmc3k.npz")
    X.data = np.log1p(X.data)
    return X[:, np.flatnonzero(X.getnnz(axis=0) >= 3)]


def _cells_raw() -> sparse.csr_matrix:
    return real_data.sparse_counts("pbmc3k.npz")


def _sklearn(name: str) -> np.ndarray:
    from sklearn import datasets

    return getattr(datasets, name)().data


#: Data sets: those the recipe was tuned on first, then those it was not.
DATA: dict[str, Callable[[], object]] = {
    "leukemia": real_data.leukemia,
    "nci60": real_data.nci60,
    "cbcl": real_data.cbcl_faces,
    "cmu": lambda: real_data.arrays("cmu_faces.npz")["X"].astype(float),
    "nonfaces": lambda: real_data.arrays("cbcl_nonfaces.npz")["X"].astype(float),
    "lrs": lambda: real_data.arrays("lrs.npz")["X"],
    "control": lambda: real_data.arrays("synthetic_control.npz")["X"],
    "digits": lambda: _sklearn("load_digits"),
    "wine": lambda: _sklearn("load_wine"),
    "breast_cancer": lambda: _sklearn("load_breast_cancer"),
    "leukemia_log": lambda: np.log2(np.maximum(real_data.leukemia(), 20)),
    "cmu_transposed": lambda: real_data.arrays("cmu_faces.npz")["X"].astype(float).T,
    "text": _text,
    "cells": _cells,
    "cells_raw": _cells_raw,
    "noise": lambda: np.random.default_rng(0).standard_normal((200, 1000)),
    "noise_tall": lambda: np.random.default_rng(0).standard_normal((500, 300)),
    "noise_wide": lambda: np.random.default_rng(0).standard_normal((60, 8000)),
    "heavy_tails": lambda: np.random.default_rng(0).standard_t(3, (100, 1500)),
    "weak_spikes": lambda: _groups(300, 2000, 3, 30, 0.4),
    "blocks": lambda: _groups(60, 1200, 60, 20, 0.8),
}


def _groups(n: int, p: int, n_groups: int, size: int, strength: float) -> np.ndarray:
    """Noise in which groups of features share something, one group after the other."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, p))
    for group in range(n_groups):
        X[:, group * size : (group + 1) * size] += strength * rng.standard_normal((n, 1))
    return X


@dataclass
class Cell:
    """One size and sign: what every run reached."""

    values: dict[str, list[float]] = field(default_factory=dict)
    supports: dict[str, set[bytes]] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)

    def add(self, name: str, w: np.ndarray, value: float, seconds: float) -> None:
        """Note one more run."""
        self.values.setdefault(name, []).append(value)
        self.supports.setdefault(name, set()).add(np.flatnonzero(w).tobytes())
        self.seconds[name] = min(seconds, self.seconds.get(name, np.inf))


def covariances(X: object, standardize: bool, containers: str) -> dict[str, Covariance]:
    """The same data in several layouts."""
    found = {}
    for name in containers.split(","):
        if sparse.issparse(X):
            Y = X.asformat(name) if name in {"csr", "csc"} else None
        elif name in {"C", "F"}:
            Y = np.asarray(X, dtype=float, order=name)
        else:
            Y = sparse.csr_array(np.asarray(X, dtype=float)) if name == "csr" else None
        if Y is not None:
            found[name] = covariance_of(Y, standardize=standardize)[0]
    return found


def every_column(S: Covariance, constraint: LoadingConstraint) -> tuple[np.ndarray, float]:
    """Climb from every column by steps, from the best 512 by exchanges; finish the best 64."""
    search = Search(S, constraint)
    kept = []
    for start in range(0, search.allowed.size, AT_ONCE):
        units = unit_block(search.allowed[start : start + AT_ONCE], S.dtype)
        climbed, _ = settle(search.space, units, constraint, 12)
        kept.append(best_rows(search.space, climbed, 64)[0])
    block, _ = best_rows(search.space, joined(kept), 512)
    block = climb_by_exchange(search.space, block, constraint, search.S.diagonal(), 200)
    block, _ = best_rows(search.space, block, 64)
    polished = polish_block(S, search.space, block, constraint)
    best = best_of([exchange_best(S, polished, constraint, 16, 100), *polished])
    return best.w, best.value


def run(X: object, sizes: list[int], options: argparse.Namespace) -> dict[tuple, Cell]:
    cells: dict[tuple, Cell] = {}
    layouts = covariances(X, not options.raw, options.containers)
    for (name, S), k, nonnegative in product(layouts.items(), sizes, options.signs):
        if k >= S.n_features:
            continue
        cell = cells.setdefault((k, nonnegative), Cell())
        constraint = LoadingConstraint(S.n_features, k, nonnegative)
        for effort in options.efforts:
            if effort == "thorough" and name != next(iter(layouts)):
                continue
            for seed in range(options.seeds):
                start = time.process_time()
                found = PORTFOLIOS[effort](S, constraint, np.random.default_rng(seed))
                elapsed = time.process_time() - start
                cell.add(effort, found.matrix[:, 0], float(found.objective[-1]), elapsed)
        if name == next(iter(layouts)):
            start = time.process_time()
            rng = np.random.default_rng(0)
            solver = EM(init="random" if nonnegative else "pca")
            em = solver(S, constraint, rng).matrix[:, :16]
            w, value = max((renormalise(S, w, constraint) for w in em.T), key=lambda f: f[1])
            cell.add("EM", w, value, time.process_time() - start)
            if options.reference:
                start = time.process_time()
                w, value = every_column(S, constraint)
                cell.add("every column", w, value, time.process_time() - start)
    return cells


def summary(
    data: str, cells: dict[tuple, Cell], options: argparse.Namespace, remembered: dict[str, float]
) -> list[list[object]]:
    rows: list[list[object]] = []
    for nonnegative in options.signs:

        def name_of(k: int, nonnegative: bool = nonnegative) -> str:
            scale = "raw" if options.raw else "standardised"
            return f"{data} {scale} {'nonnegative' if nonnegative else 'signed'} {k}"

        chosen = {k: cell for (k, sign), cell in cells.items() if sign == nonnegative}
        if not chosen:
            continue
        known = {
            k: max(max(v) for v in (*cell.values.values(), [remembered.get(name_of(k), 0.0)]))
            for k, cell in chosen.items()
        }
        remembered |= {name_of(k): value for k, value in known.items()}
        for effort in [*options.efforts, "EM", "every column"]:
            ratios = [v / known[k] for k, c in chosen.items() for v in c.values.get(effort, [])]
            if not ratios:
                continue
            target = TARGETS.get(effort, 0.9999)
            bad = {k for k, c in chosen.items() for v in c.values[effort] if v < target * known[k]}
            several = sum(len(c.supports[effort]) > 1 for c in chosen.values())
            seconds = np.median([c.seconds[effort] for c in chosen.values()])
            below = sum(r < target for r in ratios)
            if effort == "fast":
                worse = sum(
                    v < c.values["EM"][0] * (1 - 1e-9)
                    for c in chosen.values()
                    for v in c.values[effort]
                )
            else:
                worse = "" if effort != "EM" else "-"
            rows.append(
                [
                    data,
                    "w >= 0" if nonnegative else "signed",
                    effort,
                    min(ratios),
                    f"{below}/{len(ratios)} < {target}",
                    sorted(bad) or "",
                    several,
                    worse,
                    float(seconds),
                ]
            )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", nargs="*", default=["leukemia", "nci60", "cbcl"])
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)))
    parser.add_argument("--efforts", default="fast,balanced,thorough")
    parser.add_argument("--containers", default="C,F,csr,csc")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--signs", default="signed,nonnegative")
    parser.add_argument("--raw", action="store_true", help="do not standardise")
    parser.add_argument("--no-reference", dest="reference", action="store_false")
    parser.add_argument("--known", type=Path, help="best values, read and brought up to date")
    options = parser.parse_args()
    known = json.loads(options.known.read_text()) if options.known else {}
    options.efforts = options.efforts.split(",")
    options.signs = [sign == "nonnegative" for sign in options.signs.split(",")]
    sizes = [int(k) for k in options.sizes.split(",")]
    header = ["data", "sign", "effort", "worst", "below", "sizes", "ambiguous", "< EM", "CPU s"]
    for name in options.data:
        cells = run(DATA[name](), sizes, options)
        print(table(header, summary(name, cells, options, known)), flush=True)
        if options.known:
            options.known.write_text(json.dumps(known, indent=0, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
