"""ODS: the cells of each sheet, which may be repeated by a number."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from loadstone.files.errors import TableError
from loadstone.files.foreign import refuse_beyond_memory
from loadstone.files.sheets import (
    COLUMNS,
    Cells,
    Repeated,
    Sheet,
    cell_bytes,
    refuse_beyond_sheet,
    refuse_many_sheets,
)
from loadstone.files.xml_stream import Attributes, attribute, read_elements, whole_number

#: About what a cell takes in memory.
_CELL_BYTES = 100


def ods_sheets(archive: zipfile.ZipFile, path: Path) -> list[Sheet]:
    """The sheets in the order of their tabs; all are in one document, and read at once."""
    if "content.xml" not in archive.namelist():
        msg = f"{path} is no ODS file: it has no content"
        raise TableError(msg)
    reader = _ContentReader(path, Repeated(path))
    read_elements(
        archive, "content.xml", path, start=reader.start, end=reader.end, text=reader.text
    )
    return [Sheet(name, hidden=False, rows=_given(cells)) for name, cells in reader.sheets]


def _given(cells: Cells) -> Callable[[], Cells]:
    return lambda: cells


@dataclass
class _ContentReader:
    """Collects the cells of all sheets while their elements pass by."""

    path: Path
    repeated: Repeated
    sheets: list[tuple[str, Cells]] = field(default_factory=list)
    row: int = 0
    row_times: int = 1
    column: int = 0
    cell: Attributes | None = None
    depth: int = 0
    n_cells: int = 0
    row_bytes: int = 0
    cells: dict[int, Any] = field(default_factory=dict)
    parts: list[str] = field(default_factory=list)

    def start(self, name: str, attributes: Attributes) -> None:
        """A sheet, a row, a cell, or a line of text in a cell."""
        if name == "table":
            self.sheets.append((attribute(attributes, "name") or "", {}))
            refuse_many_sheets(len(self.sheets), self.path)
            self.row = 0
        elif name == "table-row":
            self.row_times = self._times(attributes, "number-rows-repeated")
            self.column, self.row_bytes, self.cells = 0, 0, {}
        elif name in {"table-cell", "covered-table-cell"}:
            self.cell = attributes
            self.parts.clear()
        elif name == "p" and self.cell is not None and self.parts:
            self.parts.append("\n")
        elif name == "annotation":
            self.depth += 1
        elif name == "s" and self.cell is not None and not self.depth:
            times = self._times(attributes, "c")
            self.repeated.count(times - 1)
            self.parts.append(" " * times)

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
        times = self._times(attributes, "number-columns-repeated")
        value = _value(attributes, "".join(self.parts))
        # A repetition of nothing fills the sheet up, and says nothing.
        if value is not None and value != "":
            refuse_beyond_sheet(self.row, self.column + times - 1, self.path)
            self.repeated.count((times - 1) * cell_bytes(value))
            self._count(times)
            self.row_bytes += times * cell_bytes(value)
            self.cells.update(dict.fromkeys(COLUMNS[self.column : self.column + times], value))
        self.column += times

    def _store_row(self, cells: Cells) -> None:
        refuse_beyond_sheet(self.row + self.row_times - 1, 0, self.path)
        self.repeated.count((self.row_times - 1) * self.row_bytes)
        self._count(self.row_times * len(self.cells))
        cells.update(dict.fromkeys(range(self.row, self.row + self.row_times), self.cells))

    def _count(self, n_cells: int) -> None:
        self.n_cells += n_cells
        refuse_beyond_memory(_CELL_BYTES * self.n_cells, self.path)

    def _times(self, attributes: Attributes, name: str) -> int:
        return max(1, whole_number(attribute(attributes, name) or "", self.path) or 1)


def _value(attributes: Attributes, text: str) -> Any:
    kind = attribute(attributes, "value-type")
    if kind in {"float", "percentage", "currency"}:
        return float(attribute(attributes, "value") or "nan")
    if kind == "boolean":
        return float(attribute(attributes, "boolean-value") == "true")
    if kind in {"date", "time"}:
        return attribute(attributes, f"{kind}-value") or text
    return text.strip()
