"""Pictures of fitted estimators and paths; every function returns the Axes it drew on."""

from loadstone.plotting.convergence import plot_convergence
from loadstone.plotting.criterion import plot_criterion
from loadstone.plotting.images import plot_images
from loadstone.plotting.loadings import plot_loadings, plot_loadings_heatmap
from loadstone.plotting.overlap import plot_support_overlap, support_overlap
from loadstone.plotting.priors import (
    plot_prior_contours,
    plot_prior_penalty,
    plot_prior_threshold,
)
from loadstone.plotting.roc import plot_roc
from loadstone.plotting.scores import plot_biplot, plot_scores
from loadstone.plotting.spannogram import plot_spannogram
from loadstone.plotting.variance import plot_scree, plot_variance_path

__all__ = [
    "plot_biplot",
    "plot_convergence",
    "plot_criterion",
    "plot_images",
    "plot_loadings",
    "plot_loadings_heatmap",
    "plot_prior_contours",
    "plot_prior_penalty",
    "plot_prior_threshold",
    "plot_roc",
    "plot_scores",
    "plot_scree",
    "plot_spannogram",
    "plot_support_overlap",
    "plot_variance_path",
    "support_overlap",
]
