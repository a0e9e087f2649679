"""Sigg & Buhmann (2008): expectation-maximisation for sparse and non-negative PCA."""

from experiments.papers import Paper

PAPER = Paper(
    authors="Sigg & Buhmann (2008)",
    title="Expectation-maximization for sparse and non-negative PCA",
    where="Proceedings of the 25th International Conference on Machine Learning, 960-967",
    page="em_pca",
)
