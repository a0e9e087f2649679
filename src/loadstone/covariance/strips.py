"""A matrix with few rows and very many columns, as strips of columns that hold all rows.

Where a block of rows sees all features of a few samples, a strip sees all samples of a few
features: what is asked of single features (means, covariances with given scores, who is among
the best) is answered strip by strip and merged as a tree. Nothing as long as the number of
features times anything comes back, and no chunk is joined with its neighbours into a larger one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any, Protocol, TypeVar, cast

import numpy as np
from scipy import sparse

from loadstone.covariance.cluster import compute
from loadstone.covariance.containers import (
    MAPPED_BYTES,
    MappedRows,
    dense,
    float_dtype,
    is_dask,
)
from loadstone.covariance.passes import pass_done
from loadstone.covariance.protocol import Array, Support

T = TypeVar("T")


class Strips(Protocol):
    """A matrix that can be walked over in strips of columns; each call is one pass."""

    @property
    def shape(self) -> tuple[int, int]:
        """Samples and features."""
        ...

    @property
    def dtype(self) -> np.dtype[Any]:
        """Precision of the values."""
        ...

    def fold(self, f: Callable[..., T], merge: Callable[[T, T], T], *args: Any) -> T:
        """``f(strip, features, *args)`` of all strips, merged two by two, neighbours first.

        ``strip`` is a dense array (n_samples, width) and ``features`` the slice it covers.
        """
        ...


def strips_of(X: Any) -> Strips:
    """Wrap a checked matrix."""
    if is_dask(X):
        return DaskStrips(X)
    return SlicedStrips(X.tocsc() if sparse.issparse(X) else X)


@dataclass(frozen=True)
class SlicedStrips:
    """A matrix of this process, cut into columns one strip after the other."""

    X: Any

    @property
    def shape(self) -> tuple[int, int]:
        """Samples and features."""
        n_rows, n_columns = self.X.shape
        return n_rows, n_columns

    @property
    def dtype(self) -> np.dtype[Any]:
        """Precision of the values."""
        return float_dtype(self.X.dtype)

    def fold(self, f: Callable[..., T], merge: Callable[[T, T], T], *args: Any) -> T:
        """See :class:`Strips`."""
        n_rows, n_columns = self.shape
        step = max(1, MAPPED_BYTES // max(1, n_rows * self.dtype.itemsize))
        total: T | None = None
        for start in range(0, n_columns, step):
            features = slice(start, min(start + step, n_columns))
            part = f(self._read(features), features, *args)
            total = part if total is None else merge(total, part)
        assert total is not None
        if isinstance(self.X, np.memmap):
            pass_done()
        return total

    def _read(self, features: slice) -> Array:
        strip = np.array(dense(self.X[:, features]), dtype=self.dtype, order="C", subok=False)
        if isinstance(self.X, np.memmap):
            MappedRows(self.X).let_go()
        return strip


@dataclass(frozen=True)
class SelectedStrips:
    """Some of the columns of other strips, counted among themselves."""

    base: Strips
    features: Support

    @property
    def shape(self) -> tuple[int, int]:
        """Samples and features."""
        return self.base.shape[0], self.features.size

    @property
    def dtype(self) -> np.dtype[Any]:
        """Precision of the values."""
        return self.base.dtype

    def fold(self, f: Callable[..., T], merge: Callable[[T, T], T], *args: Any) -> T:
        """See :class:`Strips`."""
        result: T = self.base.fold(_on_selected, merge, f, self.features, *args)
        return result


def _on_selected(
    strip: Array, features: slice, f: Callable[..., T], selected: Support, *args: Any
) -> T:
    start, stop = np.searchsorted(selected, [features.start, features.stop])
    inside = selected[start:stop] - features.start
    return f(strip[:, inside], slice(int(start), int(stop)), *args)


@dataclass(frozen=True)
class DaskStrips:
    """A Dask array: one task per strip, partial results merged as a tree.

    Column chunks that hold all rows are strips as they are. Chunks of rows are cut into pieces,
    and pieces put together to strips no larger than the largest chunk.
    """

    X: Any

    @property
    def shape(self) -> tuple[int, int]:
        """Samples and features."""
        n_rows, n_columns = self.X.shape
        return n_rows, n_columns

    @property
    def dtype(self) -> np.dtype[Any]:
        """Precision of the values."""
        return float_dtype(self.X.dtype)

    def fold(self, f: Callable[..., T], merge: Callable[[T, T], T], *args: Any) -> T:
        """See :class:`Strips`."""
        from dask.delayed import delayed

        # Arguments become one node of the graph each: a cluster sends them once per worker.
        shared = [delayed(arg, traverse=False) for arg in args]
        parts = self._whole(f, shared) if self.X.numblocks[0] == 1 else self._cut(f, shared)
        join = delayed(merge, pure=False)
        while len(parts) > 1:
            pairs = [join(a, b) for a, b in zip(parts[::2], parts[1::2], strict=False)]
            parts = pairs + ([parts[-1]] if len(parts) % 2 else [])
        (result,) = compute(parts)
        return cast("T", result)

    def _whole(self, f: Callable[..., Any], shared: list[Any]) -> list[Any]:
        """One task that reads a chunk of columns and reduces it."""
        import dask.array as da

        starts = np.cumsum([0, *self.X.chunks[1][:-1]])
        pairs: list[Any] = [self.X, (0, 1), da.from_array(starts, chunks=1), (1,)]  # type: ignore[no-untyped-call]
        for arg in shared:
            pairs += [arg, None]
        mapped = da.blockwise(  # type: ignore[no-untyped-call]
            partial(_on_chunk, f, self.dtype),
            (0, 1),
            *pairs,
            dtype=object,
            meta=np.empty((0, 0), dtype=object),
            align_arrays=False,
        )
        return list(mapped.to_delayed().ravel())

    def _cut(self, f: Callable[..., Any], shared: list[Any]) -> list[Any]:
        """One task for each strip that is put together from pieces of row chunks."""
        from dask.delayed import delayed

        cut, task = delayed(_piece, pure=False), delayed(_on_pieces, pure=False)
        blocks = self.X.to_delayed()
        largest = max(self.X.chunks[0]) * max(self.X.chunks[1])
        width = max(1, largest // self.shape[0])
        edges = np.cumsum([0, *self.X.chunks[1]]).tolist()
        parts = []
        for column, (lo, hi) in enumerate(pairwise(edges)):
            for start in range(lo, hi, width):
                stop = min(start + width, hi)
                pieces = [cut(block, slice(start - lo, stop - lo)) for block in blocks[:, column]]
                parts.append(task(f, self.dtype, pieces, slice(start, stop), *shared))
        return parts


def _piece(block: Any, features: slice) -> Any:
    # A copy: a view would keep the whole chunk alive until the last strip is done.
    return block[:, features].copy()


def _on_pieces(
    f: Callable[..., Any], dtype: np.dtype[Any], pieces: list[Any], features: slice, *args: Any
) -> Any:
    strip = np.vstack([dense(piece) for piece in pieces])
    return f(strip.astype(dtype, copy=False), features, *args)


def _on_chunk(
    f: Callable[..., Any], dtype: np.dtype[Any], chunk: Any, start: Array, *args: Any
) -> Any:
    features = slice(int(start[0]), int(start[0]) + chunk.shape[1])
    return f(dense(chunk).astype(dtype, copy=False), features, *args)
