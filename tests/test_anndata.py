"""Results stand where scanpy looks for them."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import loadstone
from loadstone import SparsePCA, ThresholdedPCA
from loadstone.anndata import model_of, sparse_pca

anndata = pytest.importorskip("anndata", reason="anndata is not installed")


@pytest.fixture
def adata():
    rng = np.random.default_rng(0)
    X = sparse.random_array((40, 15), density=0.4, rng=rng, format="csr")
    made = anndata.AnnData(X)
    made.layers["double"] = 2 * made.X
    made.var["highly_variable"] = np.arange(15) < 10
    return made


def test_results_stand_where_scanpy_looks(adata):
    assert sparse_pca(adata, 3, n_nonzero=4, mask_var=None) is None
    model = SparsePCA(3, n_nonzero=4).fit(adata.X)
    np.testing.assert_allclose(adata.obsm["X_pca"], model.transform(adata.X))
    np.testing.assert_allclose(adata.varm["PCs"], model.components_.T)
    np.testing.assert_allclose(adata.uns["pca"]["variance"], model.explained_variance_)
    np.testing.assert_allclose(adata.uns["pca"]["variance_ratio"], model.explained_variance_ratio_)


def test_highly_variable_genes_are_the_default_as_in_scanpy(adata):
    model = sparse_pca(adata, 2, n_nonzero=4, return_model=True)
    genes = adata.X[:, :10]
    expected = SparsePCA(2, n_nonzero=4).fit(genes)
    np.testing.assert_allclose(model.components_, expected.components_)
    np.testing.assert_allclose(adata.varm["PCs"][:10], expected.components_.T)
    assert not adata.varm["PCs"][10:].any()
    np.testing.assert_allclose(adata.obsm["X_pca"], expected.transform(genes))
    assert adata.uns["pca"]["params"]["use_highly_variable"]
    assert list(model.feature_names_in_) == list(adata.var_names[:10])
    del adata.var["highly_variable"]
    assert sparse_pca(adata, 1, n_nonzero=4, return_model=True).n_features_in_ == 15


@pytest.mark.parametrize("chunk_size", [7, 40, None])
def test_blocks_of_rows_give_the_same_components(adata, chunk_size):
    whole = sparse_pca(adata, 2, n_nonzero=4, copy=True)
    found, model = sparse_pca(
        adata, 2, n_nonzero=4, chunked=True, chunk_size=chunk_size, copy=True, return_model=True
    )
    np.testing.assert_allclose(found.varm["PCs"], whole.varm["PCs"], atol=1e-8)
    np.testing.assert_allclose(found.obsm["X_pca"], whole.obsm["X_pca"], atol=1e-8)
    assert model.n_samples_ == 40


@pytest.mark.parametrize("chunked", [False, True])
def test_files_and_dask_arrays_are_read_by_blocks(adata, chunked, tmp_path):
    da = pytest.importorskip("dask.array", reason="dask is not installed")
    whole = sparse_pca(adata, 2, n_nonzero=4, copy=True)
    for frame in (adata.obs, adata.var):
        frame.index = frame.index.astype(object)
    adata.write_h5ad(tmp_path / "a.h5ad")
    backed = anndata.read_h5ad(tmp_path / "a.h5ad", backed="r")
    dense = adata.copy()
    dense.X = da.from_array(adata.X.toarray(), chunks=(9, 15))
    for cells in (backed, dense):
        sparse_pca(cells, 2, n_nonzero=4, chunked=chunked)
        np.testing.assert_allclose(cells.varm["PCs"], whole.varm["PCs"], atol=1e-8)
        np.testing.assert_allclose(cells.obsm["X_pca"], whole.obsm["X_pca"], atol=1e-8)
    backed.file.close()


def test_layers_keys_masks_and_copies(adata):
    made = sparse_pca(
        adata, 2, n_nonzero=3, layer="double", key_added="parts",
        mask_var="highly_variable", copy=True, nonnegative=True,
    )  # fmt: skip
    assert "parts" not in adata.obsm
    assert made.obsm["parts"].shape == (40, 2)
    assert (made.varm["parts"][10:] == 0).all()
    assert ((made.varm["parts"] != 0).sum(axis=0) == 3).all()
    assert (made.varm["parts"] >= 0).all()
    assert made.uns["parts"]["params"]["layer"] == "double"
    plain = sparse_pca(
        adata, 2, n_nonzero=3, mask_var=np.arange(15) < 10, copy=True, nonnegative=True
    )
    np.testing.assert_allclose(made.obsm["parts"], 2 * plain.obsm["X_pca"])


def test_any_estimator_may_be_given(adata):
    sparse_pca(adata, estimator=ThresholdedPCA(1, n_nonzero=5))
    assert (adata.varm["PCs"] != 0).sum() == 5
    with pytest.raises(ValueError, match="cannot be combined"):
        sparse_pca(adata, estimator=ThresholdedPCA(), nonnegative=True)


def test_what_is_not_there_is_named(adata):
    with pytest.raises(KeyError, match="no layer 'x'"):
        sparse_pca(adata, layer="x")
    with pytest.raises(KeyError, match="no column 'x'"):
        sparse_pca(adata, mask_var="x")
    with pytest.raises(KeyError, match="no layer 'doubl'; did you mean 'double'"):
        sparse_pca(adata, layer="doubl")
    with pytest.raises(ValueError, match=r"each of the 15 genes.*mask_var=None uses all"):
        sparse_pca(adata, mask_var=[True])
    with pytest.raises(ValueError, match="chunk_size=0 must be at least 1"):
        sparse_pca(adata, n_nonzero=3, chunked=True, chunk_size=0)
    with pytest.raises(KeyError, match="holds no components of loadstone"):
        model_of(adata)


def test_the_result_survives_a_file(adata, tmp_path):
    model = sparse_pca(adata, 2, n_nonzero=3, certify="instant", return_model=True)
    for frame in (adata.obs, adata.var):
        frame.index = frame.index.astype(object)  # strings of Arrow are not written yet
    adata.write_h5ad(tmp_path / "a.h5ad")
    again = anndata.read_h5ad(tmp_path / "a.h5ad")
    np.testing.assert_array_equal(again.obsm["X_pca"], adata.obsm["X_pca"])
    stored = again.uns["pca"]
    assert stored["params"]["method"] == "SparsePCA"
    assert stored["params"]["n_nonzero"] == 3
    assert stored["params"]["certify"] == "instant"
    bounds = [certificate.upper_bound for certificate in model.certificates_]
    np.testing.assert_array_equal(stored["certificates"]["upper_bound"], bounds)
    assert list(stored["certificates"]["sentence"]) == [str(c) for c in model.certificates_]
    assert stored["certificates"]["is_optimal"].dtype == bool
    opened = model_of(again)
    np.testing.assert_array_equal(opened.components_, model.components_)
    assert list(opened.feature_names_in_) == list(adata.var_names[:10])


def test_report_takes_cells_with_their_key(adata):
    pytest.importorskip("jinja2", reason="reports are made with jinja2")
    adata.obs["kind"] = ["a", "b"] * 20
    adata.var_names = [f"gene{i}" for i in range(15)]
    model = sparse_pca(adata, 2, n_nonzero=3, layer="double", key_added="parts", return_model=True)
    summary = loadstone.report(adata, key="parts", labels="kind").summary
    genes = pd.DataFrame(2 * adata.X[:, :10].toarray(), columns=adata.var_names[:10])
    np.testing.assert_allclose(summary["scores"]["values"], model.transform(genes), rtol=1e-4)
    assert summary["scores"]["labels"] == list(adata.obs["kind"])
    assert summary["data"]["n_features"] == 10
    assert summary["components"][0]["loadings"][0]["feature"].startswith("gene")
    given = loadstone.report(model, adata, key="parts", labels="kind").summary
    assert given["scores"] == summary["scores"]
    with pytest.raises(
        KeyError, match=r"labels='kid' is no column of adata\.obs; did you mean 'kind'"
    ):
        loadstone.report(adata, key="parts", labels="kid")
    with pytest.raises(KeyError, match="did you mean 'parts'"):
        loadstone.report(adata, key="part")
    with pytest.raises(ValueError, match="key='x' is for an AnnData"):
        loadstone.report(model, np.ones((3, 10)), key="x")


@pytest.mark.parametrize("masked", [False, True])
def test_a_backed_file_is_read_by_blocks(adata, tmp_path, masked):
    pytest.importorskip("dask", reason="dask is not installed")
    for frame in (adata.obs, adata.var):
        frame.index = frame.index.astype(object)
    adata.write_h5ad(tmp_path / "a.h5ad")
    backed = anndata.read_h5ad(tmp_path / "a.h5ad", backed="r")
    mask = "highly_variable" if masked else None
    sparse_pca(backed, 2, n_nonzero=3, mask_var=mask)
    sparse_pca(adata, 2, n_nonzero=3, mask_var=mask)
    np.testing.assert_allclose(backed.obsm["X_pca"], adata.obsm["X_pca"], atol=1e-10)
    np.testing.assert_allclose(backed.varm["PCs"], adata.varm["PCs"], atol=1e-10)
