"""HDF5 files of strangers, looked through before they are read.

The HDF5 library follows the pointers of a damaged file wherever they lead: some single flipped
bytes make it run in circles for ever. So :func:`main` reads them once, in a process of its own.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from loadstone.files.errors import TableError
from loadstone.files.foreign import COPIES, MOST_DEFLATED, memory_limit, refuse_beyond_memory
from loadstone.files.npy_arrays import DamagedError

#: Groups inside groups; AnnData writes about four.
_DEEPEST = 32
#: Below this numbers may be as well packed as they like.
_SMALL = 1 << 24
#: What a text takes beside its letters.
_TEXT_BYTES = 64


def main() -> None:
    """Read the parts of a file; it and they are named on the command line."""
    import h5py  # type: ignore[import-untyped]

    path, names = Path(sys.argv[1]), sys.argv[2:]
    with h5py.File(path, "r") as file:
        for item in look_through(h5py, file, path, names):
            dict(item.attrs)
            if isinstance(item, h5py.Dataset) and item.shape is not None:
                item[()]


def look_through(h5py: Any, file: Any, path: Path, names: Sequence[str]) -> list[Any]:
    """Refuse links that lead out of the file or round in a circle, and parts that nobody can hold.

    Returns
    -------
    list
        The groups and data sets that the parts are made of.
    """
    _look_through(h5py, file, path, set(), 0)
    wanted = [file[name] for name in names if name in file]
    if is_old(h5py, file, names):
        wanted = [file]
    items = [item for part in wanted for item in _within(h5py, part)]
    sets = [item for item in items if isinstance(item, h5py.Dataset) and item.shape is not None]
    _refuse_sizes(sets, path)
    return items


def is_old(h5py: Any, file: Any, names: Sequence[str]) -> bool:
    """Whether a part is a table of records, whose words old files keep elsewhere."""
    parts = [file[name] for name in names if name in file]
    return any(isinstance(part, h5py.Dataset) and part.dtype.names for part in parts)


def _within(h5py: Any, item: Any) -> Iterator[Any]:
    yield item
    if isinstance(item, h5py.Group):
        for inside in item.values():
            yield from _within(h5py, inside)


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


def _refuse_sizes(sets: Sequence[Any], path: Path) -> None:
    """Refuse numbers that would not fit beside the table, or that next to no bytes stand for."""
    sizes = [_unpacked(item) for item in sets]
    largest = sets[sizes.index(max(sizes))].name if sizes else ""
    what = f"{largest}, an array," if len(sizes) == 1 else f"{largest} and other arrays"
    refuse_beyond_memory(sum(sizes), path, what, limit=memory_limit() // COPIES)
    held = sum(int(item.id.get_storage_size()) for item in sets)
    if sum(sizes) > _SMALL and sum(sizes) > MOST_DEFLATED * held:
        msg = f"{largest} declares {max(sizes)} bytes and holds next to none"
        raise DamagedError(msg)


def _unpacked(item: Any) -> int:
    """Bytes that an array takes once it is read, as numbers of eight; a chunk is read as a whole."""
    kind, stored = item.dtype.kind, int(item.dtype.itemsize)
    each = stored + _TEXT_BYTES if kind == "O" else stored if kind in "fSV" else max(stored, 8)
    return max(int(item.size) * each, stored * math.prod(item.chunks or (0,)))
