"""XLSX and ODS: the cells of one sheet, looked at as a person would.

The cells are read by this package itself, with the XML reader of Python. The quickest library,
python-calamine (0.9, November 2026), lays out the whole rectangle of a sheet: a workbook of 1 300
bytes with one cell in the last column ends the process with a signal, where it is a small table
here. It also gives empty cells for formulas that were never calculated and for ``#DIV/0!``.
"""

from __future__ import annotations

import math
import zipfile
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from pathlib import Path
from typing import Any

import numpy as np

from loadstone.files.column_names import nearest
from loadstone.files.errors import OptionError, TableError
from loadstone.files.foreign import foreign, refuse_table
from loadstone.files.frames import table_of_frame, without_remarks
from loadstone.files.headings import (
    UNNAMED,
    Heading,
    heading_of,
    is_blank,
    is_number,
    joined_names,
    names_from_numbers,
    numbered,
    spelled,
)
from loadstone.files.ods_cells import ods_sheets
from loadstone.files.sheets import Cells, Sheet
from loadstone.files.table import Table, listed
from loadstone.files.text_tables import (
    has_header,
    heading_notes,
    names_given_twice,
    with_first_as_index,
)
from loadstone.files.totals import without_totals
from loadstone.files.xlsx_cells import xlsx_sheets

#: Rows that are looked at to find the heading.
_LOOK_AT = 20


def read_workbook(path: Path, sheet: str | int | None, roles: Mapping[str, str | None]) -> Table:
    """One sheet of a workbook.

    Parameters
    ----------
    path : Path
        An ``.xlsx``, ``.xlsm`` or ``.ods`` file.
    sheet : str, int or None
        Its name, or its number from 1; otherwise the first visible one with numbers.
    roles : mapping of str to str or None
        Columns by what somebody has said they are for.

    Returns
    -------
    Table
    """
    kind = "ODS" if path.suffix.lower() == ".ods" else "XLSX"
    with foreign(path, kind):
        _refuse_encrypted(path)
        with zipfile.ZipFile(path) as archive:
            sheets = (ods_sheets if kind == "ODS" else xlsx_sheets)(archive, path)
            chosen, rows, notes = _chosen(sheets, sheet, path)
        if not rows:
            msg = f"{path}: sheet {chosen!r} is empty; there are {listed(s.name for s in sheets)}"
            raise TableError(msg)
        table = _table(rows, f"{path}, sheet {chosen!r}", roles)
    return without_totals(table.noting(*notes))


def _refuse_encrypted(path: Path) -> None:
    with path.open("rb") as file:
        if file.read(8) == b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1":
            msg = (
                f"{path} is protected by a password, or an old .xls file under a new name; save it "
                "as .xlsx without a password"
            )
            raise TableError(msg)


def _chosen(
    sheets: Sequence[Sheet], wanted: str | int | None, path: Path
) -> tuple[str, list[list[Any]], list[str]]:
    """The name and the rows of the sheet to read, and what is to be said of it."""
    names = [sheet.name for sheet in sheets]
    if not sheets:
        msg = f"{path} has no sheet of cells"
        raise TableError(msg)
    if wanted is not None:
        sheet = sheets[_place(wanted, names, path)]
        return sheet.name, _filled(sheet.rows(), path), []
    visible = [sheet for sheet in sheets if not sheet.hidden] or list(sheets)
    first: list[list[Any]] = []
    for sheet in visible:
        rows = _filled(sheet.rows(), path)
        if any(is_number(cell) for row in rows for cell in row):
            others = [name for name in names if name != sheet.name]
            note = f"sheet {sheet.name!r} was read; sheet='NAME' reads another: {listed(others)}"
            return sheet.name, rows, [note] if others else []
        first = rows if sheet is visible[0] else first
    return visible[0].name, first, []


def _place(wanted: str | int, names: list[str], path: Path) -> int:
    if wanted in names:
        return names.index(str(wanted))
    number = int(wanted) if str(wanted).isdecimal() else 0
    if 1 <= number <= len(names):
        return number - 1
    near = nearest(str(wanted), names)
    hint = f"did you mean {near!r}?" if near else f"there are {listed(names)}"
    msg = f"sheet={wanted!r} is no sheet of {path.name}; {hint}"
    raise OptionError(msg)


def _filled(cells: Cells, path: Path) -> list[list[Any]]:
    """Rows and columns with anything in them; what lies far apart is no large table.

    Unless each row fills a column of its own. A row that is repeated stays one.
    """
    distinct = {id(row): row for row in cells.values()}
    filled = {
        key: {j: value for j, value in row.items() if not is_blank(value)}
        for key, row in distinct.items()
    }
    used = sorted({j for row in filled.values() for j in row})
    places = [i for i in sorted(cells) if filled[id(cells[i])]]
    refuse_table(len(places), len(used), path)
    rows = {key: [row.get(j) for j in used] for key, row in filled.items()}
    return [rows[id(cells[i])] for i in places]


def _table(rows: list[list[Any]], place: str, roles: Mapping[str, str | None]) -> Table:
    import pandas as pd

    head = rows[:_LOOK_AT]
    heading = heading_of(head)
    numeric: list[str] = []
    if heading.rows == 0:
        texts = [["" if cell is None else spelled(cell) for cell in row] for row in head]
        numeric = names_from_numbers(texts[heading.titles :], ".")
        heading = Heading(heading.titles, int(has_header(texts[heading.titles :], ".")))
    above = heading.titles + heading.rows
    names = joined_names(rows[heading.titles : above])
    body = rows[above:]
    columns = [_column([row[j] for row in body]) for j in range(len(rows[0]))]
    frame = pd.DataFrame(dict(enumerate(columns)))
    frame.columns = pd.Index(numbered(names) or range(len(columns)), dtype=object)
    frame, remarks = without_remarks(frame)
    frame = with_first_as_index(frame, roles, header=bool(names))
    frame = frame.rename(columns={UNNAMED: "column 1"})
    table = table_of_frame(frame, place, named=bool(names))
    said = [*heading_notes(heading, rows), *numeric, *names_given_twice(names), *remarks]
    return table.noting(*said)


def _column(cells: list[Any]) -> Any:
    """A column as pandas takes it: numbers, dates, or whatever there is."""
    import pandas as pd

    if all(cell is None or isinstance(cell, int | float) for cell in cells):
        numbers = (math.nan if cell is None else cell for cell in cells)
        return pd.Series(np.fromiter(numbers, dtype=np.float64, count=len(cells)))
    texts = [c.isoformat() if isinstance(c, date | datetime) else c for c in cells]
    return pd.Series(texts, dtype=object)
