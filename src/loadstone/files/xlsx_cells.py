"""XLSX: where the cells of each sheet are, and which of them are dates."""

from __future__ import annotations

import posixpath
import re
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from loadstone.files.errors import TableError
from loadstone.files.sheets import (
    Cells,
    Repeated,
    Sheet,
    cell_bytes,
    refuse_beyond_sheet,
    refuse_many_sheets,
)
from loadstone.files.xml_stream import Attributes, attribute, read_elements, whole_number

#: Number formats that every program knows to be dates or times.
_DATE_FORMATS = frozenset({*range(14, 23), *range(27, 37), *range(45, 48), *range(50, 59)})
_QUOTED = re.compile(r'"[^"]*"|\[[^\]]*\]|\\.')
_REFERENCE = re.compile(r"([A-Z]{1,3})([0-9]{1,7})")


def xlsx_sheets(archive: zipfile.ZipFile, path: Path) -> list[Sheet]:
    """The sheets of cells, in the order of their tabs."""
    members = set(archive.namelist())
    if "xl/workbook.xml" not in members:
        msg = f"{path} is no XLSX file: it has no workbook"
        raise TableError(msg)
    targets = _targets(archive, path) if "xl/_rels/workbook.xml.rels" in members else {}
    described: list[Attributes] = []
    epoch = [datetime(1899, 12, 30)]

    def start(name: str, attributes: Attributes) -> None:
        if name == "sheet":
            described.append(attributes)
            refuse_many_sheets(len(described), path)
        elif name == "workbookPr" and attributes.get("date1904") in {"1", "true"}:
            epoch[0] = datetime(1904, 1, 1)

    _read(archive, "xl/workbook.xml", path, start)
    shared = _Later(lambda: _shared_strings(archive, path))
    dates = _Later(lambda: _date_styles(archive, path))
    repeated = Repeated(path)
    sheets: dict[str, Sheet] = {}
    for attributes in described:
        member = targets.get(attribute(attributes, "id") or "", "")
        if member in sheets:
            msg = f"{path} has two sheets with the same cells, {member}; it is damaged"
            raise TableError(msg)
        if member in members:
            hidden = attributes.get("state", "visible") != "visible"
            reader = _SheetReader(archive, path, member, shared, dates, repeated, epoch[0])
            sheets[member] = Sheet(attributes.get("name", member), hidden, reader.cells)
    return list(sheets.values())


@dataclass
class _Later:
    """A value that is read once, and only if somebody asks."""

    read: Callable[[], Any]
    value: Any = None

    def __call__(self) -> Any:
        if self.value is None:
            self.value = self.read()
        return self.value


def _read(
    archive: zipfile.ZipFile,
    member: str,
    path: Path,
    start: Callable[[str, Attributes], None],
) -> None:
    read_elements(archive, member, path, start=start, end=lambda _: None, text=lambda _: None)


def _targets(archive: zipfile.ZipFile, path: Path) -> dict[str, str]:
    """Which member of the archive a relation of the workbook points to."""
    found: dict[str, str] = {}

    def start(name: str, attributes: Attributes) -> None:
        if name == "Relationship" and attributes.get("Type", "").endswith("/worksheet"):
            target = attributes.get("Target", "")
            place = target.lstrip("/") if target.startswith("/") else f"xl/{target}"
            found[attributes.get("Id", "")] = posixpath.normpath(place)

    _read(archive, "xl/_rels/workbook.xml.rels", path, start)
    return found


def _shared_strings(archive: zipfile.ZipFile, path: Path) -> list[str]:
    """Texts that cells refer to by number; phonetic readings are no part of them."""
    member = "xl/sharedStrings.xml"
    if member not in archive.namelist():
        return []
    strings: list[str] = []
    parts: list[str] = []
    state = {"in_text": False, "aside": False}

    def start(name: str, _: Attributes) -> None:
        if name == "si":
            parts.clear()
        elif name == "rPh":
            state["aside"] = True
        state["in_text"] = name == "t" and not state["aside"]

    def end(name: str) -> None:
        state["in_text"] = False
        if name == "si":
            strings.append("".join(parts))
        elif name == "rPh":
            state["aside"] = False

    def text(piece: str) -> None:
        if state["in_text"]:
            parts.append(piece)

    read_elements(archive, member, path, start=start, end=end, text=text)
    return strings


def _date_styles(archive: zipfile.ZipFile, path: Path) -> list[bool]:
    """Whether each style of cells shows dates."""
    if "xl/styles.xml" not in archive.namelist():
        return []
    own: dict[str, bool] = {}
    styles: list[bool] = []
    inside = {"cellXfs": False}

    def start(name: str, attributes: Attributes) -> None:
        if name == "numFmt":
            own[attributes.get("numFmtId", "")] = shows_dates(attributes.get("formatCode", ""))
        elif name == "cellXfs":
            inside["cellXfs"] = True
        elif name == "xf" and inside["cellXfs"]:
            number = attributes.get("numFmtId", "0")
            usual = whole_number(number, path) in _DATE_FORMATS
            styles.append(own.get(number, usual))

    def end(name: str) -> None:
        if name == "cellXfs":
            inside["cellXfs"] = False

    read_elements(archive, "xl/styles.xml", path, start=start, end=end, text=lambda _: None)
    return styles


def shows_dates(format_code: str) -> bool:
    """Whether a number format has days, months or years outside of quotes and brackets."""
    bare = _QUOTED.sub("", format_code).lower().replace("general", "")
    return any(letter in bare for letter in "dy") or ("m" in bare and "0" not in bare)


@dataclass
class _SheetReader:
    """Collects the cells of a sheet while its elements pass by."""

    archive: zipfile.ZipFile
    path: Path
    member: str
    shared: _Later
    dates: _Later
    repeated: Repeated
    epoch: datetime
    found: Cells = field(default_factory=dict)
    row: int = -1
    column: int = -1
    kind: str = "n"
    style: int = 0
    in_value: bool = False
    has_formula: bool = False
    parts: list[str] = field(default_factory=list)
    uncalculated: int = 0

    def cells(self) -> Cells:
        """Read the sheet."""
        read_elements(
            self.archive, self.member, self.path, start=self.start, end=self.end, text=self.text
        )
        if self.uncalculated:
            msg = (
                f"{self.path} has {self.uncalculated} formula(s) that were never calculated; open it in "
                "a spreadsheet program and save it"
            )
            raise TableError(msg)
        return self.found

    def start(self, name: str, attributes: Attributes) -> None:
        """A row, a cell, or what is in a cell."""
        if name == "c":
            self._begin_cell(attributes)
        elif name == "row":
            number = whole_number(attributes.get("r", ""), self.path)
            self.row = self.row + 1 if number is None else number - 1
            self.column = -1
        elif name in {"v", "t"}:
            self.in_value = True
        elif name == "f":
            self.has_formula = True

    def _begin_cell(self, attributes: Attributes) -> None:
        place = _REFERENCE.fullmatch(attributes.get("r", ""))
        self.column += 1
        if place is not None:
            self.row, self.column = int(place[2]) - 1, _column_number(place[1])
        refuse_beyond_sheet(self.row, self.column, self.path)
        self.kind = attributes.get("t", "n")
        self.style = whole_number(attributes.get("s", ""), self.path) or 0
        self.has_formula = False
        self.parts.clear()

    def end(self, name: str) -> None:
        """A cell is complete."""
        if name in {"v", "t"}:
            self.in_value = False
        elif name == "c":
            text = "".join(self.parts)
            if text:
                self.found.setdefault(self.row, {})[self.column] = self._value(text)
            elif self.has_formula and self.kind != "str":
                self.uncalculated += 1

    def text(self, piece: str) -> None:
        """What stands in a cell."""
        if self.in_value:
            self.parts.append(piece)

    def _value(self, text: str) -> Any:
        if self.kind == "s":
            return self._shared_text(text)
        if self.kind == "b":
            return float(text)
        if self.kind != "n":
            return text
        number = float(text)
        dates = self.dates()
        if self.style < len(dates) and dates[self.style]:
            return self.epoch + timedelta(days=number)
        return number

    def _shared_text(self, number: str) -> str:
        texts, place = self.shared(), whole_number(number.strip(), self.path)
        if place is None or place >= len(texts):
            msg = (
                f"{self.path} has a cell that refers to text {number[:20]!r} of {len(texts)}; it is "
                "damaged"
            )
            raise TableError(msg)
        text: str = texts[place]
        self.repeated.count(cell_bytes(text))
        return text


def _column_number(letters: str) -> int:
    number = 0
    for letter in letters:
        number = 26 * number + ord(letter) - ord("A") + 1
    return number - 1
