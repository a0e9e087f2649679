"""
Genes: three kinds of leukemia
==============================

Expression of 12582 genes in 72 patients with three kinds of leukemia (Armstrong et al.,
2002). The values are floored and brought to logarithms, as is usual for such arrays. Two
components of thirty genes each are found without the diagnoses.
"""

import matplotlib.pyplot as plt
import numpy as np

from loadstone import SparsePCA
from loadstone.datasets import fetch_leukemia
from loadstone.plotting import plot_loadings, plot_scores

leukemia = fetch_leukemia()
X = np.log2(np.maximum(leukemia.data, 20))
kinds = leukemia.target_names[leukemia.target]

model = SparsePCA(2, n_nonzero=30).fit(X)
print("genes used:", int(model.support_.any(axis=0).sum()), "of", X.shape[1])

# %%
plot_scores(model, X, labels=kinds)
plt.show()

# %%
plot_loadings(model, feature_names=leukemia.feature_names)
plt.show()
