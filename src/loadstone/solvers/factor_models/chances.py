"""Probabilities from their log odds, and how uncertain they are."""

from __future__ import annotations

import numpy as np

from loadstone.covariance.protocol import Array


def chances(log_odds: Array) -> tuple[Array, Array]:
    """Probabilities ``P``, and their entropies ``-P ln P - (1 - P) ln(1 - P)``."""
    size = np.abs(log_odds)
    e = np.exp(-size)
    rare = e / (1.0 + e)
    # -P ln P - (1 - P) ln(1 - P) = ln(1 + e) + |log odds| min(P, 1 - P)
    return np.where(log_odds > 0, 1.0 - rare, rare), np.log1p(e) + size * rare
