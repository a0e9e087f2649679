"""How good components are: functions of a covariance and loadings."""

from loadstone.metrics.explained_variance import (
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

__all__ = [
    "adjusted_from_scores",
    "adjusted_variance",
    "correlation_from_scores",
    "marginal_variance",
    "regressed_variance",
    "score_correlation",
    "score_covariance",
    "span_variance",
    "total_variance",
]
