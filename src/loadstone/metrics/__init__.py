"""How good components are: functions of a covariance and loadings."""

from loadstone.metrics.explained_variance import (
    adds_variance,
    adjusted_from_scores,
    adjusted_variance,
    correlation_from_scores,
    marginal_variance,
    regressed_variance,
    score_correlation,
    score_covariance,
    span_variance,
    total_variance,
)
from loadstone.metrics.overlap import jaccard
from loadstone.metrics.recovered_variance import (
    held_out_recovery,
    recovered_from_scores,
    recovered_variance,
)

__all__ = [
    "adds_variance",
    "adjusted_from_scores",
    "adjusted_variance",
    "correlation_from_scores",
    "held_out_recovery",
    "jaccard",
    "marginal_variance",
    "recovered_from_scores",
    "recovered_variance",
    "regressed_variance",
    "score_correlation",
    "score_covariance",
    "span_variance",
    "total_variance",
]
