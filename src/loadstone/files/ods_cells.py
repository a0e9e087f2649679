"""ODS: the cells of each sheet, which may be repeated by a number."""

from __future__ import annotations

import zipfile
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from loadstone.files.errors import TableError
from loadstone.files.foreign import refuse_beyond_memory
from loadstone.files.xlsx_cells import Cells, Sheet
from loadstone.files.xml_stream import Attributes, attribute, read_elements

#: Beyond these a repetition fills the sheet up, and says nothing.
_LAST_ROW, _LAST_COLUMN = 1 << 20, 1 << 14
#: About what a cell takes in memory.
_CELL_BYTES = 100


def ods_sheets(archive: zipfile.ZipFile, path: Path) -> list[Sheet]:
    """The sheets in the order of their tabs; all are in one document, and read at once."""
    if "content.xml" not in archive.namelist():
        msg = f"{path} is no ODS file: it has no content"
        raise TableError(msg)
    reader = _ContentReader(path)
    read_elements(
        archive, "content.xml", path, start=reader.start, end=reader.end, text=reader.text
    )
    return [Sheet(name, False, partial(dict, cells)) for name, cells in reader.sheets]  # noqa: FBT003


@dataclass
class _ContentReader:
    """Collects the cells of all sheets while their elements pass by."""

    path: Path
    sheets: list[tuple[str, Cells]] = field(default_factory=list)
    row: int = 0
    row_times: int = 1
    column: int = 0
    cell: Attributes | None = None
    depth: int = 0
    n_cells: int = 0
    cells: dict[int, Any] = field(default_factory=dict)
    parts: list[str] = field(default_factory=list)

    def start(self, name: str, attributes: Attributes) -> None:
        """A sheet, a row, a cell, or a line of text in a cell."""
        if name == "table":
            self.sheets.append((attribute(attributes, "name") or "", {}))
            self.row = 0
        elif name == "table-row":
            self.row_times, self.column, self.cells = _times(attributes, "rows"), 0, {}
        elif name in {"table-cell", "covered-table-cell"}:
            self.cell = attributes
            self.parts.clear()
        elif name == "p" and self.cell is not None and self.parts:
            self.parts.append("\n")
        elif name == "annotation":
            self.depth += 1
        elif name == "s" and self.cell is not None:
            self.parts.append(" ")

    def end(self, name: str) -> None:
        """A cell or a row is complete."""
        if name in {"table-cell", "covered-table-cell"} and self.cell is not None:
            self._store_cell(self.cell)
            self.cell = None
        elif name == "table-row" and self.sheets:
            if self.cells:
                self._store_row(self.sheets[-1][1])
            self.row += self.row_times
        elif name == "annotation":
            self.depth -= 1

    def text(self, piece: str) -> None:
        """What stands in a cell; remarks on it do not."""
        if self.cell is not None and not self.depth:
            self.parts.append(piece)

    def _store_cell(self, attributes: Attributes) -> None:
        times = _times(attributes, "columns")
        value = _value(attributes, "".join(self.parts))
        if value is not None and value != "":
            self._count(min(times, _LAST_COLUMN - self.column))
            for j in range(self.column, min(self.column + times, _LAST_COLUMN)):
                self.cells[j] = value
        self.column += times

    def _store_row(self, cells: Cells) -> None:
        last = min(self.row + self.row_times, _LAST_ROW)
        self._count((last - self.row) * len(self.cells))
        for i in range(self.row, last):
            cells[i] = self.cells

    def _count(self, n_cells: int) -> None:
        self.n_cells += max(0, n_cells)
        refuse_beyond_memory(_CELL_BYTES * self.n_cells, self.path)


def _times(attributes: Attributes, what: str) -> int:
    given = attribute(attributes, f"number-{what}-repeated") or "1"
    return max(1, int(given)) if given.isdecimal() else 1


def _value(attributes: Attributes, text: str) -> Any:
    kind = attribute(attributes, "value-type")
    if kind in {"float", "percentage", "currency"}:
        return float(attribute(attributes, "value") or "nan")
    if kind == "boolean":
        return float(attribute(attributes, "boolean-value") == "true")
    if kind in {"date", "time"}:
        return attribute(attributes, f"{kind}-value") or text
    return text.strip()
