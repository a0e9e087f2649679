"""Seconds and memory to read a CSV file of a million rows: ``python -m benchmarks.read_table``."""

from __future__ import annotations

import resource
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from loadstone import read_table

BLOCK = 10_000


def write(path: Path, n_rows: int, n_columns: int) -> np.ndarray:
    """The same block of rows again and again; the block."""
    X = np.round(np.random.default_rng(0).standard_normal((BLOCK, n_columns)), 4)
    text = "\n".join(",".join(f"{value:.4f}" for value in row) for row in X) + "\n"
    with path.open("w") as file:
        file.write(",".join(f"x{j}" for j in range(n_columns)) + "\n")
        for _ in range(n_rows // BLOCK):
            file.write(text)
    return X


def main(n_rows: int = 1_000_000, n_columns: int = 50) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "t.csv"
        X = write(path, n_rows, n_columns)
        begun, cpu = time.perf_counter(), time.process_time()
        table = read_table(path)
        spent, cpu = time.perf_counter() - begun, time.process_time() - cpu
        assert table.X.shape == (n_rows, n_columns)
        np.testing.assert_array_equal(table.X[-BLOCK:], X)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
        size = path.stat().st_size / 1e6
    print(f"{n_rows} x {n_columns}, {size:.0f} MB: {spent:.1f} s ({cpu:.1f} s CPU), {peak:.2f} GB")


if __name__ == "__main__":
    main(*[int(word) for word in sys.argv[1:]])
