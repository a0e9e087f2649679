"""CSV and TSV: delimiter, header and index column are found by looking."""

from __future__ import annotations

import csv
import gzip
import io
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from loadstone.files.errors import TableError
from loadstone.files.frames import mostly_numbers, table_of_frame
from loadstone.files.table import Table

#: Words that stand for no value.
NO_VALUE = frozenset({"", "na", "n/a", "nan", "null", "none", "?", "-", ".", "missing"})
_LOOK_AT = 20
_INDEX_NAMES = frozenset(
    {"", "id", "index", "name", "names", "sample", "samples", "row", "rowname"}
)


def read_text(path: Path) -> Table:
    """Read a table from text, gzipped or not."""
    import pandas as pd

    head = lines_of(path, _LOOK_AT)
    if not head:
        msg = f"{path} is empty"
        raise TableError(msg)
    delimiter = delimiter_of(path, head)
    rows = [row for row in csv.reader(head, delimiter=delimiter) if row]
    decimal = "," if delimiter == ";" and _has_decimal_commas(rows) else "."
    header = _has_header(rows, decimal)
    options: dict[str, Any] = {
        "sep": delimiter,
        "header": 0 if header else None,
        "decimal": decimal,
        "na_values": sorted(NO_VALUE | {"NA", "N/A", "NaN", "NULL", "None"}),
        "compression": "gzip" if path.name.endswith(".gz") else None,
        "low_memory": False,
        "skipinitialspace": True,
        "encoding_errors": "replace",
    }
    try:
        frame = pd.read_csv(path, **options)
    except (pd.errors.ParserError, pd.errors.EmptyDataError, ValueError) as error:
        msg = f"{path} cannot be read as a table separated by {delimiter!r}: {_first_line(error)}"
        raise TableError(msg) from error
    return table_of_frame(_with_index(frame, header=header), str(path), named=header)


def lines_of(path: Path, at_most: int | None = None) -> list[str]:
    """The lines of a text file, gzipped or not, that are not blank."""
    with gzip.open(path, "rb") if path.name.endswith(".gz") else path.open("rb") as file:
        try:
            content = io.TextIOWrapper(file, encoding="utf-8-sig", errors="replace", newline="")
            lines = list(islice(content, at_most))
        except (OSError, EOFError) as error:
            msg = f"{path} cannot be unpacked ({error})"
            raise TableError(msg) from error
    if any("\0" in line for line in lines):
        msg = f"{path} is not text; give it the ending of its kind (.npy, .npz, .parquet, .h5ad)"
        raise TableError(msg)
    return [line for line in lines if line.strip()]


def delimiter_of(path: Path, head: list[str]) -> str:
    """What separates the cells of these lines."""
    if ".tsv" in path.suffixes:
        return "\t"
    # The delimiter that cuts every line into the same number of pieces, and into most.
    pieces = {d: _pieces(head, d) for d in ",;\t|"}
    even = {d: max(n) for d, n in pieces.items() if max(n) - min(n) <= 1}
    return max(even or {",": 0}, key=lambda d: (even or {",": 0})[d])


def _pieces(head: list[str], delimiter: str) -> list[int]:
    """Into how many cells each line is cut."""
    try:
        return [len(row) for row in csv.reader(head, delimiter=delimiter) if row]
    except csv.Error:
        # A line of a wide table that is not cut at all is longer than a cell may be.
        return [1] * len(head)


def _has_decimal_commas(rows: list[list[str]]) -> bool:
    cells = [cell for row in rows[1:] for cell in row]
    return any("," in c and _number(c.replace(",", ".")) for c in cells) and not any(
        "." in c and _number(c) for c in cells
    )


def _has_header(rows: list[list[str]], decimal: str) -> bool:
    """Whether the first row names the columns: text above numbers, or an empty corner."""
    if len(rows) < 2:
        return not all(_number(cell) for cell in rows[0])
    first, second = rows[0], rows[1]
    if len(first) == len(second) - 1 or first[0].strip() == "":
        return True
    body = [cell.replace(decimal, ".") for cell in second]
    return any(
        not _number(top) and _number(cell) for top, cell in zip(first, body, strict=False)
    ) or (not any(_number(cell) for cell in body) and len(set(first)) == len(first))


def _with_index(frame: Any, *, header: bool) -> Any:
    """The first column as names of the rows, where it is that."""
    if frame.shape[1] < 2 or not _is_default(frame.index):
        return frame
    first = frame.iloc[:, 0]
    title = str(frame.columns[0]) if header else ""
    unnamed = header and title.startswith("Unnamed:")
    counts = (first.dtype.kind in "iu" and (np.diff(first.to_numpy()) == 1).all()) and first.iloc[
        0
    ] in (0, 1)
    text = (
        first.dtype.kind not in "biufc"
        and first.is_unique
        and not first.isna().any()
        and not mostly_numbers(first)
    )
    if unnamed or text or (counts and header and title.strip().lower() in _INDEX_NAMES):
        return frame.iloc[:, 1:].set_axis([str(name) for name in first], axis=0)
    return frame


def _is_default(index: Any) -> bool:
    import pandas as pd

    return isinstance(index, pd.RangeIndex)


def _number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return cell.strip().lower() in NO_VALUE - {""}
    return True


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
