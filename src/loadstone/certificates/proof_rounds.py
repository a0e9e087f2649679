"""Cases that bring further cases, in small rounds: several are under way, so that nobody waits.

A round is chosen when a certain earlier one is answered, whoever does the work and however long it
takes: what is found does not depend on it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

Case = TypeVar("Case")
#: Calls a function with each of several lists of arguments, in whatever way.
Each = Callable[[Callable[..., Any], Iterable[tuple[Any, ...]]], Iterable[Any]]
#: Rounds under way, and cases of one at most.
UNDER_WAY, ROUND = 6, 6


def in_rounds(
    f: Callable[..., Any],
    take: Callable[[], list[tuple[Case, tuple[Any, ...]]]],
    done: Callable[[list[Case], Iterator[Any]], None],
    each: Each,
) -> None:
    """Call ``f`` for round after round, until none is left and all are answered.

    Parameters
    ----------
    f : callable
        Answers one case.
    take : callable
        The cases of the next round and what ``f`` is called with; empty where there are none yet.
    done : callable
        Told of the cases of a round and their answers; may open further ones.
    each : callable
        Calls ``f``.
    """
    under_way: deque[tuple[list[Case], Iterator[Any]]] = deque()
    while True:
        taken = take() if len(under_way) < UNDER_WAY else []
        if taken:
            cases, calls = zip(*taken, strict=True)
            under_way.append((list(cases), iter(each(f, calls))))
        elif under_way:
            done(*under_way.popleft())
        else:
            return


def size_of_round(n_open: int) -> int:
    """A share of what is open, so that as much is left for the rounds beside it."""
    return min(ROUND, -(-n_open // UNDER_WAY))
