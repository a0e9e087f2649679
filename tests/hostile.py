"""Damage to files: flipped bits, cut ends, forged headers; and readers run apart from the tests.

As a script it reads damaged copies of files and prints what each of them came to, so that a
signal ends that process and not the tests:

    python tests/hostile.py N_FLIPS N_CUTS FILE...
"""

import contextlib
import io
import os
import resource
import signal
import subprocess
import sys
import time
import zipfile
from collections import Counter
from importlib import import_module
from pathlib import Path

import numpy as np
from numpy.lib import format as npy

#: Seconds after which a fork that reads a file of some kilobytes is taken to run in circles.
LONGEST = 5


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


def looked_through_by_a_fork(module, path, names=()):
    """``refuse_unreadable`` without an interpreter of its own: the same reader and sentences."""
    from loadstone.files.npy_arrays import DamagedError

    child = os.fork()
    if child == 0:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        sys.argv[1:] = [str(path), *names]
        with contextlib.suppress(BaseException):
            import_module(module).main()
        os._exit(0)
    ends = time.monotonic() + LONGEST
    while (found := os.waitpid(child, os.WNOHANG))[0] == 0:
        if time.monotonic() > ends:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            msg = f"its structure leads in circles: reading it did not end in {LONGEST} seconds"
            raise DamagedError(msg)
        time.sleep(0.001)
    if os.WIFSIGNALED(found[1]):
        msg = f"reading it ends the process by signal {os.WTERMSIG(found[1])}"
        raise DamagedError(msg)


def main(n_flips, n_cuts, *paths):
    from loadstone.files import h5ad_files, statistics_files

    # That the package starts a process of its own is tested where that one hangs or crashes.
    h5ad_files.refuse_unreadable = looked_through_by_a_fork
    statistics_files.refuse_unreadable = looked_through_by_a_fork
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
