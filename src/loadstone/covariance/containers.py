"""One view of every data container: a matrix as a stack of row blocks.

A new container is one class with the methods of :class:`Rows` and one line in
:func:`rows_of`. Functions handed to it live at module level, so that a Dask cluster can ship
them: ``f(block, rows, *args)`` sees a block, the slice of rows it covers, and arguments of which
those marked :class:`PerRow` and :class:`PerFeature` are cut to the block.
"""

from __future__ import annotations

import mmap
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import reduce
from typing import Any, ClassVar, Protocol

import numpy as np
from scipy import sparse

from loadstone.covariance.passes import pass_done
from loadstone.covariance.protocol import Array, Support

#: Bytes of a dense piece that is copied, centred and thrown away again.
PIECE_BYTES = 8 << 20
#: Bytes read at once from a file that does not fit in memory.
MAPPED_BYTES = 64 << 20

#: A function of a block that gives arrays to be added up.
Sums = Callable[..., tuple[Any, ...]]


@dataclass(frozen=True)
class PerRow:
    """An argument with one entry for each row: a block gets its own."""

    values: Any


@dataclass(frozen=True)
class PerFeature:
    """An argument with one entry for each feature: a block of columns gets its own."""

    values: Any


def per_row(values: Any) -> PerRow | None:
    """The same for what may be absent, such as weights."""
    return None if values is None else PerRow(values)


def cut(args: tuple[Any, ...], rows: slice) -> list[Any]:
    """The arguments of a block that has all columns."""
    return [
        arg.values[rows]
        if isinstance(arg, PerRow)
        else arg.values
        if isinstance(arg, PerFeature)
        else arg
        for arg in args
    ]


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

    @property
    def strips(self) -> tuple[slice, ...]:
        """Columns that a block can have at once: all of them, or two strips."""
        ...

    @property
    def largest_result(self) -> float:
        """Bytes that the result of a block may have."""
        ...

    def sum_over_blocks(self, f: Sums, *args: Any) -> tuple[Any, ...]:
        """Sum of ``f(block, rows, *args)`` over all rows, entry by entry.

        With several strips each result needs a last axis of features, which is put together.
        """
        ...

    def stack_over_blocks(self, f: Callable[..., Array], *args: Any) -> Array:
        """Results of ``f(block, rows, *args)`` in the order of the rows, added over columns."""
        ...

    def sum_over_rows(self, f: Callable[..., Array], args: tuple[Any, ...], then: Sums) -> Any:
        """Sum of ``then(y)`` over all rows, where ``y`` is ``f`` added over the columns."""
        ...

    def narrow(self, features: Support, *, joined: bool = False) -> Rows:
        """Some of the columns, in ascending order; in one strip where asked."""
        ...

    def first_block(self) -> Any:
        """A block near the start, for a first guess of the mean."""
        ...


def rows_of(X: Any) -> Rows:
    """Wrap a checked matrix; the one place that looks at its type."""
    if is_dask(X):
        from loadstone.covariance.dask_rows import DaskRows

        return DaskRows.wrap(X)
    if sparse.issparse(X):
        return InMemoryRows(X if X.format in {"csr", "csc"} else X.tocsr())
    if isinstance(X, np.memmap):
        return MappedRows(X)
    # Rows picked from a file are in memory, and still of the type they have in the file.
    return InMemoryRows(X.astype(float_dtype(X.dtype), copy=False))


def is_dask(X: Any) -> bool:
    """Whether ``X`` is a Dask array, found out without importing Dask."""
    return type(X).__module__.startswith("dask.array") and hasattr(X, "to_delayed")


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
    if len(rows.strips) == 1:
        return rows.stack_over_blocks(_gather_columns, support)
    chosen, place = np.unique(support, return_inverse=True)
    places = PerFeature(np.arange(chosen.size))
    found = rows.narrow(chosen).stack_over_blocks(_in_place, chosen.size, places)
    return found[:, place]


def _gather_columns(block: Any, rows: slice, support: Support) -> Array:
    return dense(block[:, support])


def _in_place(block: Any, rows: slice, n_features: int, features: Support) -> Array:
    """A block with zeros for the columns it does not have, so that blocks can be added."""
    whole = np.zeros((block.shape[0], n_features), dtype=block.dtype)
    whole[:, features] = dense(block)
    return whole


def narrowed(rows: Rows, features: Support | None) -> tuple[Rows, Support | None]:
    """Rows that read no other column, where columns are stored apart; and which ones to take."""
    if features is None or len(rows.strips) == 1:
        return rows, features
    return rows.narrow(features), None


def add(left: tuple[Any, ...], right: tuple[Any, ...]) -> tuple[Any, ...]:
    """Results of two blocks, entry by entry."""
    return tuple(a + b for a, b in zip(left, right, strict=True))


@dataclass(frozen=True)
class InMemoryRows:
    """ndarray, CSR or CSC in memory: a single block, so every pass is one BLAS call."""

    X: Any
    in_memory: ClassVar[bool] = True
    largest_result: ClassVar[float] = np.inf

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

    @property
    def strips(self) -> tuple[slice, ...]:
        """All columns at once."""
        return (slice(0, self.shape[1]),)

    def sum_over_blocks(self, f: Sums, *args: Any) -> tuple[Any, ...]:
        """See :class:`Rows`."""
        rows = slice(0, self.shape[0])
        return f(self.X, rows, *cut(args, rows))

    def stack_over_blocks(self, f: Callable[..., Array], *args: Any) -> Array:
        """See :class:`Rows`."""
        rows = slice(0, self.shape[0])
        return f(self.X, rows, *cut(args, rows))

    def sum_over_rows(self, f: Callable[..., Array], args: tuple[Any, ...], then: Sums) -> Any:
        """See :class:`Rows`."""
        return then(self.stack_over_blocks(f, *args))

    def narrow(self, features: Support, *, joined: bool = False) -> InMemoryRows:
        """See :class:`Rows`."""
        return InMemoryRows(self.X[:, features])

    def first_block(self) -> Any:
        """See :class:`Rows`."""
        return self.X


@dataclass(frozen=True)
class MappedRows:
    """A memory-mapped file, read in blocks that are let go again.

    Less ``origin`` if there is one, and zero where they are ``constant``.
    """

    X: np.memmap
    origin: Array | None = None
    constant: Array | None = None
    in_memory: ClassVar[bool] = False
    largest_result: ClassVar[float] = np.inf
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
        if self.origin is not None:
            block -= self.origin
        if self.constant is not None:
            block[:, self.constant] = 0
        return block

    def let_go(self) -> None:
        """Give the pages read so far back to the system."""
        # Pages already read would otherwise count against the memory of the process.
        mapping = getattr(self.X, "_mmap", None)
        if mapping is not None and self.X.mode == "r" and hasattr(mmap, "MADV_DONTNEED"):
            mapping.madvise(mmap.MADV_DONTNEED)

    @property
    def strips(self) -> tuple[slice, ...]:
        """All columns at once."""
        return (slice(0, self.shape[1]),)

    def sum_over_blocks(self, f: Sums, *args: Any) -> tuple[Any, ...]:
        """See :class:`Rows`."""
        parts = (f(self._read(rows), rows, *cut(args, rows)) for rows in self._slices())
        total = reduce(add, parts)
        pass_done()
        return total

    def stack_over_blocks(self, f: Callable[..., Array], *args: Any) -> Array:
        """See :class:`Rows`."""
        parts = [f(self._read(rows), rows, *cut(args, rows)) for rows in self._slices()]
        pass_done()
        return np.concatenate(parts)

    def sum_over_rows(self, f: Callable[..., Array], args: tuple[Any, ...], then: Sums) -> Any:
        """See :class:`Rows`."""
        return self.sum_over_blocks(composed, f, then, *args)

    def narrow(self, features: Support, *, joined: bool = False) -> InMemoryRows:
        """See :class:`Rows`."""
        return InMemoryRows(columns(self, features))

    def first_block(self) -> Array:
        """See :class:`Rows`."""
        return self._read(self._slices()[0])


def composed(block: Any, rows: slice, f: Callable[..., Array], then: Sums, *args: Any) -> Any:
    """``then(f(block, rows, *args))``."""
    return then(f(block, rows, *args))
