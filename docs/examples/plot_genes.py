"""
Genes: three kinds of leukemia
==============================

Expression of 12582 genes in 72 patients with three kinds of leukemia (Armstrong et al.,
2002). The values are floored and brought to logarithms, as is usual for such arrays. Two
components of thirty genes each are found without the diagnoses. Where the arrays are not at
hand, thirty measurements of the cells of 569 breast tumours take their place.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer

from loadstone import SparsePCA
from loadstone.datasets import fetch_leukemia
from loadstone.plotting import plot_loadings, plot_scores

try:
    data, floor, size = fetch_leukemia(), 20, 30
except OSError:
    print("leukemia is not at hand: breast tumours instead, in components of eight measurements")
    data, floor, size = load_breast_cancer(), 1e-3, 8
X = np.log2(np.maximum(data.data, floor))
kinds = data.target_names[data.target]

# %%
# Genes at the floor in every patient say nothing and are left out. The others are in the same
# units, so that they are not standardised: a gene that varies more may have a larger say.

varies = X.std(axis=0) > 0
X, names = X[:, varies], np.asarray(data.feature_names)[varies]

model = SparsePCA(2, n_nonzero=size, standardize=False).fit(X)
print("features used:", int(model.support_.any(axis=0).sum()), "of", X.shape[1])

# %%
plot_scores(model, X, labels=kinds)
plt.show()

# %%
plot_loadings(model, feature_names=names)
plt.show()
