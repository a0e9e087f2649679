"""Calls shared between this process and a few others, whoever is free.

Another process takes seconds to start. Until it asks for work, and whenever it has enough, this
one does what is next itself: nobody waits while anything is left to do. Who does a call has no
influence on its answer.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future
from contextlib import contextmanager
from itertools import starmap
from typing import Any

from loadstone.blas_threads import refuse_jobs
from loadstone.certificates.proof_rounds import Each

#: Calls that each other process has at a time: one to do, one that it need not wait for.
AT_HAND = 2
#: Seconds after which a process without work ends.
IDLE_SECONDS = 300
#: Threads inside a process would compete with the other ones.
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


@contextmanager
def shared_by(n_jobs: int | None) -> Iterator[Each]:
    """What calls a function with many lists of arguments, in ``n_jobs`` processes."""
    from joblib import effective_n_jobs

    refuse_jobs(n_jobs)
    n_others = effective_n_jobs(n_jobs) - 1
    if n_others == 0:
        yield starmap
        return
    shared = SharedCalls(_others(n_others), n_others)
    try:
        yield shared
    except BaseException:
        # A process that died is not asked again.
        _STARTED.clear()
        raise
    finally:
        shared.close()


#: The other processes of the last proof, by this process and their number.
_STARTED: dict[tuple[int, int], Executor] = {}


def _others(n: int) -> Executor:
    """Processes that stay for the next proof.

    Not the ones that joblib keeps for all of a program: it expects them to be as it made them.
    """
    from joblib.externals.loky import ProcessPoolExecutor

    key = (os.getpid(), n)
    if key not in _STARTED:
        _STARTED.clear()
        _STARTED[key] = ProcessPoolExecutor(n, timeout=IDLE_SECONDS, env=ONE_THREAD)
    return _STARTED[key]


class SharedCalls:
    """Answers calls in order; others take them from the front of the queue, and so does this one.

    Parameters
    ----------
    executor : Executor
        The other processes.
    n_others : int
        How many there are.
    """

    def __init__(self, executor: Executor, n_others: int) -> None:
        self.executor = executor
        self._n_asleep = n_others
        self._n_wanted = 0
        self._waiting: deque[_Call] = deque()
        self._lock = threading.RLock()

    def __call__(self, f: Callable[..., Any], calls: Iterable[tuple[Any, ...]]) -> Iterator[Any]:
        """``f(*call)`` of each call in order; all of them are begun before the first is needed."""
        asked = [_Call(f, call) for call in calls]
        with self._lock:
            self._waiting += asked
            self._wake()
        self._hand_over()
        return self._answers(asked)

    def close(self) -> None:
        """Forget what nobody has begun."""
        with self._lock:
            self._waiting.clear()

    def _answers(self, asked: list[_Call]) -> Iterator[Any]:
        for call in asked:
            while not call.answer.done() and (mine := self._next()) is not None:
                mine.do()
            yield call.answer.result()

    def _next(self) -> _Call | None:
        with self._lock:
            return self._waiting.popleft() if self._waiting else None

    def _wake(self) -> None:
        """Start the others; each says when it is there, and is given nothing before."""
        n_asleep, self._n_asleep = self._n_asleep, 0
        for _ in range(n_asleep):
            self.executor.submit(is_there).add_done_callback(self._arrived)

    def _arrived(self, _: Future[Any]) -> None:
        with self._lock:
            self._n_wanted += AT_HAND
        self._hand_over()

    def _came_back(self, _: Future[Any]) -> None:
        with self._lock:
            self._n_wanted += 1
        self._hand_over()

    def _hand_over(self) -> None:
        """Give others what they have room for."""
        with self._lock:
            while self._n_wanted and (call := self._next()) is not None:
                self._n_wanted -= 1
                future = self.executor.submit(call.f, *call.arguments)
                future.add_done_callback(call.hear)
                future.add_done_callback(self._came_back)


def is_there() -> None:
    """Nothing: where this can be called, everything is imported."""


class _Call:
    """A call, and its answer as soon as somebody has it."""

    def __init__(self, f: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
        self.f = f
        self.arguments = arguments
        self.answer: Future[Any] = Future()

    def do(self) -> None:
        """Do it here; an error is the caller's."""
        self.answer.set_result(self.f(*self.arguments))

    def hear(self, future: Future[Any]) -> None:
        """Take the answer of another process."""
        error = future.exception()
        if error is None:
            self.answer.set_result(future.result())
        else:
            self.answer.set_exception(error)
