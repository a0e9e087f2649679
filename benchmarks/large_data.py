"""Data larger than memory: peak memory and passes.

``python -m benchmarks.large_data [GIGABYTES] [FOLDER]`` writes a float32 file of that size
(8 by default), fits it memory-mapped and through Dask, each in a process of its own, and
prints the peak resident memory. Then the 2700 x 32738 sparse counts of pbmc3k, where the
papers' data sets are at hand, and the passes of ``route="data"``. All of it goes to
``benchmarks/large_data.json``, which ``tools/pass_table.py`` prints.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import dask.array as da
import numpy as np

from benchmarks.text_table import table
from loadstone import EMPCA, SparsePCA
from loadstone.covariance.passes import telling_passes

N_FEATURES = 2000
RESULTS = Path(__file__).parent / "large_data.json"

FIT = """
import resource, sys, time
import numpy as np
from loadstone import SparsePCA
path, n = sys.argv[1], int(sys.argv[2])
X = np.memmap(path, dtype="float32", mode="r", shape=(n, {p}))
if {dask}:
    import dask, dask.array as da
    dask.config.set(scheduler="threads", num_workers=2)
    rows = 20_000
    def read(i):
        return np.array(np.memmap(path, dtype="float32", mode="r", shape=(n, {p}))[i : i + rows])
    X = da.concatenate([
        da.from_delayed(dask.delayed(read)(i), (min(rows, n - i), {p}), "float32")
        for i in range(0, n, rows)
    ])
start = time.perf_counter()
model = SparsePCA(3, n_nonzero=20).fit(X)
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
print(time.perf_counter() - start, peak, model.cardinality_.tolist(), sep=";")
"""

PBMC = """
import resource, sys, time
from tests.real_data import sparse_counts
import warnings
warnings.simplefilter("ignore")
from loadstone import SparsePCA
X = sparse_counts("pbmc3k.npz")
start = time.perf_counter()
model = SparsePCA(5, n_nonzero=50).fit(X)
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
print(time.perf_counter() - start, peak, model.cardinality_.tolist(), sep=";")
"""


def write(path: Path, n_samples: int) -> None:
    rng = np.random.default_rng(0)
    factors = rng.standard_normal((5, N_FEATURES)).astype(np.float32)
    with path.open("wb") as file:
        for start in range(0, n_samples, 10_000):
            rows = min(10_000, n_samples - start)
            block = rng.standard_normal((rows, 5), dtype=np.float32) @ factors
            block += rng.standard_normal((rows, N_FEATURES), dtype=np.float32)
            block.tofile(file)


def run(code: str, *args: object) -> list[str]:
    command = [sys.executable, "-c", code, *map(str, args)]
    root = Path(__file__).resolve().parents[1]
    return (
        subprocess.run(command, check=True, capture_output=True, text=True, cwd=root)
        .stdout.strip()
        .split(";")
    )


def passes_on_data() -> dict[str, int]:
    """Passes of one component with ``route="data"``, on 600 x 5000 planted factors."""
    rng = np.random.default_rng(0)
    factors = np.zeros((3, 5000))
    factors[np.repeat([0, 1, 2], 20), rng.permutation(5000)[:60]] = 1.0
    X = rng.standard_normal((600, 3)) @ factors + rng.standard_normal((600, 5000))
    models = {
        "EMPCA": EMPCA(n_nonzero=20, route="data"),
        "SparsePCA, effort='fast'": SparsePCA(n_nonzero=20, route="data", effort="fast"),
        "SparsePCA": SparsePCA(n_nonzero=20, route="data"),
    }
    found = {}
    for name, model in models.items():
        with warnings.catch_warnings(), telling_passes(lambda *_, **__: None) as passes:
            warnings.simplefilter("ignore")
            model.fit(da.from_array(X, chunks=(100, 5000)))
        found[name] = passes.n_done
    return found


def main() -> None:
    gigabytes = float(sys.argv[1]) if len(sys.argv) > 1 else 8.0
    n_samples = int(gigabytes * 2**30 / 4 / N_FEATURES)
    rows = []
    with tempfile.TemporaryDirectory(dir=sys.argv[2] if len(sys.argv) > 2 else None) as folder:
        path = Path(folder) / "big.dat"
        write(path, n_samples)
        for name, dask in (("memmap", False), ("Dask, threads", True)):
            said = run(FIT.format(p=N_FEATURES, dask=dask), path, n_samples)
            rows.append([f"{name}, {gigabytes:g} GB", *map(float, said[:2]), said[2]])
    try:
        said = run(PBMC)
        rows.append(["pbmc3k, CSR", *map(float, said[:2]), said[2]])
    except subprocess.CalledProcessError:
        print("pbmc3k is not at hand: set LOADSTONE_DATA to the folder that holds it")
    print(table(["data", "seconds", "peak GiB", "cardinality"], rows))
    measured = {
        "peak_gib": {str(row[0]): round(float(row[2]), 2) for row in rows},
        "passes": passes_on_data(),
    }
    RESULTS.write_text(json.dumps(measured, indent=1) + "\n")
    print(measured)


if __name__ == "__main__":
    main()
