"""The features in use: their values in the samples drawn, and how they go with the scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy import sparse

from loadstone.covariance.containers import columns, rows_of
from loadstone.covariance.protocol import Array
from loadstone.estimators.checks import check_new_rows
from loadstone.plotting.fitted import ranked_features
from loadstone.report.facts import Facts
from loadstone.report.figures.packed import Packed, packed, shortened

#: Values that are embedded, three letters each, and features they are of.
MAX_VALUES = 600_000
MAX_FEATURES = 600


@dataclass(frozen=True, kw_only=True)
class FeatureFigure:
    """One entry per feature, those with the largest loadings first.

    ``weights`` turn centred values into scores, a row for each feature: ``(x - mean) * weight``
    is what a feature contributes to the score of a sample. ``weighed_by`` says what they are: the
    loadings, the loadings of standardised values, or what a factor model makes of all components.
    ``correlations`` are those with the scores. ``order`` has for each component where its features
    stand here, the largest loading first, and -1 for those left out.
    """

    names: list[str]
    loadings: list[list[float | None]]
    correlations: list[list[float | None]]
    means: list[float | None]
    weights: list[list[float | None]]
    weighed_by: Literal["loadings", "standardised", "model"]
    values: list[Packed] | None
    order: list[list[int]]
    n_left_out: int


def features(facts: Facts) -> FeatureFigure | None:
    """Values, contributions and correlations of the features that components use."""
    if facts.regression is None:
        return None
    n_drawn = 1 if facts.rows is None else max(1, facts.drawn.size)
    used = by_rank(facts.loadings)
    chosen = used[: min(MAX_FEATURES, MAX_VALUES // n_drawn)]
    place = np.full(facts.loadings.shape[0], -1)
    place[chosen] = np.arange(chosen.size)
    values = None
    if facts.rows is not None:
        values = [packed(column) for column in _values(facts, chosen).T]
    return FeatureFigure(
        names=[str(facts.names[i]) for i in chosen],
        loadings=[shortened(facts.loadings[i]) for i in chosen],
        correlations=[shortened(row) for row in score_correlations(facts)[chosen]],
        means=shortened(np.asarray(facts.estimator.mean_)[chosen]),
        weights=[shortened(row) for row in facts.score_weights[chosen]],
        weighed_by=_weighed_by(facts),
        values=values,
        order=[place[ranked_features(w)].tolist() for w in facts.loadings.T],
        n_left_out=int(used.size - chosen.size),
    )


def _weighed_by(facts: Facts) -> Literal["loadings", "standardised", "model"]:
    if not np.allclose(facts.score_weights * facts.unit[:, None], facts.loadings, atol=1e-6):
        return "model"
    return "loadings" if np.all(facts.unit == 1) else "standardised"


def _values(facts: Facts, chosen: Array) -> Array:
    """Features of the samples drawn; of a million samples no more is made dense."""
    X = check_new_rows(facts.estimator, facts.rows)
    if facts.drawn.size < facts.scores.shape[0]:
        X = (X.tocsr() if sparse.issparse(X) else X)[facts.drawn]
    return columns(rows_of(X), chosen)


def by_rank(loadings: Array) -> Array:
    """Features in use, those first that stand highest in any component."""
    best = np.full(loadings.shape[0], np.iinfo(np.intp).max)
    for w in loadings.T:
        ranked = ranked_features(w)
        best[ranked] = np.minimum(best[ranked], np.arange(ranked.size))
    used = np.flatnonzero((loadings != 0).any(axis=1))
    return used[np.argsort(best[used], kind="stable")]


def score_correlations(facts: Facts) -> Array:
    """``(S V)_j / sqrt(S_jj v'Sv)``: correlation of each feature with each component's scores."""
    S: Any = facts.covariance
    assert facts.regression is not None
    SV, _ = facts.regression
    V = facts.score_weights * facts.unit[:, None]
    lengths = np.sqrt(np.maximum(np.einsum("ij,ij->j", V, SV), 0))
    deviations = np.sqrt(np.maximum(np.asarray(S.diagonal(), dtype=np.float64), 0))
    size = np.outer(deviations, lengths)
    return np.clip(np.divide(SV, size, out=np.zeros_like(SV), where=size > 0), -1, 1)
