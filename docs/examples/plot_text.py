"""
Text: topics in the news
========================

Words in 2246 articles of the Associated Press. A non-negative component of eight words is a
topic one can read; a plain principal component has a loading for each of the 10473 words. Where
the articles are not at hand, the docstrings of the estimators of scikit-learn take their place.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer
from sklearn.utils.discovery import all_estimators

from loadstone import SparsePCA
from loadstone.datasets import fetch_associated_press
from loadstone.plotting import plot_loadings

try:
    news = fetch_associated_press()
    counts, words = news.data.astype(float), news.feature_names
except OSError:
    print("the articles are not at hand: docstrings of scikit-learn instead")
    counter = CountVectorizer(stop_words="english", token_pattern=r"[a-z]{4,}", min_df=3)
    counts = counter.fit_transform(cls.__doc__ for _, cls in all_estimators())
    words = counter.get_feature_names_out()
X = TfidfTransformer(sublinear_tf=True).fit_transform(counts)

# %%
# Disjoint supports: no word serves two topics.

model = SparsePCA(6, n_nonzero=8, nonnegative=True, orthogonality="disjoint", effort="fast")
model.fit(X)
for j, w in enumerate(model.components_):
    print(j + 1, ", ".join(words[np.argsort(-w)[: model.cardinality_[j]]]))

# %%
plot_loadings(model, components=[0, 1, 2], feature_names=words)
plt.show()
