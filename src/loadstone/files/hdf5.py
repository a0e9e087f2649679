"""HDF5 files of strangers, read once by a child process that may crash or hang in our place.

The HDF5 library follows the pointers of a damaged file wherever they lead: some single flipped
bytes make it run in circles for ever, in compiled code that no signal handler interrupts.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from loadstone.files.errors import TableError
from loadstone.files.foreign import MOST_DEFLATED, refuse_beyond_memory
from loadstone.files.npy_arrays import DamagedError

#: Seconds granted to every file, and bytes a slow disk reads in a second.
_GRACE = 20.0
_SLOW_DISK = 10e6
#: Elements read at a time: what is read is thrown away.
_PIECE = 1 << 22
#: Groups inside groups; AnnData writes about four.
_DEEPEST = 32
#: Below this a data set may be as well packed as it likes.
_SMALL = 1 << 24


def refuse_unreadable(path: Path) -> None:
    """Refuse an HDF5 file that cannot be read to its end by a process of its own."""
    if not sys.executable:
        return
    limit = _GRACE + path.stat().st_size / _SLOW_DISK
    command = [sys.executable, "-c", f"import {__name__} as child; child.main()", str(path)]
    try:
        done = subprocess.run(
            command,
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


def _same_modules() -> dict[str, str]:
    """The child finds the modules that its parent found, and none of the current folder."""
    path = os.pathsep.join(folder for folder in sys.path if folder)
    return {**os.environ, "PYTHONPATH": path, "PYTHONSAFEPATH": "1"}


def main() -> None:
    """Read every number and attribute of the file named last on the command line.

    Errors are left to the parent, which meets them again and knows how to put them.
    """
    import h5py  # type: ignore[import-untyped]

    path = Path(sys.argv[-1])
    with h5py.File(path, "r") as file:
        look_through(h5py, file, path)
        file.visititems(lambda _, item: _read(h5py, item))


def _read(h5py: Any, item: Any) -> None:
    dict(item.attrs)
    if not isinstance(item, h5py.Dataset) or item.shape is None:
        return
    if not item.shape:
        item[()]
        return
    rows = max(1, _PIECE // max(1, item.size // max(1, item.shape[0])))
    for start in range(0, item.shape[0], rows):
        item[start : start + rows]


def look_through(h5py: Any, file: Any, path: Path) -> None:
    """Refuse links that lead out of the file or round in a circle, and sizes nobody has."""
    _look_through(h5py, file, path, set(), 0)


def _look_through(h5py: Any, group: Any, path: Path, seen: set[int], depth: int) -> None:
    address = h5py.h5o.get_info(group.id).addr
    if address in seen or depth > _DEEPEST:
        msg = "its groups lead back to themselves, or are nested too deeply"
        raise DamagedError(msg)
    seen.add(address)
    for name in group:
        link = group.get(name, getlink=True)
        if not isinstance(link, h5py.HardLink):
            where = f"{group.name.rstrip('/')}/{name}"
            msg = f"{path} holds a link ({where}) to somewhere else, which is not followed"
            raise TableError(msg)
        item = group[name]
        if isinstance(item, h5py.Group):
            _look_through(h5py, item, path, seen, depth + 1)
        elif isinstance(item, h5py.Dataset):
            _check_dataset(item, path)


def _check_dataset(item: Any, path: Path) -> None:
    if item.is_virtual or item.external:
        msg = f"{path} keeps {item.name} in another file, which is not followed"
        raise TableError(msg)
    if item.shape is None:
        return
    n_bytes = int(item.size) * int(item.dtype.itemsize)
    refuse_beyond_memory(n_bytes, path, f"{item.name}, an array")
    if n_bytes > _SMALL and n_bytes > MOST_DEFLATED * int(item.id.get_storage_size()):
        msg = f"{item.name} declares {n_bytes} bytes and holds next to none"
        raise DamagedError(msg)
