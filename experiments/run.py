"""Running claims: one process or several, what is shared computed once, progress on stderr."""

from __future__ import annotations

import multiprocessing
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from threadpoolctl import threadpool_limits

from experiments.claim import Claim
from experiments.papers import claims_of
from experiments.results import entry_of, save_figures

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Run:
    """What a claim is told while it is measured.

    Attributes
    ----------
    quick : bool
        Whether fewer repetitions and sizes must do: the whole paper should take under a minute.
    tell : callable
        Takes a sentence about progress.
    """

    quick: bool = False
    tell: Callable[[str], None] = lambda text: None
    kept: dict[str, Any] = field(default_factory=dict, repr=False)

    def once(self, name: str, make: Callable[[], T]) -> T:
        """What ``make`` returns, computed at the first call and kept for claims that share it."""
        if name not in self.kept:
            self.kept[name] = make()
        value: T = self.kept[name]
        return value


def say(text: str) -> None:
    """Progress, for a person who waits."""
    print(text, file=sys.stderr, flush=True)


def measure(claim: Claim, run: Run, folder: Path) -> dict[str, Any]:
    """Measure one claim, save its figures, and return what is remembered of it."""
    wall, cpu = time.perf_counter(), time.process_time()
    with threadpool_limits(1):
        measured = claim.measure(run)
    seconds = time.perf_counter() - wall, time.process_time() - cpu
    files = save_figures(claim.id, measured.figures, folder)
    return entry_of(claim, measured, files, quick=run.quick, seconds=seconds)


def jobs_of(claims: Sequence[Claim]) -> list[list[str]]:
    """Ids that have to run in one process together, in the order of the first of each."""
    jobs: dict[str, list[str]] = {}
    for claim in claims:
        jobs.setdefault(claim.shares or claim.id, []).append(claim.id)
    return list(jobs.values())


def _each(paper: str, ids: list[str], folder: Path, *, quick: bool) -> Iterator[dict[str, Any]]:
    """One job, claim by claim."""
    claims = claims_of(paper)
    run = Run(quick=quick, tell=lambda text: say(f"    {text}"))
    for name in ids:
        entry = measure(claims[name], run, folder)
        say(f"  {name}: {' / '.join(entry['verdicts'])} ({entry['timings']['cpu seconds']:.1f} s)")
        yield entry


def _work(paper: str, ids: list[str], folder: Path, *, quick: bool) -> list[dict[str, Any]]:
    """One job in a process of its own."""
    return list(_each(paper, ids, folder, quick=quick))


def run_claims(
    paper: str, ids: Sequence[str], folder: Path, *, quick: bool = False, jobs: int = 1
) -> Iterator[dict[str, Any]]:
    """Measure claims of a paper; yield what is remembered of each, in no order."""
    claims = claims_of(paper)
    parts = jobs_of([claims[name] for name in ids])
    if jobs == 1 or len(parts) == 1:
        for part in parts:
            yield from _each(paper, part, folder, quick=quick)
        return
    # A fresh interpreter for each worker: forked ones inherit the threads of a compiled library.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, mp_context=context) as pool:
        waiting = [pool.submit(_work, paper, part, folder, quick=quick) for part in parts]
        for done in as_completed(waiting):
            yield from done.result()
