"""JSON: one object per line, or a list of objects; each is a sample."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from loadstone.files.errors import TableError
from loadstone.files.foreign import first_line, foreign, refuse_beyond_memory, refuse_table
from loadstone.files.frames import table_of_frame
from loadstone.files.table import Table
from loadstone.files.text_tables import lines_of, with_first_as_index
from loadstone.files.totals import without_totals

#: Objects in objects become columns ``outer.inner`` down to this depth.
_DEEPEST = 8
#: Digits of an integer beyond which it is read as a number with an exponent is.
_DIGITS = 400
#: About what an object and a value take while a table is made of them.
_OBJECT_BYTES, _VALUE_BYTES = 500, 60


def read_json_lines(path: Path, roles: Mapping[str, str | None]) -> Table:
    """Read a table from JSON, gzipped or not."""
    import pandas as pd

    with foreign(path, "JSON lines"):
        lines = lines_of(path)
        if not lines:
            msg = f"{path} is empty"
            raise TableError(msg)
        _refuse_crowded(lines, path)
        records = _records(lines, path)
        flat = [_flat(record) for record in records]
        # Whoever lacks a name gets an empty cell.
        refuse_table(len(flat), len(set().union(*flat)), path)
        frame = pd.DataFrame(flat)
        table = table_of_frame(with_first_as_index(frame, roles, header=True), str(path))
    return without_totals(table)


def _refuse_crowded(lines: list[str], path: Path) -> None:
    """Refuse a few letters for each of so many objects that these would fill the memory."""
    n_objects = sum(line.count("{") for line in lines)
    n_values = sum(line.count(":") + line.count(",") for line in lines)
    refuse_beyond_memory(_OBJECT_BYTES * n_objects + _VALUE_BYTES * n_values, path, "objects")


def _records(lines: list[str], path: Path) -> list[dict[str, Any]]:
    if lines[0].lstrip().startswith("[") or path.suffix.lower() == ".json":
        whole = _loaded("".join(lines))
        records = whole if isinstance(whole, list) else [whole]
    else:
        records = [_parsed(line, number, path) for number, line in enumerate(lines, 1)]
    if len(records) == 1 and isinstance(records[0], dict):
        return _columns(records[0])
    for number, record in enumerate(records, 1):
        if not isinstance(record, dict):
            msg = (
                f"{path}: entry {number} is {str(record)[:40]!r}; every sample has to be an object "
                'such as {"height": 1.5, "width": 2.0}'
            )
            raise TableError(msg)
    return list(records)


def _columns(record: dict[str, Any]) -> list[dict[str, Any]]:
    """A single object may hold columns: lists of one length."""
    lengths = {len(value) if isinstance(value, list) else 0 for value in record.values()}
    if len(lengths) != 1 or lengths == {0}:
        return [record]
    return [dict(zip(record, row, strict=True)) for row in zip(*record.values(), strict=True)]


def _parsed(line: str, number: int, path: Path) -> Any:
    try:
        return _loaded(line)
    except ValueError as error:
        msg = (
            f"{path} cannot be read as JSON lines: line {number} is no JSON ({first_line(error)}); "
            "write one object per line, or a list of objects"
        )
        raise TableError(msg) from error


def _loaded(text: str) -> Any:
    try:
        # A number of thousands of digits is as infinite as 1e999.
        return json.loads(
            text, parse_int=lambda digits: (int, float)[len(digits) > _DIGITS](digits)
        )
    except RecursionError as error:
        msg = "lists or objects are nested too deep for a table"
        raise ValueError(msg) from error


def _flat(record: dict[str, Any], above: str = "", depth: int = 0) -> dict[str, Any]:
    """Objects within objects as columns of their own; lists as text."""
    flat: dict[str, Any] = {}
    for spelled, value in record.items():
        name = _whole(spelled)
        if isinstance(value, dict) and depth < _DEEPEST:
            flat |= _flat(value, f"{above}{name}.", depth + 1)
        elif isinstance(value, dict | list):
            flat[f"{above}{name}"] = json.dumps(value)
        else:
            flat[f"{above}{name}"] = _whole(value) if isinstance(value, str) else value
    return flat


def _whole(text: str) -> str:
    """The text with halves of characters written out: JSON may hold them, and no other file does."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode("utf-8")
