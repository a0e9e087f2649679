"""BLAS has as many threads after overlapping sections as it had before them."""

import ast
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

import loadstone
from loadstone import ThresholdedPCA, cardinality_path
from loadstone.blas_threads import one_blas_thread


def blas_threads():
    """Threads of every BLAS that has any: a solver that other tests load is built without."""
    pools = [pool for pool in threadpool_info() if pool["user_api"] == "blas"]
    return {pool["num_threads"] for pool in pools if pool.get("threading_layer") != "disabled"}


@pytest.fixture
def two_threads():
    with threadpool_limits(2, user_api="blas"):
        if blas_threads() != {2}:
            pytest.skip("this BLAS does not let its threads be set")
        yield


def test_sections_that_overlap_restore_what_was_there(two_threads):
    # The first section to begin ends while the second still runs.
    first_open, second_open, first_closed = (threading.Event() for _ in range(3))

    def first():
        with one_blas_thread():
            first_open.set()
            second_open.wait(10)
        first_closed.set()

    def second():
        first_open.wait(10)
        with one_blas_thread():
            second_open.set()
            first_closed.wait(10)

    threads = [threading.Thread(target=work) for work in (first, second)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert blas_threads() == {2}


def test_an_error_restores_too(two_threads):
    with pytest.raises(ZeroDivisionError), one_blas_thread():
        _ = 1 / 0
    assert blas_threads() == {2}


def test_paths_in_threads_agree_and_leave_the_threads_alone(two_threads):
    X = np.random.default_rng(0).standard_normal((40, 8))
    alone = cardinality_path(X, [1, 3, 8]).values
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: cardinality_path(X, [1, 3, 8]).values, range(16)))
    assert all((values == alone).all() for values in found)
    assert blas_threads() == {2}


def test_nobody_else_touches_them():
    root = Path(loadstone.__file__).parent
    users = [
        path.name
        for path in root.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and node.module == "threadpoolctl"
    ]
    assert users == ["blas_threads.py"]


class SaysHowManyThreads(ThresholdedPCA):
    """Keeps the numbers of threads its search was given."""

    seen: ClassVar[list] = []

    def _search(self, task):
        self.seen.append(blas_threads())
        return super()._search(task)


@pytest.mark.parametrize(("n_features", "expected"), [(20, {1}), (2_000, {2})])
def test_small_fits_have_one_thread_and_large_ones_what_there_is(two_threads, n_features, expected):
    # 20 x 20 numbers of a covariance, or 600 x 2 000 of samples.
    X = np.random.default_rng(0).standard_normal((600, n_features))
    SaysHowManyThreads(1, n_nonzero=3).fit(X)
    assert SaysHowManyThreads.seen.pop() == expected
    assert blas_threads() == {2}


def test_a_matrix_without_a_number_of_samples_is_counted_by_its_features(two_threads):
    SaysHowManyThreads(1, n_nonzero=3).fit_covariance(np.diag(np.arange(1.0, 11)))
    assert SaysHowManyThreads.seen.pop() == {1}


def test_a_fit_that_is_refused_restores_the_threads(two_threads):
    with pytest.raises(ValueError, match="n_nonzero"):
        ThresholdedPCA(1, n_nonzero=30).fit(np.random.default_rng(0).standard_normal((60, 20)))
    assert blas_threads() == {2}
