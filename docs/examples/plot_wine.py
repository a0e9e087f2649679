"""
First steps: what distinguishes wines
=====================================

Thirteen measurements of 178 wines, in three components of four measurements each.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_wine

from loadstone import SparsePCA
from loadstone.plotting import plot_biplot, plot_loadings, plot_scree

wine = load_wine(as_frame=True)
model = SparsePCA(3, n_nonzero=4, nonnegative=True, standardize=True).fit(wine.data)
model.loadings_table()

# %%
# The first component adds up phenols, the second is body, the third ash and acid.

plot_loadings(model)
plt.show()

# %%
# Plain PCA needs all measurements in every component to explain more.

plot_scree(model, wine.data)
plt.show()

# %%
# A biplot has arrows for the selected features only.

plot_biplot(model, wine.data, labels=wine.target_names[wine.target])
plt.show()
