"""Results stand where scanpy looks for them."""

import numpy as np
import pytest
from scipy import sparse

from loadstone import SparsePCA, ThresholdedPCA
from loadstone.anndata import sparse_pca

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
    assert sparse_pca(adata, 3, n_nonzero=4) is None
    model = SparsePCA(3, n_nonzero=4).fit(adata.X)
    np.testing.assert_allclose(adata.obsm["X_pca"], model.transform(adata.X))
    np.testing.assert_allclose(adata.varm["PCs"], model.components_.T)
    np.testing.assert_allclose(adata.uns["pca"]["variance"], model.explained_variance_)
    np.testing.assert_allclose(adata.uns["pca"]["variance_ratio"], model.explained_variance_ratio_)


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
    with pytest.raises(ValueError, match="each of the 15 genes"):
        sparse_pca(adata, mask_var=[True])


def test_the_result_survives_a_file(adata, tmp_path):
    sparse_pca(adata, 2, n_nonzero=3, mask_var="highly_variable")
    for frame in (adata.obs, adata.var):
        frame.index = frame.index.astype(object)  # strings of Arrow are not written yet
    adata.write_h5ad(tmp_path / "a.h5ad")
    again = anndata.read_h5ad(tmp_path / "a.h5ad")
    np.testing.assert_array_equal(again.obsm["X_pca"], adata.obsm["X_pca"])
    assert again.uns["pca"]["params"]["method"] == "SparsePCA"


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
