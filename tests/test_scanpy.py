"""The whole flow with scanpy itself: from counts to markers, neighbours and a map."""

import re
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import loadstone
from loadstone.anndata import sparse_pca
from real_data import arrays, data_file, sparse_counts

pytestmark = pytest.mark.papers
MARKERS = ("LYZ", "CD79A", "NKG7")
N_TOP = 10


@pytest.fixture(scope="module")
def cells():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sc = pytest.importorskip(
            "scanpy", reason="scanpy is not installed: pip install loadstone[cells]"
        )
        anndata = pytest.importorskip("anndata", reason="anndata is not installed")
        counts = sparse.csr_matrix(sparse_counts("pbmc3k.npz"), dtype=np.float32)
        genes = pd.Index(arrays("pbmc3k.npz")["feature_names"].astype(object))
        barcodes = pd.Index([f"cell{i}" for i in range(counts.shape[0])], dtype=object)
        adata = anndata.AnnData(
            counts, obs=pd.DataFrame(index=barcodes), var=pd.DataFrame(index=genes)
        )
        adata.var_names_make_unique()
        sc.pp.filter_genes(adata, min_cells=3)
        sc.pp.normalize_total(adata, target_sum=1e4)
        sc.pp.log1p(adata)
        sc.pp.highly_variable_genes(adata, n_top_genes=2000)
    return adata


def top_genes(adata, key="PCs"):
    names = np.asarray(adata.var_names)
    return [set(names[np.argsort(-abs(w))[:N_TOP]]) for w in adata.varm[key].T]


@pytest.mark.parametrize("nonnegative", [False, True])
def test_markers_of_cell_types_are_at_the_top_of_a_component(cells, nonnegative):
    model = sparse_pca(cells, 5, n_nonzero=30, nonnegative=nonnegative, return_model=True)
    assert model.n_features_in_ == cells.var["highly_variable"].sum()
    assert not cells.varm["PCs"][~cells.var["highly_variable"]].any()
    for marker in MARKERS:
        assert any(marker in top for top in top_genes(cells)), marker


@pytest.mark.filterwarnings("ignore")
def test_the_page_runs_from_counts_to_a_report(cells, tmp_path, monkeypatch):
    monkeypatch.setenv("LOADSTONE_DATA", str(Path(data_file("pbmc3k.npz")).parent))
    monkeypatch.chdir(tmp_path)
    page = Path(__file__).resolve().parents[1] / "docs" / "single_cell.md"
    names = {}
    for block in re.findall(
        r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), re.M | re.S
    ):
        exec(compile(block, page.name, "exec"), names)
    for marker in MARKERS:
        assert sum(marker in genes for genes in names["markers"].values()) == 1, marker
    assert names["adata"].obsm["X_umap"].shape == (2700, 2)
    assert (tmp_path / "cells.html").stat().st_size > 10_000
    np.testing.assert_allclose(names["backed"].varm["PCs"], names["adata"].varm["PCs"], atol=1e-4)


@pytest.mark.filterwarnings("ignore")
def test_scanpy_goes_on_with_the_scores(cells):
    import scanpy as sc

    few = cells[:500].copy()
    sparse_pca(few, 5, n_nonzero=30, nonnegative=True)
    sc.pp.neighbors(few, n_neighbors=10, n_pcs=5)
    sc.tl.umap(few, maxiter=30)
    assert few.obsm["X_umap"].shape == (500, 2)
    few.obs["side"] = pd.Categorical(np.where(few.obsm["X_pca"][:, 0] > 0, "high", "low"))
    sc.tl.rank_genes_groups(few, "side", method="t-test")
    report = loadstone.report(few, labels="side")
    assert report.summary["scores"]["labels"] is not None
    assert set(report.summary["data"]) >= {"n_samples", "n_features"}
