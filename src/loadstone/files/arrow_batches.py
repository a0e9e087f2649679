"""Batches of Parquet and Arrow files, counted before and while they are unpacked.

A file of a kilobyte may unpack to more than any machine holds: constant columns, one long text
that every row repeats, buffers packed a thousandfold. Whoever fills the memory is ended without a
word, so what a file says of itself is added up first.

Notation: a message of Arrow is a table of FlatBuffers: at its place stands the way back to a list
of two-byte offsets, one for each field, zero where a field is left out.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from loadstone.files.foreign import COPIES, memory_limit, refuse_beyond_memory, refuse_table
from loadstone.files.npy_arrays import DamagedError

#: Cells that are unpacked together, and rows at least.
_CELLS, _FEWEST_ROWS = 1 << 20, 256
#: Fields of a message, of a batch and of a dictionary, which holds a batch.
_HEADER_TYPE, _HEADER, _BUFFERS, _PACKED, _BATCH = 1, 2, 2, 3, 1
_IS_DICTIONARY, _IS_BATCH = 2, 3
#: Fields of a table of contents: where dictionaries and batches lie.
_BLOCKS = (2, 3)
#: How an Arrow file begins, and ends behind its table of contents.
_MAGIC = b"ARROW1"


def read_parquet_columns(path: Path) -> tuple[Any, list[str]]:
    """All columns but those of lists and records, as an Arrow table; and the names of these."""
    import pyarrow as pa  # type: ignore[import-untyped]
    from pyarrow import parquet

    declared = parquet.ParquetFile(path)
    schema, metadata = declared.schema_arrow, declared.metadata
    nested = [field.name for field in schema if pa.types.is_nested(field.type)]
    flat = [field.name for field in schema if not pa.types.is_nested(field.type)]
    refuse_table(int(metadata.num_rows), len(flat), path)
    refuse_unpacked(_declared_bytes(metadata, len(flat)), path)
    # A text that every row repeats stays one text.
    texts = [name for name in flat if _is_text(schema.field(schema.names.index(name)).type)]
    try:
        return _flat_columns(path, flat, texts), nested
    except (OSError, pa.ArrowNotImplementedError) as error:
        # Texts that are written as differences have no table of values to be read by.
        if "Not yet implemented" not in str(error):
            raise
        return _flat_columns(path, flat, []), nested


def _flat_columns(path: Path, flat: list[str], texts: list[str]) -> Any:
    """The columns of some names; of ``texts`` each value is read once."""
    import pyarrow as pa
    from pyarrow import parquet

    file = parquet.ParquetFile(path, read_dictionary=texts)
    rows = max(_FEWEST_ROWS, _CELLS // max(1, len(flat)))
    batches = _counted(file.iter_batches(batch_size=rows, columns=flat), path)
    kept = [field for field in file.schema_arrow if field.name in set(flat)]
    schema = pa.schema(kept, file.schema_arrow.metadata)
    return pa.Table.from_batches(batches, batches[0].schema if batches else schema)


def _is_text(kind: Any) -> bool:
    from pyarrow import types

    checks = (types.is_string, types.is_large_string, types.is_binary, types.is_large_binary)
    return any(check(kind) for check in checks)


def _declared_bytes(metadata: Any, n_columns: int) -> int:
    """What the columns unpack to, by what is said of their pages and of their values.

    Groups of rows are asked, not their columns: where the statistics of one do not match its
    kind, pyarrow ends the process.
    """
    groups = [metadata.row_group(i) for i in range(metadata.num_row_groups)]
    return sum(max(int(g.total_byte_size), 4 * int(g.num_rows) * n_columns) for g in groups)


def read_arrow_batches(content: bytes, path: Path) -> Any:
    """The table of an Arrow file or stream."""
    import pyarrow as pa

    whole, unpacked = content[:6] == _MAGIC, 0
    for message in (
        _messages_of_file(content) if whole else pa.ipc.MessageReader.open_stream(content)
    ):
        unpacked += _unpacked(message)
        refuse_unpacked(unpacked, path)
    if not whole:
        with pa.ipc.open_stream(content) as stream:
            return pa.Table.from_batches(_counted(stream, path), stream.schema)
    with pa.ipc.open_file(content) as file:
        batches = (file.get_batch(i) for i in range(file.num_record_batches))
        return pa.Table.from_batches(_counted(batches, path), file.schema)


def _messages_of_file(content: bytes) -> Iterator[Any]:
    """The messages that the table of contents at the end of a file leads to.

    The file is a stream as well, but for those of some programs, which begin in another way.
    """
    import pyarrow as pa

    buffer = pa.py_buffer(content)
    with _inside():
        (size,) = struct.unpack_from("<i", content, len(content) - 10)
        footer = content[max(0, len(content) - 10 - size) : -10]
        table = _after(footer, 0)
        places = [_field(footer, table, number) for number in _BLOCKS]
        blocks = [block for place in places if place for block in _blocks(footer, place)]
    for offset, n_said, n_body in blocks:
        if not 0 <= offset <= offset + n_said + n_body <= len(content):
            msg = "a table of contents that leads out of the file"
            raise DamagedError(msg)
        yield pa.ipc.read_message(buffer.slice(offset, n_said + n_body))


def _blocks(footer: bytes, place: int) -> list[tuple[int, int, int]]:
    place = _after(footer, place)
    (count,) = struct.unpack_from("<I", footer, place)
    return [struct.unpack_from("<qi4xq", footer, place + 4 + 24 * i) for i in range(count)]


@contextmanager
def _inside() -> Iterator[None]:
    """Offsets that lead elsewhere, as a sentence."""
    try:
        yield
    except (struct.error, IndexError) as error:
        msg = "a message whose parts lie outside of it"
        raise DamagedError(msg) from error


def _unpacked(message: Any) -> int:
    """Bytes that the buffers of a message take once they are unpacked."""
    said, body = message.metadata.to_pybytes(), message.body
    with _inside():
        place = _after(said, 0)
        kind, header = _field(said, place, _HEADER_TYPE), _field(said, place, _HEADER)
        if kind is None or header is None or said[kind] not in {_IS_DICTIONARY, _IS_BATCH}:
            return 0
        batch = _after(said, header)
        if said[kind] == _IS_DICTIONARY:
            inner = _field(said, batch, _BATCH)
            batch = batch if inner is None else _after(said, inner)
        buffers = _field(said, batch, _BUFFERS)
        if buffers is None or body is None or _field(said, batch, _PACKED) is None:
            return 0
        return _sum_of_buffers(said, _after(said, buffers), memoryview(body))


def _sum_of_buffers(said: bytes, place: int, body: memoryview) -> int:
    """What the packed buffers of a batch say of themselves in their first eight bytes."""
    (count,) = struct.unpack_from("<I", said, place)
    total = 0
    for i in range(count):
        offset, length = struct.unpack_from("<qq", said, place + 4 + 16 * i)
        if length >= 8:
            # Minus one says that a buffer was not worth packing.
            total += max(int(struct.unpack_from("<q", body, offset)[0]), length)
    return total


def _after(said: bytes, place: int) -> int:
    """Where an offset leads."""
    return place + int(struct.unpack_from("<I", said, place)[0])


def _field(said: bytes, table: int, number: int) -> int | None:
    """Where a field of a table stands, or ``None`` where it is left out."""
    offsets = table - int(struct.unpack_from("<i", said, table)[0])
    (size,) = struct.unpack_from("<H", said, offsets)
    if 4 + 2 * number + 2 > size:
        return None
    (away,) = struct.unpack_from("<H", said, offsets + 4 + 2 * number)
    return table + int(away) if away else None


def _counted(batches: Iterable[Any], path: Path) -> list[Any]:
    """The batches, as long as what they took of the memory leaves room for the table."""
    import pyarrow as pa

    before, kept = pa.total_allocated_bytes(), []
    for batch in batches:
        kept.append(batch)
        refuse_unpacked(pa.total_allocated_bytes() - before, path)
    return kept


def refuse_unpacked(n_bytes: int, path: Path) -> None:
    """Refuse columns that would leave no room for the numbers that are made of them."""
    refuse_beyond_memory(n_bytes, path, "columns", limit=memory_limit() // COPIES)
