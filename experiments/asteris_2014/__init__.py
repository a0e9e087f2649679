"""Asteris, Papailiopoulos & Dimakis (2014): non-negative sparse PCA with provable guarantees."""

from experiments.papers import Paper

PAPER = Paper(
    authors="Asteris, Papailiopoulos & Dimakis (2014)",
    title="Nonnegative sparse PCA with provable guarantees",
    where="Proceedings of the 31st International Conference on Machine Learning, 1728-1736",
    page="spannogram_pca",
)
