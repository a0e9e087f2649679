"""What people hand over that is no table of numbers: each is named, with a way out."""

from __future__ import annotations

from collections.abc import Callable
from os import PathLike
from typing import Any

import numpy as np
from scipy import sparse

from loadstone.covariance.opened import package_of
from loadstone.files.npy_arrays import DamagedError
from loadstone.files.sparse_parts import check_compressed, refuse_outside

#: Kinds of arrays that NumPy would turn into some number, or fail to.
_NO_NUMBERS = {
    "M": ("dates", "take a difference from one of them, in a unit you choose, as float"),
    "m": ("spans of time", "divide them by a unit, for example X / np.timedelta64(1, 'D')"),
    "V": ("records", "numpy.lib.recfunctions.structured_to_unstructured(X) makes columns of them"),
}


def refuse_no_data(X: Any) -> None:
    """Refuse what names data, and what is none at all."""
    if isinstance(X, str | bytes | PathLike):
        msg = f"X is {str(X)!r}, a name and no data; loadstone.read_table({str(X)!r}).X holds the numbers"
        raise TypeError(msg)
    if X is None:
        msg = "X is None; give samples in rows and features in columns"
        raise TypeError(msg)
    if isinstance(X, dict) and not sparse.issparse(X):
        msg = f"X is a dict of {len(X)} key(s); pandas.DataFrame(X) makes columns of them"
        raise TypeError(msg)
    if getattr(getattr(X, "dtype", None), "kind", "f") in _NO_NUMBERS:
        what, way_out = _NO_NUMBERS[X.dtype.kind]
        msg = f"X has dtype {X.dtype}: {what} are no numbers; {way_out}"
        raise TypeError(msg)
    if package_of(X) == "polars" and hasattr(X, "collect"):
        msg = "X is a LazyFrame of polars, which has not been read; give X.collect()"
        raise TypeError(msg)


def refuse_broken(X: Any) -> None:
    """Refuse sparse matrices whose indices lead out of them: a product would end the process."""
    if not sparse.issparse(X) or X.ndim != 2 or X.format not in _PLACES:
        return
    try:
        _PLACES[X.format](X)
    except ValueError as error:
        msg = f"X is a broken sparse matrix: {error}; build it again, for example from its rows"
        raise ValueError(msg) from None


def _check_rows_or_columns(X: Any) -> None:
    n_major, n_minor = X.shape if X.format == "csr" else X.shape[::-1]
    check_compressed(X.data, X.indices, X.indptr, n_major, n_minor)


def _check_blocks(X: Any) -> None:
    """Blocks of equal shape, compressed as rows are."""
    _, height, width = X.data.shape
    check_compressed(
        X.data[:, 0, 0], X.indices, X.indptr, X.shape[0] // height, X.shape[1] // width
    )


def _check_coordinates(X: Any) -> None:
    for indices, n in zip((X.row, X.col), X.shape, strict=True):
        if indices.size != X.data.size:
            msg = f"{X.data.size} values for {indices.size} indices"
            raise DamagedError(msg)
        refuse_outside(indices, n)


def _check_lists(X: Any) -> None:
    places = [np.asarray(row, dtype=np.int64) for row in X.rows]
    if [row.size for row in places] != [len(row) for row in X.data]:
        msg = "rows with more or fewer values than places"
        raise DamagedError(msg)
    refuse_outside(np.concatenate([np.empty(0, dtype=np.int64), *places]), X.shape[1])


#: What a conversion or a product would follow in memory, by format; others keep no such places.
_PLACES: dict[str, Callable[[Any], None]] = {
    "csr": _check_rows_or_columns,
    "csc": _check_rows_or_columns,
    "bsr": _check_blocks,
    "coo": _check_coordinates,
    "lil": _check_lists,
}
