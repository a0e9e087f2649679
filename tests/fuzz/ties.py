"""Answers that are equally good, by formula: looked at only where two answers differ.

Where two supports have the same variance, which of them is taken is a matter of the order of
features or of the last digit, and what follows from it differs: later components, variances of
samples that were held out, sizes. Where a model has as many numbers as the data has moments, more
than one set of numbers describes the data best.
"""

from __future__ import annotations

from itertools import combinations
from math import comb

import numpy as np
from sklearn.model_selection import check_cv

#: Supports of one size that are looked at; among more of them chance makes some nearly equal.
MOST = 600
#: Methods that decide about features one by one, by their covariances with what was found.
THRESHOLDS = {
    "ElasticNetPCA", "EMPCA", "SparseNoisyPCA", "SparseProbabilisticPCA", "ThresholdedPCA",
}  # fmt: skip
#: Methods that go through all smaller sizes.
GROWING = {"GreedyPCA"}


def equally_good(given, *models):
    """Whether several supports of a size that was tried have the same variance."""
    covariances, dtype = _covariances(given, models[0]), given.dense.dtype
    tie = any(_tie(C, size, dtype) for C in covariances for size in _sizes(len(C), models))
    if type(models[0]).__name__ in THRESHOLDS or models[0].get_params().get("solver") == "em":
        tie = tie or any(_same_bids(C, dtype) for C in covariances)
    return tie or _spans_all(given, models)


def _tie(C, size, dtype):
    """Whether two of all supports of that size have the same largest eigenvalue."""
    if size > len(C) or comb(len(C), size) > MOST:
        return False
    supports = np.array(list(combinations(range(len(C)), size)))
    values = np.linalg.eigvalsh(C[supports[:, :, None], supports[:, None, :]])[:, -1]
    # Of the size of rounding in the precision of the data, or where folds share their digits.
    return bool((np.diff(np.sort(values)) <= 64 * _eps(dtype) * values.max()).any())


def _same_bids(C, dtype):
    """Whether two features have the same covariance with a third, but for the sign."""
    bids = np.sort(np.abs(C), axis=1)
    equal = np.diff(bids, axis=1) <= 64 * _eps(dtype) * bids[:, :-1]
    return bool((equal & (bids[:, :-1] > 0)).any())


def _eps(dtype):
    return np.finfo(np.float32 if dtype == np.float32 else np.float64).eps


def _sizes(n_features, models):
    """Sizes of the components, and those that were tried on the way to them."""
    found = {int(size) for model in models for size in getattr(model, "cardinality_", ())}
    for model in models:
        found |= {int(size) for size in vars(model).get("cv_results_", {}).get("n_nonzero", ())}
        if "n_features_to_select_" in vars(model):
            # Shared out evenly among the components.
            selected = np.arange(model._size(n_features))
            found |= {part.size for part in np.array_split(selected, model.n_components)}
    if type(models[0]).__name__ in GROWING:
        found |= set(range(1, max(found, default=0) + 1))
    return sorted(size for size in found if 1 <= size < n_features)


def _covariances(given, model):
    """Of all samples, and of those that components are searched on while others are held out."""
    rows = [np.arange(len(given.dense))]
    if "cv_results_" in vars(model):
        rows += [train for train, _ in check_cv(model.cv).split(given.dense)]
    found = []
    for chosen in rows:
        weights = None if given.weights is None else given.weights[chosen]
        found.append(_covariance(given.dense[chosen], weights, model))
    return found


def _covariance(X, weights, model):
    X = X.astype(float)
    if np.isnan(X).any():
        # A missing value adds nothing to the moments.
        X = np.where(np.isnan(X), np.nanmean(X, axis=0), X)
    weights = np.ones(len(X)) if weights is None else weights
    Z = np.sqrt(weights)[:, None] * (X - weights @ X / max(weights.sum(), 1e-300))
    if vars(model).get("scale_") is not None or model.get_params().get("standardize"):
        lengths = np.linalg.norm(Z, axis=0)
        Z = Z / np.where(lengths > 1e-12 * np.abs(X).max(initial=1e-300), lengths, np.inf)
    return Z.T @ Z


def _rank(C):
    scale = np.sqrt(np.maximum(C.diagonal(), 1e-300))
    values = np.linalg.eigvalsh(C / np.multiply.outer(scale, scale))
    return int((values > 1e-9 * max(values[-1], 1e-300)).sum())


def _spans_all(given, models):
    """Whether as few components as these hold all of some samples, in whichever way they do.

    That is a tie for those who want to recover the data, and for those who search all components
    together where the objective is the same.
    """
    joint = [m for m in models if type(m).__name__ == "NSPCA"]
    objectives = [m.objective_[0][-1] for m in joint if len(m.objective_) and len(m.objective_[0])]
    # Searches settle within the tolerance they were given.
    close = max(64 * _eps(given.dense.dtype), *(m.tol for m in joint), 0.0)
    together = len(objectives) == 2 and np.isclose(*objectives, rtol=close)
    if not together and models[0].get_params().get("objective") != "recovery":
        return False
    return any(_rank(C) <= models[0].n_components_ for C in _covariances(given, models[0]))


def is_undetermined(given, model):
    """Whether a model of factors and noise has as many numbers as the data has moments.

    Counted among the features that factors use. A factor of two features with noise variances of
    their own: four numbers for three moments. Where every factor uses all of them, factors can be
    turned, which takes numbers away.
    """
    W = np.asarray(model.components_)
    used = W.any(axis=0)
    free = np.size(np.unique(model.noise_variance_)) > 1
    if free and ((W != 0).sum(axis=1) <= 2).any():
        return True
    r, d = W.shape[0], int(used.sum())
    if not r:
        return False
    numbers = np.count_nonzero(W) + (d if free else 1)
    if np.count_nonzero(W) == r * d:
        numbers -= r * (r - 1) // 2
    C = _covariance(given.dense, given.weights, model)[np.ix_(used, used)]
    rank = _rank(C)
    return numbers >= rank * d - rank * (rank - 1) // 2
