"""Files appear under their name only when they are complete."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from loadstone.files.errors import ExistingFileError, UnwritableFileError


def refuse_existing(paths: list[Path], *, force: bool) -> None:
    """Raise before any work is done if a file would be overwritten."""
    taken = [path for path in paths if path.exists()]
    if taken and not force:
        names = ", ".join(str(path) for path in taken)
        msg = f"{names} exists already; choose another place, or add --force to overwrite"
        raise ExistingFileError(msg)


@contextmanager
def writing(path: Path | str) -> Iterator[Path]:
    """A temporary name beside ``path`` that becomes ``path`` when the block ends well.

    Whatever ends the block otherwise (an error, a full disk, Ctrl-C) leaves no file
    behind, and an older file of that name as it was.
    """
    path = Path(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(
            prefix=f".{path.stem}-", suffix=path.suffix, dir=path.parent
        )
    except OSError as error:
        raise UnwritableFileError(_sentence(path, error)) from error
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        _store_durably(temporary)
        temporary.replace(path)
    except OSError as error:
        raise UnwritableFileError(_sentence(path, error)) from error
    finally:
        temporary.unlink(missing_ok=True)


def _store_durably(temporary: Path) -> None:
    """Give the file the usual permissions, and make sure that it reached the disk."""
    umask = os.umask(0)
    os.umask(umask)
    temporary.chmod(0o666 & ~umask)
    with temporary.open("rb+") as file:
        os.fsync(file.fileno())


def _sentence(path: Path, error: OSError) -> str:
    reason = error.strerror or str(error)
    return f"{path} could not be written ({reason}); nothing was left behind"
