"""Dask arrays as rows: one task reads a block and reduces it, and results are added as a tree.

Column chunks are never joined beyond twice the largest of them. Where all columns do not fit into
that, results for each chunk of columns are put together, rows are projected chunk by chunk, and a
matrix of all pairs of features is made from pairs of strips.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any, ClassVar
from uuid import uuid4

import numpy as np
from scipy import sparse

from loadstone.covariance.cluster import compute, keep_on_workers, worker_memory
from loadstone.covariance.containers import (
    PIECE_BYTES,
    PerFeature,
    PerRow,
    Sums,
    add,
    composed,
    float_dtype,
)
from loadstone.covariance.protocol import Array, Support

#: Chunks of columns are joined up to this size however small they are.
JOINED_BYTES = 32 << 20


def refuse_unknown_lengths(X: Any) -> None:
    """Raise where nobody has counted the rows of a Dask array."""
    if any(np.isnan(size) for size in X.chunks[0]):
        msg = (
            "the Dask array has chunks of unknown length; "
            "call X.compute_chunk_sizes() before fitting"
        )
        raise ValueError(msg)


@dataclass(frozen=True)
class DaskRows:
    """A Dask array with chunks of rows, and of columns where they are too large to be joined."""

    X: Any
    in_memory: ClassVar[bool] = False

    @classmethod
    def wrap(cls, X: Any) -> DaskRows:
        """Join the column chunks where a block of all columns stays small."""
        refuse_unknown_lengths(X)
        if 0 in X.chunks[0]:
            X = X.rechunk({0: tuple(size for size in X.chunks[0] if size)})
        small = bytes_of_rows(X, X.shape[1]) <= joined_limit(X)
        return cls(X.rechunk({1: -1}) if small and X.numblocks[1] > 1 else X)

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

    @property
    def strips(self) -> tuple[slice, ...]:
        """Neighbouring column chunks, as many as two strips can have together."""
        if self.X.numblocks[1] == 1:
            return (slice(0, self.shape[1]),)
        found, start, stop = [], 0, 0
        for width in self.X.chunks[1]:
            if stop > start and bytes_of_rows(self.X, 2 * (stop + width - start)) > joined_limit(
                self.X
            ):
                found.append(slice(start, stop))
                start = stop
            stop += width
        return (*found, slice(start, stop))

    @property
    def largest_result(self) -> float:
        """What workers can hold, two of them and their sum."""
        return worker_memory().largest_result()

    def narrow(self, features: Support, *, joined: bool = False) -> DaskRows:
        """See :class:`Rows`."""
        da = _dask_array()

        edges = np.cumsum([0, *self.X.chunks[1]])
        parts = []
        for low, high in pairwise(edges):
            here = features[(features >= low) & (features < high)]
            if here.size == high - low:
                parts.append(self.X[:, low:high])
            elif here.size:
                chunks = (self.X.chunks[0], (here.size,))
                parts.append(
                    self.X[:, low:high].map_blocks(
                        _take, here - low, dtype=self.X.dtype, chunks=chunks, meta=self.X._meta
                    )
                )
        chosen = da.concatenate(parts, axis=1)
        return DaskRows(chosen.rechunk({1: -1})) if joined else DaskRows.wrap(chosen)

    def sum_over_blocks(self, f: Sums, *args: Any) -> tuple[Any, ...]:
        """See :class:`Rows`."""
        tasks = self._tasks(f, args)
        found = compute([tree(column) for column in zip(*tasks, strict=True)])
        if len(found) == 1:
            return tuple(found[0])
        return tuple(np.concatenate(parts, axis=-1) for parts in zip(*found, strict=True))

    def stack_over_blocks(self, f: Callable[..., Array], *args: Any) -> Array:
        """See :class:`Rows`."""
        return np.concatenate([part for (part,) in compute(self._row_sums(f, args))])

    def sum_over_rows(self, f: Callable[..., Array], args: tuple[Any, ...], then: Sums) -> Any:
        """See :class:`Rows`."""
        from dask.delayed import delayed

        if self.X.numblocks[1] == 1:
            return self.sum_over_blocks(composed, f, then, *args)
        last = delayed(partial(_finish, then), pure=False)
        (found,) = compute([tree([last(part) for part in self._row_sums(f, args)])])
        return found

    def lazy_rows(self, f: Callable[..., Array], *args: Any, n_columns: int) -> Any:
        """What :meth:`stack_over_blocks` gives, as a Dask array that nobody has computed."""
        da = _dask_array()

        parts = [
            da.from_delayed(part[0], (size, n_columns), dtype=self.dtype)
            for part, size in zip(self._row_sums(f, args), self.X.chunks[0], strict=True)
        ]
        return da.concatenate(parts)

    def scores_on_workers(self, f: Callable[..., Array], *args: Any) -> PerRow:
        """What :meth:`stack_over_blocks` gives, left where it was computed; one pass."""
        parts = [part[0] for part in self._row_sums(f, args)]
        return PerRow(_OnWorkers(keep_on_workers(parts)))

    def first_block(self) -> Any:
        """See :class:`Rows`."""
        from dask.delayed import delayed

        n_rows = max(1, min(1000, PIECE_BYTES // (8 * self.shape[1])))
        heads = self.X.blocks[0][:n_rows].to_delayed()[0]
        (head,) = compute([delayed(_hstack, pure=False)(list(heads))], is_pass=False)
        return head

    def _row_sums(self, f: Callable[..., Array], args: tuple[Any, ...]) -> list[Any]:
        return [tree(row) for row in self._tasks(_one, (f, *args))]

    def _tasks(self, f: Callable[..., Any], args: tuple[Any, ...]) -> list[list[Any]]:
        """A delayed result for each block: for every chunk of rows a list over the columns."""
        da = _dask_array()
        from dask.delayed import delayed

        edges = np.cumsum([0, *self.X.chunks[0]])
        rows = [slice(int(lo), int(hi)) for lo, hi in pairwise(edges)]
        pairs: list[Any] = [self.X, (0, 1), _chunked(rows), (0,)]
        for arg in args:
            if isinstance(arg, PerRow):
                pairs += [_chunked(_cut(arg.values, self.X.chunks[0])), (0,)]
            elif isinstance(arg, PerFeature):
                pairs += [_chunked(_cut(arg.values, self.X.chunks[1])), (1,)]
            else:
                # One node of the graph each: a cluster sends it once to a worker, not to a block.
                pairs += [delayed(arg, traverse=False) if _is_large(arg) else arg, None]
        mapped = da.blockwise(
            partial(_on_float_block, f, self.dtype),
            (0, 1),
            *pairs,
            dtype=object,
            meta=np.empty((0, 0), dtype=object),
            align_arrays=False,
        )
        return [list(row) for row in mapped.to_delayed()]


def _dask_array() -> Any:
    """Dask's arrays, which have no types."""
    import dask.array

    return dask.array


@dataclass(frozen=True)
class _OnWorkers:
    """Delayed results for each block of rows."""

    parts: list[Any]


def bytes_of_rows(X: Any, n_columns: int) -> int:
    """Size of the largest block of rows with that many columns, were it dense."""
    return int(max(X.chunks[0])) * int(n_columns) * int(X.dtype.itemsize)


def joined_limit(X: Any) -> int:
    """Most bytes that column chunks are joined to."""
    return max(2 * bytes_of_rows(X, max(X.chunks[1])), JOINED_BYTES)


def tree(parts: Sequence[Any]) -> Any:
    """The sum of delayed results, neighbours first: the same order wherever they are added."""
    from dask.delayed import delayed

    plus = delayed(add, pure=False)
    parts = list(parts)
    while len(parts) > 1:
        pairs = [plus(a, b) for a, b in zip(parts[::2], parts[1::2], strict=False)]
        parts = pairs + ([parts[-1]] if len(parts) % 2 else [])
    return parts[0]


def _is_large(arg: Any) -> bool:
    return isinstance(arg, np.ndarray) or sparse.issparse(arg)


def _cut(values: Any, sizes: Sequence[int]) -> list[Any]:
    if isinstance(values, _OnWorkers):
        return values.parts
    edges = np.cumsum([0, *sizes])
    return [values[lo:hi] for lo, hi in pairwise(edges)]


def _chunked(parts: Sequence[Any]) -> Any:
    """A Dask array of one axis that hands part ``i``, whatever it is, to block ``i``."""
    da = _dask_array()
    from dask.delayed import Delayed
    from dask.highlevelgraph import HighLevelGraph

    name = f"parts-{uuid4().hex}"
    sources: list[Any] = [part for part in parts if isinstance(part, Delayed)]
    layer: dict[Any, Any] = {
        (name, i): part.key if isinstance(part, Delayed) else part for i, part in enumerate(parts)
    }
    graph = HighLevelGraph.from_collections(name, layer, dependencies=sources)
    return da.Array(graph, name, ((1,) * len(parts),), dtype=object)


def _on_float_block(
    f: Callable[..., Any], dtype: np.dtype[Any], block: Any, rows: slice, *args: Any
) -> Any:
    return f(block.astype(dtype, copy=False), rows, *args)


def _one(block: Any, rows: slice, f: Callable[..., Array], *args: Any) -> tuple[Array]:
    return (f(block, rows, *args),)


def _finish(then: Sums, rows: tuple[Array]) -> Any:
    return then(rows[0])


def _take(block: Any, features: Support) -> Any:
    return block[:, features]


def _hstack(blocks: list[Any]) -> Any:
    if sparse.issparse(blocks[0]):
        return sparse.hstack(blocks, format="csr")
    return np.concatenate(blocks, axis=1)
