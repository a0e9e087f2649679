"""Damage to files: flipped bits, cut ends, forged headers; and readers run apart from the tests.

As a script it reads damaged copies of files and prints what each of them came to, so that a
signal ends that process and not the tests:

    python tests/hostile.py N_FLIPS N_CUTS FILE...
"""

import contextlib
import io
import multiprocessing
import resource
import subprocess
import sys
import zipfile
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import numpy as np
from numpy.lib import format as npy


def damaged(content, n_flips, n_cuts, seed=0):
    """Copies of some bytes with one bit flipped, or without their end."""
    rng = np.random.default_rng(seed)
    for place in rng.integers(8 * len(content), size=n_flips):
        copy = bytearray(content)
        copy[place // 8] ^= 1 << (place % 8)
        yield bytes(copy)
    for length in rng.integers(len(content), size=n_cuts):
        yield content[:length]


def forged_array(shape, dtype="<f8", content=b""):
    """An NPY file that declares more than it holds."""
    file = io.BytesIO()
    npy.write_array_header_1_0(file, {"shape": shape, "fortran_order": False, "descr": dtype})
    return file.getvalue() + content


def forged_archive(**members):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in members.items():
            archive.writestr(f"{name}.npy", content)
    return file.getvalue()


def outcome(path):
    """What reading and using a file came to; a product shows indices that lead astray."""
    import warnings

    from loadstone.certificates import Certificate, CertificateError
    from loadstone.estimators.model_file import load_model
    from loadstone.files.errors import FileError
    from loadstone.files.tables import read_table

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if path.name.startswith("model"):
                load_model(path).transform(np.ones((2, 13)))
            elif path.name.startswith("certificate"):
                Certificate.load(path)
            else:
                X = read_table(path, missing="keep").X
                X.T @ np.ones(X.shape[0])
    except (FileError, CertificateError) as error:
        return type(error).__name__ if "\n" not in str(error) else f"RAW {error!r}"
    except Exception as error:
        return f"RAW {type(error).__name__}: {error}"
    return "read"


def outcomes(paths, n_flips, n_cuts):
    """How often each file came to what, when it was damaged; read by another process."""
    done = subprocess.run(
        [sys.executable, __file__, str(n_flips), str(n_cuts), *map(str, paths)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, (done.returncode, done.stdout[-300:], done.stderr[-2000:])
    found = {Path(path).name: Counter() for path in paths}
    for line in done.stdout.splitlines():
        name, _, said = line.partition(" ")
        found[name][said] += 1
    return found


def forked(command, *, timeout, **_):
    """In place of ``subprocess.run``: a child that has imported everything, once per damaged file.

    That the package starts a process of its own is tested where that one hangs or crashes.
    """
    child = multiprocessing.get_context("fork").Process(target=_read_hdf5, args=(command[-1],))
    child.start()
    child.join(timeout)
    if child.is_alive():
        child.kill()
        raise subprocess.TimeoutExpired(command, timeout)
    return SimpleNamespace(returncode=child.exitcode)


def _read_hdf5(path):
    from loadstone.files import hdf5

    sys.argv = ["", path]
    # The parent meets the same error, and must put it into words.
    with contextlib.suppress(Exception):
        hdf5.main()


def main(n_flips, n_cuts, *paths):
    from loadstone.files import hdf5

    names = {"DEVNULL": subprocess.DEVNULL, "TimeoutExpired": subprocess.TimeoutExpired}
    hdf5.subprocess = SimpleNamespace(run=forked, **names)
    for path in map(Path, paths):
        copy = path.with_name(f"{path.stem.partition('.')[0]}-damaged{''.join(path.suffixes)}")
        for number, content in enumerate(damaged(path.read_bytes(), int(n_flips), int(n_cuts))):
            copy.write_bytes(content)
            said = outcome(copy)
            print(
                path.name, said if not said.startswith("RAW") else f"{said} [{number}]", flush=True
            )


if __name__ == "__main__":
    # What a file declares is refused before it is allocated.
    resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))
    main(*sys.argv[1:])
