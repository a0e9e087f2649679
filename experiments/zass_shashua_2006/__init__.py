"""Zass & Shashua (2006): non-negative sparse PCA, all components together."""

from experiments.papers import Paper

PAPER = Paper(
    authors="Zass & Shashua (2006)",
    title="Nonnegative sparse PCA",
    where="Advances in Neural Information Processing Systems 19, 1561-1568",
    page="ns_pca",
)
