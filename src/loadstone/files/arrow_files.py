"""Parquet, Feather and Arrow files: columns of numbers without a detour through data frames."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from loadstone.files.arrow_batches import (
    read_arrow_batches,
    read_parquet_columns,
    refuse_unpacked,
)
from loadstone.files.cells import Written, numbers_in
from loadstone.files.errors import TableError
from loadstone.files.foreign import foreign, refuse_table
from loadstone.files.frames import ColumnNotes
from loadstone.files.table import Table
from loadstone.files.text_tables import may_name_rows

#: What a text takes beside its letters.
_OBJECT_BYTES = 64
#: An empty cell among words.
_NOTHING = ""
#: What is told of a column that holds more than one value in a cell.
_NESTED = "holds lists or records"


def read_parquet(path: Path, roles: Mapping[str, str | None]) -> Table:
    """A Parquet file."""
    with _reader(path, "Parquet"):
        data, nested = read_parquet_columns(path)
        return _table_of_arrow(data, path, roles, nested)


def read_arrow(path: Path, roles: Mapping[str, str | None]) -> Table:
    """A Feather file, or an Arrow file or stream."""
    with _reader(path, "Arrow"):
        content = path.read_bytes()
        if content[:4] == b"FEA1":
            msg = f"{path} is Feather of the first version; write it again with a newer program"
            raise TableError(msg)
        return _table_of_arrow(read_arrow_batches(content, path), path, roles)


@contextmanager
def _reader(path: Path, kind: str) -> Iterator[None]:
    try:
        import pyarrow as pa  # type: ignore[import-untyped]  # noqa: F401
    except ImportError as error:
        msg = f"reading {kind} files needs pyarrow: pip install 'loadstone[cli]'"
        raise TableError(msg) from error
    with foreign(path, kind):
        yield


def _table_of_arrow(
    data: Any, path: Path, roles: Mapping[str, str | None], nested: Sequence[str] = ()
) -> Table:
    """Numbers from the columns of numbers, also in writing; the others are kept for labels."""
    refuse_table(data.num_rows, data.num_columns, path)
    # Offsets that point beyond their buffers would be followed otherwise.
    data.validate(full=True)
    data, rows = _without_index(data, path, roles)
    _refuse(data, path)
    numbers: dict[str, Any] = {}
    columns: dict[str, Any] = {}
    notes = ColumnNotes()
    for name in nested:
        notes.add(name, _NESTED)
    for name, column in zip(data.column_names, data.columns, strict=True):
        kind = _kind_of_values(column.type)
        if pa_types().is_nested(kind):
            notes.add(name, _NESTED)
        elif _counts(kind):
            numbers[name] = column
        else:
            values = _objects(column, path)
            written = None if pa_types().is_temporal(kind) else numbers_in(values)
            if isinstance(written, Written):
                numbers[name] = written.values
            else:
                columns[name] = _texts(values)
            notes.add(name, written)
    if not numbers:
        msg = f"{path} has no column of numbers; its columns are {list(columns)[:6]}"
        raise TableError(msg)
    X = np.empty((data.num_rows, len(numbers)))
    for place, column in enumerate(numbers.values()):
        X[:, place] = column if isinstance(column, np.ndarray) else _floats(column)
    if rows is None and may_name_rows(data.column_names[0], roles):
        rows = _names_in(columns, data.column_names[0])
    return Table(X, np.array(list(numbers), dtype=object), rows, columns, notes=notes.told())


def _names_in(columns: dict[str, Any], first: str) -> Any:
    """The names of the rows from the first column, where it is one of words that do not repeat."""
    values = columns.get(first)
    if values is None or _NOTHING in values or len(set(values)) < len(values):
        return None
    return columns.pop(first)


def pa_types() -> Any:
    """What pyarrow knows of kinds of columns."""
    from pyarrow import types

    return types


def _kind_of_values(kind: Any) -> Any:
    """What a column holds, however often its values are written down."""
    types = pa_types()
    if types.is_dictionary(kind) or types.is_run_end_encoded(kind):
        return kind.value_type
    return kind


def _counts(kind: Any) -> bool:
    """Whether a column is one of numbers, as it is or after a cast."""
    from pyarrow import types

    checks = (
        types.is_floating,
        types.is_integer,
        types.is_boolean,
        types.is_decimal,
        types.is_null,
    )
    return any(check(kind) for check in checks)


def _refuse(data: Any, path: Path) -> None:
    if data.num_rows == 0 or data.num_columns == 0:
        msg = f"{path} holds no {'rows' if data.num_rows == 0 else 'columns'}"
        raise TableError(msg)
    seen: set[str] = set()
    for name in data.column_names:
        if name in seen:
            msg = f"{path} has two columns called {name!r}; give each a name of its own"
            raise TableError(msg)
        seen.add(name)


def _without_index(data: Any, path: Path, roles: Mapping[str, str | None]) -> tuple[Any, Any]:
    """The columns, and the names of the rows where pandas kept them in one of them.

    Unless somebody has said what that one is for.
    """
    stored = (data.schema.pandas_metadata or {}).get("index_columns", [])
    named = [name for name in stored if isinstance(name, str) and name in data.column_names]
    if len(named) != 1 or named[0] in roles.values():
        return data, None
    rows = data.column(named[0])
    return data.drop_columns(named), _texts(_objects(rows, path))


def _floats(column: Any) -> Any:
    """Numbers as floats, with NaN where there are none."""
    import pyarrow as pa
    from pyarrow import compute

    if pa.types.is_run_end_encoded(column.type):
        column = compute.run_end_decode(column)
    # Unsafe for whole numbers of more than 53 bits, which are rounded as everywhere.
    floats = column.cast(pa.float64(), safe=False)
    return np.asarray(floats.fill_null(float("nan")))


def _objects(column: Any, path: Path) -> list[Any]:
    """The values of a column; one that many rows repeat is one object."""
    import pyarrow as pa
    from pyarrow import compute

    if pa.types.is_run_end_encoded(column.type):
        runs = pa.chunked_array([_runs_of_codes(chunk) for chunk in column.chunks])
        return _objects(runs, path)
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    found: list[Any] = []
    shared: dict[Any, Any] = {}
    for chunk in column.chunks:
        refuse_unpacked(_OBJECT_BYTES * len(chunk.dictionary) + chunk.dictionary.nbytes, path)
        values = [*chunk.dictionary.to_pylist(), None]
        values = [shared.setdefault(value, value) for value in values]
        codes = compute.fill_null(chunk.indices.cast(pa.int64()), len(values) - 1)
        found += [values[code] for code in codes.to_numpy()]
    return found


def _runs_of_codes(chunk: Any) -> Any:
    """Runs of values, written with a code for each value instead."""
    import pyarrow as pa
    from pyarrow import compute

    coded = chunk.values.dictionary_encode()
    runs = pa.RunEndEncodedArray.from_arrays(chunk.run_ends, coded.indices)
    whole = compute.run_end_decode(runs.slice(chunk.offset, len(chunk)))
    return pa.DictionaryArray.from_arrays(whole, coded.dictionary)


def _texts(values: list[Any]) -> Any:
    spelled = {value: _NOTHING if value is None else str(value) for value in set(values)}
    return np.array([spelled[value] for value in values], dtype=object)
