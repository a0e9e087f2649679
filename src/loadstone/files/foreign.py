"""Files of strangers: how much they may ask for, and one sentence for whatever they provoke."""

from __future__ import annotations

import gzip
import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, cast

from loadstone.files.errors import FileError, TableError

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

#: No run of bytes is packed more tightly than this by deflate.
MOST_DEFLATED = 1032
#: What a cell takes beside its text, and what ends one.
_CELL_BYTES, _ENDS_OF_CELLS = 8, (b",", b";", b"\t", b"\n")
#: Where the system does not say how much memory it has.
_USUAL_MEMORY = 1 << 36


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
    """Bytes of memory this machine has; more is asked for by mistake or with bad intent."""
    try:
        return int(os.sysconf("SC_PAGE_SIZE")) * int(os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, OSError, ValueError):
        return _USUAL_MEMORY


def refuse_beyond_memory(n_bytes: int, path: Path, what: str = "a table") -> None:
    """Refuse a declared size before anything of that size is allocated."""
    limit = memory_limit()
    if n_bytes > limit:
        msg = (
            f"{path} declares {what} of {n_bytes / 1e9:.3g} GB, and this machine has "
            f"{limit / 1e9:.3g} GB of memory; it is damaged, or has to be cut into parts"
        )
        raise TableError(msg)


class _Bounded(io.RawIOBase):
    """A stream that ends with a sentence instead of filling the memory.

    Cells take memory as well as their text: of two bytes each they take several times as much.
    """

    def __init__(self, stream: BinaryIO, path: Path, limit: int) -> None:
        self._stream, self._path, self._left = stream, path, limit

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        chunk = self._stream.read(memoryview(buffer).nbytes)
        self._left -= len(chunk) + _CELL_BYTES * sum(chunk.count(end) for end in _ENDS_OF_CELLS)
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


def opened(path: Path) -> BinaryIO:
    """The bytes of a file, unpacked where its ending says that it is gzipped."""
    if not is_gzipped(path):
        return path.open("rb")
    stream = cast("BinaryIO", gzip.GzipFile(path, "rb"))
    # What is read stands beside what is made of it.
    return io.BufferedReader(_Bounded(stream, path, memory_limit() // 2))
