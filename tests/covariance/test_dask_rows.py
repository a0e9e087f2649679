"""Dask arrays by blocks: column chunks that stay apart, tiles, passes, and a cluster that dies."""

import dask
import dask.array as da
import numpy as np
import pytest
from scipy import sparse

from loadstone import EMPCA, SampleCovariance, SparsePCA
from loadstone.covariance import covariance_of, dask_rows, moments, variances_of
from loadstone.covariance.cluster import Memory
from loadstone.covariance.containers import rows_of
from loadstone.covariance.dask_rows import DaskRows
from loadstone.covariance.passes import telling_passes


@pytest.fixture(autouse=True)
def threads():
    with dask.config.set(scheduler="threads", num_workers=2):
        yield


@pytest.fixture
def apart(monkeypatch):
    """Small arrays count as large ones: columns are joined up to twice the largest chunk."""
    monkeypatch.setattr(dask_rows, "JOINED_BYTES", 0)


def data(shape=(47, 22), seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal(shape) + 2 * rng.standard_normal((shape[0], 1)) + 3
    X[rng.random(shape) < 0.2] = 0
    return X


def chunked(X, chunks, *, stored):
    whole = da.from_array(X, chunks=chunks)
    if stored == "dense":
        return whole
    return whole.map_blocks(sparse.csr_array, meta=sparse.csr_array((0, 0), dtype=X.dtype))


def largest_blocks(monkeypatch):
    """Sizes of the blocks that functions are given, written down."""
    seen = []
    original = dask_rows._on_float_block

    def spy(f, dtype, block, rows, *args):
        seen.append(block.shape)
        return original(f, dtype, block, rows, *args)

    monkeypatch.setattr(dask_rows, "_on_float_block", spy)
    return seen


@pytest.mark.parametrize("stored", ["dense", "sparse"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("chunks", [(10, 3), (47, 4), (9, (1, 9, 2, 4, 6))])
def test_columns_apart_give_the_same_covariance(apart, monkeypatch, chunks, weighted, stored):
    X = data()
    w = np.random.default_rng(1).integers(0, 4, 47).astype(float) if weighted else None
    expected = np.cov(X.T, fweights=None if w is None else w.astype(int))
    lazy = chunked(X, chunks, stored=stored)
    assert len(rows_of(lazy).strips) >= 3
    seen = largest_blocks(monkeypatch)
    rng = np.random.default_rng(2)
    W, few = rng.standard_normal((22, 4)), np.zeros((22, 2))
    few[[3, 20]] = rng.standard_normal((2, 2))
    rows, cols = np.array([19, 0, 7]), np.array([1, 7, 21, 4])
    for route in ("gram", "data"):
        S, found = covariance_of(lazy, route=route, sample_weight=w)
        np.testing.assert_allclose(found.mean, np.average(X, axis=0, weights=w), rtol=1e-12)
        np.testing.assert_allclose(S.diagonal(), expected.diagonal(), rtol=1e-11)
        for V in (W, few, W[:, 0]):
            np.testing.assert_allclose(S @ V, expected @ V, atol=1e-11)
        np.testing.assert_allclose(S.block(rows, cols), expected[np.ix_(rows, cols)], atol=1e-12)
        np.testing.assert_allclose(
            variances_of(S, few), np.einsum("ij,ij->j", few, expected @ few), rtol=1e-10
        )
        part = S.restrict(np.sort(cols))
        inside = expected[np.ix_(np.sort(cols), np.sort(cols))]
        np.testing.assert_allclose(part @ W[:4], inside @ W[:4], atol=1e-11)
    C = SampleCovariance.of(lazy, w)
    np.testing.assert_allclose(C.scatter, expected * (C.n_samples - 1), atol=1e-9)
    widest = max(lazy.chunks[1])
    assert max(width for _, width in seen) <= 2 * widest


def test_scores_and_columns_of_columns_apart(apart):
    X = data()
    S, _ = covariance_of(chunked(X, (10, 3), stored="dense"), route="data")
    W = np.random.default_rng(3).standard_normal((22, 3))
    centred = X - X.mean(axis=0)
    np.testing.assert_allclose(S.scores(W), centred @ W, atol=1e-11)
    np.testing.assert_allclose(S.back_project(centred @ W), np.cov(X.T) @ W, atol=1e-11)
    some = np.array([20, 1, 5])
    np.testing.assert_allclose(S.centred_columns(some), centred[:, some], atol=1e-12)


@pytest.mark.parametrize("shape", [(60, 20), (20, 60)])
@pytest.mark.parametrize("cls", [SparsePCA, EMPCA])
def test_a_fit_with_columns_apart_is_the_fit_in_memory(apart, cls, shape):
    X = data(shape)
    lazy = da.from_array(X, chunks=(10, 5))
    model, there = cls(2, n_nonzero=4).fit(lazy), cls(2, n_nonzero=4).fit(X)
    np.testing.assert_allclose(model.components_, there.components_, atol=1e-8)
    np.testing.assert_allclose(model.explained_variance_, there.explained_variance_, rtol=1e-9)
    scores = model.transform(lazy)
    assert isinstance(scores, da.Array)
    np.testing.assert_allclose(scores.compute(), model.transform(X), atol=1e-10)
    assert model.score(lazy) == pytest.approx(model.score(X), rel=1e-10)


def test_parts_of_columns_apart(apart):
    X = data()
    part = np.random.default_rng(4).integers(-1, 3, 47)
    lazy = da.from_array(X, chunks=(10, 3))
    for i, C in enumerate(SampleCovariance.of_parts(lazy, None, part, 3)):
        np.testing.assert_allclose(
            C.covariance().matrix, np.cov(X[part == i].T), atol=1e-11 * np.abs(X).max() ** 2
        )
        assert C.n_samples == (part == i).sum()


@pytest.mark.parametrize("stored", ["dense", "sparse"])
def test_a_matrix_too_large_for_workers_is_made_of_tiles(monkeypatch, stored):
    X = data()
    lazy = chunked(X, (10, 22), stored=stored)
    # Results of 5 of 22 rows of the matrix fit.
    monkeypatch.setattr(DaskRows, "largest_result", 22 * 8 * 5 + 1)
    w = np.arange(47.0)
    with telling_passes(lambda *args, **facts: None) as passes:
        S, _ = covariance_of(lazy, route="gram", sample_weight=w)
    assert passes.n_done == 5
    np.testing.assert_allclose(S.matrix, np.cov(X.T, aweights=w, ddof=0) * w.sum() / (w.sum() - 1))
    monkeypatch.setattr(DaskRows, "largest_result", 22 * 8)
    with pytest.raises(MemoryError, match=r"22 features takes .* more than 16 passes"):
        covariance_of(lazy, route="gram")
    with pytest.raises(MemoryError, match=r"22 features takes .* a worker can hold"):
        SampleCovariance.of(lazy)


def test_parts_take_further_passes_where_workers_hold_fewer(monkeypatch):
    X = data()
    part = np.arange(47) % 5
    monkeypatch.setattr(DaskRows, "largest_result", 8 * 22**2 * 2)
    with telling_passes(lambda *args, **facts: None) as passes:
        found = SampleCovariance.of_parts(da.from_array(X, chunks=(10, -1)), None, part, 5)
    assert passes.n_done == 3
    for i, C in enumerate(found):
        np.testing.assert_allclose(C.covariance().matrix, np.cov(X[part == i].T), atol=1e-11)


def test_memory_of_a_result_is_a_ninth():
    # Two results and their sum, in a third of the memory.
    assert Memory(900, "a worker").largest_result() == 100
    assert moments.MAX_TILES == 16


def test_sparse_chunks_take_one_pass():
    lazy = chunked(data(), (10, 22), stored="sparse")
    told = []
    with telling_passes(lambda name, **facts: told.append((name, facts))) as passes:
        covariance_of(lazy, route="gram")
    assert passes.n_done == 1
    assert told == [("pass 1", {"n_passes": 1})]


def test_empty_chunks_of_rows_are_skipped():
    X = data()
    lazy = da.from_array(X, chunks=(10, 22))
    holed = da.concatenate([lazy[:10], lazy[:0], lazy[10:]])
    S, _ = covariance_of(holed, route="gram")
    np.testing.assert_allclose(S.matrix, np.cov(X.T), atol=1e-11)


@pytest.mark.parametrize("shape", [(6,), (6, 2, 2)])
def test_what_is_no_table_is_refused_before_it_is_read(shape):
    with pytest.raises(
        ValueError, match=rf"X has {len(shape)} dimension\(s\); expected a 2D array"
    ):
        SampleCovariance.of(da.ones(shape))
