"""Threads, forked and spawned processes, workers, no home, no cache: the same answers, no word."""

import json
import multiprocessing
import os
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from functools import cache
from pathlib import Path

import joblib
import pytest

import places


@cache
def here():
    return places.digests()


def test_nothing_is_said_here():
    assert all(not said for _, said in here().values()), here()


def test_threads():
    names = list(here()) * 2
    with ThreadPoolExecutor(4) as pool:
        for name, found in zip(names, pool.map(_quiet, names), strict=True):
            assert found == here()[name][0], name


def _quiet(name):
    # Catching warnings is a matter of the whole process, not of a thread.
    return places.digest(name)[0]


@pytest.mark.parametrize("start", multiprocessing.get_all_start_methods())
def test_processes(start):
    context = multiprocessing.get_context(start)
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        assert pool.submit(places.digests).result() == here()


def test_loky():
    (found,) = joblib.Parallel(n_jobs=2)([joblib.delayed(places.digests)()])
    assert found == here()


def test_dask_workers_with_processes():
    distributed = pytest.importorskip("distributed", reason="distributed is not installed")
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, processes=True, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        assert client.submit(places.digests, pure=False).result() == here()


def _elsewhere(tmp_path, **environment):
    kept = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    done = subprocess.run(
        [sys.executable, str(Path(places.__file__))],
        capture_output=True, text=True, check=False, env={**kept, **environment}, cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    assert not done.stderr, done.stderr[-2000:]
    return {name: tuple(found) for name, found in json.loads(done.stdout).items()}


def test_a_cache_that_cannot_be_written_and_no_home(tmp_path):
    # Not even root can make a folder below a file.
    (tmp_path / "file").touch()
    nowhere = str(tmp_path / "file" / "below")
    found = _elsewhere(tmp_path, NUMBA_CACHE_DIR=nowhere, HOME=nowhere)
    assert found == {name: tuple(value) for name, value in here().items()}
