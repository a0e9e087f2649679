"""Passes over data that is not in memory: counted, and told to whoever runs the fit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any


@dataclass
class Passes:
    """How often data was read since somebody began to listen.

    Attributes
    ----------
    report : callable
        Told ``report("pass 3", n_passes=3)`` after the third one.
    n_done : int
        Passes so far.
    outer : Passes or None
        Somebody who has been listening for longer, and hears of the same passes.
    """

    report: Callable[..., Any]
    n_done: int = 0
    outer: Passes | None = None


_PASSES: ContextVar[Passes | None] = ContextVar("loadstone_passes", default=None)


@contextmanager
def telling_passes(report: Callable[..., Any]) -> Iterator[Passes]:
    """Tell ``report`` of every pass over the data within this block."""
    passes = Passes(report, outer=_PASSES.get())
    token = _PASSES.set(passes)
    try:
        yield passes
    finally:
        _PASSES.reset(token)


def pass_number() -> int:
    """The number of the pass that is under way, from 1; 0 where nobody counts."""
    passes = _PASSES.get()
    return 0 if passes is None else passes.n_done + 1


def pass_done() -> None:
    """Count a pass that is over, and tell of it."""
    passes = _PASSES.get()
    while passes is not None:
        passes.n_done += 1
        passes.report(f"pass {passes.n_done}", n_passes=passes.n_done)
        passes = passes.outer
