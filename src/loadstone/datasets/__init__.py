"""Data to try things on: published tables, the papers' data sets, and their simulations."""

from loadstone.datasets.catalogue import list_datasets
from loadstone.datasets.fetch import (
    fetch_associated_press,
    fetch_cbcl_faces,
    fetch_cbcl_nonfaces,
    fetch_cmu_faces,
    fetch_glass,
    fetch_leukemia,
    fetch_lrs,
    fetch_nci60,
    fetch_pbmc3k,
    fetch_synthetic_control,
)
from loadstone.datasets.load_mtcars import load_mtcars
from loadstone.datasets.load_pitprops import load_pitprops
from loadstone.datasets.make_noisy_factors import make_disjoint_factors, make_overlapping_shapes
from loadstone.datasets.make_sector_returns import make_sector_returns
from loadstone.datasets.make_sparse_factors import make_sparse_factors
from loadstone.datasets.scale_images import scale_images

__all__ = [
    "fetch_associated_press",
    "fetch_cbcl_faces",
    "fetch_cbcl_nonfaces",
    "fetch_cmu_faces",
    "fetch_glass",
    "fetch_leukemia",
    "fetch_lrs",
    "fetch_nci60",
    "fetch_pbmc3k",
    "fetch_synthetic_control",
    "list_datasets",
    "load_mtcars",
    "load_pitprops",
    "make_disjoint_factors",
    "make_overlapping_shapes",
    "make_sector_returns",
    "make_sparse_factors",
    "scale_images",
]
