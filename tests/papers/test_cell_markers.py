"""Blood cells: components come out as cell types, with the markers textbooks name."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from loadstone.anndata import sparse_pca
from real_data import arrays, sparse_counts

pytestmark = pytest.mark.papers

MARKERS = {"monocytes": "LYZ", "B cells": "CD79A", "killer cells": "NKG7"}


@pytest.fixture(scope="module")
def cells():
    anndata = pytest.importorskip("anndata", reason="anndata is not installed")
    counts = sparse.csr_array(sparse_counts("pbmc3k.npz"))
    genes = arrays("pbmc3k.npz")["feature_names"].astype(object)
    seen = np.asarray((counts > 0).sum(axis=0)).ravel() >= 3
    _, first = np.unique(genes[seen], return_index=True)
    kept = np.flatnonzero(seen)[np.sort(first)]
    counts = counts[:, kept]
    depth = np.asarray(counts.sum(axis=1)).ravel()
    X = sparse.csr_matrix(sparse.diags_array(1e4 / depth) @ counts)
    X.data = np.log1p(X.data)
    made = anndata.AnnData(X, var=pd.DataFrame(index=pd.Index(genes[kept], dtype=object)))
    made.obs_names = pd.Index([f"cell{i}" for i in range(X.shape[0])], dtype=object)
    return made


@pytest.mark.parametrize("nonnegative", [False, True])
def test_each_marker_is_at_the_top_of_one_component(cells, nonnegative):
    sparse_pca(cells, 3, n_nonzero=30, nonnegative=nonnegative, effort="fast")
    names = np.array(cells.var_names)
    tops = [set(names[np.argsort(-w)[:10]]) for w in cells.varm["PCs"].T]
    for kind, marker in MARKERS.items():
        assert sum(marker in top for top in tops) == 1, kind
    assert sparse.issparse(cells.X)


def test_the_command_line_finds_them_too(cells, tmp_path, monkeypatch):
    from typer.testing import CliRunner

    from loadstone.commands.app import app

    monkeypatch.chdir(tmp_path)
    cells.obs.index = cells.obs.index.astype(object)
    cells.var.index = cells.var.index.astype(object)
    cells.write_h5ad(tmp_path / "pbmc3k.h5ad")
    arguments = [
        "fit",
        "pbmc3k.h5ad",
        "-c",
        "3",
        "-k",
        "30",
        "--nonnegative",
        "--method",
        "em",
        "-q",
    ]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    loadings = pd.read_csv(tmp_path / "pbmc3k-loadstone" / "loadings.csv")
    assert set(MARKERS.values()) <= set(loadings["feature"])
