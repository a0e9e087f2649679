"""Files and folders appear under their name only when they are complete."""

from __future__ import annotations

import errno
import os
import re
import shutil
import stat
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from loadstone.files.errors import ExistingFileError, UnwritableFileError
from loadstone.files.swap import SET_ASIDE, swap

#: What is under way is called ``.NAME.PROCESS-RANDOM.loadstone``, beside its target.
_UNDER_WAY = ".loadstone"
#: Names of folders that a killed run may have left inside a folder of results.
_DEAD = re.compile(rf"\..+\.\d+-[0-9a-f]{{8}}{re.escape(_UNDER_WAY)}")


def refuse_existing(paths: list[Path], *, force: bool, inputs: Iterable[Path] = ()) -> None:
    """Raise before any work is done if something would be overwritten that must not be.

    Parameters
    ----------
    paths : list of Path
        What is going to be written.
    force : bool
        Whether regular files may be overwritten.
    inputs : iterable of Path
        Files that are read; they are never overwritten.
    """
    for path in paths:
        refuse_irregular(path)
        if any(_is_same(path, source) for source in inputs):
            msg = f"{path} is read and would be overwritten; choose another place for the result"
            raise ExistingFileError(msg)
    # A link that leads nowhere is there all the same.
    taken = [path for path in paths if os.path.lexists(path)]
    if taken and not force:
        names = ", ".join(str(path) for path in taken)
        msg = f"{names} exists already; choose another place, or add --force to overwrite"
        raise ExistingFileError(msg)


def refuse_irregular(path: Path) -> None:
    """Refuse to write where a folder, a device, a pipe or a socket is."""
    try:
        mode = path.stat().st_mode
    except OSError as error:
        if error.errno == errno.ELOOP:
            msg = f"{path} could not be written: it is a link that leads to itself; choose another place"
            raise UnwritableFileError(msg) from error
        return
    if not stat.S_ISREG(mode):
        what = "a folder" if stat.S_ISDIR(mode) else "a device, a pipe or a socket"
        msg = f"{path} could not be written: it is {what}; choose another place"
        raise UnwritableFileError(msg)


def _is_same(path: Path, other: Path) -> bool:
    try:
        return path.samefile(other)
    except OSError:
        return False


@contextmanager
def writing(path: Path | str) -> Iterator[Path]:
    """A temporary name beside ``path`` that becomes ``path`` when the block ends well.

    Whatever ends the block otherwise (an error, a full disk, Ctrl-C) leaves no file behind, and an
    older file of that name as it was. A link is followed; permissions of an older file stay.
    """
    path = Path(path)
    refuse_irregular(path)
    target = Path(os.path.realpath(path))
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        clean_dead(target)
        temporary = _free_name(target, target.suffix)
        # Not mkstemp: the usual permissions come from the umask, which cannot be read safely.
        os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
    except OSError as error:
        raise UnwritableFileError(_sentence(path, error)) from error
    try:
        yield temporary
        _store_durably(temporary, target)
        temporary.replace(target)
    except OSError as error:
        raise UnwritableFileError(_sentence(path, error)) from error
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def writing_folder(folder: Path, known: Iterable[str], *, force: bool) -> Iterator[Path]:
    """A folder beside ``folder`` that takes its place, with one rename, when the block ends well.

    A kill at any moment leaves the old folder or the new one. Files of an earlier run do not stay.

    Parameters
    ----------
    folder : Path
        Where the results go.
    known : iterable of str
        Names that results have; a folder with anything else in it is not ours to replace.
    force : bool
        Whether earlier results may be replaced.
    """
    target = Path(os.path.realpath(folder))
    refuse_foreign(folder, known, force=force)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        clean_dead(target)
        workshop = _free_name(target, "")
        workshop.mkdir()
    except OSError as error:
        raise UnwritableFileError(_sentence(folder, error)) from error
    try:
        yield workshop
        for file in workshop.iterdir():
            _store_durably(file, target / file.name)
        _take_place(workshop, target)
    except OSError as error:
        raise UnwritableFileError(_sentence(folder, error)) from error
    finally:
        shutil.rmtree(workshop, ignore_errors=True)


def refuse_foreign(folder: Path, known: Iterable[str], *, force: bool) -> None:
    """Refuse a folder that holds results already, or anything that is no result."""
    if not os.path.lexists(folder):
        return
    if not folder.is_dir():
        msg = f"{folder} exists already and is no folder; choose another place"
        raise ExistingFileError(msg)
    if folder.samefile(Path.cwd()):
        msg = f"{folder} is the folder you are in, which cannot be replaced; name one inside it"
        raise UnwritableFileError(msg)
    try:
        held = sorted(path.name for path in folder.iterdir() if not _DEAD.fullmatch(path.name))
    except OSError as error:
        raise UnwritableFileError(_sentence(folder, error)) from error
    other = sorted(set(held) - set(known))
    if other:
        msg = (
            f"{folder} also holds {other[0]}, which is no result of loadstone; results need a "
            "folder of their own, so choose another place"
        )
        raise ExistingFileError(msg)
    refuse_existing([folder / name for name in held], force=force)


def _take_place(workshop: Path, target: Path) -> None:
    if target.exists():
        workshop.chmod(stat.S_IMODE(target.stat().st_mode))
        # Afterwards the workshop holds the old results, and is removed with them.
        swap(workshop, target)
    else:
        workshop.rename(target)


def clean_dead(target: Path) -> None:
    """Remove what runs that were killed left beside ``target``."""
    for left in target.parent.glob(f".{_escaped(target.name)}.*{_UNDER_WAY}*"):
        process = left.name.removeprefix(f".{target.name}.").partition("-")[0]
        if process.isdigit() and not _is_alive(int(process)):
            if left.name.endswith(SET_ASIDE) and not os.path.lexists(target):
                # Killed between the two renames of a system that cannot exchange folders.
                left.rename(target)
            elif left.is_dir() and not left.is_symlink():
                shutil.rmtree(left, ignore_errors=True)
            else:
                left.unlink(missing_ok=True)


def _escaped(name: str) -> str:
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in name)


def _is_alive(process: int) -> bool:
    if os.name != "posix":
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True


def _free_name(target: Path, suffix: str) -> Path:
    name = f".{target.name}.{os.getpid()}-{uuid.uuid4().hex[:8]}{_UNDER_WAY}{suffix}"
    return target.with_name(name)


def _store_durably(temporary: Path, target: Path) -> None:
    """Keep the permissions of a file that is replaced; make sure that it reached the disk."""
    if target.is_file():
        temporary.chmod(stat.S_IMODE(target.stat().st_mode))
    with temporary.open("rb") as file:
        os.fsync(file.fileno())


def _sentence(path: Path, error: OSError) -> str:
    inner = error.__cause__ if isinstance(error, UnwritableFileError) else error
    reason = getattr(inner, "strerror", None) or str(error)
    return f"{path} could not be written ({reason}); nothing was left behind"
