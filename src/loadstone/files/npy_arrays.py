"""Arrays in NPY and NPZ files: what a header declares is checked before anything is allocated."""

from __future__ import annotations

import io
import math
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy

from loadstone.files.foreign import MOST_DEFLATED, memory_limit

#: Kinds of numbers and text that files hold; no objects, no records, no dates.
PLAIN_KINDS = "biufcSU"
#: How to read a header, and the bytes of its length, by version.
_READERS = {(1, 0): (npy.read_array_header_1_0, 2), (2, 0): (npy.read_array_header_2_0, 4)}
#: Bytes of a header: shape and type of one array.
_LONGEST_HEADER = 1 << 16
_LARGEST_CODE_POINT = 0x10FFFF


class DamagedError(ValueError):
    """What a file declares and what it holds disagree."""


@dataclass(frozen=True)
class ArrayHeader:
    """What the first bytes of an array declare."""

    shape: tuple[int, ...]
    fortran_order: bool
    dtype: Any
    n_header: int

    @property
    def n_bytes(self) -> int:
        """Bytes that have to follow; empty text counts too, so that nothing is free."""
        return math.prod(self.shape) * max(int(self.dtype.itemsize), 1)

    def arranged(self, content: Any) -> Any:
        """The array these bytes are."""
        dtype = self.dtype
        if dtype.kind == "b" and content.size and content.max() > 1:
            msg = "a truth value that is neither 0 nor 1"
            raise DamagedError(msg)
        flat = content.view(dtype).astype(dtype.newbyteorder("="), copy=False)
        if dtype.kind == "U" and flat.size and flat.view(np.uint32).max() > _LARGEST_CODE_POINT:
            msg = "text with letters that do not exist"
            raise DamagedError(msg)
        return flat.reshape(self.shape, order="F" if self.fortran_order else "C")


def read_header(file: IO[bytes], n_available: int) -> ArrayHeader:
    """The header of an array, refused unless its content can be there."""
    version = npy.read_magic(file)
    if version not in _READERS:
        msg = f"an array of format {version}, which is not known"
        raise DamagedError(msg)
    reader, n_digits = _READERS[version]
    length = file.read(n_digits)
    if int.from_bytes(length, "little") > _LONGEST_HEADER:
        msg = f"a header of {int.from_bytes(length, 'little')} bytes is declared"
        raise DamagedError(msg)
    said = io.BytesIO(length + file.read(int.from_bytes(length, "little")))
    shape, fortran_order, dtype = reader(said)
    if any(type(n) is not int or n < 0 for n in shape) or len(shape) > 8:
        msg = f"an array of shape {shape}"
        raise DamagedError(msg)
    if dtype.kind not in PLAIN_KINDS:
        msg = f"an array of {dtype}; numbers or text are needed"
        raise DamagedError(msg)
    header = ArrayHeader(shape, bool(fortran_order), dtype, file.tell())
    if header.n_header + header.n_bytes > n_available:
        msg = f"an array of shape {shape} is declared, which {n_available} bytes cannot hold"
        raise DamagedError(msg)
    return header


def read_array(file: IO[bytes], n_available: int) -> Any:
    """One array of numbers or text; read into place, so that memory is needed once."""
    header = read_header(file, n_available)
    content: Any = np.empty(header.n_bytes if header.dtype.itemsize else 0, dtype=np.uint8)
    view, place = memoryview(content), 0
    while place < content.size:
        n = file.readinto(view[place : place + (1 << 24)])  # type: ignore[attr-defined]
        if not n:
            msg = f"the file ends after {place} of {content.size} bytes"
            raise DamagedError(msg)
        place += n
    return header.arranged(content)


def read_archive(
    path: Path, wanted: Callable[[str], bool] = lambda _: True, limit: int | None = None
) -> dict[str, Any]:
    """The arrays of an NPZ file that are wanted, by name; the others are not even unpacked.

    Parameters
    ----------
    path : Path
        The file.
    wanted : callable
        Says of a name whether its array is expected.
    limit : int, optional
        Bytes that all of them may take; by default the memory of the machine.
    """
    left = memory_limit() if limit is None else limit
    n_packed = path.stat().st_size
    arrays: dict[str, Any] = {}
    with path.open("rb") as file, zipfile.ZipFile(file) as archive:
        for info in archive.infolist():
            name, _, ending = info.filename.rpartition(".")
            if ending != "npy" or not wanted(name):
                continue
            if name in arrays:
                msg = f"two arrays are called {name!r}"
                raise DamagedError(msg)
            left -= info.file_size
            _refuse_impossible(info, n_packed, left)
            with archive.open(info) as member:
                arrays[name] = read_array(member, info.file_size)
                # Reading on to the end is what makes zipfile compare the check sum.
                if member.read(1):
                    msg = f"bytes follow the array {name!r}"
                    raise DamagedError(msg)
    return arrays


def _refuse_impossible(info: zipfile.ZipInfo, n_packed: int, left: int) -> None:
    if info.compress_type not in {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}:
        msg = f"{info.filename!r} is packed in a way that NumPy never uses"
        raise DamagedError(msg)
    forged = (
        info.compress_size > n_packed
        or info.file_size > MOST_DEFLATED * info.compress_size + MOST_DEFLATED
    )
    if forged or left < 0:
        msg = f"{info.filename!r} declares {info.file_size} bytes, more than it can or may hold"
        raise DamagedError(msg)
