"""Files of strangers: how much they may ask for, and one sentence for whatever they provoke."""

from __future__ import annotations

import gzip
import io
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, cast

from loadstone.files.errors import FileError, TableError

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

#: No run of bytes is packed more tightly than this by deflate.
MOST_DEFLATED = 1032
#: A table stands in memory beside what it is read from, and beside what is worked out from it.
COPIES = 3
#: What a cell takes beside its text, and what ends one.
_CELL_BYTES, _ENDS_OF_CELLS = 8, (b",", b";", b"\t", b"\n")
#: Where the system does not say how much memory it has.
_USUAL_MEMORY = 1 << 36
#: Where Linux says how much memory the processes of a container may have, in both its ways.
_LIMITS_OF_CONTAINERS = (
    "/sys/fs/cgroup/memory.max",
    "/sys/fs/cgroup/memory/memory.limit_in_bytes",
)


@contextmanager
def foreign(path: Path, kind: str, error_type: type[FileError] = TableError) -> Iterator[None]:
    """Turn whatever a reader raises on a damaged file into one sentence.

    Readers of other packages raise a dozen types, and which ones changes between releases.
    """
    try:
        yield
    except FileError:
        raise
    except Exception as error:
        msg = f"{path} cannot be read as {kind} ({first_line(error)})"
        raise error_type(msg) from error


def first_line(error: BaseException) -> str:
    """What an error says, shortened to a line; its name where it says nothing."""
    lines = str(error).strip().splitlines()
    return lines[0][:200] if lines else type(error).__name__


def memory_limit() -> int:
    """Bytes of memory this process may have; more is asked for by mistake or with bad intent.

    Whoever goes beyond the limit of a container is ended without a word.
    """
    try:
        machine = int(os.sysconf("SC_PAGE_SIZE")) * int(os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, OSError, ValueError):
        machine = _USUAL_MEMORY
    return min(machine, _memory_of_container(), _memory_of_process())


@cache
def _memory_of_container() -> int:
    allowed = [_USUAL_MEMORY * _USUAL_MEMORY]
    for path in _LIMITS_OF_CONTAINERS:
        # No such file, or the word for no limit.
        with suppress(OSError, ValueError):
            allowed.append(int(Path(path).read_text()))
    return min(allowed)


def _memory_of_process() -> int:
    try:
        import resource
    except ImportError:
        return _USUAL_MEMORY * _USUAL_MEMORY
    allowed = resource.getrlimit(resource.RLIMIT_AS)[0]
    return _USUAL_MEMORY * _USUAL_MEMORY if allowed == resource.RLIM_INFINITY else int(allowed)


def refuse_beyond_memory(
    n_bytes: int, path: Path, what: str = "a table", limit: int | None = None
) -> None:
    """Refuse a declared size before anything of that size is allocated."""
    if n_bytes > (memory_limit() if limit is None else limit):
        room = "" if limit is None else f", of which it may take {limit / 1e9:.3g} GB"
        msg = (
            f"{path} declares {what} of {n_bytes / 1e9:.3g} GB, and this machine has "
            f"{memory_limit() / 1e9:.3g} GB of memory{room}; it is damaged, or has to be cut into "
            "parts"
        )
        raise TableError(msg)


def refuse_table(n_rows: int, n_columns: int, path: Path) -> None:
    """Refuse numbers that would not fit beside what they are made of and what works with them."""
    refuse_beyond_memory(8 * n_rows * n_columns, path, limit=memory_limit() // COPIES)


class _Bounded(io.RawIOBase):
    """A stream that ends with a sentence instead of filling the memory.

    Cells take memory as well as their text: of two bytes each they take several times as much.
    Where a table has ``n_columns``, a short line has as many cells as any other, most of them
    missing.
    """

    def __init__(self, stream: BinaryIO, path: Path, limit: int, n_columns: int) -> None:
        self._stream, self._path, self._left = stream, path, limit
        self._n_columns = n_columns

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        chunk = self._stream.read(memoryview(buffer).nbytes)
        if self._n_columns:
            n_cells = self._n_columns * chunk.count(b"\n")
        else:
            n_cells = sum(chunk.count(end) for end in _ENDS_OF_CELLS)
        self._left -= len(chunk) + _CELL_BYTES * n_cells
        if self._left < 0:
            msg = f"{self._path} unpacks to more than the memory of this machine; cut it into parts"
            raise TableError(msg)
        memoryview(buffer).cast("B")[: len(chunk)] = chunk
        return len(chunk)

    def close(self) -> None:
        self._stream.close()
        super().close()


def is_gzipped(path: Path) -> bool:
    """Whether the ending says so."""
    return path.suffix.lower() == ".gz"


def opened(path: Path, n_columns: int = 0) -> BinaryIO:
    """The bytes of a file, unpacked where its ending says that it is gzipped.

    Parameters
    ----------
    path : Path
        The file.
    n_columns : int
        Cells of every line, where they are known and will all be stored.
    """
    packed = is_gzipped(path)
    if not packed and not n_columns:
        return path.open("rb")
    stream = cast("BinaryIO", gzip.GzipFile(path, "rb")) if packed else path.open("rb")
    # What is read stands beside what is made of it.
    return io.BufferedReader(_Bounded(stream, path, memory_limit() // 2, n_columns))
