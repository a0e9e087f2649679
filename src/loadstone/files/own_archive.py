"""Files of this package, models and certificates: one reader, one sentence where it fails."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from loadstone._version import __version__
from loadstone.files.atomic import writing
from loadstone.files.errors import MissingFileError
from loadstone.files.foreign import first_line, memory_limit
from loadstone.files.npy_arrays import DamagedError, read_archive

#: Bytes that the arrays of a model or a certificate may take.
LIMIT = 1 << 32
#: The member by which each kind of file is known; files of other people have none of them.
SAMPLE_HEADER, MODEL_HEADER = "loadstone_covariance_json", "loadstone_json"
DUAL_FEATURES, JOINT_FORMAT = "dual_features", "joint_format"
#: What a file with such a member is.
KINDS = {
    SAMPLE_HEADER: "a covariance that loadstone covariance or SampleCovariance wrote",
    MODEL_HEADER: "a model that loadstone fit or save_model wrote",
    JOINT_FORMAT: "a certificate",
    DUAL_FEATURES: "a certificate",
}

_RELEASE = re.compile(r"\d{1,4}\.\d{1,4}(?![^.])")


@contextmanager
def damaged(path: Path, way_out: str, error_type: type[Exception]) -> Iterator[None]:
    """Whatever a damaged or forged file provokes, as one sentence of one type."""
    try:
        yield
    except (MissingFileError, error_type):
        raise
    except Exception as error:
        msg = f"{path} is damaged ({first_line(error)}); {way_out}"
        raise error_type(msg) from error


@contextmanager
def from_release(
    version: Any, path: Path, way_out: str, error_type: type[Exception]
) -> Iterator[None]:
    """What a file of another release has that this one does not know is no damage."""
    try:
        yield
    except Exception as error:
        there, here = _release_of(version), _release_of(__version__)
        if there is None or there == here:
            raise
        msg = (
            f"{path} was written by loadstone {there}, which this {here} does not read "
            f"({first_line(error)}); {way_out}"
        )
        raise error_type(msg) from error


def _release_of(version: Any) -> str | None:
    """The first two numbers of a version; ``None`` where it is none."""
    found = _RELEASE.match(version) if isinstance(version, str) else None
    return None if found is None else found[0]


def write_own(path: Path, arrays: dict[str, Any]) -> None:
    """Write arrays to exactly this path, complete or not at all."""
    with writing(path) as temporary, temporary.open("wb") as file:
        np.savez_compressed(file, **arrays)


def read_own(path: Path, wanted: Callable[[str], bool]) -> dict[str, Any]:
    """The arrays that are wanted; nothing else is unpacked."""
    with path.open("rb") as file:
        if file.read(2) != b"PK":
            return {}
    return read_archive(path, wanted, min(LIMIT, memory_limit() // 2))


def has_member(path: Path, name: str) -> bool:
    """Whether an archive has a member of this name."""
    return name in read_own(path, lambda member: member == name)


def refuse_version(
    header: Mapping[str, Any], newest: int, path: Path, error_type: type[Exception]
) -> None:
    """Refuse a format that only a later version of this package knows, and one that none does."""
    version = header.get("format_version")
    if type(version) is not int or version < 1:
        msg = f"format version {version!r}, which is not known"
        raise DamagedError(msg)
    if version > newest:
        msg = (
            f"{path} was written by loadstone {header.get('loadstone_version')}, newer than this "
            f"{__version__}: upgrade with pip install --upgrade loadstone"
        )
        raise error_type(msg)


def text_of(array: Any) -> str:
    """A single text that is stored as an array."""
    if array.shape != () or array.dtype.kind != "U":
        msg = f"{array.dtype} of shape {array.shape} in the place of a text"
        raise DamagedError(msg)
    return str(array)


def json_of(array: Any) -> Any:
    """The JSON of a text; numbers that JSON does not know are refused."""
    return json.loads(text_of(array), parse_constant=_no_number)


def _no_number(word: str) -> NoReturn:
    msg = f"{word} in the place of a number"
    raise DamagedError(msg)


def checked(array: Any, name: str, kinds: str, ndim: int) -> Any:
    """An array of the kind and dimension that are expected, all of it finite."""
    if array.dtype.kind not in kinds or array.ndim != ndim:
        msg = f"{name} is {array.dtype} with {array.ndim} dimension(s)"
        raise DamagedError(msg)
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        msg = f"{name} holds NaN or infinity"
        raise DamagedError(msg)
    return array
