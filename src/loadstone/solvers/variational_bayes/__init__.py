"""Sparse probabilistic PCA by variational Bayes (Guan & Dy 2009): priors, updates, zeros."""
