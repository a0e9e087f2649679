"""A real cluster of two processes with 1 GB each: passes, CPU, memory, and who survives.

``python -m benchmarks.cluster [GIGABYTES] [FOLDER]`` writes zarr files into FOLDER, unless they are
there: tall float32 data of that size (4 by default) with 1000 features in chunks of rows, and 2000
samples in column chunks of 10 000, of 0.4 times the size (200 000 features for 4 GB). Every call
runs on a ``LocalCluster(processes=True)`` and in a process of its own, so that peaks of memory are
its own; its worker CPU is compared with a plain fused reduction (the Gram matrix of each block,
summed) on the same workers, for the same number of passes. What was measured goes to
``benchmarks/cluster.json`` call by call: a run that was stopped goes on where it was.

``--again`` measures calls anew, ``--only=wide/certify,tall/SparsePCACV`` those alone.

``--scale`` measures what ``docs/scale.md`` compares with its model instead, at a thousandth of the
sizes there, and writes ``benchmarks/scale.json``. ``python tools/make_scale.py`` prints both.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dask.array as da
import numpy as np
import zarr
from distributed import Client, LocalCluster

from benchmarks.text_table import table
from loadstone import (
    EMPCA,
    NSPCA,
    SparseNoisyPCA,
    SparsePCA,
    SparsePCACV,
    SparseProbabilisticPCA,
    cardinality_path,
    certify,
)
from loadstone.covariance import covariance_of
from loadstone.covariance.passes import telling_passes

#: Where measured cells are kept.
CELLS = Path(__file__).parent / "cluster.json"
CALLS: dict[str, Callable[[Any], Any]] = {
    "SparsePCA": lambda X: SparsePCA(3, n_nonzero=20).fit(X),
    "EMPCA": lambda X: EMPCA(3, n_nonzero=20).fit(X),
    "NSPCA": lambda X: NSPCA(2, max_iter=50).fit(X),
    "SparseNoisyPCA": lambda X: SparseNoisyPCA(2, n_penalties=5, noise="shared").fit(X),
    "SparseProbabilisticPCA": lambda X: SparseProbabilisticPCA(3, max_iter=50).fit(X),
    "cardinality_path": lambda X: cardinality_path(X, [2, 5, 10, 20, 50]),
    "SparsePCACV": lambda X: SparsePCACV(n_nonzeros=[5, 10, 20]).fit(X),
    "certify": lambda X: certify(X, n_nonzero=10),
}


def cpu_of_workers(client: Client) -> float:
    return sum(client.run(time.process_time).values())


def _peak() -> int:
    """Most memory this process had; ``ru_maxrss`` counts what its parent had as well."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))


def _moved(dask_worker: Any) -> int:
    return int(dask_worker.transfer_outgoing_bytes_total)


def _pids(client: Client) -> set[int]:
    return set(client.run(os.getpid).values())


def block_of(rng: np.random.Generator, factors: np.ndarray, rows: int) -> np.ndarray:
    scores = rng.standard_normal((rows, factors.shape[0]), dtype=np.float32)
    noise = rng.standard_normal((rows, factors.shape[1]), dtype=np.float32)
    return 3 * scores @ factors + noise


def planted(rng: np.random.Generator, n_features: int, size: int = 20) -> np.ndarray:
    W = np.zeros((5, n_features), dtype=np.float32)
    for w in W:
        w[rng.choice(n_features, size, replace=False)] = rng.choice([-1, 1], size) / np.sqrt(size)
    return W


def store(path: Path, shape: tuple[int, int], chunks: tuple[int, int]) -> da.Array:
    """Planted factors and noise, written strip by strip."""
    rng = np.random.default_rng(0)
    W = planted(rng, shape[1])
    stored = zarr.create_array(
        str(path), shape=shape, chunks=chunks, dtype="f4", compressors=None, overwrite=True
    )
    if chunks[1] == shape[1]:
        for i in range(0, shape[0], chunks[0]):
            stored[i : i + chunks[0]] = block_of(rng, W, min(chunks[0], shape[0] - i))
    else:
        scores = 3 * rng.standard_normal((shape[0], 5), dtype=np.float32)
        for j in range(0, shape[1], chunks[1]):
            part = W[:, j : j + chunks[1]]
            noise = rng.standard_normal((shape[0], part.shape[1]), dtype=np.float32)
            stored[:, j : j + chunks[1]] = scores @ part + noise
    return da.from_zarr(str(path))


def _gram(block: np.ndarray, *, wide: bool) -> np.ndarray:
    return (block @ block.T if wide else block.T @ block)[None]


def plain(X: da.Array, *, wide: bool) -> None:
    """The Gram matrix of each block, in one task with its reading, added up as a tree by Dask."""
    n, n_blocks = (X.shape[0], X.numblocks[1]) if wide else (X.shape[1], X.numblocks[0])
    grams = da.blockwise(
        _gram,
        "bij",
        X,
        "bk" if not wide else "kb",
        wide=wide,
        dtype=X.dtype,
        new_axes={"i": n, "j": n},
        concatenate=True,
        adjust_chunks={"b": (1,) * n_blocks},
    )
    grams.sum(axis=0, split_every=2).compute()


def measured(client: Client, call: Callable[[Any], Any], X: da.Array) -> dict[str, Any]:
    """Passes, CPU of the workers, bytes between them, and peaks of memory; or the refusal."""
    pids, cpu, moved = _pids(client), cpu_of_workers(client), sum(client.run(_moved).values())
    own, refusal = time.process_time(), ""
    with warnings.catch_warnings(), telling_passes(lambda *_, **__: None) as passes:
        warnings.simplefilter("ignore")
        try:
            call(X)
        except (MemoryError, TypeError) as error:
            refusal = str(error)
    return {
        "passes": passes.n_done,
        "worker_cpu": cpu_of_workers(client) - cpu,
        "client_cpu": time.process_time() - own,
        "moved": sum(client.run(_moved).values()) - moved,
        "worker_peak": max(client.run(_peak).values()),
        "client_peak": _peak(),
        "lost": len(pids - _pids(client)),
        "refused": refusal,
    }


def cluster() -> LocalCluster:
    return LocalCluster(
        processes=True,
        n_workers=2,
        threads_per_worker=1,
        memory_limit="1GB",
        dashboard_address=":0",
    )


def shapes(gigabytes: float) -> dict[str, tuple[tuple[int, int], tuple[int, int]]]:
    """Shape and chunks of both data sets."""
    return {
        "tall": ((int(gigabytes * 2.5e5), 1000), (10_000, 1000)),
        "wide": ((2000, max(20_000, int(gigabytes * 50_000))), (2000, 10_000)),
    }


def judge(gigabytes: float, folder: Path, only: list[str], *, again: bool) -> None:
    """Measure all calls that are not measured yet, each in a process of its own."""
    done = json.loads(CELLS.read_text()) if CELLS.exists() else {}
    for name, (shape, chunks) in shapes(gigabytes).items():
        path = folder / f"{name}-{shape[0]}x{shape[1]}.zarr"
        written = path / "written"
        if not written.exists():
            store(path, shape, chunks)
            written.touch()
        for call in CALLS:
            cell = f"{name}/{call}"
            if (only and cell not in only) or (cell in done and not again):
                continue
            command = [sys.executable, "-m", "benchmarks.cluster", "--cell", cell, str(path)]
            said = subprocess.run(command, check=False, stdout=subprocess.PIPE, text=True).stdout
            found = json.loads(said.splitlines()[-1]) if said else {"failed": True}
            done[cell] = {"shape": shape, **found}
            CELLS.write_text(json.dumps(done, indent=1) + "\n")
            print(cell, found, flush=True)
    print(summary(done))


def one_cell(cell: str, path: str) -> None:
    """Print what one call needs, beside a plain reduction on the same workers."""
    shape, call = cell.split("/")
    X = da.from_zarr(path)
    with cluster() as workers, Client(workers) as client:
        start = cpu_of_workers(client)
        plain(X, wide=shape == "wide")
        reduction = cpu_of_workers(client) - start
        wall = time.perf_counter()
        found = measured(client, CALLS[call], X)
        found |= {"wall": time.perf_counter() - wall, "plain_cpu": reduction}
    print(json.dumps(found), flush=True)


def summary(done: dict[str, Any]) -> str:
    """All cells as a table."""
    rows: list[list[object]] = []
    for cell, m in sorted(done.items()):
        if "failed" in m:
            rows.append([cell, *["failed"] * 8])
            continue
        ratio = m["worker_cpu"] / (max(1, m["passes"]) * m["plain_cpu"])
        cpu = [round(m["worker_cpu"], 1), round(ratio, 2), round(m["client_cpu"], 1)]
        peaks = [f"{m['worker_peak'] / 1e6:.0f}", f"{m['client_peak'] / 1e6:.0f}"]
        rows.append([cell, m["passes"], *cpu, *peaks, m["lost"], m["refused"][:60]])
    header = ["call", "passes", "worker CPU s", "x plain", "client CPU s"]
    return table([*header, "worker MB", "client MB", "workers lost", "refused"], rows)


def _product(X: da.Array) -> None:
    S, _ = covariance_of(X, route="data")
    S @ np.random.default_rng(0).standard_normal((X.shape[1], 174)).astype(np.float32)


#: A thousandth of the sizes in docs/scale.md, with what is measured there.
THOUSANDTH = {
    "tall": ((1_000_000, 1000), (10_000, 1000), CALLS["SparsePCA"]),
    "both": ((31_600, 3160), (3160, 3160), _product),
    "wide": ((316, 316_000), (316, 15_800), CALLS["SparsePCA"]),
}


def scale(folder: Path) -> None:
    """Write what was measured at a thousandth of the sizes."""
    found = {}
    for name, (shape, chunks, call) in THOUSANDTH.items():
        X = store(folder / f"{name}.zarr", shape, chunks)
        with cluster() as workers, Client(workers) as client:
            m = measured(client, call, X)
        chunk = chunks[0] * chunks[1] * 4
        found[name] = {"shape": shape, "chunk": chunk, **{k: v for k, v in m.items() if v != ""}}
        print(name, found[name], flush=True)
    (Path(__file__).parent / "scale.json").write_text(json.dumps(found, indent=1) + "\n")


def main() -> None:
    options = [a for a in sys.argv[1:] if a.startswith("--")]
    arguments = [a for a in sys.argv[1:] if not a.startswith("--")]
    if "--cell" in options:
        one_cell(*arguments)
        return
    gigabytes = float(arguments[0]) if arguments else 4.0
    base = Path(arguments[1]) if len(arguments) > 1 else Path(tempfile.gettempdir())
    if "--scale" in options:
        with tempfile.TemporaryDirectory(dir=base) as folder:
            scale(Path(folder))
        return
    only = [o.removeprefix("--only=").split(",") for o in options if o.startswith("--only=")]
    judge(gigabytes, base, [cell for part in only for cell in part], again="--again" in options)


if __name__ == "__main__":
    main()
