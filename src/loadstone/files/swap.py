"""Two folders change places."""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path

#: Ending of a folder that waits for the second of two renames.
SET_ASIDE = "-old"
_EXCHANGE = 2
_HERE = -100


def swap(first: Path, second: Path) -> None:
    """Exchange two folders of one file system with a single rename where the system has one.

    Where it has none, ``second`` is missing for the moment between two renames.
    """
    if _exchanged(os.fsencode(first), os.fsencode(second)):
        return
    aside = first.with_name(f"{first.name}{SET_ASIDE}")
    second.rename(aside)
    try:
        first.rename(second)
    except OSError:
        aside.rename(second)
        raise
    aside.rename(first)


def _exchanged(first: bytes, second: bytes) -> bool:
    try:
        system = ctypes.CDLL(None)
        if sys.platform == "darwin":
            return int(system.renamex_np(first, second, _EXCHANGE)) == 0
        return int(system.renameat2(_HERE, first, _HERE, second, _EXCHANGE)) == 0
    except (AttributeError, OSError, TypeError):
        return False
