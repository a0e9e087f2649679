"""A real cluster of two processes with 1 GB each: passes, CPU, memory, and who survives.

``python benchmarks/cluster.py [GIGABYTES] [FOLDER]`` writes zarr files into a temporary folder
there and deletes them again: tall float32 data of that size (4 by default) with 1000 features in
chunks of rows, and 2000 samples in column chunks of 10 000, of 0.4 times the size (200 000 features
for 4 GB). Every call runs on ``LocalCluster(processes=True)``; its worker CPU is compared with a
plain fused reduction (the Gram matrix of each block, summed) for the same number of passes.

``--scale`` measures what ``docs/scale.md`` compares with its model instead, at a thousandth of the
sizes there, and writes ``benchmarks/scale.json``; then run ``python tools/make_scale.py``.
"""

from __future__ import annotations

import json
import resource
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
from measure import table

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
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _moved(dask_worker: Any) -> int:
    return int(dask_worker.transfer_outgoing_bytes_total)


def _pids(client: Client) -> set[int]:
    import os

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
    own = time.process_time()
    refusal = ""
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


def judge(gigabytes: float, folder: Path) -> None:
    shapes = {
        "tall": ((int(gigabytes * 2.5e5), 1000), (10_000, 1000)),
        "wide": ((2000, max(20_000, int(gigabytes * 50_000))), (2000, 10_000)),
    }
    for name, (shape, chunks) in shapes.items():
        X = store(folder / f"{name}.zarr", shape, chunks)
        rows = []
        with cluster() as workers, Client(workers) as client:
            start = cpu_of_workers(client)
            plain(X, wide=name == "wide")
            reduction = cpu_of_workers(client) - start
            for call, run in CALLS.items():
                m = measured(client, run, X)
                ratio = m["worker_cpu"] / (max(1, m["passes"]) * reduction)
                rows.append(
                    [
                        call,
                        m["passes"],
                        round(m["worker_cpu"], 1),
                        round(ratio, 2),
                        round(m["client_cpu"], 1),
                        f"{m['worker_peak'] / 1e6:.0f}",
                        f"{m['client_peak'] / 1e6:.0f}",
                        m["lost"],
                        m["refused"][:60],
                    ]
                )
                print(name, *rows[-1], flush=True)
        print(
            f"\n{name}: {shape[0]} x {shape[1]} float32, plain reduction {reduction:.1f} s of CPU"
        )
        header = ["call", "passes", "worker CPU s", "x plain", "client CPU s"]
        print(table([*header, "worker MB", "client MB", "workers lost", "refused"], rows))


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
    arguments = [a for a in sys.argv[1:] if a != "--scale"]
    gigabytes = float(arguments[0]) if arguments else 4.0
    base = arguments[1] if len(arguments) > 1 else None
    with tempfile.TemporaryDirectory(dir=base) as folder:
        if "--scale" in sys.argv:
            scale(Path(folder))
        else:
            judge(gigabytes, Path(folder))


if __name__ == "__main__":
    main()
