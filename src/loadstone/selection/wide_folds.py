"""Folds of wide data out of core: all of them on one working set, priced together.

Notation: ``G`` holds the inner products of the samples over all features, about the mean of the
training samples; it is a part of the Gram matrix ``K`` of all samples, moved from one mean to the
other. Held-out distances, what principal components recover and what sparse ones do come from it
and from columns in memory, so that folds cost no pass of their own. Features are scaled by all
samples, if at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from loadstone.blas_threads import in_parallel
from loadstone.constraints.from_parameters import check_features
from loadstone.covariance import Array, SampleGram, Support
from loadstone.covariance.containers import rows_of
from loadstone.covariance.from_data import DataCovariance
from loadstone.covariance.route import choose_route
from loadstone.covariance.scores import pseudo_inverse
from loadstone.covariance.symmetric import largest_eigenpairs
from loadstone.covariance.working_set import Prices, Wanted, search_among
from loadstone.estimators.base import seeded
from loadstone.estimators.found import Task
from loadstone.estimators.reading import Reading, read_rows
from loadstone.estimators.sparse_pca import SparsePCA
from loadstone.extraction.priced import prices_among
from loadstone.selection.folds import Fold
from loadstone.selection.path_solver import loadings_of_sizes, of_size
from loadstone.selection.path_wide import refuse_large_size

#: Passes in which all features are asked about all folds and sizes.
N_PRICINGS = 1
#: Sizes that ask, spread evenly: neighbours ask the same.
MOST_ASKING = 8


@dataclass(frozen=True, kw_only=True)
class WideFold:
    """One fold of the rows, and the rest to train on, on some of the features.

    Attributes
    ----------
    S : SampleGram
        All rows and features.
    rows : tuple of two ndarray of int
        To train on, and held out.
    columns : ndarray of shape (n_rows, n_looked_at)
        The working set, scaled; the same array for all folds.
    """

    S: SampleGram
    rows: Fold
    columns: Array

    @property
    def train(self) -> Reading:
        """The training rows of the working set."""
        rows, weights = self.rows[0], self.S.centring.weights
        return read_rows(self.columns[rows], None if weights is None else weights[rows])

    @cached_property
    def weights(self) -> Array:
        """How many samples each row stands for."""
        weights, n = self.S.centring.weights, self.S.n_rows
        return np.ones(n) if weights is None else weights.astype(np.float64)

    @cached_property
    def mean(self) -> Array:
        """Of the training rows."""
        w = self.weights[self.rows[0]]
        return np.asarray(w @ self.columns[self.rows[0]] / w.sum())

    def _inner(self) -> Array:
        """``G``: rows that count for nothing have no inner products."""
        root = np.sqrt(self.weights)
        unit = np.divide(1.0, root, out=np.zeros_like(root), where=root > 0)
        G = (self.S.n_samples - 1.0) * (unit[:, None] * self.S.gram * unit)
        share = np.zeros(self.S.n_rows)
        share[self.rows[0]] = self.weights[self.rows[0]]
        share /= share.sum()
        along = G @ share
        G -= along
        G -= along[:, None]
        G += float(share @ along)
        return G

    def _scores(self, W: Array) -> Array:
        """All rows about the mean of the training rows, projected."""
        scores = np.asarray(self.columns @ W.astype(self.columns.dtype), dtype=np.float64)
        scores -= self.mean @ W
        return scores

    @cached_property
    def _total(self) -> float:
        held_out = self.rows[1]
        return float(self.weights[held_out] @ self._inner().diagonal()[held_out])

    def share_explained(self, W: Array) -> float:
        """Share of the squared distances of the fold to the training mean in the span of ``W``."""
        held_out = self.rows[1]
        T, back = self._scores(W)[held_out], pseudo_inverse(W.T)
        explained = self.weights[held_out] @ ((T @ (back.T @ back)) * T).sum(axis=1)
        return float(explained) / self._total if self._total > 0 else 0.0

    def recovered(self, W: Array) -> tuple[float, float]:
        """Share recovered by regressions on scores, and by as many principal components."""
        train, G = self.rows[0], self._inner()
        root = np.sqrt(self.weights[train])
        among = root[:, None] * G[np.ix_(train, train)] * root
        values, vectors = largest_eigenpairs(among, min(W.shape[1], train.size))
        lengths = np.sqrt(np.maximum(values, np.finfo(np.float64).tiny))
        principal = G[:, train] @ (root[:, None] * vectors / lengths)
        return self._recovered(G, self._scores(W)), self._recovered(G, principal)

    def _recovered(self, G: Array, T: Array) -> float:
        """``1 - |Z - T B|^2 / |Z|^2`` of held-out rows, ``B`` learned on the others."""
        train, held_out = self.rows
        weighted = self.weights[train, None] * T[train]
        rcond = 1e3 * float(np.finfo(self.S.dtype).eps)
        H = weighted @ np.linalg.pinv(T[train].T @ weighted, rcond=rcond, hermitian=True)
        own = T[held_out]
        crossed = G[np.ix_(held_out, train)] @ H
        squared = own @ (H.T @ G[np.ix_(train, train)] @ H)
        gained = ((2.0 * crossed - squared) * own).sum(axis=1)
        return float(self.weights[held_out] @ gained) / self._total if self._total > 0 else 0.0


def read_wide_folds(
    rows: Array,
    weights: Array | None,
    names: Array | None,
    folds: Sequence[Fold],
    *,
    standardize: bool,
    route: str,
) -> Reading | None:
    """All rows, with every fold held out of them; ``None`` unless they are wide and out of core.

    What is small enough to be read into memory keeps its rows there.
    """
    if choose_route(rows_of(rows), route, 0) != "wide":
        return None
    data = read_rows(rows, weights, names, standardize=standardize, route=route)
    if isinstance(data.S, DataCovariance):
        return replace(data, rows=data.S.rows.X, weights=weights)  # type: ignore[attr-defined]
    assert isinstance(data.S, SampleGram)
    nothing = np.empty((data.S.n_rows, 0), dtype=data.S.dtype)
    held_out = tuple(WideFold(S=data.S, rows=fold, columns=nothing) for fold in folds)
    return replace(data, rows=held_out)


def scores_of_wide_folds(
    model: SparsePCA,
    data: Reading,
    folds: Sequence[WideFold],
    sizes: Array,
    n_jobs: int | None,
    n_pricings: int = N_PRICINGS,
) -> tuple[Array, tuple[WideFold, ...]]:
    """A score for each size and fold, and the folds on the features that were looked at."""
    S = folds[0].S
    refuse_large_size(S, int(sizes[-1]))
    _refuse_features(model)

    def search(features: Support, before: Searched | None) -> Searched:
        X, scale = S.columns(features), S.moments.scale
        X = X if scale is None else X / scale[features].astype(X.dtype)
        here = [replace(fold, columns=X) for fold in folds]
        calls = ((model, fold.train, sizes) for fold in here)
        return list(zip(here, in_parallel(_loadings, calls, n_jobs), strict=True))

    def ask(features: Support, found: Searched) -> Prices:
        return _joined([_prices(model, fold, sizes, found_) for fold, found_ in found])

    closed = check_features(model.forbidden, "forbidden", data.n_features, data.names)
    closed = np.union1d(closed, np.flatnonzero(data.moments.constant)).astype(np.intp)
    # What is forbidden does not come into the working set, whose features have other numbers.
    model = replace(model, forbidden=None)
    largest = int(sizes[-1] * model.n_components)
    wanted = Wanted(largest, np.empty(0, dtype=np.intp), closed)
    found, _ = search_among(S, wanted, search, ask, n_pricings)
    scores = [[fold.share_explained(W) for W in loadings] for fold, loadings in found]
    return np.array(scores).T, tuple(fold for fold, _ in found)


def _refuse_features(model: SparsePCA) -> None:
    """Say that a working set has no place for what is asked of single features."""
    asked = next((name for name in ("forced", "constraint") if vars(model)[name] is not None), None)
    if asked is not None:
        msg = (
            f"{asked}={vars(model)[asked]!r} is about features that folds of wide data out of core do "
            f"not all look at; read the data into memory, or leave {asked} out"
        )
        raise ValueError(msg)


#: Folds, with the loadings of every size.
Searched = list[tuple[WideFold, list[Array]]]


def _loadings(model: SparsePCA, train: Reading, sizes: Array) -> list[Array]:
    return list(loadings_of_sizes(model, train, sizes))


def _prices(model: SparsePCA, fold: WideFold, sizes: Array, loadings: list[Array]) -> Prices:
    """What the components of one fold ask, at some of the sizes, of all rows of every feature."""
    train, S, rows = fold.train, fold.S, fold.rows[0]
    freedom = train.S.n_samples - 1.0
    Z = np.sqrt(fold.weights[rows, None] / freedom) * (fold.columns[rows] - fold.mean)
    asked = np.unique(np.linspace(0, sizes.size - 1, MOST_ASKING).round().astype(int))
    found = []
    for place in asked:
        sized = of_size(model, int(sizes[place]))
        plan = sized.plan(Task(train, seeded(model.random_state)))
        prices = prices_among(Z, loadings[place], sized.constraints_on(train), plan)
        scores = np.zeros((S.n_rows, prices.scores.shape[1]))
        # Scores of training rows sum to zero, so that it does not matter which mean is taken out.
        scores[rows] = prices.scores * np.sqrt((S.n_samples - 1.0) / freedom)
        found.append(replace(prices, scores=scores))
    return _joined(found)


def _joined(prices: Sequence[Prices]) -> Prices:
    return Prices(
        np.hstack([p.scores for p in prices]),
        np.concatenate([p.weakest for p in prices]),
        np.concatenate([p.sizes for p in prices]),
        np.concatenate([p.signed for p in prices]),
    )
