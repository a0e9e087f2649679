"""NPY and NPZ: one matrix, and what is said of its rows and columns."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np

from loadstone.files.classes import classes_of
from loadstone.files.errors import TableError
from loadstone.files.foreign import foreign, memory_limit, refuse_table
from loadstone.files.npy_arrays import read_archive, read_array, read_header
from loadstone.files.own_archive import KINDS
from loadstone.files.sparse_parts import is_sparse, sparse_of_arrays
from loadstone.files.table import Table

#: Files above this size are mapped instead of read.
MAP_ABOVE = 1 << 30


def read_npy(path: Path) -> Table:
    """One array; a large one is mapped."""
    size = path.stat().st_size
    with foreign(path, "npy"):
        with path.open("rb") as file:
            if size <= MAP_ABOVE:
                return Table(_matrix(read_array(file, size), path))
            read_header(file, size)
        return Table(_matrix(np.load(path, mmap_mode="r", allow_pickle=False), path))


def read_npz(path: Path) -> Table:
    """One matrix, dense or sparse, with names and labels where their lengths fit."""
    with foreign(path, "npz"):
        # Half of the memory, because what is worked out from it needs room as well.
        arrays = read_archive(path, limit=memory_limit() // 2)
        _refuse_own(arrays, path)
        return _table(arrays, path)


def _table(arrays: dict[str, Any], path: Path) -> Table:
    X, which = _only_matrix(arrays, path)
    n_samples, n_features = X.shape
    names = arrays.get("feature_names")
    rows = next((arrays[k] for k in ("sample_names", "barcodes", "names") if k in arrays), None)
    columns = {}
    for key in ("labels", "y", "target"):
        values = arrays.get(key)
        if values is not None and values.shape == (n_samples,):
            columns[key] = _spelled(values, arrays.get("target_names"))
            break
    return Table(
        X,
        _fitting(names, n_features),
        _fitting(rows, n_samples),
        columns,
        notes=(f"the array {which!r} is the table",) if len(arrays) > 1 else (),
    )


def _refuse_own(arrays: dict[str, Any], path: Path) -> None:
    """Refuse what this package wrote itself: its matrices are no samples."""
    what = next((what for member, what in KINDS.items() if member in arrays), None)
    if what is not None:
        msg = f"{path} is {what}, which holds no samples; give the data that it was computed from"
        raise TableError(msg)


def _only_matrix(arrays: dict[str, Any], path: Path) -> tuple[Any, str]:
    if is_sparse(arrays):
        return sparse_of_arrays(arrays, path), "data"
    matrices = [k for k, v in arrays.items() if v.ndim == 2 and v.dtype.kind in "biuf"]
    which = "X" if "X" in matrices else matrices[0] if len(matrices) == 1 else None
    if which is None:
        found = ", ".join(f"{k} {v.shape}" for k, v in arrays.items()) or "nothing"
        msg = f"{path} should hold one matrix, called X if there are others; it holds {found}"
        raise TableError(msg)
    return _matrix(arrays[which], path), which


def _matrix(X: Any, path: Path) -> Any:
    if X.ndim != 2 or X.dtype.kind not in "biuf" or 0 in X.shape:
        msg = (
            f"{path} holds {X.dtype} of shape {X.shape}; a table of real numbers is needed, one row "
            "for each sample"
        )
        raise TableError(msg + _as_rows(X.shape))
    if X.dtype.kind == "f":
        return X
    refuse_table(X.shape[0], X.shape[1], path)
    return X.astype(np.float64)


def _as_rows(shape: tuple[int, ...]) -> str:
    """How a pile of images or cubes becomes a table."""
    if len(shape) < 3 or 0 in shape:
        return ""
    return f": save X.reshape{(shape[0], math.prod(shape[1:]))}, if the first axis counts samples"


def _spelled(values: Any, names: Any) -> Any:
    codes = values.dtype.kind in "iu" and values.size and values.min() >= 0
    if codes and names is not None and names.ndim == 1 and values.max() < names.size:
        values = names[values]
    return classes_of(values)


def _fitting(names: Any, length: int) -> Any:
    if names is None or names.shape != (length,):
        return None
    return names.astype(str).astype(object)
