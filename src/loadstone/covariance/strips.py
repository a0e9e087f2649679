"""A matrix with few rows and very many columns, as strips of columns that hold all rows.

Where a block of rows sees all features of a few samples, a strip sees all samples of a few
features: what is asked of single features (means, covariances with given scores, who is among
the best) is answered strip by strip and merged as a tree. Nothing as long as the number of
features times anything comes back, and no chunk is joined with its neighbours into a larger one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Protocol, TypeVar

import numpy as np
from scipy import sparse

from loadstone.covariance.containers import (
    MAPPED_BYTES,
    MappedRows,
    dense,
    float_dtype,
    is_dask,
)
from loadstone.covariance.protocol import Array

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
        return total

    def _read(self, features: slice) -> Array:
        strip = np.array(dense(self.X[:, features]), dtype=self.dtype, order="C", subok=False)
        if isinstance(self.X, np.memmap):
            MappedRows(self.X).let_go()
        return strip


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
        task, join = delayed(_on_strip, pure=False), delayed(merge, pure=False)
        parts = [
            task(f, pieces, features, self.dtype, *shared) for features, pieces in self._strips()
        ]
        while len(parts) > 1:
            pairs = [join(a, b) for a, b in zip(parts[::2], parts[1::2], strict=False)]
            parts = pairs + ([parts[-1]] if len(parts) % 2 else [])
        result: T = parts[0].compute()
        return result

    def _strips(self) -> list[tuple[slice, list[Any]]]:
        """The features of each strip, and the pieces of chunks it is put together from."""
        from dask.delayed import delayed

        cut = delayed(_cut, pure=False)
        blocks = self.X.to_delayed()
        largest = max(self.X.chunks[0]) * max(self.X.chunks[1])
        width = max(1, largest // self.shape[0])
        edges = np.cumsum([0, *self.X.chunks[1]]).tolist()
        strips: list[tuple[slice, list[Any]]] = []
        for column, (lo, hi) in enumerate(pairwise(edges)):
            if blocks.shape[0] == 1:
                if hi > lo:
                    strips.append((slice(lo, hi), [blocks[0, column]]))
                continue
            for start in range(lo, hi, width):
                stop = min(start + width, hi)
                pieces = [cut(block, slice(start - lo, stop - lo)) for block in blocks[:, column]]
                strips.append((slice(start, stop), pieces))
        return strips


def _cut(block: Any, features: slice) -> Any:
    # A copy: a view would keep the whole chunk alive until the last strip is done.
    return block[:, features].copy()


def _on_strip(
    f: Callable[..., Any], pieces: list[Any], features: slice, dtype: np.dtype[Any], *args: Any
) -> Any:
    strip = dense(pieces[0]) if len(pieces) == 1 else np.vstack([dense(p) for p in pieces])
    return f(strip.astype(dtype, copy=False), features, *args)
