"""Sheets of workbooks, and how much a workbook may say of them before it is called damaged."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from loadstone.files.errors import TableError
from loadstone.files.foreign import MOST_DEFLATED

#: Rows and columns by number, from 0; equal rows may be one.
Cells = dict[int, dict[int, Any]]
_LAST_ROW, _LAST_COLUMN = 1 << 20, 1 << 14
#: One number for a column, however many rows have a cell there.
COLUMNS = tuple(range(_LAST_COLUMN))
#: Nobody finds a sheet among more tabs than this.
_MOST_SHEETS = 10_000
#: Bytes of a number in a table, and of cells that a file of any size may repeat.
_NUMBER_BYTES, _REPEATED_BYTES = 8, 1 << 24


@dataclass(frozen=True)
class Sheet:
    """A sheet that is read when its rows are asked for."""

    name: str
    hidden: bool
    rows: Callable[[], Cells]


def refuse_many_sheets(n_sheets: int, path: Path) -> None:
    """Refuse a workbook of more sheets than anybody has."""
    if n_sheets > _MOST_SHEETS:
        msg = f"{path} has more than {_MOST_SHEETS} sheets; it is damaged"
        raise TableError(msg)


def refuse_beyond_sheet(row: int, column: int, path: Path) -> None:
    """Refuse a cell where no spreadsheet program has one."""
    if not (0 <= row < _LAST_ROW and 0 <= column < _LAST_COLUMN):
        msg = f"{path} has a cell beyond the last row or column of a sheet; it is damaged"
        raise TableError(msg)


def cell_bytes(value: Any) -> int:
    """About what a cell takes in a table, with its text."""
    return _NUMBER_BYTES + (len(value) if isinstance(value, str) else 0)


@dataclass
class Repeated:
    """Counts what a file says once and means many times.

    Written out, cells are packed by deflate at best: a file that repeats more than it could hold in
    that way is no table, however much memory there is.
    """

    path: Path
    n_bytes: int = 0

    def count(self, n_bytes: int) -> None:
        """Add so many bytes, before anything is made of them."""
        self.n_bytes += n_bytes
        if self.n_bytes <= _REPEATED_BYTES:
            return
        size = self.path.stat().st_size
        if self.n_bytes > MOST_DEFLATED * size:
            msg = (
                f"{self.path} has {size} bytes and repeats cells or texts until they take "
                f"{self.n_bytes / 1e6:,.0f} MB or more; it is damaged, or has to be saved as CSV"
            )
            raise TableError(msg)
