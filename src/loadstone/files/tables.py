"""``read_table``: one function for every kind of file."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from loadstone.files.array_files import read_npy, read_npz
from loadstone.files.arrow_files import read_arrow, read_parquet
from loadstone.files.column_names import chosen, nearest, without_own_columns
from loadstone.files.errors import MissingFileError, OptionError, TableError
from loadstone.files.h5ad_files import read_h5ad
from loadstone.files.headings import numbered
from loadstone.files.json_lines import read_json_lines
from loadstone.files.logarithms import with_logarithms
from loadstone.files.looks import with_annotations_noted, with_looks_noted
from loadstone.files.matrix_market import read_mtx
from loadstone.files.reachable import is_at_hand
from loadstone.files.roles import (
    named_by,
    refuse_two_roles,
    with_days,
    with_index,
    with_labels,
    with_left_out,
    with_others_noted,
    with_weights,
)
from loadstone.files.statistics_files import read_spss, read_stata
from loadstone.files.table import MISSING, Table, transposed, without_missing
from loadstone.files.text_tables import read_text
from loadstone.files.workbooks import read_workbook

#: What is read, in the words of an error message.
KINDS = (
    "CSV, TSV (also .gz), XLSX, ODS, Parquet, Feather, Arrow, JSON lines, Stata (.dta), "
    "SPSS (.sav), NPY, NPZ, MTX and H5AD"
)
#: Endings of files that another program has to convert first.
ELSEWHERE = {
    ".xls": "save it as .xlsx in a spreadsheet program",
    ".xlsb": "save it as .xlsx in a spreadsheet program",
    ".numbers": "export it as .xlsx or .csv",
    ".pdf": "export the table as .csv or .xlsx",
    ".doc": "save the table as .csv or .xlsx",
    ".docx": "save the table as .csv or .xlsx",
    ".rds": "write it with write.csv in R",
    ".rdata": "write it with write.csv in R",
    ".mat": "save its matrix with numpy.save",
    ".pkl": "write it as Parquet; pickles of strangers are not opened",
    ".pickle": "write it as Parquet; pickles of strangers are not opened",
    ".zip": "unpack it first",
    ".db": "export the table as .csv",
    ".sqlite": "export the table as .csv",
}
#: The beginning of an address; a path has one slash of two.
_ADDRESS = re.compile(r"[a-z0-9]{2,}:/")
#: Something that names features: names, ranges, patterns, or several of them.
Choice = str | Sequence[str] | None


def read_table(
    path: Path | str,
    *,
    columns: Choice = None,
    drop: Choice = None,
    index: str | None = None,
    labels: str | None = None,
    weights: str | None = None,
    log1p: bool = False,
    missing: str = "mean",
    transpose: bool = False,
    layer: str | None = None,
    sheet: str | int | None = None,
    described: bool = False,
) -> Table:
    r"""Read samples in rows and features in columns, from whatever kind of file they are in.

    Header, delimiter, decimal commas, thousands, currencies, percentages and a column of row
    names are found by looking; what was decided stands in ``notes`` of the result.

    Parameters
    ----------
    path : path-like
        CSV, TSV (also gzipped), XLSX, ODS, Parquet, Feather, Arrow, JSON lines, Stata, SPSS, NPY,
        NPZ, Matrix Market or H5AD; the ending tells.
    columns : str or sequence of str, optional
        Features to use: names, ranges ``"first:last"`` and patterns ``"gene_*"``, in a list
        or with commas between. By default all columns of numbers.
    drop : str or sequence of str, optional
        Features to leave out, named likewise.
    index : str, optional
        Column that names the rows; ``"none"`` where the first column is a feature. By default
        the first column, where it looks like names.
    labels : str, optional
        Column to take labels from; ``"none"`` for none. By default the only column that
        is not numeric and repeats few values.
    weights : str, optional
        Column that says how many samples each row stands for.
    log1p : bool, default=False
        Take ``log(1 + x)`` of every feature; refused where a value is negative.
    missing : {"mean", "rows", "columns", "keep", "refuse"}, default="mean"
        Fill missing values with the mean of their column, leave out the rows or columns
        they are in, leave them to the method, or refuse them.
    transpose : bool, default=False
        Features stand in the rows of the file. ``index`` is then the column that names them;
        ``columns``, ``drop``, ``labels`` and ``weights`` are names of rows; what of ``drop`` fits
        no row is a column that is no sample, such as the length of genes.
    layer : str, optional
        Layer of an H5AD file.
    sheet : str or int, optional
        Sheet of an XLSX or ODS file, by name or number from 1; by default the first with numbers.
    described : bool, default=False
        Columns of a transposed table that are not numbers describe its features; otherwise
        they are refused.

    Returns
    -------
    Table
        ``X``, ``feature_names``, ``sample_names``, ``labels``, ``weights`` and ``notes``.

    Raises
    ------
    loadstone.files.errors.FileError
        With one sentence on what is wrong and what to do; also a ``ValueError``, or a
        ``FileNotFoundError``.

    Examples
    --------
    >>> import loadstone
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> text = "id;region;income;share\n1;north;1.234,5;12 %\n2;south;987,0;8 %\n"
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "t.csv").write_text(text)
    ...     table = loadstone.read_table(Path(folder, "t.csv"), labels="region")
    >>> table.feature_names
    array(['income', 'share'], dtype=object)
    >>> table.X
    array([[1.2345e+03, 1.2000e-01],
           [9.8700e+02, 8.0000e-02]])
    """
    table = read_rows(
        path,
        columns=columns,
        drop=drop,
        index=index,
        labels=labels,
        weights=weights,
        log1p=log1p,
        missing=missing,
        transpose=transpose,
        layer=layer,
        sheet=sheet,
        described=described,
    )
    table = _distinct(without_missing(table, missing))
    if table.X.shape[0] < 2:
        msg = (
            f"{path} has {table.X.shape[0]} row(s) of numbers, and at least two samples are needed; "
            "transpose=True takes samples from columns"
        )
        raise TableError(msg)
    return table


def read_new_rows(path: Path | str, **asked: Any) -> Table:
    """Samples for a model that is there already: a single one will do, and what misses is left open.

    Parameters
    ----------
    path : path-like
        The file.
    **asked
        As for :func:`read_table`.

    Returns
    -------
    Table
    """
    return _distinct(read_rows(path, **asked))


def read_rows(
    path: Path | str,
    *,
    columns: Choice,
    drop: Choice,
    index: str | None,
    labels: str | None,
    weights: str | None,
    log1p: bool,
    missing: str,
    transpose: bool,
    layer: str | None,
    sheet: str | int | None,
    described: bool,
) -> Table:
    """The rows of a file, however few, with their missing values; parameters as in ``read_table``."""
    path = Path(path)
    _refuse_words(path, missing, layer, sheet)
    roles = {"index": index, "labels": labels, "weights": weights}
    refuse_two_roles(roles)
    # In a table that is turned round these are names of rows.
    said = roles if transpose else with_left_out(roles, drop)
    table = with_days(with_index(_read(path, layer, sheet, said), index))
    if transpose:
        table, drop = without_own_columns(table, drop)
        table = transposed(with_annotations_noted(table), described=described)
    table = with_labels(with_weights(table, weights), labels)
    table = chosen(table, columns, drop, labels_name=table.labels_name)
    table = with_others_noted(table, labels)
    table = table if columns is not None else with_looks_noted(table)
    return with_logarithms(table) if log1p else table


def _refuse_words(path: Path, missing: str, layer: str | None, sheet: str | int | None) -> None:
    """Refuse a file that is none, and options that say nothing about its kind."""
    if missing not in MISSING:
        near = nearest(missing, MISSING)
        hint = f"; did you mean {near!r}?" if near else ""
        msg = f"missing={missing!r} is none of {', '.join(MISSING)}{hint}"
        raise OptionError(msg)
    if not is_at_hand(path):
        if not path.exists():
            msg = f"there is no file {path}; {_instead_of(path)}"
            raise MissingFileError(msg)
        what = "a folder" if path.is_dir() else "no regular file"
        msg = f"{path} is {what}; name the file that holds the table"
        raise MissingFileError(msg)
    for option, value, endings in (
        ("layer", layer, {".h5ad"}),
        ("sheet", sheet, {".xlsx", ".xlsm", ".ods"}),
    ):
        if value is not None and _ending(path) not in endings:
            kinds = " and ".join(sorted(endings))
            msg = f"{option}={value!r} is for {kinds} files, and {path.name} is none; leave it out"
            raise OptionError(msg)


def _instead_of(path: Path) -> str:
    """What to do where a file is not there."""
    if _ADDRESS.match(str(path)):
        return "files are read from this machine: download it first"
    if str(path) == "-":
        return "what another program prints is read once it is in a file"
    beside = nearest(path.name, [p.name for p in siblings(path)])
    return f"did you mean {beside}?" if beside else "check its name and the folder you are in"


def siblings(path: Path) -> list[Path]:
    """The files in the folder of a file that may not be there."""
    try:
        return [beside for beside in islice(path.parent.iterdir(), 1000) if beside.is_file()]
    except OSError:
        return []


def _ending(path: Path) -> str:
    endings = [ending.lower() for ending in path.suffixes]
    return endings[-2] if endings[-1:] == [".gz"] and len(endings) > 1 else "".join(endings[-1:])


def _read(
    path: Path,
    layer: str | None,
    sheet: str | int | None,
    roles: Mapping[str, str | None],
) -> Table:
    ending = _ending(path)
    if ending in {".csv", ".tsv", ".txt"}:
        return read_text(path, roles)
    if ending in {".xlsx", ".xlsm", ".ods"}:
        return read_workbook(path, sheet, roles)
    if ending == ".h5ad":
        return read_h5ad(path, layer, named_by(roles, ("index", "labels", "weights")))
    readers = {
        **dict.fromkeys((".parquet", ".pq"), read_parquet),
        **dict.fromkeys((".feather", ".arrow", ".ipc", ".arrows"), read_arrow),
        **dict.fromkeys((".jsonl", ".ndjson", ".json"), read_json_lines),
        ".dta": read_stata,
        ".sav": read_spss,
    }
    if ending in readers:
        return readers[ending](path, roles)
    matrices = {".npy": read_npy, ".npz": read_npz, ".mtx": read_mtx}
    if ending in matrices:
        return matrices[ending](path)
    if ending in ELSEWHERE:
        msg = f"{path.name}: {ending} files are not read; {ELSEWHERE[ending]}"
        raise TableError(msg)
    msg = (
        f"{path.name} has an ending that is not known; {KINDS} files are read: give it the ending of "
        "its kind, or save it as one of these"
    )
    raise TableError(msg)


def _distinct(table: Table) -> Table:
    """The table with each name given to one feature."""
    names = table.feature_names
    if names is not None and len(set(names)) < len(names):
        # Gene symbols repeat; numbering the later ones keeps every name to one feature.
        n_repeated = len(names) - len(set(names))
        unique = np.array(numbered(names, from_="-2"), dtype=object)
        table = replace(table, feature_names=unique)
        table = table.noting(f"{n_repeated} repeated feature name(s) were numbered")
    return table
