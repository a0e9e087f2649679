"""Files of strangers, read once by a child process that may crash or hang in our place.

Some readers are compiled and follow a damaged file wherever it leads: out of their memory, or
round in circles, where no signal handler interrupts them.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from loadstone.files.foreign import memory_limit
from loadstone.files.npy_arrays import DamagedError

#: Seconds granted to every file, and bytes a slow disk reads in a second.
_GRACE = 20.0
_SLOW_DISK = 10e6
#: How a child ends that had not enough memory.
_NO_MEMORY = 3


def refuse_unreadable(module: str, path: Path, words: Sequence[str] = ()) -> None:
    """Refuse a file that ``main`` of a module cannot read to its end, in a process of its own.

    Errors are not told apart there: the parent meets them again and knows how to put them.
    """
    if not sys.executable:
        return
    limit = _GRACE + path.stat().st_size / _SLOW_DISK
    code = f"from {__name__} import run; import {module} as child; run(child.main)"
    try:
        done = subprocess.run(
            [sys.executable, "-c", code, str(path), *words],
            env=_same_modules(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=limit,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        msg = f"its structure leads in circles: reading it did not end in {limit:.0f} seconds"
        raise DamagedError(msg) from error
    if done.returncode < 0:
        msg = f"reading it ends the process by signal {-done.returncode}"
        raise DamagedError(msg)
    if done.returncode == _NO_MEMORY:
        msg = "it asks for more memory than there is"
        raise DamagedError(msg)


def run(main: object) -> None:
    """Call the ``main`` of a child, with no more memory than the parent may have."""
    with suppress(ImportError, OSError, ValueError):
        import resource

        _, most = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (memory_limit(), most))
    try:
        main()  # type: ignore[operator]
    except MemoryError:
        sys.exit(_NO_MEMORY)


def _same_modules() -> dict[str, str]:
    """The child finds the modules that its parent found, and none of the current folder."""
    path = os.pathsep.join(folder for folder in sys.path if folder)
    return {**os.environ, "PYTHONPATH": path, "PYTHONSAFEPATH": "1"}
