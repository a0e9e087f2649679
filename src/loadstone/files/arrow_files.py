"""Parquet, Feather and Arrow files: columns of numbers without a detour through data frames."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from loadstone.files.cells import Written, numbers_in
from loadstone.files.errors import TableError
from loadstone.files.foreign import foreign, refuse_beyond_memory
from loadstone.files.frames import notes_on
from loadstone.files.table import Table


def read_parquet(path: Path) -> Table:
    """A Parquet file."""
    with _reader(path, "Parquet"):
        from pyarrow import parquet  # type: ignore[import-untyped]

        declared = parquet.read_metadata(path)
        refuse_beyond_memory(8 * int(declared.num_rows) * int(declared.num_columns), path)
        return table_of_arrow(parquet.read_table(path), path)


def read_arrow(path: Path) -> Table:
    """A Feather file, or an Arrow file or stream."""
    with _reader(path, "Arrow"):
        from pyarrow import ipc

        content = path.read_bytes()
        if content[:4] == b"FEA1":
            msg = f"{path} is Feather of the first version; write it again with a newer program"
            raise TableError(msg)
        whole = content[:6] == b"ARROW1"
        with (ipc.open_file if whole else ipc.open_stream)(content) as reader:
            return table_of_arrow(reader.read_all(), path)


@contextmanager
def _reader(path: Path, kind: str) -> Iterator[None]:
    try:
        import pyarrow as pa  # noqa: F401
    except ImportError as error:
        msg = f"reading {kind} files needs pyarrow: pip install 'loadstone[cli]'"
        raise TableError(msg) from error
    with foreign(path, kind):
        yield


def table_of_arrow(data: Any, path: Path) -> Table:
    """Numbers from the columns of numbers, also in writing; the others are kept for labels."""
    import pyarrow as pa

    # Offsets that point beyond their buffers would be followed otherwise.
    data.validate(full=True)
    refuse_beyond_memory(8 * data.num_rows * data.num_columns, path)
    data, rows = _without_index(data)
    _refuse(data, path)
    numbers: dict[str, Any] = {}
    columns, notes = {}, []
    for name, column in zip(data.column_names, data.columns, strict=True):
        if _counts(column.type):
            numbers[name] = column
            continue
        plain = pa.types.is_temporal(column.type) or pa.types.is_nested(column.type)
        written = None if plain else numbers_in(column.to_pylist())
        if isinstance(written, Written):
            numbers[name] = pa.array(written.values)
            notes += notes_on(name, written)
        else:
            columns[name] = _texts(column)
            notes += [] if written is None else [f"column {name!r} {written}, left out"]
    if not numbers:
        msg = f"{path} has no column of numbers; its columns are {list(columns)[:6]}"
        raise TableError(msg)
    X = np.empty((data.num_rows, len(numbers)))
    for place, column in enumerate(numbers.values()):
        X[:, place] = _floats(column)
    return Table(X, np.array(list(numbers), dtype=object), rows, columns, notes=tuple(notes))


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


def _without_index(data: Any) -> tuple[Any, Any]:
    """The columns, and the names of the rows where pandas kept them in one of them."""
    stored = (data.schema.pandas_metadata or {}).get("index_columns", [])
    named = [name for name in stored if isinstance(name, str) and name in data.column_names]
    if len(named) != 1:
        return data, None
    rows = data.column(named[0])
    return data.drop_columns(named), _texts(rows)


def _floats(column: Any) -> Any:
    """Numbers as floats, with NaN where there are none."""
    import pyarrow as pa

    # Unsafe for whole numbers of more than 53 bits, which are rounded as everywhere.
    floats = column.cast(pa.float64(), safe=False)
    return np.asarray(floats.fill_null(float("nan")))


def _texts(column: Any) -> Any:
    return np.array(["nan" if v is None else str(v) for v in column.to_pylist()], dtype=object)
