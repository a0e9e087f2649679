"""Sparse matrices from the arrays in a file, checked before any product touches them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from loadstone.files.errors import TableError
from loadstone.files.foreign import refuse_beyond_memory
from loadstone.files.npy_arrays import DamagedError

#: About what a row and a column take whatever is in them, and an entry while it is sorted.
_BYTES_OF_A_ROW, _BYTES_OF_A_COLUMN, _BYTES_OF_AN_ENTRY = 64, 200, 48


def sparse_of_arrays(arrays: dict[str, Any], path: Path) -> Any:
    """The CSR matrix that ``scipy.sparse.save_npz`` wrote.

    Compiled products trust indices blindly, so that a wrong one would end the process.
    """
    kind = str(arrays["format"].astype(str)) if "format" in arrays else "csr"
    if kind not in {"csr", "csc", "coo"}:
        msg = f"{path} holds a sparse matrix of format {kind!r}; save it as CSR, with X.tocsr()"
        raise TableError(msg)
    data, shape = _numbers(arrays["data"], path), _shape(arrays["shape"], path)
    if kind == "coo":
        rows, columns = (_indices(arrays[name]) for name in ("row", "col"))
        refuse_outside(rows, shape[0])
        refuse_outside(columns, shape[1])
        if not data.size == rows.size == columns.size:
            msg = f"{data.size} values for {rows.size} rows and {columns.size} columns"
            raise DamagedError(msg)
        return sparse.csr_array((data, (rows, columns)), shape=shape)
    indices, indptr = _indices(arrays["indices"]), _indices(arrays["indptr"])
    n_major, n_minor = shape if kind == "csr" else shape[::-1]
    check_compressed(data, indices, indptr, n_major, n_minor)
    build = sparse.csr_array if kind == "csr" else sparse.csc_array
    X = sparse.csr_array(build((data, indices, indptr), shape=shape))
    X.sum_duplicates()
    return X


def is_sparse(arrays: dict[str, Any]) -> bool:
    """Whether these are the arrays of a sparse matrix."""
    return {"data", "shape"} <= set(arrays) and (
        {"indices", "indptr"} <= set(arrays) or "format" in arrays
    )


def checked_sparse(X: Any, path: Path) -> Any:
    """A sparse matrix that somebody else put together, checked in the same way."""
    if X.format not in {"csr", "csc"}:
        X = X.tocoo()
        parts = {"row": X.row, "col": X.col} if X.format == "coo" else {}
    else:
        parts = {"indices": X.indices, "indptr": X.indptr}
    kind = {"format": np.array(X.format), "shape": np.array(X.shape), "data": X.data}
    return sparse_of_arrays({**kind, **parts}, path)


def check_compressed(data: Any, indices: Any, indptr: Any, n_major: int, n_minor: int) -> None:
    """Refuse places that a compiled product would follow out of the matrix."""
    if indptr.size != n_major + 1:
        msg = f"{indptr.size} row pointers for {n_major} rows or columns"
        raise DamagedError(msg)
    if data.size != indices.size:
        msg = f"{data.size} values for {indices.size} indices"
        raise DamagedError(msg)
    if indptr[0] != 0 or indptr[-1] != indices.size or (np.diff(indptr) < 0).any():
        msg = f"row pointers that do not run from 0 to {indices.size}"
        raise DamagedError(msg)
    refuse_outside(indices, n_minor)


def _numbers(data: Any, path: Path) -> Any:
    if data.ndim != 1 or data.dtype.kind not in "biuf":
        msg = f"{path} holds a sparse matrix of {data.dtype}; real numbers are needed"
        raise TableError(msg)
    refuse_beyond_memory(_BYTES_OF_AN_ENTRY * data.size, path, "entries")
    return data.astype(np.float64, copy=False)


def _shape(shape: Any, path: Path) -> tuple[int, int]:
    if shape.shape != (2,) or shape.dtype.kind not in "iu" or (shape < 1).any():
        msg = f"a sparse matrix of shape {shape.tolist()}"
        raise DamagedError(msg)
    n_rows, n_columns = (int(n) for n in shape)
    # Pointers and scores of rows, names and means of columns are dense.
    n_bytes = _BYTES_OF_A_ROW * n_rows + _BYTES_OF_A_COLUMN * n_columns
    refuse_beyond_memory(n_bytes, path, "a sparse matrix with pointers")
    return n_rows, n_columns


def _indices(indices: Any) -> Any:
    if indices.ndim != 1 or indices.dtype.kind not in "iu":
        msg = f"indices of {indices.dtype} with {indices.ndim} dimension(s)"
        raise DamagedError(msg)
    return indices.astype(np.int64, copy=False)


def refuse_outside(indices: Any, n: int) -> None:
    """Refuse indices that are none of ``n`` rows or columns."""
    if indices.size and (indices.min() < 0 or indices.max() >= n):
        msg = f"indices from {indices.min()} to {indices.max()}, where 0 to {n - 1} are allowed"
        raise DamagedError(msg)
