"""
Variance against cardinality: five methods on faces and genes
=============================================================

How much of the first principal component's variance do a few features keep, and how much
does it matter how they are found? These are the curves of Figures 2 and 3 (left) of Sigg
and Buhmann (2008) and of Figure 6 of Ulfarsson and Solo: thresholding, the elastic net, a greedy
path, EM, and :func:`loadstone.cardinality_path` with a band up to a proven bound. All
methods are judged on their own features after renormalising.

The data is not part of this package: set ``LOADSTONE_DATA`` to a folder that holds
``cbcl_faces.npz``, ``leukemia_armstrong.npz`` and ``nci60.npz``.
"""

import os
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from loadstone import EMPCA, ElasticNetPCA, GreedyPCA, ThresholdedPCA, cardinality_path

folder = os.environ.get("LOADSTONE_DATA")
if folder is None:
    raise SystemExit("set LOADSTONE_DATA to the folder that holds the data sets")


def load(name):
    with np.load(Path(folder) / name, allow_pickle=False) as file:
        return file["X"].astype(float)


# %%
# Raw grey values, each pixel of unit variance. Their first component is positive
# everywhere, so for non-negative components it is removed first, as in the paper.

faces = load("cbcl_faces.npz")
faces = (faces - faces.mean(axis=0)) / faces.std(axis=0, ddof=1)
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
    ax.legend()


# %%
# The band is what the bound leaves open: no component of that size, found by whatever
# method, can lie above it.

fig, axes = plt.subplots(2, 2, figsize=(11, 8), layout="constrained")
face_sizes = np.unique(np.round(np.geomspace(1, 361, 24)).astype(int))
draw(axes[0, 0], faces, face_sizes, "faces", certify="instant")
draw(
    axes[0, 1],
    rest,
    face_sizes,
    "faces without their first component, non-negative",
    nonnegative=True,
    certify="instant",
)

# %%
# Genes: 72 samples of 12582, and 64 samples of 6830.

gene_sizes = np.unique(np.round(np.geomspace(2, 500, 14)).astype(int))
for ax, (title, name) in zip(
    axes[1],
    {"leukemia": "leukemia_armstrong.npz", "NCI60": "nci60.npz"}.items(),
    strict=True,
):
    X = load(name)
    X = (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)
    draw(ax, X, gene_sizes, title, certify="instant" if name == "nci60.npz" else False)

plt.show()
