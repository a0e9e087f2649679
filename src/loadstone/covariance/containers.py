"""One view of every data container: a matrix as a stack of row blocks.

A new container is one class with the three methods of :class:`Rows` and one line
in :func:`rows_of`. Functions handed to ``sum_over_blocks`` live at module level,
so that a Dask cluster can ship them; ``rows`` is the slice the block covers.
"""

from __future__ import annotations

import mmap
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
from scipy import sparse

from loadstone.covariance.protocol import Array, Support

#: Bytes of a dense piece that is copied, centred and thrown away again.
PIECE_BYTES = 8 << 20
#: Bytes read at once from a file that does not fit in memory.
MAPPED_BYTES = 64 << 20


class Rows(Protocol):
    """A matrix that can be walked over in blocks of rows; each call is one pass."""

    in_memory: ClassVar[bool]

    @property
    def shape(self) -> tuple[int, int]:
        """Samples and features."""
        ...

    @property
    def dtype(self) -> np.dtype[Any]:
        """Precision of the values."""
        ...

    @property
    def is_sparse(self) -> bool:
        """Whether zeros are left out."""
        ...

    def sum_over_blocks(self, f: Callable[..., tuple[Array, ...]], *args: Any) -> tuple[Array, ...]:
        """Sum of ``f(block, rows, *args)`` over all blocks, entry by entry."""
        ...

    def stack_over_blocks(self, f: Callable[..., Array], *args: Any) -> Array:
        """Results of ``f(block, rows, *args)`` stacked in the order of the rows."""
        ...

    def first_block(self) -> Any:
        """A block near the start, for a first guess of the mean."""
        ...


def rows_of(X: Any) -> Rows:
    """Wrap a checked matrix; the one place that looks at its type."""
    if is_dask(X):
        return DaskRows.wrap(X)
    if sparse.issparse(X):
        return InMemoryRows(X if X.format in {"csr", "csc"} else X.tocsr())
    if isinstance(X, np.memmap):
        return MappedRows(X)
    return InMemoryRows(X)


def is_dask(X: Any) -> bool:
    """Whether ``X`` is a Dask array, found out without importing Dask."""
    return type(X).__module__.split(".")[0] == "dask" and hasattr(X, "to_delayed")


def float_dtype(dtype: Any) -> np.dtype[Any]:
    """float32 stays float32; everything else is computed in float64."""
    return np.dtype(np.float32 if np.dtype(dtype) == np.float32 else np.float64)


def dense(block: Any) -> Array:
    """``block`` as an ndarray."""
    return block.toarray() if sparse.issparse(block) else np.asarray(block)


def pieces(n_rows: int, n_cols: int, itemsize: int = 8) -> Iterator[slice]:
    """Slices of rows whose dense copies stay below :data:`PIECE_BYTES`."""
    step = max(1, PIECE_BYTES // max(1, n_cols * itemsize))
    for start in range(0, n_rows, step):
        yield slice(start, min(start + step, n_rows))


def columns(rows: Rows, support: Support) -> Array:
    """The columns in ``support`` as a dense array; one pass."""
    return rows.stack_over_blocks(_gather_columns, support)


def _gather_columns(block: Any, rows: slice, support: Support) -> Array:
    return dense(block[:, support])


def _add(left: tuple[Array, ...], right: tuple[Array, ...]) -> tuple[Array, ...]:
    return tuple(a + b for a, b in zip(left, right, strict=True))


@dataclass(frozen=True)
class InMemoryRows:
    """ndarray, CSR or CSC in memory: a single block, so every pass is one BLAS call."""

    X: Any
    in_memory: ClassVar[bool] = True

    @property
    def shape(self) -> tuple[int, int]:
        """Samples and features."""
        n_rows, n_columns = self.X.shape
        return n_rows, n_columns

    @property
    def dtype(self) -> np.dtype[Any]:
        """Precision of the values."""
        return float_dtype(self.X.dtype)

    @property
    def is_sparse(self) -> bool:
        """Whether zeros are left out."""
        return bool(sparse.issparse(self.X))

    def sum_over_blocks(self, f: Callable[..., tuple[Array, ...]], *args: Any) -> tuple[Array, ...]:
        """See :class:`Rows`."""
        return f(self.X, slice(0, self.shape[0]), *args)

    def stack_over_blocks(self, f: Callable[..., Array], *args: Any) -> Array:
        """See :class:`Rows`."""
        return f(self.X, slice(0, self.shape[0]), *args)

    def first_block(self) -> Any:
        """See :class:`Rows`."""
        return self.X


@dataclass(frozen=True)
class MappedRows:
    """A memory-mapped file, read in blocks that are let go again."""

    X: np.memmap
    in_memory: ClassVar[bool] = False
    is_sparse: ClassVar[bool] = False

    @property
    def shape(self) -> tuple[int, int]:
        """Samples and features."""
        n_rows, n_columns = self.X.shape
        return n_rows, n_columns

    @property
    def dtype(self) -> np.dtype[Any]:
        """Precision of the values."""
        return float_dtype(self.X.dtype)

    def _slices(self) -> list[slice]:
        n_rows, n_cols = self.shape
        step = max(1, MAPPED_BYTES // max(1, n_cols * self.X.dtype.itemsize))
        return [slice(i, min(i + step, n_rows)) for i in range(0, n_rows, step)]

    def _read(self, rows: slice) -> Array:
        block = np.array(self.X[rows], dtype=self.dtype, order="C", subok=False)
        self.let_go()
        return block

    def let_go(self) -> None:
        """Give the pages read so far back to the system."""
        # Pages already read would otherwise count against the memory of the process.
        mapping = getattr(self.X, "_mmap", None)
        if mapping is not None and self.X.mode == "r" and hasattr(mmap, "MADV_DONTNEED"):
            mapping.madvise(mmap.MADV_DONTNEED)

    def sum_over_blocks(self, f: Callable[..., tuple[Array, ...]], *args: Any) -> tuple[Array, ...]:
        """See :class:`Rows`."""
        total: tuple[Array, ...] | None = None
        for rows in self._slices():
            part = f(self._read(rows), rows, *args)
            total = part if total is None else _add(total, part)
        assert total is not None
        return total

    def stack_over_blocks(self, f: Callable[..., Array], *args: Any) -> Array:
        """See :class:`Rows`."""
        return np.concatenate([f(self._read(rows), rows, *args) for rows in self._slices()])

    def first_block(self) -> Array:
        """See :class:`Rows`."""
        return self._read(self._slices()[0])


@dataclass(frozen=True)
class DaskRows:
    """A Dask array: one task per block of rows, partial sums added as a tree."""

    X: Any
    in_memory: ClassVar[bool] = False

    @classmethod
    def wrap(cls, X: Any) -> DaskRows:
        """Join the column chunks, so that a block of rows is one task."""
        if any(np.isnan(size) for size in X.chunks[0]):
            msg = (
                "the Dask array has chunks of unknown length; "
                "call X.compute_chunk_sizes() before fitting"
            )
            raise ValueError(msg)
        return cls(X.rechunk({1: -1}))

    @property
    def shape(self) -> tuple[int, int]:
        """Samples and features."""
        n_rows, n_columns = self.X.shape
        return n_rows, n_columns

    @property
    def dtype(self) -> np.dtype[Any]:
        """Precision of the values."""
        return float_dtype(self.X.dtype)

    @property
    def is_sparse(self) -> bool:
        """Whether the chunks leave out zeros."""
        return bool(sparse.issparse(self.X._meta))

    def _tasks(self, f: Callable[..., Any], args: tuple[Any, ...]) -> list[Any]:
        from dask.delayed import delayed

        # Arguments become one node of the graph each: a cluster sends them once
        # per worker, not once per block.
        shared = [delayed(arg, traverse=False) for arg in args]
        task = delayed(_on_float_block, pure=False)
        edges = np.cumsum([0, *self.X.chunks[0]])
        return [
            task(f, block, slice(int(lo), int(hi)), self.dtype, *shared)
            for block, lo, hi in zip(
                self.X.to_delayed().ravel(), edges[:-1], edges[1:], strict=True
            )
            if hi > lo
        ]

    def sum_over_blocks(self, f: Callable[..., tuple[Array, ...]], *args: Any) -> tuple[Array, ...]:
        """See :class:`Rows`."""
        from dask.delayed import delayed

        parts = self._tasks(f, args)
        add = delayed(_add, pure=False)
        while len(parts) > 1:
            pairs = [add(a, b) for a, b in zip(parts[::2], parts[1::2], strict=False)]
            parts = pairs + ([parts[-1]] if len(parts) % 2 else [])
        return tuple(parts[0].compute())

    def stack_over_blocks(self, f: Callable[..., Array], *args: Any) -> Array:
        """See :class:`Rows`."""
        from dask.base import compute

        parts = compute(*self._tasks(f, args))  # type: ignore[no-untyped-call]
        return np.concatenate(parts)

    def first_block(self) -> Any:
        """See :class:`Rows`."""
        head = self.X.blocks[0]
        return head[: max(1, min(head.shape[0], 1000))].compute()


def _on_float_block(
    f: Callable[..., Any], block: Any, rows: slice, dtype: np.dtype[Any], *args: Any
) -> Any:
    return f(block.astype(dtype, copy=False), rows, *args)
