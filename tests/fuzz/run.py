"""Many inputs per estimator and function, and every violation with the seed that repeats it.

python tests/fuzz/run.py --inputs 10000 --first 0 [--only EMPCA certify] [--limit 20]
    [--table tests/fuzz/tried.json] [--again EMPCA] [--minutes 60] [--retry]

A table is written after every block, and a run goes on where the last one ended; ``--again``
begins anew with those whose code has changed, ``--retry`` tries first what was violated before.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
import time
import traceback
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))

import dask

from fuzz.functions import FUNCTIONS, check_function
from fuzz.inputs import make
from fuzz.properties import check_fit
from fuzz.relations import check_relation
from registry import estimators

#: Inputs of one estimator before it is the turn of the next.
BLOCK = 100
#: Dask starts threads for one input in so many; they have tests of their own.
ONE_IN_THREADS = 16


class TooLongError(Exception):
    """An input of a few numbers that keeps a fit busy."""


def check(cls, given):
    """Fit, and look at everything that must hold; ``fitted`` or ``refused``."""
    if cls in FUNCTIONS:
        return check_function(cls, given)
    model = check_fit(cls, given)
    if model is None:
        return "refused"
    check_relation(cls, model, given)
    return "fitted"


def outcome(cls, seed, limit):
    """``fitted``, ``refused``, or what went wrong."""

    def stop(*_):
        raise TooLongError

    given = make(cls, seed)
    signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, limit)
    try:
        with dask.config.set(scheduler="synchronous" if seed % ONE_IN_THREADS else "threads"):
            return check(cls, given), given
    except TooLongError:
        return f"no answer in {limit} s of CPU time", given
    except Exception as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        said = str(error)[:160].replace("\n", " ")
        return f"{type(error).__name__} ({Path(place.filename).name}:{place.lineno}) {said}", given
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)


def name_of(subject):
    """A class of estimators, or a function by its name."""
    return subject if isinstance(subject, str) else subject.__name__


def nothing_yet(first):
    """The row of somebody who has not been tried."""
    return {"first": first, "next": first, "fitted": 0, "refused": 0, "violated": {}, "CPU s": 0.0}


def tried(subject, row, seeds, limit):
    """Try some seeds, and add what they came to; violations are printed as they come."""
    began = time.process_time()
    for seed in seeds:
        said, given = outcome(subject, seed, limit)
        if said in ("fitted", "refused"):
            row[said] += 1
        else:
            row["violated"][str(seed)] = f"{given}: {said}"
            print(f"  {name_of(subject)} {given}\n    {said}", flush=True)
        row["next"] = seed + 1
    row["CPU s"] = round(row["CPU s"] + time.process_time() - began, 1)


def retried(subject, row, limit):
    """Try what was violated before; what holds now is counted where it belongs."""
    seeds, after = [int(seed) for seed in row["violated"]], row["next"]
    row["violated"] = {}
    tried(subject, row, seeds, limit)
    row["next"] = after


def show(rows):
    """One line per estimator."""
    print(f"{'':24} {'seeds':>15} {'fitted':>7} {'refused':>7} {'violated':>8} {'CPU s':>7}")
    for name, row in rows.items():
        seeds = f"{row['first']}-{row['next'] - 1}"
        print(
            f"{name:24} {seeds:>15} {row['fitted']:7} {row['refused']:7} "
            f"{len(row['violated']):8} {row['CPU s']:7.0f}",
            flush=True,
        )


def written(rows, table):
    """Replace the table, if there is one."""
    if table:
        beside = table.with_suffix(".new")
        beside.write_text(json.dumps(rows, indent=1) + "\n")
        beside.replace(table)


def asked():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--inputs", type=int, default=200)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--limit", type=int, default=60)
    parser.add_argument("--minutes", type=float, default=float("inf"))
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--table", type=Path)
    parser.add_argument("--again", nargs="*", default=())
    parser.add_argument("--retry", action="store_true")
    return parser.parse_args()


def main():
    """Whether anything was violated."""
    wanted, ends = asked(), time.monotonic()
    ends += 60 * wanted.minutes
    table = wanted.table
    rows = json.loads(table.read_text()) if table and table.exists() else {}
    subjects = [
        s for s in (*estimators(), *FUNCTIONS) if not wanted.only or name_of(s) in wanted.only
    ]
    for subject in subjects:
        if name_of(subject) in wanted.again or name_of(subject) not in rows:
            rows[name_of(subject)] = nothing_yet(wanted.first)
    for subject in subjects if wanted.retry else ():
        retried(subject, rows[name_of(subject)], wanted.limit)
    written(rows, table)
    while time.monotonic() < ends:
        # In turn, so that a run that is stopped early has tried all of them equally.
        subject = min(subjects, key=lambda s: rows[name_of(s)]["next"] - rows[name_of(s)]["first"])
        row = rows[name_of(subject)]
        last = row["first"] + wanted.inputs
        if row["next"] >= last:
            break
        tried(subject, row, range(row["next"], min(row["next"] + BLOCK, last)), wanted.limit)
        written(rows, table)
    show(rows)
    return any(row["violated"] for row in rows.values())


if __name__ == "__main__":
    sys.exit(main())
