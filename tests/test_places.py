"""Threads, forked and spawned processes, workers, no home, no cache: the same answers, no word."""

import multiprocessing
from functools import cache

import pytest

import places


@cache
def here():
    return places.digests()


def as_printed(names=None):
    return {name: tuple(here()[name]) for name in names or here()}


def test_nothing_is_said_here():
    assert all(not said for _, said in here().values()), here()


@pytest.mark.parametrize("place", ["threads", "loky", *multiprocessing.get_all_start_methods()])
def test_places(place):
    assert places.computed(place) == here()


def test_dask_workers_with_processes():
    pytest.importorskip("distributed", reason="distributed is not installed")
    assert places.in_dask() == here()


def test_a_cache_that_cannot_be_written_and_no_home(tmp_path):
    found = places.printed(places.started("none, no home", tmp_path))
    assert found == as_printed()


def test_two_processes_fill_an_empty_cache_at_once(tmp_path):
    # One compiled method is enough; all of them take seconds to compile.
    both = [places.started("empty", tmp_path, "here", ["NSPCA"]) for _ in range(2)]
    assert [places.printed(process) for process in both] == [as_printed(["NSPCA"])] * 2
    assert list((tmp_path / "cache").rglob("*.nbc"))
