"""The one place that decides about BLAS threads; nothing else touches them.

Searches and proofs solve thousands of small eigenproblems, where threads inside each of them wait
more than they work: beside other work, fits take several times longer with a thread for each core.
So do paths and proofs on a machine of their own (``python -m benchmarks.blas_threads``). Only the
products of large data gain. The limit holds for the whole process, so that sections which overlap
in several threads are counted: the first one sets it, the last one restores what was there before.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController, threadpool_limits

#: Processes that are started at most, or four for each core where that is more.
MOST_JOBS = 256
#: Numbers in a matrix whose products threads share with profit.
MANY_NUMBERS = 1_000_000


@cache
def _libraries() -> ThreadpoolController:
    """The BLAS libraries in use; to look for them takes as long as a small search."""
    return ThreadpoolController()


class _Sections:
    """How many sections run with one thread, and what the last of them restores."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.n_open = 0
        self.limits: threadpool_limits | None = None

    def enter(self) -> None:
        with self.lock:
            if self.n_open == 0:
                self.limits = _libraries().limit(limits=1, user_api="blas")
            self.n_open += 1

    def leave(self) -> None:
        with self.lock:
            self.n_open -= 1
            if self.n_open == 0:
                self.restore()

    def restore(self) -> None:
        if self.limits is not None:
            self.limits.restore_original_limits()
        self.limits = None

    def forget(self) -> None:
        """Begin anew in a forked child: the threads that were counted are not there."""
        self.lock = threading.Lock()
        self.n_open = 0
        self.restore()


_SECTIONS = _Sections()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_SECTIONS.forget)


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Run a block with one BLAS thread, however many such blocks run at a time."""
    _SECTIONS.enter()
    try:
        yield
    finally:
        _SECTIONS.leave()


def threads_for(n_numbers: int) -> AbstractContextManager[None]:
    """As many BLAS threads as there are, or one for products with so few numbers."""
    return nullcontext() if n_numbers >= MANY_NUMBERS else one_blas_thread()


def refuse_jobs(n_jobs: int | None) -> None:
    """Refuse more processes than any machine can hold."""
    most = max(MOST_JOBS, 4 * (os.cpu_count() or 1))
    if n_jobs is not None and n_jobs > most:
        msg = f"n_jobs={n_jobs} is more than {most} processes; use -1 for one on each core"
        raise ValueError(msg)


def in_parallel(
    f: Callable[..., Any],
    calls: Iterable[tuple[Any, ...]],
    n_jobs: int | None,
    **options: Any,
) -> Iterator[Any]:
    """``f(*call)`` of each call in order, by joblib, with one BLAS thread for each.

    Parameters
    ----------
    f : callable
        At module level, so that other processes find it.
    calls : iterable of tuple
        The arguments of each call.
    n_jobs : int or None
        How many run at a time; ``None`` for one, unless a joblib context says otherwise.
    **options
        Of joblib's ``Parallel``, such as ``batch_size``.

    Returns
    -------
    iterator
        Results as they are needed.
    """
    from sklearn.utils.parallel import Parallel, delayed

    refuse_jobs(n_jobs)
    found: Iterator[Any] = Parallel(n_jobs=n_jobs, return_as="generator", **options)(
        delayed(_with_one_thread)(f, call) for call in calls
    )
    return found


def _with_one_thread(f: Callable[..., Any], call: tuple[Any, ...]) -> Any:
    with one_blas_thread():
        return f(*call)
