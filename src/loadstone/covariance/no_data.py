"""What people hand over that is no table of numbers: each is named, with a way out."""

from __future__ import annotations

from os import PathLike
from typing import Any

from scipy import sparse

from loadstone.covariance.opened import package_of
from loadstone.files.sparse_parts import check_compressed

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
    if not sparse.issparse(X) or X.format not in {"csr", "csc"} or X.ndim != 2:
        return
    n_major, n_minor = X.shape if X.format == "csr" else X.shape[::-1]
    try:
        check_compressed(X.data, X.indices, X.indptr, n_major, n_minor)
    except ValueError as error:
        msg = f"X is a broken sparse matrix: {error}; build it again, for example from its rows"
        raise ValueError(msg) from None
