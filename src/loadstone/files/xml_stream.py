"""XML inside ZIP archives of strangers, read as a stream of elements."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from pathlib import Path
from xml.parsers import expat

from loadstone.files.errors import TableError
from loadstone.files.foreign import memory_limit

_CHUNK = 1 << 16
#: What is made of a document takes about so many times its size: a cell takes 15 letters.
_GROWTH = 8
#: Bytes of a tag with its attributes; the parser looks at one from its beginning with every chunk.
_LONGEST_TAG = 1 << 22
#: Elements within elements, and digits of a number that counts rows, columns, styles or texts.
_DEEPEST, _MOST_DIGITS = 1000, 20
Attributes = dict[str, str]


def read_elements(
    archive: zipfile.ZipFile,
    member: str,
    path: Path,
    *,
    start: Callable[[str, Attributes], None],
    end: Callable[[str], None],
    text: Callable[[str], None],
) -> None:
    """Tell of every element of a member, by its name without a namespace.

    Documents with definitions of their own are refused: they can say little and mean
    gigabytes, and no spreadsheet program writes them.
    """
    parser = expat.ParserCreate()
    depth = 0
    parser.buffer_text = True

    def refuse(*_: object) -> None:
        msg = f"{path} defines XML entities, which no spreadsheet program does; it is not read"
        raise TableError(msg)

    def begin(name: str, attributes: Attributes) -> None:
        nonlocal depth
        depth += 1
        if depth > _DEEPEST:
            msg = f"{path} has more than {_DEEPEST} elements within each other; it is damaged"
            raise TableError(msg)
        start(_local(name), attributes)

    def finish(name: str) -> None:
        nonlocal depth
        depth -= 1
        end(_local(name))

    parser.StartDoctypeDeclHandler = refuse
    parser.StartElementHandler = begin
    parser.EndElementHandler = finish
    parser.CharacterDataHandler = text
    limit, n_read = memory_limit() // _GROWTH, 0
    with archive.open(member) as stream:
        while chunk := stream.read(_CHUNK):
            n_read += len(chunk)
            if n_read > limit:
                msg = f"{path} unpacks to more than the memory of this machine"
                raise TableError(msg)
            parser.Parse(chunk)
            if n_read - parser.CurrentByteIndex > _LONGEST_TAG:
                msg = f"{path} has a tag of more than {_LONGEST_TAG >> 20} MB; it is damaged"
                raise TableError(msg)
        parser.Parse(b"", True)  # noqa: FBT003


def _local(name: str) -> str:
    return name.rpartition(":")[2]


def attribute(attributes: Attributes, name: str) -> str | None:
    """The value of an attribute, whatever the namespace is called in this file."""
    for key, value in attributes.items():
        if key.rpartition(":")[2] == name:
            return value
    return None


def whole_number(given: str, path: Path) -> int | None:
    """A number that is written in digits alone; nothing where there is something else."""
    if not given.isdecimal():
        return None
    if len(given) > _MOST_DIGITS:
        msg = f"{path} counts rows, columns or texts by a number of {len(given)} digits; it is damaged"
        raise TableError(msg)
    return int(given)
