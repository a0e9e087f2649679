"""``read_table``: one function for every kind of file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from loadstone.files.array_files import read_npy, read_npz
from loadstone.files.errors import MissingFileError, TableError
from loadstone.files.foreign import foreign, refuse_beyond_memory
from loadstone.files.frames import table_of_frame
from loadstone.files.h5ad_files import read_h5ad
from loadstone.files.matrix_market import read_mtx
from loadstone.files.table import Table, transposed, with_labels, without_missing
from loadstone.files.text_tables import read_text

#: What is read, in the words of an error message.
KINDS = "CSV, TSV (also .gz), Parquet, NPY, NPZ, MTX and H5AD"


def read_table(
    path: Path | str,
    *,
    labels: str | None = None,
    missing: str = "mean",
    turned: bool = False,
    described: bool = False,
    layer: str | None = None,
) -> Table:
    """Read samples in rows and features in columns.

    Parameters
    ----------
    path : path-like
        CSV, TSV, Parquet, NPY, NPZ, MTX or H5AD; the ending tells.
    labels : str, optional
        Column to take labels from; ``"none"`` for none. By default the only column that
        is not numeric and repeats few values.
    missing : {"mean", "rows", "columns", "keep", "refuse"}
        Fill missing values with the mean of their column, leave out the rows or columns
        they are in, leave them to the method, or refuse them.
    turned : bool
        Features stand in the rows of the file.
    described : bool
        Columns of a turned table that are not numbers describe its features; otherwise
        they are refused.
    layer : str, optional
        Layer of an H5AD file.

    Returns
    -------
    Table
    """
    path = Path(path)
    if not path.exists():
        msg = f"there is no file {path}"
        raise MissingFileError(msg)
    if not path.is_file():
        what = "a folder" if path.is_dir() else "no regular file"
        msg = f"{path} is {what}; name the file that holds the table"
        raise MissingFileError(msg)
    table = _read(path, layer)
    if turned:
        table = transposed(table, described=described)
    return _checked(without_missing(with_labels(table, labels), missing), path)


def _read(path: Path, layer: str | None) -> Table:
    endings = [ending.lower() for ending in path.suffixes]
    ending = endings[-2] if endings[-1:] == [".gz"] and len(endings) > 1 else "".join(endings[-1:])
    if layer is not None and ending != ".h5ad":
        msg = f"--layer is for .h5ad files, and {path.name} is none"
        raise TableError(msg)
    if ending in {".csv", ".tsv", ".txt"}:
        return read_text(path)
    if ending in {".parquet", ".pq"}:
        return _read_parquet(path)
    if ending == ".npy":
        return read_npy(path)
    if ending == ".npz":
        return read_npz(path)
    if ending == ".mtx":
        return read_mtx(path)
    if ending == ".h5ad":
        return read_h5ad(path, layer)
    msg = f"{path.name} has an ending that is not known; {KINDS} files are read"
    raise TableError(msg)


def _read_parquet(path: Path) -> Table:
    try:
        from pyarrow import parquet  # type: ignore[import-untyped]
    except ImportError as error:
        msg = "reading Parquet files needs pyarrow: pip install 'loadstone[cli]'"
        raise TableError(msg) from error
    import pandas as pd

    with foreign(path, "Parquet"):
        declared = parquet.read_metadata(path)
        refuse_beyond_memory(8 * int(declared.num_rows) * int(declared.num_columns), path)
        return table_of_frame(pd.read_parquet(path), str(path))


def _checked(table: Table, path: Path) -> Table:
    names = table.feature_names
    if names is not None and len(set(names)) < len(names):
        # Gene symbols repeat; numbering the later ones keeps every name to one feature.
        seen: dict[str, int] = {}
        unique = []
        for name in names:
            seen[name] = seen.get(name, 0) + 1
            unique.append(name if seen[name] == 1 else f"{name}-{seen[name]}")
        table = replace(table, feature_names=np.array(unique, dtype=object))
        table = table.noting(f"{len(names) - len(seen)} repeated feature name(s) were numbered")
    if table.X.shape[0] < 2:
        msg = f"{path} has {table.X.shape[0]} row(s) of numbers; at least two samples are needed"
        raise TableError(msg)
    return table
