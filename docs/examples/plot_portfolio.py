"""
A portfolio: sectors from returns alone
=======================================

Sixty stocks move with the market, some of them also with their sector. Plain principal
components mix all of them; sparse non-negative components are baskets one could buy. The
returns are simulated, so the truth is known.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.decomposition import PCA

from loadstone import SparsePCA
from loadstone.datasets import make_sector_returns
from loadstone.plotting import plot_loadings, plot_loadings_heatmap

returns = make_sector_returns(random_state=0)
names = np.array(returns.feature_names, dtype=object)

# %%
# The market moves everything. Its part is taken out of each stock first, as one does when
# looking for sectors.

X = returns.data - PCA(1).fit(returns.data).inverse_transform(PCA(1).fit_transform(returns.data))

# %%
# Four baskets of eight stocks, none of them in two. The sectors are not known to the method.

model = SparsePCA(4, n_nonzero=8, nonnegative=True, orthogonality="disjoint").fit(X)
for component, support in zip(range(1, 5), model.support_, strict=True):
    sectors, counts = np.unique(
        [name.rsplit(" ", 1)[0] for name in names[support]], return_counts=True
    )
    print(component, dict(zip(sectors.tolist(), counts.tolist(), strict=True)))

# %%
plot_loadings(model, components=[0, 1], feature_names=names)
plt.show()

# %%
plot_loadings_heatmap(model, feature_names=names)
plt.show()
