"""Cross-validation and stability selection with one and two processes, wall-clock seconds.

``python -m benchmarks.folds`` prints both and their ratio; each process has one BLAS thread. CPU
seconds of one process are printed too, because wall-clock time depends on who else is at work.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from benchmarks.text_table import table
from loadstone import SparsePCA, SparsePCACV, stability_selection
from loadstone.datasets import make_sparse_factors


def timed(call: Callable[[int], object], n_jobs: int) -> tuple[float, float]:
    start, cpu = time.perf_counter(), time.process_time()
    call(n_jobs)
    return time.perf_counter() - start, time.process_time() - cpu


def main() -> None:
    sizes, deviations = (20, 20, 20), (4.0, 3.5, 3.0)
    X, _ = make_sparse_factors(
        4000, sizes=sizes, factor_std=deviations, n_noise_features=240, random_state=0
    )
    model = SparsePCA(3, n_nonzero=20, effort="fast")
    calls: dict[str, Callable[[int], object]] = {
        "SparsePCACV(3)": lambda n: SparsePCACV(3, n_jobs=n).fit(X),
        "stability_selection, 40 halves": lambda n: stability_selection(
            model, X, n_subsamples=40, n_jobs=n
        ),
    }
    rows: list[list[object]] = []
    for name, call in calls.items():
        call(2)  # starts the processes
        one, cpu = timed(call, 1)
        two, _ = timed(call, 2)
        rows.append([name, cpu, one, two, one / two])
    print(table(["call", "CPU s", "1 process", "2 processes", "ratio"], rows))


if __name__ == "__main__":
    main()
