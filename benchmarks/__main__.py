"""``python -m benchmarks [SUITE ...] [--data NAME] [--method NAME] [--out DIR]``: ours beside rivals."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from benchmarks.runner import RESULTS, rows_of, write
from benchmarks.suites import SUITES


def arguments(words: list[str] | None = None) -> argparse.Namespace:
    """What the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("suite", nargs="*", help=f"among {', '.join(SUITES)}; default: all")
    parser.add_argument(
        "--data", action="append", default=[], metavar="NAME", help="only this data"
    )
    parser.add_argument(
        "--method", action="append", default=[], metavar="NAME", help="only this one"
    )
    parser.add_argument("--out", type=Path, metavar="DIR", help="folder for the results")
    asked = parser.parse_args(words)
    if unknown := [name for name in asked.suite if name not in SUITES]:
        parser.error(f"no suite is called {unknown[0]!r}; there are {', '.join(SUITES)}")
    if (asked.data or asked.method) and asked.out is None:
        parser.error("a part of the rows is not kept with the whole: say --out DIR")
    return asked


def main(words: list[str] | None = None) -> int:
    """Run the suites, one after another, and write their rows."""
    asked = arguments(words)
    for name in asked.suite or SUITES:
        rows = []
        for row in rows_of(SUITES[name], data=asked.data, methods=asked.method):
            rows.append(row)
            told = row.get("skipped") or f"{row['variance']:.4f}, {row['cpu seconds']:.2f} s"
            what = f"{row['data']}, k = {row['n_nonzero']}, {row['method']}"
            print(f"{what}: {told}", file=sys.stderr, flush=True)
        write((asked.out or RESULTS) / f"{name}.json", rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
