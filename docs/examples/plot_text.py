"""
Text: topics in the news
========================

Words in 2246 articles of the Associated Press. A non-negative component of eight words is a
topic one can read; a plain principal component has a loading for each of the 10473 words.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.feature_extraction.text import TfidfTransformer

from loadstone import SparsePCA
from loadstone.datasets import fetch_associated_press
from loadstone.plotting import plot_loadings

news = fetch_associated_press()
X = TfidfTransformer(sublinear_tf=True).fit_transform(news.data.astype(float))

# %%
# Disjoint supports: no word serves two topics.

model = SparsePCA(6, n_nonzero=8, nonnegative=True, orthogonality="disjoint", effort="fast")
model.fit(X)
for j, w in enumerate(model.components_):
    print(j + 1, ", ".join(news.feature_names[np.argsort(-w)[: model.cardinality_[j]]]))

# %%
plot_loadings(model, components=[0, 1, 2], feature_names=news.feature_names)
plt.show()
