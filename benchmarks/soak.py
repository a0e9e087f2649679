"""Thousands of different fits in one process: memory, open files and threads must stay flat.

    PYTHONPATH=tests python -m benchmarks.soak [--fits 10000]

Every estimator takes its turn with the inputs of the fuzz tests, so fits that are refused are
among them. Linux only: it reads /proc.
"""

from __future__ import annotations

import argparse
import gc
import time
import warnings
from pathlib import Path

from fuzz.inputs import make
from registry import estimators


def state() -> tuple[float, int, int]:
    """Resident megabytes, open files and threads of this process."""
    gc.collect()
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    resident = int(status["VmRSS"].split()[0]) / 1024
    return resident, sum(1 for _ in Path("/proc/self/fd").iterdir()), int(status["Threads"])


def main() -> None:
    """Fit, and print a row ten times on the way."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fits", type=int, default=10_000)
    n_fits = parser.parse_args().fits
    # Full searches of the factor models and of cross-validation take seconds each.
    classes = [cls for cls in estimators() if cls.__name__ not in {"SparsePCACV"}]
    print(f"{'fits':>7} {'refused':>8} {'MB':>7} {'files':>6} {'threads':>8} {'CPU s':>7}")
    refused = 0
    for i in range(n_fits + 1):
        if i % max(1, n_fits // 10) == 0:
            resident, files, threads = state()
            print(
                f"{i:7} {refused:8} {resident:7.0f} {files:6} {threads:8} {time.process_time():7.0f}",
                flush=True,
            )
        cls = classes[i % len(classes)]
        given = make(cls, i)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                cls(**given.parameters).fit(given.X)
            except (ValueError, TypeError):
                refused += 1


if __name__ == "__main__":
    main()
