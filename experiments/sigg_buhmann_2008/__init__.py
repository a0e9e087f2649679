"""Sigg & Buhmann (2008): expectation-maximisation for sparse and non-negative PCA."""

from experiments.papers import Paper

PAPER = Paper(
    authors="Sigg & Buhmann (2008)",
    title="Expectation-maximization for sparse and non-negative PCA",
    where="Proceedings of the 25th International Conference on Machine Learning, 960-967",
    page="em_pca",
    about=(
        "Nearly everything comes out: the trade-offs of Figure 2, the times, the selection of genes, "
        "which holds on raw expression values with the algorithm as published. One proposition does "
        "not: the variance falls at some step of nearly every run, because Algorithm 2 changes the "
        "bound that its proof holds fixed. Figure 3 rests on data that had to be picked."
    ),
)
