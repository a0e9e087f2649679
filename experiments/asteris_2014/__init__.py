"""Asteris, Papailiopoulos & Dimakis (2014): non-negative sparse PCA with provable guarantees."""

from experiments.papers import Paper

PAPER = Paper(
    authors="Asteris, Papailiopoulos & Dimakis (2014)",
    title="Nonnegative sparse PCA with provable guarantees",
    where="Proceedings of the 31st International Conference on Machine Learning, 1728-1736",
    page="spannogram_pca",
    about=(
        "The theory holds without exception, and so does the order of the methods. The proven shares "
        "come out on genes and spectra; on faces only for a treatment of the images that was picked "
        "among many, because the paper does not name one. One printed share cannot be reached by the "
        "paper's own formula. Certificates replace the bounds by much larger proven shares."
    ),
)
