"""Many inputs per estimator and function, and every violation with the seed that repeats it.

python tests/fuzz/run.py --inputs 10000 --first 0 [--only EMPCA certify] [--limit 20]
"""

from __future__ import annotations

import argparse
import signal
import sys
import time
import traceback
from collections import Counter
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))

from fuzz.functions import FUNCTIONS, check_function
from fuzz.inputs import make
from fuzz.properties import check_fit
from fuzz.relations import check_relation
from registry import estimators

#: Inputs of one estimator before it is the turn of the next.
BLOCK = 100


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


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--inputs", type=int, default=200)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--limit", type=int, default=60)
    parser.add_argument("--only", nargs="*")
    asked = parser.parse_args()
    subjects = [
        s for s in (*estimators(), *FUNCTIONS) if not asked.only or name_of(s) in asked.only
    ]
    found = {name_of(subject): Counter() for subject in subjects}
    last = asked.first + asked.inputs
    for first in range(asked.first, last, BLOCK):
        # In turn, so that a run that is stopped early has tried all of them equally.
        for subject in subjects:
            seeds = range(first, min(first + BLOCK, last))
            found[name_of(subject)] += tried(subject, seeds, asked.limit)
        print(f"seeds {asked.first} to {min(first + BLOCK, last) - 1}:")
        for name, counts in found.items():
            print(f"{name:24} {dict(counts)}", flush=True)
    return any(counts["violated"] for counts in found.values())


def tried(subject, seeds, limit):
    """How many inputs came to what; violations are printed as they come."""
    counts, began = Counter(), time.process_time()
    for seed in seeds:
        said, given = outcome(subject, seed, limit)
        counts[said if said in ("fitted", "refused") else "violated"] += 1
        if said not in ("fitted", "refused"):
            print(f"  {name_of(subject)} {given}\n    {said}", flush=True)
    counts["CPU ms"] = round(1000 * (time.process_time() - began))
    return counts


if __name__ == "__main__":
    sys.exit(main())
