"""Whether a file is there and may be read."""

from __future__ import annotations

from pathlib import Path

from loadstone.files.errors import MissingFileError


def is_at_hand(path: Path) -> bool:
    """Whether there is a regular file; one that may not be read is refused with the reason.

    Systems raise where a name is too long, or where a folder on the way may not be entered.
    """
    try:
        if not path.is_file():
            return False
        with path.open("rb"):
            return True
    except OSError as error:
        msg = f"{path} cannot be opened ({error.strerror}); check its name, and whether you may read it"
        raise MissingFileError(msg) from error
