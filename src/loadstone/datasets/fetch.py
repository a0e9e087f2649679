"""The papers' data sets: local files first, then the cache, then a download.

A folder named by the environment variable ``LOADSTONE_DATA`` comes first, then the cache
(``LOADSTONE_CACHE``, else ``loadstone`` in the cache folder of the system). A copy is used
only when the sha256 of its values is the one that is known.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import Bunch

from loadstone.datasets.catalogue import Source, source
from loadstone.files.atomic import writing
from loadstone.files.errors import FileError
from loadstone.files.npy_arrays import read_archive

_TIMEOUT = 60


class DataNotHereError(FileError, OSError):
    """A data set is neither on this machine nor to be had from its address."""

    exit_code = 3


def cache_folder() -> Path:
    """Where downloads are kept."""
    named = os.environ.get("LOADSTONE_CACHE")
    if named:
        return Path(named).expanduser()
    home = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA")
    return (Path(home) if home else Path.home() / ".cache") / "loadstone"


def find(wanted: Source) -> Path | None:
    """The first place that holds the file, if any does."""
    for path in _places(wanted):
        # A folder that may not be entered holds nothing for us.
        with suppress(OSError):
            if path.is_file():
                return path
    return None


def _places(wanted: Source) -> Iterator[Path]:
    if os.environ.get("LOADSTONE_DATA"):
        yield Path(os.environ["LOADSTONE_DATA"]).expanduser() / wanted.file
    yield cache_folder() / wanted.file


def digest_of(arrays: dict[str, Any]) -> str:
    """sha256 of the values: shape and little-endian doubles, row by row."""
    if "X" in arrays:
        parts = [arrays["X"]]
    else:
        X = _csr(arrays)
        X.sort_indices()
        parts = [X.data, X.indices, X.indptr]
    total = hashlib.sha256()
    for part in parts:
        total.update(repr(part.shape).encode())
        total.update(np.ascontiguousarray(part, dtype="<f8").tobytes())
    return total.hexdigest()


def fetch(name: str, *, download: bool = True) -> Bunch:
    """Get a data set by its name.

    Parameters
    ----------
    name : str
        One of the names in :func:`loadstone.datasets.list_datasets`.
    download : bool, default=True
        Whether it may be downloaded where it is not at hand.

    Returns
    -------
    Bunch
        ``data``, and where the set has them ``target``, ``target_names``,
        ``feature_names``, ``image_shape`` and more; ``DESCR`` says where it comes from.
    """
    wanted = source(name)
    path = find(wanted)
    if path is not None:
        arrays = _read(path)
        _check(wanted, arrays, str(path))
    else:
        arrays = _download(wanted, allowed=download)
    return _bunch(wanted, arrays)


def _read(path: Path) -> dict[str, Any]:
    try:
        return read_archive(path)
    except Exception as error:
        msg = f"{path} cannot be read as npz ({error}); delete it and fetch the data again"
        raise DataNotHereError(msg) from error


def _check(wanted: Source, arrays: dict[str, Any], place: str) -> None:
    try:
        found = digest_of(arrays)
    except KeyError as error:
        msg = f"{place} does not hold the data set {wanted.name}: it has no array {error}"
        raise DataNotHereError(msg) from error
    if found != wanted.digest:
        msg = (
            f"{place} does not hold the values of {wanted.name} (sha256 {found[:12]}..., expected "
            f"{wanted.digest[:12]}...); remove it, or load your own data directly"
        )
        raise DataNotHereError(msg)


def _download(wanted: Source, *, allowed: bool) -> dict[str, Any]:
    by_hand = (
        f"put {wanted.file} into a folder and name it in LOADSTONE_DATA; "
        f"the set is described at {wanted.home}"
    )
    if wanted.address is None or not allowed:
        why = "downloads are switched off" if wanted.address else "no plain file of it is published"
        msg = f"{wanted.name} is not on this machine and {why}: {by_hand}"
        raise DataNotHereError(msg)
    from urllib.request import urlopen

    from loadstone.datasets.originals import parse

    try:
        with urlopen(wanted.address, timeout=_TIMEOUT) as answer:
            content = answer.read()
    except OSError as error:
        msg = (
            f"{wanted.name} is not on this machine and {wanted.address} did not answer "
            f"({error}): try again with a connection, or {by_hand}"
        )
        raise DataNotHereError(msg) from error
    arrays = parse(wanted.name, content)
    _check(wanted, arrays, wanted.address)
    with writing(cache_folder() / wanted.file) as temporary:
        np.savez_compressed(temporary, **arrays)
    return arrays


def _csr(arrays: dict[str, Any]) -> Any:
    return sparse.csr_array(
        (arrays["data"], arrays["indices"].astype(np.int32), arrays["indptr"].astype(np.int32)),
        shape=tuple(int(n) for n in arrays["shape"]),
    )


def _bunch(wanted: Source, arrays: dict[str, Any]) -> Bunch:
    rest = {k: v for k, v in arrays.items() if k not in {"X", "y", "data", "indices", "indptr"}}
    rest.pop("shape", None)
    if "y" in arrays:
        rest["target"] = arrays["y"]
    if "image_shape" in rest:
        rest["image_shape"] = tuple(int(n) for n in rest["image_shape"])
    data = arrays["X"] if "X" in arrays else _csr(arrays)
    about = f"{wanted.title}. {wanted.citation}. Terms: {wanted.terms}. {wanted.home}"
    return Bunch(data=data, DESCR=about, **rest)


def _fetcher(name: str) -> Callable[..., Bunch]:
    wanted = source(name)

    def fetch_one(*, download: bool = True) -> Bunch:
        return fetch(name, download=download)

    fetch_one.__name__ = fetch_one.__qualname__ = f"fetch_{name}"
    fetch_one.__doc__ = f"""Fetch {wanted.title}.

    Parameters
    ----------
    download : bool, default=True
        Whether it may be downloaded where it is not at hand.

    Returns
    -------
    Bunch
        ``data`` of shape {wanted.shape}, and what belongs to it.

    References
    ----------
    {wanted.citation}. {wanted.home}
    """
    return fetch_one


fetch_associated_press = _fetcher("associated_press")
fetch_cbcl_faces = _fetcher("cbcl_faces")
fetch_cbcl_nonfaces = _fetcher("cbcl_nonfaces")
fetch_cmu_faces = _fetcher("cmu_faces")
fetch_glass = _fetcher("glass")
fetch_leukemia = _fetcher("leukemia")
fetch_lrs = _fetcher("lrs")
fetch_nci60 = _fetcher("nci60")
fetch_pbmc3k = _fetcher("pbmc3k")
fetch_synthetic_control = _fetcher("synthetic_control")
