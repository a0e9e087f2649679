"""Ulfarsson & Solo: sparse loading noisy PCA with an l0 penalty, chosen by BIC."""

from experiments.papers import Paper

PAPER = Paper(
    authors="Ulfarsson & Solo",
    title="Sparse loading noisy PCA using an l0 penalty",
    where="University of Iceland and University of New South Wales",
    page="sparse_noisy_pca",
    about="*ZHT* is the elastic-net sparse PCA of Zou, Hastie and Tibshirani (`ElasticNetPCA`). "
    "*EBIC* is our repair, chosen after BIC had failed; both are shown throughout.",
)
