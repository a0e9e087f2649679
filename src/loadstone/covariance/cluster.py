"""Work handed to Dask: one way to compute, to ask for memory, and to hear that workers are lost."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from loadstone.covariance.passes import pass_done, pass_number
from loadstone.files.foreign import first_line, memory_limit

#: Seconds without a single worker after which a cluster counts as lost.
PATIENCE = 60.0
#: Seconds between two looks at the workers.
LOOK_EVERY = 1.0
#: Of a worker's memory, what partial results may take; blocks and the interpreter need the rest.
RESULTS_SHARE = 1 / 3
#: Partial results a thread holds at a time: two that are added, and their sum.
RESULTS_HELD = 3
#: What distributed raises when workers or the scheduler are gone.
LOSSES = {"KilledWorker", "CommClosedError", "CancelledError", "FutureCancelledError"}


class ClusterLostError(RuntimeError):
    """The workers went away in the middle of a pass, and did not come back."""


class Memory(NamedTuple):
    """What one thread that works on blocks may use.

    Attributes
    ----------
    bytes : int
        Of the worker with the least, divided by its threads.
    where : str
        Whose memory that is, in words.
    """

    bytes: int
    where: str

    def largest_result(self) -> int:
        """Bytes that the result of one block may have."""
        return int(RESULTS_SHARE * self.bytes / RESULTS_HELD)


def current_client() -> Any:
    """The client of the cluster that computes, or ``None`` where this process does."""
    from dask.base import get_scheduler

    scheduler = get_scheduler()  # type: ignore[no-untyped-call]
    owner = scheduler.__self__ if hasattr(scheduler, "__self__") else None
    is_client = type(owner).__module__.split(".")[0] == "distributed"
    return owner if is_client else None


def worker_memory() -> Memory:
    """What the smallest thread of the cluster has, asked of its scheduler; else this machine's."""
    client = current_client()
    if client is None:
        from dask.system import CPU_COUNT

        return Memory(memory_limit() // int(CPU_COUNT), "each thread of this machine")
    workers = client.scheduler_info(n_workers=-1)["workers"].values()
    known = [int(w["memory_limit"]) // max(1, int(w["nthreads"])) for w in workers]
    limits = [limit for limit in known if limit > 0] or [memory_limit()]
    return Memory(min(limits), "a thread of the smallest worker")


def compute(parts: Sequence[Any], *, is_pass: bool = True) -> list[Any]:
    """The values of delayed objects; one pass over the data behind them, or a look at some."""
    from dask.base import compute as dask_compute

    client = current_client()
    with _one_sentence():
        if client is None:
            found = list(dask_compute(*parts))  # type: ignore[no-untyped-call]
        else:
            futures = client.compute(list(parts))
            _wait(client, futures)
            found = list(client.gather(futures))
    if is_pass:
        pass_done()
    return found


def keep_on_workers(parts: Sequence[Any]) -> list[Any]:
    """Delayed objects whose values are computed and stay where they are; one pass."""
    from dask.base import persist

    client = current_client()
    with _one_sentence():
        kept = list(persist(*parts))  # type: ignore[no-untyped-call]
        if client is not None:
            from distributed import futures_of

            _wait(client, futures_of(kept))  # type: ignore[no-untyped-call]
    pass_done()
    return kept


def _wait(client: Any, futures: Sequence[Any]) -> None:
    """Wait for all, as long as there is a worker or hope for one."""
    from distributed import wait

    seen = time.monotonic()
    while True:
        try:
            wait(futures, timeout=LOOK_EVERY)  # type: ignore[no-untyped-call]
            return
        except TimeoutError:
            now = time.monotonic()
            if client.scheduler_info()["workers"]:
                seen = now
            elif now - seen > PATIENCE:
                msg = f"there has been no worker for {PATIENCE:.0f} seconds"
                raise ClusterLostError(_sentence(msg)) from None


@contextmanager
def _one_sentence() -> Iterator[None]:
    """Turn what a dying cluster raises into one sentence."""
    try:
        yield
    except Exception as error:
        if not _is_loss(error):
            raise
        raise ClusterLostError(_sentence(first_line(error))) from error


def _is_loss(error: BaseException) -> bool:
    """Whether an error is about the cluster and not about the work."""
    return any(kind.__name__ in LOSSES for kind in type(error).__mro__)


def _sentence(reason: str) -> str:
    number = pass_number()
    when = f"in pass {number} over the data" if number else "in a pass over the data"
    return (
        f"the cluster was lost {when} ({reason}); nothing of the fit was kept. Start the workers "
        "again, with more memory if they were killed for that, or smaller chunks, and fit anew"
    )
