"""
Cells: marker genes of blood cells
==================================

Counts of 32738 genes in 2700 blood cells (10x Genomics). Non-negative components of thirty
genes come out as the programmes of cell types, with the markers that every textbook names
at the top: LYZ for monocytes, CD79A for B cells, NKG7 for killer cells, CD3D for T cells.
The matrix stays sparse throughout. Where the counts cannot be had, four simulated kinds of
cells take their place.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy import sparse

from loadstone import SparsePCA
from loadstone.datasets import fetch_pbmc3k
from loadstone.plotting import plot_loadings, plot_scores

try:
    pbmc = fetch_pbmc3k()
    counts, genes = pbmc.data.astype(float), pbmc.feature_names
except OSError:
    print("blood cells are not at hand: simulated cells of four kinds instead")
    rng = np.random.default_rng(0)
    rates = np.full((4, 600), 0.3)
    for kind in range(4):
        rates[kind, 30 * kind : 30 * (kind + 1)] = 4.0
    counts = sparse.csr_array(rng.poisson(rates[rng.integers(4, size=300)]).astype(float))
    genes = np.array([f"gene {j} of kind {j // 30 + 1}" for j in range(120)] + ["noise"] * 480)

seen = np.asarray((counts > 0).sum(axis=0)).ravel() >= 3
counts, genes = counts[:, seen], genes[seen]

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
