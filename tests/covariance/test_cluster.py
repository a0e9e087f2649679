"""A real cluster: workers that die, all of them or one, and what they need of memory."""

import os
import resource
import signal
import sys
import threading
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path

import cloudpickle
import dask
import dask.array as da
import numpy as np
import pytest

from loadstone import (
    EMPCA,
    SampleCovariance,
    SparseNoisyPCA,
    SparsePCA,
    SparsePCACV,
    cardinality_path,
    certify,
    stability_selection,
)
from loadstone.covariance import cluster as module
from loadstone.covariance import covariance_of, dask_rows, working_set
from loadstone.covariance import route as routes
from loadstone.covariance.cluster import ClusterLostError, worker_memory

distributed = pytest.importorskip("distributed", reason="the dask extra brings the cluster")
# Sockets and files of killed processes are closed by the collector.
pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@contextmanager
def connected():
    # Workers cannot import the tests.
    cloudpickle.register_pickle_by_value(sys.modules[__name__])
    with (
        dask.config.set(
            {
                "distributed.scheduler.allowed-failures": 2,
                # A worker asks a dead one for as long as this.
                "distributed.comm.timeouts.connect": "20s",
            }
        ),
        distributed.LocalCluster(
            processes=True,
            n_workers=2,
            threads_per_worker=1,
            memory_limit="1GB",
            dashboard_address=":0",
        ) as workers,
        distributed.Client(workers) as client,
    ):
        yield client


class Shared:
    """Two workers for many tests. Those killed too often are not always started again."""

    def __init__(self):
        self.opened = ExitStack()
        self.client = None

    def with_workers(self):
        """A client with two living workers: the one there is, or a new one."""
        if self.client is None or not self._both_alive():
            self.opened.close()
            self.client = self.opened.enter_context(connected())
        return self.client

    def _both_alive(self):
        try:
            self.client.wait_for_workers(2, timeout=15)
        except TimeoutError:
            return False
        return True


@pytest.fixture(scope="module")
def shared():
    holder = Shared()
    with holder.opened:
        yield holder


@pytest.fixture
def client(shared):
    return shared.with_workers()


@pytest.fixture
def doomed_client():
    """Workers nobody else needs."""
    with connected() as own:
        yield own


def read(block, marker, *, deadly):
    """A block of a file, read by a worker that is killed the first time, or every time."""
    if marker is not None and (deadly or not Path(marker).exists()):
        Path(marker).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return block


def stored(X, chunks, marker=None, *, deadly=False):
    """A Dask array whose third block is read by a worker that does not survive it."""
    edges = range(0, X.shape[0], chunks[0])
    rows = [
        [
            da.from_delayed(
                dask.delayed(read)(
                    X[i : i + chunks[0], j : j + chunks[1]],
                    marker if (n, j) == (min(2, len(edges) - 1), 0) else None,
                    deadly=deadly,
                ),
                X[i : i + chunks[0], j : j + chunks[1]].shape,
                dtype=X.dtype,
            )
            for j in range(0, X.shape[1], chunks[1])
        ]
        for n, i in enumerate(edges)
    ]
    return da.block(rows)


def factors(shape):
    rng = np.random.default_rng(0)
    X = 3 * rng.standard_normal((shape[0], 2)) @ (rng.random((2, shape[1])) < 0.3)
    return X + rng.standard_normal(shape)


ROUTES = {
    "gram": lambda X: SparsePCA(2, n_nonzero=4).fit(X).components_,
    "data": lambda X: EMPCA(n_nonzero=4, route="data", max_iter=5, tol=1e-2).fit(X).components_,
    "noise model": lambda X: SparseNoisyPCA(2, n_penalties=3, noise="shared").fit(X).components_,
    "path": lambda X: cardinality_path(X, [2, 4], effort="fast").values,
    "folds": lambda X: SparsePCACV(n_nonzeros=[2, 4], cv=3).fit(X).cv_results_["mean_test_score"],
    "blocks": lambda X: (
        stability_selection(SparsePCA(n_nonzero=3, effort="fast"), X, n_subsamples=4).frequency
    ),
    "certificate": lambda X: np.array([certify(X, n_nonzero=3, effort="instant").upper_bound]),
    "kept": lambda X: SampleCovariance.of(X).scatter,
}


WIDE_ROUTES = {
    "components": lambda X: SparsePCA(2, n_nonzero=4).fit(X).components_,
    "noise model": ROUTES["noise model"],
    "path": ROUTES["path"],
    "folds": ROUTES["folds"],
    "certificate": lambda X: np.array([certify(X, n_nonzero=3).upper_bound]),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("chunks", [(24, 150), (8, 400)], ids=["columns", "rows and columns"])
@pytest.mark.parametrize("route", WIDE_ROUTES)
def test_a_killed_worker_changes_no_bit_of_wide_data(client, tmp_path, monkeypatch, route, chunks):
    monkeypatch.setattr(routes, "READ_BYTES", 0)
    monkeypatch.setattr(working_set, "FIRST_SIZE", 64)
    X = factors((24, 900))
    marker = tmp_path / "killed"
    found = WIDE_ROUTES[route](stored(X, chunks, str(marker)))
    assert marker.exists()
    np.testing.assert_array_equal(found, WIDE_ROUTES[route](stored(X, chunks)))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    ("route", "apart"),
    [*((route, False) for route in ROUTES), ("gram", True), ("data", True), ("kept", True)],
)
def test_a_killed_worker_changes_no_bit(client, tmp_path, monkeypatch, route, apart):
    if apart:
        monkeypatch.setattr(dask_rows, "JOINED_BYTES", 0)
    X, chunks = factors((60, 16)), (12, 4 if apart else 16)
    marker = tmp_path / "killed"
    found = ROUTES[route](stored(X, chunks, str(marker)))
    assert marker.exists()
    np.testing.assert_array_equal(found, ROUTES[route](stored(X, chunks)))


def test_workers_that_keep_dying_give_one_sentence(doomed_client, tmp_path):
    X = stored(factors((60, 16)), (12, 16), str(tmp_path / "killed"), deadly=True)
    model = SparsePCA(n_nonzero=3).fit(factors((60, 16)))
    before = model.components_
    with pytest.raises(
        ClusterLostError, match=r"lost in pass 1 over the data .* fit anew"
    ) as caught:
        model.fit(X)
    assert "\n" not in str(caught.value)
    assert model.components_ is before


def test_workers_are_asked_for_their_memory(client):
    client.wait_for_workers(1, timeout=120)
    memory = worker_memory()
    assert memory.bytes == 10**9
    assert "worker" in memory.where
    with dask.config.set(scheduler="threads"):
        assert "machine" in worker_memory().where


def peak_of(client):
    def peak():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024

    return max(client.run(peak).values())


def block(block_info=None):
    where = block_info[None]["chunk-location"]
    shape = block_info[None]["chunk-shape"]
    return np.random.default_rng(where).standard_normal(shape)


def test_columns_in_chunks_are_not_joined_in_a_worker(client):
    client.wait_for_workers(1, timeout=120)
    chunks = ((8000, 8000), (100,) * 16)
    X = da.map_blocks(block, chunks=chunks, dtype=float, meta=np.empty((0, 0)))
    largest = 8000 * 100 * 8
    assert dask_rows.joined_limit(X) == max(2 * largest, dask_rows.JOINED_BYTES)
    covariance_of(X[:, :100], route="gram")
    before = peak_of(client)
    S, _ = covariance_of(X, route="gram")
    W = np.ones((1600, 2)) / 40
    lazy, _ = covariance_of(X, route="data")
    np.testing.assert_allclose(lazy @ W, S @ W, atol=1e-10)
    # All columns of a chunk of rows are 102 MB. What is joined is a third of that, and copied once.
    assert peak_of(client) - before < 90e6


def test_a_cluster_without_workers_is_not_waited_for(monkeypatch):
    monkeypatch.setattr(module, "PATIENCE", 1.0)
    monkeypatch.setattr(module, "LOOK_EVERY", 0.2)
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0"
        ) as workers,
        distributed.Client(workers),
    ):
        X = da.from_array(factors((60, 16)), chunks=(12, 16)).map_blocks(slowly, dtype=float)
        gone = threading.Timer(0.5, workers.scale, (0,))
        gone.start()
        with pytest.raises(ClusterLostError, match="no worker for 1 seconds"):
            SparsePCA(n_nonzero=3).fit(X)
        gone.join()


def slowly(block):
    time.sleep(2)
    return block
