"""Memory of fits of a large sparse matrix, in units of the matrix itself.

``python -m benchmarks.sparse_memory [NAME ...]`` fits each estimator (or those named) to a CSR
matrix of 100 000 samples and features with 2 000 000 entries, in a process of its own with a limit
of CPU time, writes ``benchmarks/sparse_memory.json`` and the table in ``docs/large_data.md``.
Linux only: it reads /proc.
"""

from __future__ import annotations

import contextlib
import json
import resource
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

RESULTS = Path(__file__).parent / "sparse_memory.json"
PAGE = Path(__file__).parents[1] / "docs" / "large_data.md"
BEGIN, END = "<!-- measured by benchmarks/sparse_memory.py -->\n", "<!-- until here: sparse -->\n"
SIZE, ENTRIES = 100_000, 2_000_000
#: Seconds of CPU time for a fit, after which its peak so far is told.
LIMIT = 30
#: Gibibytes for a process; whoever wants more fails.
MOST = 12
#: One component of ten features, and one fold less than the least.
SMALL: dict[str, Any] = {
    "n_components": 1, "n_nonzero": 10, "n_features_to_select": 10, "n_nonzeros": (10,), "cv": 2,
}  # fmt: skip


def matrix(seed: int = 0) -> sparse.csr_array:
    """Counts, more frequent in the first features, as words are."""
    rng = np.random.default_rng(seed)
    columns = (SIZE * rng.random(ENTRIES) ** 2).astype(np.int32)
    rows = rng.integers(SIZE, size=ENTRIES, dtype=np.int32)
    counts = 1.0 + rng.poisson(1.0, ENTRIES)
    return sparse.csr_array((counts, (rows, columns)), shape=(SIZE, SIZE))


def megabytes(what: str) -> float:
    """``VmRSS`` now, or ``VmHWM`` at most, of this process."""
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    status = dict(line.split(":", 1) for line in lines)
    return int(status[what].split()[0]) / 1024


def measured(name: str) -> dict[str, Any]:
    """What one fit in this process took, and how it ended."""
    import loadstone

    X = matrix()
    held = (X.data.nbytes + X.indices.nbytes + X.indptr.nbytes) / 2**20
    cls = getattr(loadstone, name)
    model = cls(**{key: value for key, value in SMALL.items() if key in cls._parameter_constraints})
    with warnings.catch_warnings(), contextlib.suppress(ValueError, TypeError, MemoryError):
        # What is imported and compiled for a first fit is no matter of the data.
        warnings.simplefilter("ignore")
        cls(**model.get_params()).fit(X[:60, :50].toarray() + np.eye(60, 50))
    # Memory that was freed, but not given back, would be counted to the fit.
    Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")
    before, began = megabytes("VmRSS"), time.process_time()
    resource.setrlimit(resource.RLIMIT_AS, (MOST << 30, MOST << 30))
    ends = int(began) + LIMIT
    resource.setrlimit(resource.RLIMIT_CPU, (ends, ends + 30))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model.fit(X)
            said = ""
        except (ValueError, TypeError, MemoryError) as error:
            said = f"{type(error).__name__}: {error}"
        except _EnoughError:
            said = f"stopped after {LIMIT} s"
    more = megabytes("VmHWM") - before
    return {"times": round(more / held, 1), "MB": round(more), "data MB": round(held), "said": said,
            "CPU s": round(time.process_time() - began, 1)}  # fmt: skip


class _EnoughError(Exception):
    pass


def _enough(*_: object) -> None:
    raise _EnoughError


def written(rows: dict[str, Any]) -> None:
    """Into the file of results and the page."""
    RESULTS.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    lines = ["| estimator | memory above the data | |", "|---|---|---|"]
    for name, row in sorted(rows.items()):
        said = "refused at once, with the size" if "Error" in row["said"] else row["said"]
        lines.append(f"| `{name}` | {row['times']:.1f} x | {said} |")
    page = PAGE.read_text(encoding="utf-8")
    head, rest = page.split(BEGIN)
    tail = rest.split(END)[1]
    PAGE.write_text(f"{head}{BEGIN}\n" + "\n".join(lines) + f"\n\n{END}{tail}", encoding="utf-8")


def main(names: list[str]) -> None:
    """Measure, print and write."""
    rows = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    for name in names:
        done = subprocess.run(
            [sys.executable, "-m", "benchmarks.sparse_memory", "--here", name],
            capture_output=True,
            text=True,
            check=False,
        )
        print(
            name,
            done.stdout.strip() or f"ended with {done.returncode}: {done.stderr[-300:]}",
            flush=True,
        )
        if done.returncode == 0:
            rows[name] = json.loads(done.stdout)
            written(rows)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--here"]:
        import signal

        signal.signal(signal.SIGXCPU, _enough)
        print(json.dumps(measured(sys.argv[2])))
    else:
        from tests.registry import estimators

        main(sys.argv[1:] or [cls.__name__ for cls in estimators()])
