"""Scores of sizes on held-out samples, and the size to take."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.sparse import csc_array
from sklearn.utils import _safe_indexing

from loadstone.covariance import Array
from loadstone.covariance.scores import share_explained
from loadstone.estimators.reading import Reading, read_rows
from loadstone.estimators.sparse_pca import SparsePCA
from loadstone.selection.folds import Fold, HeldOut, refuse_weightless
from loadstone.selection.held_out import both_parts, share_of_all
from loadstone.selection.path_solver import loadings_of_sizes

#: Sizes tried where none are given, and once more around the best of them.
N_SIZES = 20
#: Difference of two shares that rounding explains.
SAME_SHARE = 1e-6


class Scored(NamedTuple):
    """Components of one size of a fold, most entries of which are zero, and their score."""

    loadings: csc_array
    score: float


def held_out_scores(
    model: SparsePCA, data: Reading | None, fold: Fold | HeldOut, sizes: Array
) -> list[Scored]:
    """Share of the held-out variance that components of the other samples reconstruct.

    Components that are to recover all features are judged by the share they recover.
    """
    train, score = _judge(model, data, fold)
    return [Scored(csc_array(W), score(W)) for W in loadings_of_sizes(model, train, sizes)]


def _judge(
    model: SparsePCA, data: Reading | None, fold: Fold | HeldOut
) -> tuple[Reading, Callable[[Array], float]]:
    """What to train on, and the score of components; what has to be read is read once."""
    if model.objective == "recovery":
        others, held_out = both_parts(data, fold)
        return others, lambda W: share_of_all(others.S, held_out, W)
    if isinstance(fold, HeldOut):
        return fold.train, fold.share_explained
    assert data is not None
    train, test = fold
    weights = data.weights
    refuse_weightless(weights, fold)
    part = read_rows(
        _safe_indexing(data.rows, train),
        None if weights is None else weights[train],
        data.names,
        standardize=bool(model.standardize),
        route=model.route,
        n_products=model._expected_products(),
    )
    rows = _safe_indexing(data.rows, test)
    moments, w = part.moments, None if weights is None else weights[test]
    return part, lambda W: share_explained(rows, W, moments.mean, moments.scale, w)


def choose(scores: Array, rule: str) -> int:
    """Position of the size to take, given scores of shape (n_sizes, n_folds).

    Of sizes that score the same it is the first.
    """
    mean = scores.mean(axis=1)
    best = int(np.argmax(mean >= mean.max() - SAME_SHARE))
    if rule == "best" or scores.shape[1] < 2:
        return best
    loss = scores[best] - scores
    error = loss.std(axis=1, ddof=1) / np.sqrt(scores.shape[1])
    return int(np.argmax(loss.mean(axis=1) <= error + SAME_SHARE))


def around(sizes: Array, best: int) -> Array:
    """Sizes strictly between the neighbours of one, at most :data:`N_SIZES` of them."""
    low, high = sizes[max(0, best - 1)], sizes[min(sizes.size - 1, best + 1)]
    every = np.setdiff1d(np.arange(low + 1, high), sizes)
    if every.size > N_SIZES:
        every = every[np.linspace(0, every.size - 1, N_SIZES).round().astype(int)]
    return every


def results(sizes: Array, scores: Array) -> dict[str, Array]:
    """What scikit-learn calls ``cv_results_``."""
    mean = scores.mean(axis=1)
    return {
        "n_nonzero": sizes,
        "mean_test_score": mean,
        "std_test_score": scores.std(axis=1),
        "rank_test_score": (1 + (mean[:, None] < mean).sum(axis=1)).astype(np.int32),
        **{f"split{i}_test_score": column for i, column in enumerate(scores.T)},
    }
