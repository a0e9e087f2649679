"""Time and memory of calls, as ratios within one process."""

from __future__ import annotations

import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))


def seconds(call: Callable[[], object], repeats: int = 7) -> float:
    """Best wall-clock time of several calls, after one that warms up."""
    call()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


def interleaved(calls: dict[str, Callable[[], object]], repeats: int = 7) -> dict[str, float]:
    """Best time of each call, taken in turns so that a busy machine disturbs all alike."""
    for call in calls.values():
        call()
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(repeats):
        for name, call in calls.items():
            start = time.perf_counter()
            call()
            times[name].append(time.perf_counter() - start)
    return {name: min(measured) for name, measured in times.items()}


def peak_bytes(call: Callable[[], object]) -> int:
    """Most memory allocated by NumPy and Python above what was held before the call."""
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    tracemalloc.reset_peak()
    call()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak - before


def import_seconds(module: str = "loadstone", repeats: int = 5) -> float:
    """Best time of a fresh interpreter's import, less that of starting it."""

    def run(code: str) -> float:
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", code], check=True)
        return time.perf_counter() - start

    return min(run(f"import {module}") for _ in range(repeats)) - min(
        run("pass") for _ in range(repeats)
    )


def table(header: list[str], rows: list[list[object]]) -> str:
    """A plain text table."""
    cells = [header, *[[_show(cell) for cell in row] for row in rows]]
    widths = [max(len(row[j]) for row in cells) for j in range(len(header))]
    lines = ["  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)) for row in cells]
    lines.insert(1, "  ".join("-" * w for w in widths))
    return "\n".join(line.rstrip() for line in lines)


def _show(cell: object) -> str:
    if isinstance(cell, float | np.floating):
        return f"{cell:.6g}"
    return str(cell)
