"""Frames and arrays that are stored elsewhere: read by blocks, or refused with the way out."""

import dask
import dask.array as da
import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from loadstone import FeatureSelector, SampleCovariance, SparsePCA, stability_selection
from loadstone.covariance import opened as module
from loadstone.covariance.opened import opened
from loadstone.selection import stability

X = np.random.default_rng(0).standard_normal((40, 2)) @ np.ones((2, 6)) * [3, 3, 3, 1, 1, 1]
X = X + np.random.default_rng(1).standard_normal((40, 6)) + 2
NAMES = list("abcdef")


@pytest.fixture(autouse=True)
def threads():
    with dask.config.set(scheduler="sync"):
        yield


def as_h5py(tmp_path):
    h5py = pytest.importorskip("h5py", reason="anndata brings it")
    file = h5py.File(tmp_path / "x.h5", "w")
    return file.create_dataset("x", data=X, chunks=(7, 4))


def as_zarr(tmp_path):
    zarr = pytest.importorskip("zarr", reason="it is not installed")
    stored = zarr.create_array(str(tmp_path / "x.zarr"), shape=X.shape, chunks=(7, 4), dtype="f8")
    stored[:] = X
    return stored


def as_frame(tmp_path):
    dd = pytest.importorskip("dask.dataframe", reason="it needs pandas and pyarrow")
    return dd.from_pandas(pd.DataFrame(X, columns=NAMES), npartitions=3)


def as_backed_anndata(tmp_path):
    anndata = pytest.importorskip("anndata", reason="the anndata extra brings it")
    anndata.AnnData(sparse.csr_matrix(X)).write_h5ad(tmp_path / "x.h5ad")
    return anndata.read_h5ad(tmp_path / "x.h5ad", backed="r").X


@pytest.mark.parametrize("stored", [as_h5py, as_zarr, as_frame, as_backed_anndata])
def test_what_is_stored_is_read_by_blocks(stored, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "MAPPED_BYTES", 8 * 6 * 14)
    there = stored(tmp_path)
    blocks = opened(there)
    assert isinstance(blocks, da.Array)
    assert blocks.numblocks[0] >= 3
    model, known = SparsePCA(2, n_nonzero=3).fit(there), SparsePCA(2, n_nonzero=3).fit(X)
    np.testing.assert_allclose(model.components_, known.components_, atol=1e-9)
    scores = model.transform(there)
    assert isinstance(scores, da.Array)
    np.testing.assert_allclose(scores.compute(), known.transform(X), atol=1e-9)
    assert model.score(there) == pytest.approx(known.score(X))
    np.testing.assert_allclose(SampleCovariance.of(there).scatter, 39 * np.cov(X.T), rtol=1e-9)
    selector = FeatureSelector(2).fit(there)
    kept = selector.transform(there)
    assert isinstance(kept, da.Array)
    np.testing.assert_allclose(
        np.asarray(kept.map_blocks(_dense, dtype=float).compute()), X[:, selector.support_]
    )


def _dense(block):
    return block.toarray() if sparse.issparse(block) else block


def test_frames_of_dask_have_names():
    frame = as_frame(None)
    model = SparsePCA(n_nonzero=3).fit(frame)
    assert model.feature_names_in_.tolist() == NAMES
    assert SampleCovariance.of(frame).names.tolist() == NAMES
    with pytest.raises(ValueError, match="feature names"):
        model.transform(frame[NAMES[::-1]])
    with pytest.raises(ValueError, match="'b'"):
        SparsePCA().fit(frame.assign(b="word"))


class DataArray:
    """An array of xarray, as far as it is looked at."""

    __module__ = "xarray.core.dataarray"
    dims, dtype = ("sample", "feature"), X.dtype

    def __init__(self, data):
        self.data = data


class Dataset:
    """Several arrays of xarray."""

    __module__ = "xarray.core.dataset"


def test_arrays_of_xarray_are_taken_for_what_they_hold():
    known = SparsePCA(n_nonzero=3).fit(X).components_
    for data in (X, da.from_array(X, chunks=(10, 6))):
        np.testing.assert_allclose(
            SparsePCA(n_nonzero=3).fit(DataArray(data)).components_, known, atol=1e-9
        )
    with pytest.raises(TypeError, match="holds several arrays; choose one"):
        SparsePCA().fit(Dataset())


def test_what_cannot_be_read_by_rows_says_the_way_out(tmp_path):
    anndata = pytest.importorskip("anndata", reason="the anndata extra brings it")
    adata = anndata.AnnData(sparse.csc_matrix(X))
    with pytest.raises(TypeError, match=r"give its matrix, adata\.X"):
        SparsePCA().fit(adata)
    adata.write_h5ad(tmp_path / "x.h5ad")
    with pytest.raises(TypeError, match="store it as CSR"):
        SparsePCA().fit(anndata.read_h5ad(tmp_path / "x.h5ad", backed="r").X)


def test_stability_of_a_dask_array_takes_one_pass(monkeypatch):
    reads = []

    def read(block):
        reads.append(len(block))
        return block

    lazy = da.from_array(X, chunks=(8, 6)).map_blocks(read, dtype=float, meta=X[:0])
    reads.clear()
    weights = np.linspace(0.5, 2, 40)
    how = {"n_subsamples": 30, "random_state": 0}
    estimator = SparsePCA(n_nonzero=3, effort="fast")
    found = stability_selection(estimator, lazy, sample_weight=weights, **how)
    assert sum(reads) == 40
    assert set(found.selected) == {0, 1, 2}
    again = stability_selection(estimator, X, sample_weight=weights, **how)
    assert set(again.selected) == {0, 1, 2}
    with pytest.raises(
        ValueError, match="12 samples, and its rows are dealt out to at least 8 blocks"
    ):
        stability_selection(estimator, lazy[:12], **how)
    monkeypatch.setattr(stability, "MAX_GRAM_BYTES", 7 * 8 * 6**2)
    with pytest.raises(MemoryError, match="7 blocks fit into"):
        stability_selection(estimator, lazy, **how)
