"""Guan & Dy (2009): sparse probabilistic PCA by variational Bayes with three priors."""

from experiments.papers import Paper

PAPER = Paper(
    authors="Guan & Dy (2009)",
    title="Sparse probabilistic principal component analysis",
    where="Proceedings of the 12th International Conference on Artificial Intelligence and "
    "Statistics, PMLR 5, 185-192",
    page="sparse_probabilistic_pca",
    about="*Published run* means the paper's start and steps: principal components, no rotation. "
    "*GS* is the paper's measure, the variance along loadings made orthogonal by Gram-Schmidt; *QR* "
    "makes the scores orthogonal instead and counts nothing twice.",
)
