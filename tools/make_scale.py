"""Write ``docs/scale.md``: what fits of very large data cost, and what was measured.

::

    python -m benchmarks.cluster --scale     # measures, writes benchmarks/scale.json
    python -m benchmarks.cluster             # 4 GB, call by call: benchmarks/cluster.json
    python -m benchmarks.merges              # benchmarks/merges.json
    python -m benchmarks.wide_paths          # benchmarks/wide_paths.json
    python tools/make_scale.py               # writes the page

Numbers of the model come from ``loadstone.covariance.cost``, which a fit asks as well.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "scale.md"
MEASURED = ROOT / "benchmarks" / "scale.json"
CELLS = ROOT / "benchmarks" / "cluster.json"
MERGES = ROOT / "benchmarks" / "merges.json"
PATHS = ROOT / "benchmarks" / "wide_paths.json"

if __name__ == "__main__":
    sys.path.insert(0, str(ROOT / "src"))

from loadstone.covariance.cluster import Memory  # noqa: E402
from loadstone.covariance.cost import (  # noqa: E402
    Cost,
    cost_of_data,
    cost_of_gram,
    cost_of_wide,
)

#: Bytes of a number, of a chunk, and of a worker's thread, unless a row says otherwise.
ITEMSIZE, CHUNK, WORKER = 4, 128 << 20, 8 << 30
#: Operations a second of one thread, for the column of core hours.
SPEED = 2e10

HEAD = """# How far it goes

<!-- made by tools/make_scale.py -->

What a fit of `SparsePCA` (one component; further ones cost passes only on the data route) needs
where the data lies on a cluster: bytes read from the store, bytes moved between workers and to the
process that fits, operations, and memory. float32, chunks of 128 MiB, workers with 8 GiB for each
thread. The model is `loadstone.covariance.cost`; bytes moved are an upper limit, as if every sum of
two partial results had to fetch one of them.

"""

BETWEEN = """
A row that says *refused* raises `MemoryError` with these numbers before anything is read: blocks of
{starts} columns, one for each start of a search, must fit into half of the memory of the machine
that fits, and three of them into a third of that of a worker's thread. What to do instead: keep
the features of largest variance, or fit at most 4096 rows, which take the
[wide route](large_data.md#few-samples-and-very-many-features).

The Gram matrix of the features is made in one pass as long as three partial results fit into a
third of a worker's thread. Beyond that it is made of tiles, one pass for each, up to 16; the
workers are asked for their memory, not guessed at:

"""

MEASURED_HEAD = """
## Checked at a thousandth of the size

`benchmarks/cluster.py --scale`, two worker processes with one thread and 1 GB each. Each cell has
the model first, and then what was measured; memory is the peak of a process with the interpreter
and its libraries, which take 300 MB before anything is read. *Both* is one product with {starts}
columns, after the pass for the moments.

"""

CELLS_HEAD = """
## Call by call

`benchmarks/cluster.py`: data of 4 GB in single precision with 1000 features in chunks of rows, and
2000 samples of 200 000 features in column chunks of 10 000, on the same two workers. *x plain* is
the CPU time of the workers beside a plain fused reduction (the Gram matrix of each block, summed)
for as many passes; what is refused before it is read takes none.

"""

PATHS_HEAD = """
## Paths out of core and in memory

`benchmarks/wide_paths.py`: the variance of twenty sizes on the wide route, as a share of that of
the same data in memory.

"""

MERGES_TEXT = """
## Covariances added and taken apart

`benchmarks/merges.py`: {n_splits:,} random splits of rows at offsets from 0 to 1e8, in single and
double precision, with and without weights, against extended precision. Right to 1e-10 of the
variances: {merged} merged, {added} added to row by row and {subtracted} subtracted; {refused}
subtractions were refused because digits were lost, and {wrong} answers were wrong.
"""

GPU = """
## What a GPU would have to take over

Nothing here runs on a GPU, and no array API is spoken yet. What would have to move is little:

* **products**: `block.T @ block` of the Gram route, `block @ V` and `Y.T @ block` of the data route,
  `strip @ strip.T` of the wide route. They stand in `covariance/moments.py`, `from_data.py` and
  `sample_gram.py`, and are given blocks by `sum_over_blocks`;
* **the largest entries** of each column (`best_loading`: a partition, then a scatter), where a
  search works on all features.

On the tall row above {products:.0%} of the CPU time is spent in tasks of the workers, which read
blocks and multiply; the search on the matrix, with its eigenproblems of a few dozen features and
branches on single numbers, is the rest, and would stay where it is.
"""


def costs() -> list[tuple[str, int, int, Cost | None]]:
    """The three sizes, and what each route would cost there."""
    largest = Memory(WORKER, "").largest_result()
    return [
        ("tall", 10**9, 10**3, cost_of_gram(10**9, 10**3, ITEMSIZE, CHUNK, largest)),
        ("both", 10**6, 10**5, cost_of_data(10**6, 10**5, ITEMSIZE, CHUNK)),
        ("wide", 10**4, 10**7, cost_of_data(10**4, 10**7, ITEMSIZE, CHUNK)),
        ("wide, 4096 rows", 4096, 10**7, cost_of_wide(4096, 10**7, ITEMSIZE, CHUNK)),
    ]


def size(n_bytes: float) -> str:
    """Bytes with two digits and a unit."""
    for unit, factor in (("PB", 1e15), ("TB", 1e12), ("GB", 1e9), ("MB", 1e6)):
        if n_bytes >= factor:
            return (
                f"{n_bytes / factor:.2g} {unit}"
                if n_bytes < 100 * factor
                else (f"{n_bytes / factor:.0f} {unit}")
            )
    return f"{n_bytes / 1e3:.0f} kB"


def fits(cost: Cost) -> bool:
    """Whether a machine with 64 GiB, and workers as above, hold what they must."""
    return cost.client <= (64 << 30) / 2 and cost.worker <= WORKER


def model_table() -> str:
    """What the model says of the three sizes."""
    lines = [
        "| samples x features | route | passes | read | moved | operations | core hours | "
        "worker | client | |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for name, n, d, cost in costs():
        assert cost is not None
        said = "" if fits(cost) else "**refused**"
        lines.append(
            f"| {n:,} x {d:,} ({name}) | {cost.route} | {cost.passes} | {size(cost.read)} | "
            f"{size(cost.moved)} | {cost.flops:.1e} | {cost.flops / SPEED / 3600:,.1f} | "
            f"{size(cost.worker)} | {size(cost.client)} | {said} |"
        )
    return "\n".join(lines) + "\n"


def tile_table() -> str:
    """Passes for a Gram matrix by the memory of a thread."""
    lines = ["| features | a result | 1 GB | 4 GB | 16 GB |", "|---|---|---|---|---|"]
    for d in (1000, 4000, 8000, 11_000):
        cells = []
        for memory in (1, 4, 16):
            cost = cost_of_gram(
                10**7, d, ITEMSIZE, CHUNK, Memory(memory * 10**9, "").largest_result()
            )
            cells.append(f"{cost.passes}" if cost.passes <= 16 else "refused")
        lines.append(f"| {d:,} | {size(4 * d * d)} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def expected(name: str, found: dict[str, Any]) -> Cost:
    """The model for what was measured."""
    n, d = found["shape"]
    largest = Memory(10**9, "").largest_result()
    if name == "tall":
        return cost_of_gram(n, d, ITEMSIZE, found["chunk"], largest)
    if name == "wide":
        return cost_of_wide(n, d, ITEMSIZE, found["chunk"])
    return cost_of_data(n, d, ITEMSIZE, found["chunk"])


def measured_table(measured: dict[str, Any]) -> str:
    """The model beside what was measured."""
    lines = [
        "| samples x features | passes: model, measured | moved | worker | client | "
        "worker CPU, client CPU |",
        "|---|---|---|---|---|---|",
    ]
    for name, found in measured.items():
        cost = expected(name, found)
        n, d = found["shape"]
        # One product is one pass of sixty, and the moments are another.
        passes, moved = (
            (2, cost.moved / cost.passes) if name == "both" else (cost.passes, cost.moved)
        )
        lines.append(
            f"| {n:,} x {d:,} ({name}) | {passes}, {found['passes']} | {size(moved)}, "
            f"{size(found['moved'])} | {size(cost.worker)}, {size(found['worker_peak'])} | "
            f"{size(cost.client)}, {size(found['client_peak'])} | {found['worker_cpu']:.0f} s, "
            f"{found['client_cpu']:.1f} s |"
        )
    return "\n".join(lines) + "\n"


def cells_table(cells: dict[str, Any]) -> str:
    """What each call took at full size."""
    lines = [
        "| call | passes | worker CPU | x plain | worker | client | workers lost | |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for cell, found in cells.items():
        shape, call = cell.split("/")
        ratio = found["worker_cpu"] / (max(1, found["passes"]) * found["plain_cpu"])
        lines.append(
            f"| `{call}`, {shape} | {found['passes']} | {found['worker_cpu']:.0f} s | {ratio:.2f} | "
            f"{size(found['worker_peak'])} | {size(found['client_peak'])} | {found['lost']} | "
            f"{'refused' if found['refused'] else ''} |"
        )
    return "\n".join(lines) + "\n"


def paths_table(paths: dict[str, Any]) -> str:
    """Paths out of core beside those in memory."""
    lines = [
        "| data | passes | smallest share | mean share | still want in |",
        "|---|---|---|---|---|",
    ]
    for name, found in paths.items():
        n, d = found["shape"]
        lines.append(
            f"| {name}, {n:,} x {d:,} | {found['passes']} | {found['smallest']:.4f} | "
            f"{found['mean']:.4f} | {found['n_wanting']} |"
        )
    return "\n".join(lines) + "\n"


def merges_text(counted: dict[str, int]) -> str:
    """How many answers of merged covariances were right."""
    wrong = sum(count for name, count in counted.items() if name.endswith("wrong"))
    return MERGES_TEXT.format(
        n_splits=counted["n_splits"],
        merged=f"{counted['merged right']:,}",
        added=f"{counted['partial_fit right']:,}",
        subtracted=f"{counted['subtracted right']:,}",
        refused=counted.get("subtracted refused", 0),
        wrong=wrong or "no",
    )


def page() -> str:
    """The whole page."""
    from loadstone.covariance.cost import STARTS

    measured = json.loads(MEASURED.read_text(encoding="utf-8"))
    tall = measured["tall"]
    share = tall["worker_cpu"] / (tall["worker_cpu"] + tall["client_cpu"])
    return (
        HEAD
        + model_table()
        + BETWEEN.format(starts=STARTS)
        + tile_table()
        + MEASURED_HEAD.format(starts=STARTS)
        + measured_table(measured)
        + CELLS_HEAD
        + cells_table(json.loads(CELLS.read_text(encoding="utf-8")))
        + PATHS_HEAD
        + paths_table(json.loads(PATHS.read_text(encoding="utf-8")))
        + merges_text(json.loads(MERGES.read_text(encoding="utf-8")))
        + GPU.format(products=share)
    )


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
