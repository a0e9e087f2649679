"""Small fits of everything compiled and everything not; printed as digests, wherever they run.

python tests/places.py [PLACE [NAME ...]]    digests of the fits of these names, computed there
python tests/places.py matrix [NAME ...]     every place with every kind of compile cache

A place is one of ``here``, ``threads``, ``loky``, ``dask`` and the ways to start a process.
"""

import hashlib
import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
import warnings
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))

import numpy as np

from registry import small_data


def _fits():
    """Every kind of search, compiled or not: estimators in their small setting, a proof, a path."""
    import loadstone
    from registry import estimators, settings

    for cls in estimators():
        yield cls.__name__, lambda X, cls=cls: cls(**settings(cls)[0][1]).fit(X)
    yield "proof", lambda X: loadstone.ExactSparsePCA(n_nonzero=3, nonnegative=True).fit(X)
    yield "path", lambda X: loadstone.cardinality_path(X, [1, 2, 5])


#: What is tried where nobody asks: every kind of search once.
FEW = [
    "EMPCA", "NSPCA", "SparseNoisyPCA", "SparsePCA", "SparseProbabilisticPCA", "proof", "path",
]  # fmt: skip


def names_of_fits():
    """What can be asked for: every estimator, a proof and a path."""
    return [name for name, _ in _fits()]


def digest(name):
    """A digest of all numbers of one fit, and every warning it gave."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = _digest(name)
    return found, [str(w.message) for w in caught]


def _digest(name):
    found = dict(_fits())[name](small_data())
    numbers = found.values if name == "path" else vars(found).get("components_", found)
    if numbers is found:
        numbers = found.scores_
    content = np.ascontiguousarray(numbers, dtype=float)
    return hashlib.sha256(content.tobytes()).hexdigest()[:16]


def digests(names=None):
    """Digest of every fit by name."""
    return {name: digest(name) for name in names or FEW}


def in_threads(names=None):
    """Four at a time, each fit twice."""
    names = [*(names or FEW)] * 2
    # Catching warnings is a matter of the whole process, not of a thread.
    with warnings.catch_warnings(record=True) as caught, ThreadPoolExecutor(4) as pool:
        warnings.simplefilter("always")
        found = list(pool.map(_digest, names))
    said = [str(w.message) for w in caught]
    half = len(names) // 2
    assert found[:half] == found[half:], found
    return {name: (value, said) for name, value in zip(names, found[:half], strict=False)}


def in_process(start, names=None):
    """One process begun in one of Python's ways."""
    context = multiprocessing.get_context(start)
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        return pool.submit(digests, names).result()


def in_loky(names=None):
    """The processes of joblib, which scikit-learn uses."""
    import joblib

    (found,) = joblib.Parallel(n_jobs=2)([joblib.delayed(digests)(names)])
    return found


def in_dask(names=None):
    """A worker of Dask with a process of its own."""
    import distributed

    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, processes=True, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        return client.submit(digests, names, pure=False).result()


def computed(place, names=None):
    """Digests from a place by its name."""
    named = {"here": digests, "threads": in_threads, "loky": in_loky, "dask": in_dask}
    return named[place](names) if place in named else in_process(place, names)


#: Compile caches: the usual one, an empty one, and none that can be written, with no home.
CACHES = ("usual", "empty", "none, no home")


def environment(cache, folder):
    """Variables of a process that finds this kind of cache; not even root writes below a file."""
    kept = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    if cache == "empty":
        return kept | {"NUMBA_CACHE_DIR": str(Path(folder) / "cache")}
    if cache == "none, no home":
        (Path(folder) / "file").touch()
        nowhere = str(Path(folder) / "file" / "below")
        return kept | {"NUMBA_CACHE_DIR": nowhere, "HOME": nowhere}
    return kept


def started(cache, folder, place="here", names=()):
    """A process that prints its digests."""
    return subprocess.Popen(
        [sys.executable, __file__, place, *names], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True, env=environment(cache, folder), cwd=folder,
    )  # fmt: skip


def printed(process):
    """The digests of such a process; it must say nothing else."""
    out, err = process.communicate()
    assert process.returncode == 0, err[-2000:]
    assert not err, err[-2000:]
    return {name: tuple(found) for name, found in json.loads(out).items()}


def matrix(names):
    """Print a table of places and caches; whether anything differs or is said."""
    wrong, expected = 0, {name: tuple(found) for name, found in digests(names).items()}
    for cache in CACHES:
        for place in ("here", "threads", "loky", "dask", *multiprocessing.get_all_start_methods()):
            with tempfile.TemporaryDirectory() as folder:
                try:
                    same = printed(started(cache, folder, place, names)) == expected
                    said = "identical, silent" if same else "DIFFERS"
                except AssertionError as error:
                    said = f"SAID {error}"
            wrong += said != "identical, silent"
            print(f"{cache:14} {place:12} {said}", flush=True)
    return wrong > 0


if __name__ == "__main__":
    asked = sys.argv[1:] or ["here"]
    if asked[0] == "matrix":
        sys.exit(matrix(asked[1:] or names_of_fits()))
    print(json.dumps(computed(asked[0], asked[1:])))
