"""
Cells: marker genes of blood cells
==================================

Counts of 32738 genes in 2700 blood cells (10x Genomics). Non-negative components of thirty
genes come out as the programmes of cell types, with the markers that every textbook names
at the top: LYZ for monocytes, CD79A for B cells, NKG7 for killer cells, CD3D for T cells.
The matrix stays sparse throughout.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy import sparse

from loadstone import SparsePCA
from loadstone.datasets import fetch_pbmc3k
from loadstone.plotting import plot_loadings, plot_scores

pbmc = fetch_pbmc3k()
counts = pbmc.data.astype(float)
seen = np.asarray((counts > 0).sum(axis=0)).ravel() >= 3
counts, genes = counts[:, seen], pbmc.feature_names[seen]

# %%
# Every cell is brought to the same number of counts, then logarithms are taken.

depth = np.asarray(counts.sum(axis=1)).ravel()
X = sparse.csr_array(sparse.diags_array(1e4 / depth) @ counts)
X.data = np.log1p(X.data)

# %%
# With an AnnData object the same is one line, ``loadstone.anndata.sparse_pca(adata, 4,
# n_nonzero=30, nonnegative=True)``, and the result stands where scanpy looks for it.

model = SparsePCA(4, n_nonzero=30, nonnegative=True, effort="fast").fit(X)
for j, w in enumerate(model.components_):
    print(j + 1, ", ".join(genes[np.argsort(-w)[:10]]))

# %%
plot_loadings(model, feature_names=genes, max_features=8)
plt.show()

# %%
plot_scores(model, X, components=(1, 2))
plt.show()
