"""``python -m experiments PAPER [--only ID] [--quick] [--out DIR]``, ``python -m experiments all``."""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

import matplotlib as mpl

from experiments.papers import claims_of, papers
from experiments.results import judged_again, write
from experiments.run import run_claims, say
from loadstone.datasets.fetch import DataNotHereError

HERE = Path(__file__).resolve().parent


def arguments(words: list[str] | None = None) -> argparse.Namespace:
    """What the command line asks for."""
    known = papers()
    parser = argparse.ArgumentParser(prog="python -m experiments", description=__doc__)
    parser.add_argument("paper", choices=[*known, "all"])
    parser.add_argument("--only", metavar="ID", action="append", help="measure this claim only")
    parser.add_argument(
        "--quick", action="store_true", help="under a minute: what a few repetitions can decide"
    )
    parser.add_argument(
        "--out",
        type=Path,
        metavar="DIR",
        help="folder for the results (default: results, or quick, beside this package's papers)",
    )
    parser.add_argument(
        "--judge", action="store_true", help="measure nothing: judge the numbers there are again"
    )
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="processes (default: 2)")
    asked = parser.parse_args(words)
    asked.papers = list(known) if asked.paper == "all" else [asked.paper]
    asked.out = asked.out or HERE / ("quick" if asked.quick else "results")
    there = {name for paper in asked.papers for name in claims_of(paper)}
    if unknown := set(asked.only or ()) - there:
        parser.error(f"no claim is called {sorted(unknown)[0]!r}; there are {', '.join(there)}")
    return asked


def run_paper(paper: str, asked: argparse.Namespace) -> bool:
    """Measure a paper and write its results; whether every verdict is the expected one."""
    claims = claims_of(paper)
    wanted = [name for name in claims if asked.only is None or name in asked.only]
    if asked.quick:
        wanted = [name for name in wanted if claims[name].quick]
    if not wanted:
        return True
    folder = asked.out / paper
    if asked.judge:
        return judge_paper(paper, folder)
    say(f"{paper}: {len(wanted)} claims")
    start = time.perf_counter()
    title = f"{papers()[paper].authors}: {papers()[paper].title}"
    entries = []
    for entry in run_claims(paper, wanted, folder, quick=asked.quick, jobs=asked.jobs):
        entries.append(entry)
        # After each, so that whoever stops a long run keeps what there is.
        write(folder, title, entries, list(claims), keep=bool(asked.only))
    surprising = [e["id"] for e in entries if e["verdicts"] != e["expected"]]
    say(f"{paper}: {time.perf_counter() - start:.0f} s, results in {folder}")
    if surprising:
        say(f"  other verdicts than expected: {', '.join(surprising)}")
    return not surprising


def judge_paper(paper: str, folder: Path) -> bool:
    """Judge numbers that were measured before; whether every verdict is the expected one."""
    claims, kept = claims_of(paper), json.loads((folder / "numbers.json").read_text("utf-8"))
    entries = [judged_again(claims[e["id"]], e) for e in kept["claims"] if e["id"] in claims]
    write(folder, kept["paper"], entries, list(claims), keep=False, versions=kept["versions"])
    return all(e["verdicts"] == e["expected"] for e in entries)


def main(words: list[str] | None = None) -> int:
    """Run what is asked for; 0 where every verdict is the expected one."""
    mpl.use("agg")
    asked = arguments(words)
    try:
        as_expected = [run_paper(paper, asked) for paper in asked.papers]
    except DataNotHereError as error:
        say(str(error))
        return 3
    return 0 if all(as_expected) else 1


if __name__ == "__main__":
    sys.exit(main())
