"""How near the search comes to the best known, over sizes, signs, scales, layouts and containers.

``python -m benchmarks.search [data ...] --rows FILE [--sizes 2,5,10] [--budget SECONDS]`` appends
one line per run to FILE and leaves out runs that are there: it may be cut off and started again.
Then it prints, for every data set and effort, the worst ratio to the best value known and the
number of runs below the target. The best known is the largest value of all rows, of those that
``--known FILE`` remembers (``benchmarks/search_known.json``; ``tests/papers`` holds the search to
fewer, in a file of its own) and, with
``--reference``, of a climb from every single column of the covariance. The search draws nothing
from a seed; EM with random starts does, and runs with several.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import defaultdict
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks.search_data import DATA
from benchmarks.text_table import table
from loadstone.constraints import LoadingConstraint
from loadstone.covariance import Array, Covariance, covariance_of
from loadstone.solvers.em import EM
from loadstone.solvers.portfolio import PORTFOLIOS
from loadstone.solvers.renormalise import renormalise
from loadstone.solvers.search.climb import best_rows, settle
from loadstone.solvers.search.exchange_block import climb_by_exchange
from loadstone.solvers.search.finish import best_of, exchange_best, polish_block
from loadstone.solvers.search.search import Search
from loadstone.solvers.search.sparse_block import joined, unit_block

SIZES = (2, 3, 4, 5, 7, 10, 14, 20, 28, 40, 57, 80, 113, 160, 226, 320, 450, 500)
EFFORTS = ("fast", "balanced", "thorough")
TARGETS = {"fast": 0.99, "balanced": 0.9999, "thorough": 0.99999}
#: Columns the reference climbs from at once.
AT_ONCE = 256
#: Starts of the EM that only adds to what is known.
MANY_STARTS = 30
#: What tells one run from another.
KEY = ("data", "scale", "sign", "size", "container", "run", "seed")


def in_container(X: Any, name: str) -> Any:
    """The same data in another layout, precision or container; None where that does not make sense."""
    if sparse.issparse(X):
        return X.astype(float).asformat(name) if name in {"csr", "csc"} else None
    if name in {"C", "F"}:
        return np.asarray(X, dtype=float, order=name)
    if name == "float32":
        return np.asarray(X, dtype=np.float32)
    return sparse.csr_array(np.asarray(X, dtype=float)).asformat(name)


def every_column(S: Covariance, constraint: LoadingConstraint) -> Array:
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
    return best_of([exchange_best(S, polished, constraint, 16, 100), *polished]).w


def em(S: Covariance, constraint: LoadingConstraint, seed: int, n_init: int | None) -> Array:
    """The best of its starts, as ``EMPCA`` has it: the paper's own start, or random ones."""
    solver = EM(init="random" if constraint.nonnegative else "pca", n_init=n_init)
    found = solver(S, constraint, np.random.default_rng(seed)).matrix
    return max((renormalise(S, w, constraint) for w in found.T), key=lambda each: each[1])[0]


def efforts(S: Covariance, constraint: LoadingConstraint, effort: str) -> dict[str, Array]:
    """Loadings of an effort and of those it contains."""
    found = PORTFOLIOS[effort](S, constraint, np.random.default_rng(0))
    names = EFFORTS[EFFORTS.index(effort) :: -1]
    below = found.details["below"]
    if len(below) < len(names) - 1:
        return {effort: found.matrix[:, 0]}
    return dict(zip(names, [found.matrix[:, 0], *below], strict=True))


def runs_of(
    S: Covariance, constraint: LoadingConstraint, first: bool, options: argparse.Namespace
) -> Iterator[tuple[str, int, float, Array]]:
    """Name, seed, CPU seconds and loadings of all runs in one container."""

    def timed(call: Any) -> tuple[float, Any]:
        start = time.process_time()
        found = call()
        return time.process_time() - start, found

    seconds, found = timed(lambda: efforts(S, constraint, options.effort if first else "balanced"))
    for name, w in found.items():
        yield name, 0, seconds, w
    if not first:
        return
    for seed in range(options.seeds if constraint.nonnegative else 1):
        seconds, w = timed(lambda seed=seed: em(S, constraint, seed, None))
        yield "EM", seed, seconds, w
    seconds, w = timed(lambda: em(S, constraint, 0, MANY_STARTS))
    yield "EM, many starts", 0, seconds, w
    if options.reference:
        seconds, w = timed(lambda: every_column(S, constraint))
        yield "every column", 0, seconds, w


def run(data: str, scale: str, options: argparse.Namespace, rows: list[dict[str, Any]]) -> None:
    """All runs of a data set that are not among the rows; each is written at once."""
    X = DATA[data]()
    done = {tuple(row[name] for name in KEY[:5]) for row in rows}
    names = [name for name in options.containers if in_container(X, name) is not None]
    layouts = {
        name: covariance_of(in_container(X, name), standardize=scale == "standardised")[0]
        for name in names
    }
    judge = layouts[names[0]]
    cells = product(options.sizes, options.signs, names)
    for k, sign, name in cells:
        if k >= judge.n_features or (data, scale, sign, k, name) in done:
            continue
        if time.process_time() > options.budget:
            return
        constraint = LoadingConstraint(judge.n_features, k, sign == "nonnegative")
        fresh = []
        for what, seed, seconds, w in runs_of(layouts[name], constraint, name == names[0], options):
            w = w.astype(np.float64)
            w /= np.linalg.norm(w)
            assert constraint.allows(w)
            fresh.append(
                dict(zip(KEY, (data, scale, sign, k, name, what, seed), strict=True))
                | {"value": float(w @ (judge @ w)), "seconds": round(seconds, 3)}
            )
        with options.rows.open("a") as file:
            file.writelines(json.dumps(row) + "\n" for row in fresh)
        rows += fresh


def best_known(rows: list[dict[str, Any]], known: dict[str, float]) -> dict[str, float]:
    """The largest value of every cell."""
    for row in rows:
        name = " ".join(str(row[part]) for part in KEY[:4])
        known[name] = max(known.get(name, 0.0), row["value"])
    return known


def summary(rows: list[dict[str, Any]], known: dict[str, float]) -> list[list[object]]:
    """One line for each data set, scale, sign and kind of run."""
    lines: dict[tuple, list[dict[str, Any]]] = defaultdict(list)
    em_values: dict[str, float] = defaultdict(float)
    for row in rows:
        row["cell"] = " ".join(str(row[part]) for part in KEY[:4])
        row["ratio"] = row["value"] / known[row["cell"]]
        lines[*(row[part] for part in KEY[:3]), row["run"]].append(row)
        if row["run"] == "EM":
            em_values[row["cell"]] = max(em_values[row["cell"]], row["value"])
    result = []
    for key, found in lines.items():
        target = TARGETS.get(key[-1], 0.9999)
        low = [row for row in found if row["ratio"] < target]
        behind = sum(row["value"] < em_values[row["cell"]] * (1 - 1e-9) for row in found)
        worst = min(row["ratio"] for row in found)
        sizes = sorted({row["size"] for row in low})
        seconds = float(np.median([row["seconds"] for row in found]))
        below = f"{len(low)}/{len(found)} < {target}"
        result.append([*key, f"{worst:.6f}", below, sizes or "", behind, seconds])
    return result


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", nargs="*", default=["leukemia", "nci60", "cbcl"])
    parser.add_argument("--rows", type=Path, required=True, help="JSON lines, read and added to")
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)))
    parser.add_argument("--effort", default="thorough", help="of the first container")
    parser.add_argument("--containers", default="C,F,float32,csr,csc")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--signs", default="signed,nonnegative")
    parser.add_argument("--scales", default="standardised,raw")
    parser.add_argument("--reference", action="store_true", help="climb from every column too")
    parser.add_argument("--known", type=Path, help="best values, read and brought up to date")
    parser.add_argument("--budget", type=float, default=np.inf, help="CPU seconds")
    options = parser.parse_args()
    for name in ("containers", "signs", "scales"):
        setattr(options, name, getattr(options, name).split(","))
    options.sizes = [int(k) for k in options.sizes.split(",")]
    return options


def main() -> None:
    options = arguments()
    known = json.loads(options.known.read_text()) if options.known else {}
    lines = options.rows.read_text().splitlines() if options.rows.exists() else []
    rows = [json.loads(line) for line in lines]
    for name, scale in product(options.data, options.scales):
        run(name, scale, options, rows)
    known = best_known(rows, known)
    header = ["data", "scale", "sign", "run", "worst", "below", "sizes", "< EM", "CPU s"]
    print(table(header, summary(rows, known)))
    if options.known:
        options.known.write_text(json.dumps(known, indent=0, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
