"""
Variance against cardinality: five methods on faces and genes
=============================================================

How much of the first principal component's variance do a few features keep, and how much
does it matter how they are found? These are the curves of Figures 2 and 3 (left) of Sigg
and Buhmann (2008) and of Figure 6 of Ulfarsson and Solo: thresholding, the elastic net, a greedy
path, EM, and :func:`loadstone.cardinality_path` with a band up to a proven bound. All
methods are judged on their own features after renormalising.

Where faces, leukemia or NCI60 are not at hand, handwritten digits, breast tumours and wines
take their places.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_wine

from loadstone import EMPCA, ElasticNetPCA, GreedyPCA, ThresholdedPCA, cardinality_path
from loadstone.datasets import fetch_cbcl_faces, fetch_leukemia, fetch_nci60


def have(fetch, title, instead, name):
    """A data set and its title, or those of one that comes with scikit-learn."""
    try:
        return fetch().data.astype(float), title
    except OSError:
        print(f"{title} is not at hand: {name} instead")
        return instead().data, name


def standardise(X):
    """Features of mean 0 and variance 1; those that do not vary are left out."""
    X = X[:, np.ptp(X, axis=0) > 0]
    return (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)


# %%
# Raw grey values, each pixel of unit variance. Their first component is positive
# everywhere, so for non-negative components it is removed first, as in the paper.

images, faces_title = have(fetch_cbcl_faces, "faces", load_digits, "digits")
faces = standardise(images)
first = np.linalg.eigh(faces.T @ faces)[1][:, -1]
rest = faces - np.outer(faces @ first, first)


def rivals(X, sizes, *, nonnegative):
    """Variance of each method at each size, on its own support."""
    common = {"nonnegative": nonnegative}
    greedy = GreedyPCA(n_nonzero=int(sizes[-1]), rule="approximate", **common).fit(X)
    # Non-negative growth may stop early; the last value then holds for larger sizes.
    steps = np.minimum(sizes, greedy.path_variance_.size) - 1
    curves = {"greedy": greedy.path_variance_[steps]}
    makers = {
        "thresholding": lambda k: ThresholdedPCA(n_nonzero=k, **common),
        "EM": lambda k: EMPCA(n_nonzero=k, **common),
    }
    if not nonnegative:
        makers["elastic net"] = lambda k: ElasticNetPCA(
            n_nonzero=k, ridge=np.inf, renormalize=True, max_iter=2000
        )
    for name, make in makers.items():
        curves[name] = [make(int(k)).fit(X).marginal_variance_[0] for k in sizes]
    return curves


def draw(ax, X, sizes, title, *, nonnegative=False, certify=False):
    path = cardinality_path(X, sizes, nonnegative=nonnegative, certify=certify)
    scale = path.ratio[0] / path.values[0]
    path.plot(ax, label="cardinality_path")
    for name, values in rivals(X, sizes, nonnegative=nonnegative).items():
        ax.plot(sizes, np.array(values) * scale, "--", label=name)
        lost = 1 - np.min(np.array(values) / path.values)
        print(f"{title}: {name} loses up to {lost:.1%}")
    ax.set_title(title)
    ax.legend(loc="lower right")


# %%
# The band is what the bound leaves open: no component of that size, found by whatever
# method, can lie above it.

_, axes = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
sizes = np.unique(np.round(np.geomspace(1, faces.shape[1], 24)).astype(int))
draw(axes[0], faces, sizes, faces_title, certify="instant")
title = f"{faces_title} without their first component, non-negative"
draw(axes[1], rest, sizes, title, nonnegative=True, certify="instant")

# %%
# Genes: 72 samples of 12582, and 64 samples of 6830.

_, axes = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
genes = [
    (fetch_leukemia, "leukemia", load_breast_cancer, "breast tumours"),
    (fetch_nci60, "NCI60", load_wine, "wines"),
]
for ax, wanted in zip(axes, genes, strict=True):
    X, title = have(*wanted)
    X = standardise(X)
    sizes = np.unique(np.round(np.geomspace(2, min(500, X.shape[1]), 14)).astype(int))
    # The bound of twelve thousand genes takes longer than a gallery may.
    draw(ax, X, sizes, title, certify="instant" if X.shape[1] < 10_000 else False)

plt.show()
