"""What a fit of data out of core costs: bytes read and moved, operations, memory; or why not.

``docs/scale.md`` is made from this model by ``tools/make_scale.py``, and a fit asks it before it
reads anything.

Notation: N samples, D features, ``b`` bytes for a number, blocks of ``r`` rows.
"""

from __future__ import annotations

from dataclasses import dataclass

from loadstone.covariance.cluster import RESULTS_HELD
from loadstone.covariance.containers import Rows
from loadstone.files.foreign import memory_limit

#: Columns that travel together when a search works on the data: the starts of ``SparsePCA``.
STARTS = 174
#: Blocks of that width the client holds: loadings, images, and what both are sorted into.
BLOCKS_HELD = 3
#: Passes of ``SparsePCA`` for one component on the data route, as a test counts them.
DATA_PASSES = 60
#: Passes of ``SparsePCA`` on the wide route.
WIDE_PASSES = 5


@dataclass(frozen=True, kw_only=True)
class Cost:
    """What one fit of ``SparsePCA`` needs.

    Attributes
    ----------
    route : str
        ``"gram"``, ``"wide"`` or ``"data"``.
    passes : int
        Over the data.
    read, moved : float
        Bytes from the store, and between workers and to the client, at most.
    flops : float
        Multiplications and additions.
    worker, client : float
        Bytes at a time: in a thread of a worker, and in the process that fits.
    """

    route: str
    passes: int
    read: float
    moved: float
    flops: float
    worker: float
    client: float


def cost_of_gram(
    n_samples: int, n_features: int, itemsize: int, chunk: int, largest: float
) -> Cost:
    """The matrix of all pairs of features, in as many passes as ``largest`` results ask for."""
    result = itemsize * n_features**2
    passes = max(1, -(-result // int(min(largest, result))))
    n_blocks = -(-n_samples * n_features * itemsize // chunk)
    return Cost(
        route="gram",
        passes=passes,
        read=float(passes) * n_samples * n_features * itemsize,
        # Every sum of two may have to fetch one of them, and the last goes to the client.
        moved=float(n_blocks) * result,
        flops=float(n_samples) * n_features**2,
        worker=chunk + RESULTS_HELD * result / passes,
        client=3.0 * 8 * n_features**2,
    )


def cost_of_wide(n_samples: int, n_features: int, itemsize: int, chunk: int) -> Cost:
    """The Gram matrix of the samples, then columns where somebody looks."""
    n_strips = -(-n_samples * n_features * itemsize // chunk)
    result = 8 * n_samples**2
    return Cost(
        route="wide",
        passes=WIDE_PASSES,
        read=float(WIDE_PASSES) * n_samples * n_features * itemsize,
        moved=float(n_strips) * result + 16.0 * n_features,
        flops=2.0 * n_samples**2 * n_features,
        worker=2.0 * chunk + RESULTS_HELD * result,
        client=3.0 * result + 64.0 * n_features,
    )


def cost_of_data(
    n_samples: int, n_features: int, itemsize: int, chunk: int, n_components: int = 1
) -> Cost:
    """Products of the data with a block of starts, one pass each."""
    block = itemsize * STARTS * n_features
    n_blocks = -(-n_samples * n_features * itemsize // chunk)
    passes = DATA_PASSES * n_components
    return Cost(
        route="data",
        passes=passes,
        read=float(passes) * n_samples * n_features * itemsize,
        moved=float(passes) * n_blocks * block,
        flops=4.0 * passes * n_samples * n_features * STARTS / 4,
        worker=chunk + RESULTS_HELD * float(block),
        client=BLOCKS_HELD * float(block),
    )


def refuse_beyond_memory(rows: Rows) -> None:
    """Refuse products with data out of core whose blocks of starts nobody can hold.

    Raises
    ------
    MemoryError
        With the sizes, before anything is read.
    """
    if rows.in_memory:
        return
    n_samples, n_features = rows.shape
    block = rows.dtype.itemsize * STARTS * n_features
    held, limit = BLOCKS_HELD * block, memory_limit()
    if held > limit / 2 or block > rows.largest_result:
        most = min(limit / 2 / BLOCKS_HELD, rows.largest_result)
        msg = (
            f"{n_samples} samples of {n_features} features are too many of both: a search works on "
            f"blocks of {STARTS} columns of {block / 2**30:.3g} GiB, and the smallest of this machine "
            f"and the threads of its workers has room for {most / 2**30:.3g} GiB. Select features "
            "first, for example those of largest variance, or fit a sample of at most 4096 rows"
        )
        raise MemoryError(msg)
