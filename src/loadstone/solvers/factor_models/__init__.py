"""Sparse factor models with noise per feature; start reading at `sparse_factors`."""
