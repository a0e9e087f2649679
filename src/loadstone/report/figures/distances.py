"""Samples that stand apart: far out among the scores, or far from what the scores say.

Notation: ``t`` are the scores of a sample, ``C`` their covariance, ``z`` its centred (and scaled)
values and ``tB`` what a regression on the scores makes of them (Hubert, Rousseeuw & Vanden
Branden 2005 draw the same two distances for robust PCA).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import chdtri

from loadstone.covariance.containers import PerFeature, rows_of
from loadstone.covariance.protocol import Array
from loadstone.covariance.scores import squares_and_scores
from loadstone.estimators.checks import check_new_rows
from loadstone.report.facts import Facts
from loadstone.report.figures.packed import short, shortened

#: Share of ordinary samples that lie within each limit, and its normal quantile.
WITHIN = 0.975
QUANTILE = 1.959964
#: Median absolute deviation to standard deviation, for normal data.
DEVIATIONS = 1.4826


@dataclass(frozen=True, kw_only=True)
class Distances:
    """``sqrt(t C^+ t')`` and ``|z - tB|`` of the samples drawn, with a limit for each."""

    score: list[float | None]
    orthogonal: list[float | None]
    score_limit: float
    orthogonal_limit: float
    n_beyond: int


def distances(facts: Facts) -> Distances | None:
    """Score distance and orthogonal distance of each sample; one pass over the data."""
    if facts.rows is None or facts.regression is None or facts.rows.shape[0] < 3:
        return None
    SV, B = facts.regression
    V = facts.score_weights * facts.unit[:, None]
    T = facts.scores
    inner = V.T @ SV
    inverse = np.linalg.pinv((inner + inner.T) / 2, rcond=1e-10, hermitian=True)
    score = np.sqrt(np.maximum(np.einsum("ij,jk,ik->i", T, inverse, T), 0))
    orthogonal = _residuals(facts, B, T)
    limits = float(np.sqrt(chdtri(T.shape[1], 1 - WITHIN))), _limit(orthogonal)
    beyond = (score > limits[0]) | (orthogonal > limits[1])
    return Distances(
        score=shortened(score[facts.drawn]),
        orthogonal=shortened(orthogonal[facts.drawn]),
        score_limit=short(limits[0]),
        orthogonal_limit=short(limits[1]),
        n_beyond=int(beyond.sum()),
    )


def _residuals(facts: Facts, B: Array, T: Array) -> Array:
    """``|z - tB|``, from ``|z|^2 - 2 zB't' + tBB't'``: nothing is made dense."""
    rows = rows_of(check_new_rows(facts.estimator, facts.rows))
    mean = np.asarray(facts.estimator.mean_, dtype=np.float64)
    args = (B.T / facts.unit[:, None], mean, 1 / facts.unit**2)
    found = rows.stack_over_blocks(squares_and_scores, *(PerFeature(arg) for arg in args))
    crossed = np.einsum("ij,ij->i", found[:, 1:], T)
    squares = found[:, 0] - 2 * crossed + np.einsum("ij,ij->i", T @ (B @ B.T), T)
    # Differences of large numbers: what is left of nothing is rounding.
    rounding = 1e-12 * found[:, 0]
    return np.sqrt(np.where(squares > rounding, squares, 0))


def _limit(distances: Array) -> float:
    """Cubic roots of squared distances are nearly normal (Wilson & Hilferty)."""
    roots = np.cbrt(distances**2)
    middle = float(np.median(roots))
    spread = DEVIATIONS * float(np.median(np.abs(roots - middle)))
    return float((middle + QUANTILE * spread) ** 1.5)
