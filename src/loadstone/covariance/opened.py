"""Arrays and frames of other packages that are not in memory: taken by blocks, or refused.

They are told apart by the package their type comes from, so that none has to be installed.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from loadstone._sklearn_compat import _get_feature_names
from loadstone.covariance.containers import MAPPED_BYTES, is_dask

#: Packages whose arrays are read by slices.
STORED = {"h5py": "h5py.Dataset", "zarr": "zarr.Array"}


def opened(X: Any, *, lazy: bool = False) -> Any:
    """``X`` as a Dask array where it is stored elsewhere; anything else as it is.

    Parameters
    ----------
    X : object
        A Dask data frame, an array of h5py, zarr or xarray, the matrix of a backed AnnData.
    lazy : bool
        Whether the numbers of rows in the partitions of a frame may stay unknown; counting
        them reads the frame, or the footers of its files.

    Returns
    -------
    object
    """
    package = package_of(X)
    if is_dask_frame(X):
        return X.to_dask_array() if lazy else X.to_dask_array(lengths=True)
    if package == "xarray":
        return opened(_array_in(X), lazy=lazy)
    if package == "anndata":
        return _of_anndata(X)
    if package in STORED and hasattr(X, "dtype"):
        da = _dask_array(STORED[package])
        return da.from_array(X, chunks=_chunks(X), lock=package == "h5py")
    return X


def package_of(X: Any) -> str:
    """The package a type comes from."""
    return type(X).__module__.split(".")[0]


def is_dask_frame(X: Any) -> bool:
    """Whether ``X`` is a data frame of Dask."""
    return package_of(X) == "dask" and hasattr(X, "to_dask_array") and hasattr(X, "columns")


def is_out_of_core(X: Any) -> bool:
    """Whether every look at ``X`` may be a pass over a file."""
    if isinstance(X, np.memmap) or is_dask(X) or is_dask_frame(X):
        return True
    package = package_of(X)
    return package in STORED or package in {"xarray", "anndata"}


def feature_names(X: Any) -> Any:
    """Names of the columns as scikit-learn sees them, of Dask frames as well."""
    if type(X) is np.ndarray:
        return None
    if package_of(X) == "pandas":
        _refuse_repeated(getattr(X, "columns", ()), "X.loc[:, ~X.columns.duplicated()]")
    elif package_of(X) == "pyarrow":
        _refuse_repeated(getattr(X, "column_names", ()), "X.select")
    return _get_feature_names(without_rows_read(X))


def _refuse_repeated(columns: Any, way_out: str) -> None:
    """Refuse columns that cannot be told apart by their names."""
    if getattr(columns, "is_unique", False):
        return
    # Names may be NaN, which is equal to nothing.
    spelled = ("nan" if isinstance(c, float) and np.isnan(c) else c for c in columns)
    repeated = [name for name, n in Counter(spelled).items() if n > 1]
    if not repeated:
        return
    shown = ", ".join(map(repr, repeated[:5])) + (", ..." if len(repeated) > 5 else "")
    msg = (
        f"{len(repeated)} column name(s) stand more than once: {shown}; rename them, or keep one "
        f"column of each with {way_out}"
    )
    raise ValueError(msg)


def like(X: Any, scores: Any) -> Any:
    """Scores as an array of xarray where the data is one, with the names of its samples."""
    if package_of(X) != "xarray":
        return scores
    samples = X.dims[0]
    coords = {samples: X.coords[samples]} if samples in X.coords else {}
    return type(X)(scores, dims=(samples, "component"), coords=coords)


def _array_in(X: Any) -> Any:
    if not hasattr(X, "data") or not hasattr(X, "dims") or not hasattr(X, "dtype"):
        msg = (
            f"X is an xarray {type(X).__name__}, which holds several arrays; choose one, for example "
            "X['name'].transpose('sample', 'feature')"
        )
        raise TypeError(msg)
    return X.data


def _chunks(X: Any) -> Any:
    """Blocks near 64 MiB that do not cut through the chunks of a file."""
    if len(X.shape) != 2:
        return "auto"
    n_rows, n_columns = X.shape
    high, wide = X.chunks or (1, n_columns)
    if high * n_columns * X.dtype.itemsize <= MAPPED_BYTES:
        wide = n_columns
    rows = MAPPED_BYTES // max(1, wide * X.dtype.itemsize)
    return min(n_rows, max(high, rows - rows % high)), wide


def _of_anndata(X: Any) -> Any:
    """The sparse matrix of a backed AnnData, in blocks of rows."""
    name = type(X).__name__
    if "CSRDataset" not in name:
        ways = (
            "give its matrix, adata.X, or use loadstone.anndata.sparse_pca"
            if name == "AnnData"
            else "rows of it cannot be read alone: load it with X.to_memory(), or store it as CSR"
        )
        msg = f"X is an {name} of anndata; {ways}"
        raise TypeError(msg)
    da = _dask_array("the sparse matrix of a backed AnnData")
    from scipy import sparse

    n_rows, n_columns = X.shape
    entries = max(1.0, len(X.group["data"]) / n_rows)
    rows = int(max(1, min(n_rows, MAPPED_BYTES // (16 * entries))))
    meta = sparse.csr_array((0, 0), dtype=X.dtype)
    return da.from_array(X, chunks=(rows, n_columns), lock=True, asarray=False, meta=meta)


def _dask_array(what: str) -> Any:
    try:
        import dask.array
    except ModuleNotFoundError as error:
        msg = (
            f"X is {what}, which is read by blocks through Dask: pip install 'loadstone[dask]'; or "
            "load it with X[:] where it fits into memory"
        )
        raise ModuleNotFoundError(msg) from error
    return dask.array


def without_rows_read(X: Any) -> Any:
    """Something with the columns of ``X`` for checks of names: a frame without rows, or ``X``."""
    return X._meta if is_dask_frame(X) else X
